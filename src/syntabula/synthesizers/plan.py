"""Plans what a fit will cost in budget, memory and time, before any data is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from syntabula._memory import above_limit
from syntabula._planning import memory_alone
from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.domain import Domain
from syntabula.marginals.parts import HELD_VALUES
from syntabula.prepare.division import prepare
from syntabula.prepare.preparation import Preparation
from syntabula.prepare.preprocessing import usual_bins
from syntabula.privacy.budget import Budget
from syntabula.privacy.pricing import enough, standard_deviation, whole_count
from syntabula.privacy.statement import folded
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.privacy.units import RECORD, Unit
from syntabula.synthesizers.settings import Settings, TableFacts
from syntabula.table.coding.codec import Codec
from syntabula.table.parts.raw_parts import ROWS_AT_ONCE
from syntabula.table.raw import PhysicalType
from syntabula.table.rules.at_work import learned_part
from syntabula.table.schema.columns import Boolean, Categorical, Column, Numeric, Ordered
from syntabula.table.schema.schema import Schema, completed, is_whole, undeclared

# Measured on one 2-core machine.
_SECONDS_PER_READ_CELL = 2.3e-7
_SECONDS_PER_READ_COLUMN = 1.3e-3
_SECONDS_PER_COUNTED_CELL = 2e-8
_BYTES_PER_RAW_CELL = 60  # a value as read, its mask and its text
_BYTES_PER_DISTINCT_VALUE = 40  # it and its count, and copies while parts are joined
_BYTES_PER_LABEL = 100  # a text and its count
_BYTES_PER_WIDE_COLUMN = 12 * 2**20  # what is counted of a column with many values, or 262,144 of them
_SECONDS_PER_PART_CELL = 9e-8  # read as Arrow, and coded or asked
_SECONDS_PER_CHOSEN_ROW = 2.5e-6  # the key hashed, and sorted
_SECONDS_PER_PROCESS = 1.0  # to start it
_ROWS_SHOWN = (1, 2, 5, 10)
GUESSED_ROWS = 100_000
GUESSED_CATEGORIES = 50


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    """One step of a plan.

    Attributes:
        name: What will be done.
        share: Fraction of the whole budget that it costs, 0 .. 1.
        cost: The same in the budget's own unit (mu squared, rho or epsilon); None without privacy.
        memory_mb: Upper bound on the memory it needs beyond the table.
        seconds: Rough time on two cores.
        instead: Whether it stands for another way of learning, which may replace the others.
    """

    name: str
    share: float
    cost: float | None
    memory_mb: float
    seconds: float
    instead: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All steps of a fit, before any data is read.

    Attributes:
        method: Key of the synthesizer.
        budget: What may be spent.
        n_rows: Assumed number of rows (public or guessed, never read off the data).
        table_mb: Memory for the table itself, raw and encoded; of a table in parts, for what is held of it at once.
        passes: How often a table in parts is read at least; None for a table in memory.
        read_again: How many of its columns may have so many values that they are read again, some several times.
        steps: The steps in order.
        choice: The method that `method` chose by what is known before values are read; None if it chooses none, or
            by released values too.
        unit: Whom the guarantee protects.
        computed: Columns that rules of the schema compute, which cost nothing.
        caution: What is known of the method with a budget that speaks for another one.
    """

    method: str
    budget: Budget
    n_rows: int
    table_mb: float
    steps: tuple[PlanStep, ...]
    choice: MethodChoice | None = None
    unit: Unit = RECORD
    computed: tuple[str, ...] = ()
    passes: int | None = None
    read_again: int = 0
    caution: str = ""

    @property
    def memory_mb(self) -> float:
        """Peak memory beyond the interpreter's own."""
        return self.table_mb + max((s.memory_mb for s in self.steps), default=0.0)

    @property
    def seconds(self) -> float:
        """Rough total time on two cores, without what may be done instead."""
        return sum(s.seconds for s in self.steps if not s.instead)

    @property
    def noise_by_rows(self) -> dict[int, float]:
        """Standard deviation of the noise on a count that takes the whole budget, by the rows that a unit may have.

        It is empty where each record is a unit, and 0 without privacy.
        """
        if self.unit.column is None:
            return {}
        several = sorted({*_ROWS_SHOWN, self.unit.rows})
        return {rows: standard_deviation(whole_count(self.budget, rows)) for rows in several}

    def check(self, memory_mb: float, domain: Domain) -> None:
        """Raise ResourceError, with numbers and remedies, if a step needs more memory than allowed."""
        for step in self.steps:
            if step.memory_mb > memory_mb:
                widest = sorted(domain.columns, key=domain.size, reverse=True)[:3]
                sizes = ", ".join(f"{c!r} has {domain.size(c):,} codes" for c in widest)
                raise ResourceError(
                    f"step {step.name!r} may need {above_limit(step.memory_mb, memory_mb)} ({sizes}); use "
                    f"fewer bins, shorten or group the categories of these columns, or raise memory_mb"
                )

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """Return the plan as a table in plain text."""
        lines = [
            f"Plan for method {self.method}, {self.budget.describe(self.unit.short)}",
            f"assuming {self.n_rows:,} rows: about {self.memory_mb:,.0f} MB and {self.seconds:,.1f} s",
            *(() if self.choice is None else (f"{self.choice.method}, because {self.choice.reason}.",)),
            *((self.caution,) if self.caution else ()),
            *self._passes(),
            *self._units(),
            "",
            f"  {'share':>6}  {'memory MB':>9}  {'seconds':>7}  step",
        ]
        for name, places in folded([(s.name, None) for s in self.steps]):
            steps = [self.steps[place] for place in places]
            share, seconds = sum(s.share for s in steps), sum(s.seconds for s in steps)
            memory_mb = max(s.memory_mb for s in steps)
            lines.append(f"  {share:6.1%}  {memory_mb:9,.1f}  {seconds:7,.2f}  {name}")
        if self.computed:
            lines += ["", f"Computed by rules, at no cost: {', '.join(self.computed)}"]
        return "\n".join(lines) + "\n"

    def _passes(self) -> list[str]:
        """Return a line on how often a table in parts is read."""
        if self.passes is None:
            return []
        times = "once" if self.passes == 1 else f"{self.passes} times"
        lines = [f"The table is read {times}, and once more for each question about three columns or more."]
        if self.read_again:
            columns = "A column" if self.read_again == 1 else f"{self.read_again} columns"
            lines.append(
                f"{columns} with more than {HELD_VALUES:,} values would be read once more, and some times if undeclared."
            )
        return lines

    def _units(self) -> list[str]:
        """Return lines on what several rows a unit cost."""
        noise = self.noise_by_rows
        if not noise:
            return []
        return [
            "",
            f"Of each {self.unit.column!r}, at most {self.unit.rows} rows are used (rows_per_unit). Noise grows with "
            "that number; on a count that takes the whole budget:",
            "  rows_per_unit " + "".join(f"{rows:>8}" for rows in noise),
            "  noise         " + "".join(f"{sigma:>8.3g}" for sigma in noise.values()),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON-able facts."""
        unit = {
            "unit": self.unit.column,
            "rows_per_unit": self.unit.rows,
            "noise_by_rows": {str(rows): sigma for rows, sigma in self.noise_by_rows.items()},
        }
        told = ("name", "share", "cost", "memory_mb", "seconds")
        return (unit if self.unit.column is not None else {}) | {
            **({"caution": self.caution} if self.caution else {}),
            "method": self.method,
            "budget": self.budget.to_json(),
            "n_rows": self.n_rows,
            "memory_mb": self.memory_mb,
            "passes": self.passes,
            "read_again": self.read_again,
            "seconds": self.seconds,
            "choice": None if self.choice is None else self.choice.to_json(),
            "computed": list(self.computed),
            "steps": [{name: getattr(step, name) for name in told} for step in self.steps],
        }


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
    computed = () if table.schema is None or table.schema.rules is None else tuple(table.schema.rules.derive)
    if table.schema is not None:
        # What rules compute costs nothing.
        physical = {name: stored for name, stored in table.physical.items() if name not in computed}
        table = replace(table, schema=learned_part(table.schema), physical=physical)
    chosen, choice = method.chosen_for(table)
    plan = replace(_plan_of_chosen(chosen, table), method=method.name, choice=choice, computed=computed)
    return _in_parts(chosen, plan, table) if table.in_parts else plan


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
    schema, physical, n_rows, types_found = table.schema, table.physical, table.n_rows, table.types_found
    budget = enough(budget_of(method))
    if is_whole(schema):
        codec = guessed_codec(method, schema, n_rows)
        return planned_fit(method, codec, preparation_of(method, schema, {}), n_rows)
    from syntabula.prepare.found_columns import NUMBER
    from syntabula.table.files.cell_kinds import TEXT

    found = {n: TEXT if types_found else physical[n] for n in undeclared(physical, schema)}
    spent = preparation_of(method, schema, found, types_found=types_found).budget(budget)
    if types_found:
        # Numeric columns need the most steps, and it is not known yet which columns are numeric.
        found = dict.fromkeys(found, NUMBER)
    prepared = preparation_of(method, schema, found, types_found=types_found)
    codec = guessed_codec(method, completed(schema, physical, _guessed_columns(found)), n_rows)
    return planned_fit(method, codec, prepared, n_rows, spent)


def check_declared_memory(method: Settings, schema: Schema) -> None:
    """Raise ResourceError if the declared columns alone make a step exceed the method's memory limit."""
    if is_whole(schema):
        method, _ = method.chosen_for(TableFacts(schema=schema, physical={}, n_rows=GUESSED_ROWS))
    codec = guessed_codec(method, schema, GUESSED_ROWS)
    check_memory(method, codec, preparation_of(method, schema, {}))


def check_memory(method: Settings, codec: Codec, prepared: Preparation) -> None:
    """Raise ResourceError if columns of these codes make a step exceed the method's memory limit."""
    with memory_alone():
        plan = planned_fit(method, codec, prepared, GUESSED_ROWS)
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
    budget = budget or prepared.budget(budget_of(method))
    n_columns = len(codec.schema.columns)
    shared, domain = prepared.planned(codec.domain)
    after = prepared.after_learning()
    learning = 1 - prepared.share - sum((share for _, share in after), Fraction(0))
    shared += [(step, step.share * learning) for step in method.learner.plan(domain, n_rows)] + after
    steps = []
    for position, (step, share) in enumerate(shared):
        seconds = n_rows * n_columns * _SECONDS_PER_COUNTED_CELL * (step.cells > 0) + step.seconds
        if position == 0:
            seconds += n_columns * (_SECONDS_PER_READ_COLUMN + n_rows * _SECONDS_PER_READ_CELL)
        planned = PlanStep(
            name=step.name,
            share=float(share),
            cost=None if budget.total is None else float(share * budget.total),
            memory_mb=step.memory_mb,
            seconds=seconds,
            instead=step.instead,
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
    is_counted = bool(prepared.count) or budget_of(method).currency == "none"
    return prepared if is_counted and not method.columns_apart else replace(prepared, lifts={})


def budget_of(method: Settings) -> Budget:
    """Return the budget of a method, which is always set after construction."""
    assert method.budget is not None
    return method.budget


def guessed_codec(method: Settings, schema: Schema, n_rows: int) -> Codec:
    """Return a codec with as many codes as the fitted one may have, before any data is read."""
    return Codec.plan(schema, bins=usual_bins(method.preprocessing, method.bins, budget_of(method), n_rows))


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
