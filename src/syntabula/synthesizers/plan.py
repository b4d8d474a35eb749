"""Plans what a fit will cost in budget, memory and time, before any data is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from syntabula._planning import memory_alone, without_trends
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain
from syntabula.marginals.parts import HELD_VALUES
from syntabula.prepare.division import prepare
from syntabula.prepare.preparation import Preparation
from syntabula.prepare.preprocessing import usual_bins
from syntabula.privacy.budget import Budget
from syntabula.privacy.pricing import enough
from syntabula.privacy.units import RECORD, Unit
from syntabula.synthesizers.planned import Plan, PlanStep
from syntabula.synthesizers.settings import Settings, TableFacts
from syntabula.table.coding.codec import Codec
from syntabula.table.parts.raw_parts import ROWS_AT_ONCE
from syntabula.table.raw import PhysicalType
from syntabula.table.rules.at_work import learned_part
from syntabula.table.schema.columns import Boolean, Categorical, Column, Numeric, Ordered
from syntabula.table.schema.schema import Schema, completed, is_whole, undeclared

# Measured on one 2-core machine.
_SECONDS_PER_READ_CELL = 3.5e-8  # taken from a frame, and coded
_SECONDS_PER_TEXT_CELL = 2.3e-7  # read in a text file
_SECONDS_PER_READ_COLUMN = 2.6e-3
_SECONDS_PER_COUNTED_CELL = 2e-8
_BYTES_PER_RAW_CELL = 60  # a value as read, its mask and its text
_BYTES_PER_DISTINCT_VALUE = 40  # it and its count, and copies while parts are joined
_BYTES_PER_LABEL = 100  # a text and its count
_BYTES_PER_WIDE_COLUMN = 12 * 2**20  # what is counted of a column with many values, or 262,144 of them
_SECONDS_PER_PART_CELL = 9e-8  # read as Arrow, and coded or asked
_SECONDS_PER_CHOSEN_ROW = 2.5e-6  # the key hashed, and sorted
_SECONDS_PER_PROCESS = 1.0  # to start it
GUESSED_ROWS = 100_000
GUESSED_CATEGORIES = 50


def plan_of(method: Settings, table: TableFacts) -> Plan:
    """Return the plan of a fit of the method, or of the one that it chooses; see `Synthesizer.plan`.

    Raises:
        ArgumentError: If domains have to be found and no stored types are given.
        SchemaError: If the schema does not fit the names of the columns.
    """
    if not is_whole(table.schema) and not table.physical:
        raise ArgumentError(
            "a plan needs a schema of all columns, or the stored type of each column; `syntabula plan TABLE` "
            "takes them from the table"
        )
    if table.schema is not None and not is_whole(table.schema):
        table.schema.check_names(table.physical)
    computed, table = _computed(table.schema), _learned(table)
    chosen, choice = method.chosen_for(table)
    plan = replace(_plan_of_chosen(chosen, table), method=method.name, choice=choice, computed=computed)
    if table.in_parts:
        return _in_parts(chosen, plan, table)
    return _of_text(plan, table.n_columns) if table.types_found else plan


def planned_domain(method: Settings, table: TableFacts) -> Domain:
    """Return the columns that a fit will learn, with as many codes as are planned for them."""
    codec, prepared, _ = _planned_codec(method, _learned(table))
    return prepared.planned(codec.domain)[1]


def _computed(schema: Schema | None) -> tuple[str, ...]:
    return () if schema is None or schema.rules is None else tuple(schema.rules.derive)


def _learned(table: TableFacts) -> TableFacts:
    """Return the facts of the columns that are learned: what rules compute costs nothing."""
    if table.schema is None:
        return table
    computed = _computed(table.schema)
    physical = {name: stored for name, stored in table.physical.items() if name not in computed}
    return replace(table, schema=learned_part(table.schema), physical=physical)


def _of_text(plan: Plan, n_columns: int) -> Plan:
    """Return the plan of a fit that reads a text file."""
    if not plan.steps:
        return plan
    first, *others = plan.steps
    read = plan.n_rows * n_columns * _SECONDS_PER_TEXT_CELL
    return replace(plan, steps=(replace(first, seconds=first.seconds + read), *others))


def _in_parts(method: Settings, plan: Plan, table: TableFacts) -> Plan:
    """Return the plan of a fit that reads the table in parts."""
    schema, n_rows, workers = table.schema, plan.n_rows, method.workers
    found = {n: table.physical[n] for n in undeclared(table.physical, schema)}
    if table.types_found:
        from syntabula.prepare.found_columns import NUMBER

        # As most columns may be of numbers.
        found = dict.fromkeys(found, NUMBER)
    prepared = preparation_of(method, schema, found)
    n_columns = len({**table.physical, **({} if schema is None else schema.columns)})
    values = []
    for name in prepared.refinements:
        column = None if schema is None else schema.columns.get(name)
        span = column.span() if isinstance(column, Ordered) else (0, 0, False)
        values.append(min(n_rows, int(span[1]) - int(span[0]) + 1 if span[2] else n_rows))
    many = sum(number > HELD_VALUES for number in values)
    held = sum(min(number * _BYTES_PER_DISTINCT_VALUE, _BYTES_PER_WIDE_COLUMN) for number in values)
    held = max(held, len(found) * min(n_rows * _BYTES_PER_LABEL, _BYTES_PER_WIDE_COLUMN))
    batch = min(ROWS_AT_ONCE, n_rows) * n_columns * (_BYTES_PER_RAW_CELL + 2)
    # Each process has a batch and a state; two more states are on their way or the sum.
    states = 1 if workers == 1 else workers + 2
    needs_count = bool(prepared.count) and not found
    limits = unit_of(schema).column is not None
    passes = 1 + bool(found) + bool(prepared.refinements or needs_count) + limits + table.types_found
    choosing = 0.0
    if limits:
        from syntabula.prepare.persons import BYTES_PER_ROW

        # What chooses the rows of units is let go before anything else is held; a mark for each row stays.
        choosing = min(n_rows * BYTES_PER_ROW, method.memory_mb * 2**20 / 4) + n_rows
    cells_read = n_rows * (n_columns + len(found) + len(prepared.refinements) + many)
    seconds = cells_read * _SECONDS_PER_PART_CELL + n_rows * limits * _SECONDS_PER_CHOSEN_ROW
    seconds += passes * workers * _SECONDS_PER_PROCESS if workers > 1 else 0
    # A later step reads nothing, as the counts are kept; what the first one read in memory is read in parts.
    counted = n_rows * n_columns * _SECONDS_PER_COUNTED_CELL
    steps = [replace(step, seconds=max(step.seconds - counted, 0.0)) for step in plan.steps]
    if steps:
        in_memory = n_columns * n_rows * _SECONDS_PER_READ_CELL
        steps[0] = replace(steps[0], seconds=max(plan.steps[0].seconds - in_memory, 0.0) + seconds)
    return replace(
        plan,
        steps=tuple(steps),
        table_mb=max(batch * workers + held * states, batch + choosing) / 2**20,
        # Names and types of columns of JSON Lines are found before, by one process.
        passes=passes + (bool(found) and all(table.physical[name].name == "JSON" for name in found)),
        read_again=many,
    )


def _plan_of_chosen(method: Settings, table: TableFacts) -> Plan:
    budget = enough(method.whole_budget)
    codec, prepared, spent = _planned_codec(method, table)
    plan = planned_fit(method, codec, prepared, table.n_rows, spent.budget(budget))
    if is_whole(table.schema):
        return plan
    from syntabula.prepare.foreseen import least_for_bounds

    return replace(plan, least_for_bounds=least_for_bounds(prepared, plan.budget, table.n_rows))


def _planned_codec(method: Settings, table: TableFacts) -> tuple[Codec, Preparation, Preparation]:
    """Return a codec of as many codes as the fitted one may have, the steps before learning, and what these spend."""
    schema, physical, n_rows, types_found = table.schema, table.physical, table.n_rows, table.types_found
    if is_whole(schema):
        prepared = preparation_of(method, schema, {})
        return guessed_codec(method, schema, n_rows), prepared, prepared
    from syntabula.prepare.found_columns import NUMBER
    from syntabula.table.files.cell_kinds import TEXT

    found = {n: TEXT if types_found else physical[n] for n in undeclared(physical, schema)}
    spent = preparation_of(method, schema, found, types_found=types_found)
    if types_found:
        # Numeric columns need the most steps, and it is not known yet which columns are numeric.
        found = dict.fromkeys(found, NUMBER)
    prepared = preparation_of(method, schema, found, types_found=types_found)
    codec = guessed_codec(method, completed(schema, physical, _guessed_columns(found)), n_rows)
    return codec, prepared, spent


def check_declared_memory(method: Settings, schema: Schema, n_rows: int = GUESSED_ROWS) -> None:
    """Raise ResourceError if the declared columns alone make a step exceed the method's memory limit."""
    choice = None
    if is_whole(schema):
        method, choice = method.chosen_for(TableFacts(schema=schema, physical={}, n_rows=n_rows))
    codec = guessed_codec(method, schema, n_rows)
    check_memory(method, codec, preparation_of(method, schema, {}), n_rows, own_options=choice is None)


def check_memory(
    method: Settings,
    codec: Codec,
    prepared: Preparation,
    n_rows: int = GUESSED_ROWS,
    *,
    own_options: bool = True,
) -> None:
    """Raise ResourceError if columns of these codes make a step exceed the method's memory limit.

    Args:
        method: The synthesizer to fit.
        codec: The columns' codes.
        prepared: How they are prepared.
        n_rows: A public number of records; that of the table where nothing is private.
        own_options: Whether the user named this method, and can set its options; another one chose it otherwise.
    """
    with memory_alone():
        plan = planned_fit(method, codec, prepared, n_rows)
    if not own_options:
        plan = replace(plan, steps=tuple(replace(step, remedy="") for step in plan.steps))
    plan.check(method.memory_mb, codec.domain)


def unit_of(schema: Schema | None) -> Unit:
    """Return whom a schema's guarantee protects."""
    if schema is None or schema.unit is None or schema.rows_per_unit is None:
        return RECORD
    return Unit(schema.unit, schema.rows_per_unit)


def planned_fit(
    method: Settings, codec: Codec, prepared: Preparation, n_rows: int, budget: Budget | None = None
) -> Plan:
    """Return the plan of a fit whose columns have these codes; `budget` is as `prepared` returns it."""
    budget = budget or prepared.budget(method.whole_budget)
    n_columns = len(codec.schema.columns)
    shared, domain = prepared.planned(codec.domain)
    after = prepared.after_learning()
    learning = 1 - prepared.share - sum((share for _, share in after), Fraction(0))
    learned = method.learner.plan(domain, n_rows)
    if budget.currency == "none":
        learned = without_trends(learned)
    shared += [(step, step.share * learning) for step in learned] + after
    steps = []
    for position, (step, share) in enumerate(shared):
        seconds = n_rows * n_columns * _SECONDS_PER_COUNTED_CELL * (step.cells > 0) + step.seconds_at(
            budget.epsilon
        )
        if position == 0:
            seconds += n_columns * (_SECONDS_PER_READ_COLUMN + n_rows * _SECONDS_PER_READ_CELL)
        most = step.most_seconds_at(math.inf if budget.currency == "none" else budget.epsilon)
        planned = PlanStep(
            name=step.name,
            share=float(share),
            cost=None if budget.total is None else float(share * budget.total),
            memory_mb=step.memory_mb,
            seconds=seconds,
            instead=step.instead,
            more_seconds=max(most - step.seconds_at(budget.epsilon), 0.0),
            remedy=step.remedy,
        )
        steps.append(planned)
    return Plan(
        method=method.name,
        budget=budget,
        caution="" if budget.currency == "none" else method.caution,
        n_rows=n_rows,
        table_mb=n_rows * n_columns * (_BYTES_PER_RAW_CELL + 2) / 2**20,
        steps=tuple(steps),
        unit=unit_of(codec.schema),
    )


def preparation_of(
    method: Settings,
    schema: Schema | None,
    found: Mapping[str, PhysicalType],
    *,
    types_found: bool = False,
    paid: Mapping[str, Fraction] | None = None,
) -> Preparation:
    """Return the shares that a method may spend beside learning; see `prepare`. Lifts need a number of records."""
    prepared = prepare(
        method.preprocessing,
        method.bins,
        method.rare,
        schema,
        found,
        types_found=types_found,
        paid=paid,
        learner_delta=method.failure_share,
        weighs_codes=method.weighs_codes,
    )
    is_counted = bool(prepared.count) or method.whole_budget.currency == "none"
    return prepared if is_counted and not method.columns_apart else replace(prepared, lifts={})


def guessed_codec(method: Settings, schema: Schema, n_rows: int) -> Codec:
    """Return a codec with as many codes as the fitted one may have, before any data is read."""
    return Codec.plan(schema, bins=usual_bins(method.preprocessing, method.bins, method.whole_budget, n_rows))


def _guessed_columns(physical: Mapping[str, PhysicalType]) -> dict[str, Column]:
    """Return domains of plausible size for columns whose stored types alone are known."""
    columns: dict[str, Column] = {}
    for name, stored in physical.items():
        if stored.is_labels:
            labels = tuple(str(i) for i in range(GUESSED_CATEGORIES))
            columns[name] = Categorical(labels, open=True, nullable=True, provenance="private")
        elif stored.kind == "boolean":
            columns[name] = Boolean(nullable=True, provenance="private")
        else:
            columns[name] = Numeric(0.0, 1.0, nullable=True, provenance="private")
    return columns
