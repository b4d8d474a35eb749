"""Runs one fit: reads the table, prepares its columns, runs the learner, and states the cost in the release."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from syntabula._memory import memory_for
from syntabula._version import __version__
from syntabula.errors import CoercionWarning, warn_caller
from syntabula.marginals.domain import Domain
from syntabula.prepare.preparation import Preparation
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SecureNoise, SeededNoise
from syntabula.privacy.pricing import enough
from syntabula.privacy.resume import failure_before, open_ledger
from syntabula.privacy.statement import statement_of
from syntabula.privacy.units import LateUnits, Units, unit_key_of
from syntabula.synthesizers.hints import require_enough_keys, tell_of_found, tell_of_key_names, tell_of_orders
from syntabula.synthesizers.joining import with_joined_bins
from syntabula.synthesizers.plan import (
    GUESSED_ROWS,
    check_declared_memory,
    check_memory,
    planned_domain,
    preparation_of,
    unit_of,
)
from syntabula.synthesizers.reading import (
    counted_columns,
    doors_to,
    encoded,
    learnable,
    learned,
    opened,
    stored_types,
    to_find,
    untyped,
)
from syntabula.synthesizers.release import Release
from syntabula.synthesizers.settings import Learner, RestrictedLearner, Settings, TableFacts, TriedLearner
from syntabula.table.coding.codec import Codec
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import PhysicalType, RawTable
from syntabula.table.rules.at_work import learned_part, row_rules, with_found
from syntabula.table.schema.columns import Date, Datetime, Identifier, Numeric
from syntabula.table.schema.schema import Schema, check_declared, is_whole

if TYPE_CHECKING:
    from syntabula.models.base import Model
    from syntabula.prepare.bounds import FoundBounds
    from syntabula.prepare.ends import EndCounts
    from syntabula.privacy.journal import Journal
    from syntabula.table.files.delimited import DelimitedFile
    from syntabula.table.rules.row_rules import RowRules

_READ, _ENCODE = "read the table", "encode"
_ANY = PhysicalType("text", "string")
_PREPARED, _ENCODED = 0.05, 0.1
"""Fraction of a fit that is done once columns are prepared, and once the table is encoded."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Judging:
    """What measures, by noise that the same budget pays for, how good a model is.

    Attributes:
        share: Fraction of the whole budget that it takes.
        judge: Called with the table as it was learned, the codec, the model, the ledger and the source of noise.
    """

    share: Fraction
    judge: Callable[[RawTable, Codec, Model, Ledger, NoiseSource], None]


def fit(
    method: Settings, source: Any, schema: Schema | None, *, strict: bool, judging: Judging | None = None
) -> Release:
    """Learn a sensitive table and return a release; see `Synthesizer.fit`.

    With `judging`, part of the budget measures how good the model is.
    """
    enough(method.whole_budget)
    is_exact = method.whole_budget.currency == "none"
    if schema is not None:
        check_declared(schema, allow_observed=method.allow_observed)
        declared = learned_part(schema)
        # Declared columns need their memory whatever domains are found for the others; without privacy, batches are
        # as large as the table at most, which is opened below.
        if is_whole(declared) or any(c.is_learned for c in declared.columns.values()):
            check_declared_memory(method, declared, 1 if is_exact else GUESSED_ROWS)
    if method.progress is not None:
        method.progress(_READ, 0.0)
    with opened(method, source, schema, judged=judging is not None) as table:
        # Without a schema, the JSON records determine which columns there are, and their order.
        of_json = isinstance(table, RawTable | RawParts) and table.origin.container == "jsonl"
        keys_read = of_json and not is_whole(schema)
        if isinstance(table, RawParts):
            pass  # names are checked where they are read, before anything is spent
        elif not isinstance(table, RawTable):
            if schema is not None:
                schema.check_names(table.names)
        elif is_whole(schema):
            schema.check_table(table)
        elif method.allow_observed:
            from syntabula.table.draft import whole_schema
            from syntabula.table.frames.text_numbers import with_texts_read

            table = with_texts_read(table, schema)
            schema = whole_schema(table, schema)
            check_declared_memory(method, learned_part(schema), _planned_rows(table.n_rows, is_exact))
        elif schema is not None:
            schema.check_table(table)
        if isinstance(method.learner, TriedLearner):
            method.learner.try_parts(
                lambda: _planned(method, table, schema), method.whole_budget, memory_mb=method.memory_mb
            )
        with _opened_journal(method) as journal:
            release = fit_table(
                method,
                table,
                schema,
                journal,
                strict=strict,
                keys_read=keys_read,
                owned=not isinstance(source, RawTable),
                judging=judging,
            )
    if not is_exact:
        return release
    from syntabula.table.files.quoted_cells import with_quotes

    return replace(release, origin=with_quotes(release.origin, source))


@memory_for(
    "learn the table",
    "free some, or use fewer rows or columns; a run with a journal goes on with resume",
)
def fit_table(
    method: Settings,
    source: RawTable | DelimitedFile | RawParts,
    schema: Schema | None,
    journal: Journal | None,
    *,
    strict: bool,
    keys_read: bool,
    owned: bool = False,
    judging: Judging | None = None,
) -> Release:
    """Learn a table that conforms to the declared schema.

    Args:
        method: The synthesizer to fit.
        source: The table; for text files whose types have to be found, their texts.
        schema: The declared columns, or those read off the table.
        journal: The journal to which spends are written, if any.
        strict: Whether to refuse values outside the schema.
        keys_read: Whether the column names were read off the records.
        owned: Whether nobody else has the table, so that its columns can be let go once they are coded.
        judging: What measures the model, if anything.
    """
    types_found = untyped(source) is not None
    names = tuple(source.columns if isinstance(source, RawTable) else source.names)
    noise = method.noise or (SecureNoise() if method.seed is None else SeededNoise(method.seed))
    units: Units | LateUnits | None = None
    if schema is not None and schema.unit is not None:
        from syntabula.prepare.persons import limited

        source, units = limited(source, schema, unit_key_of(noise), limit_mb=method.memory_mb)
    rules, declared = row_rules(schema), schema
    is_exact = method.whole_budget.currency == "none"
    if isinstance(source, RawTable | RawParts) and not types_found:
        source = learnable(source, declared, is_exact=is_exact)
    if rules is not None:
        # From here on, what is learned has the place of what is declared.
        schema = rules.learned_schema
        if isinstance(source, RawTable | RawParts) and not types_found:
            source = learned(rules, source, strict=strict)
    facts = TableFacts(
        schema=schema,
        physical=stored_types(source),
        n_rows=source.n_rows if is_exact else GUESSED_ROWS,
        types_found=types_found,
    )
    named, (method, chosen) = method.name, method.chosen_for(facts)
    report = method.progress or (lambda step, done: None)
    computed = () if rules is None else (*rules.compiled.derived,)
    found = to_find(source, schema, computed)
    if found and units is None and not is_exact:
        tell_of_key_names(found)
    planned_rows = _planned_rows(facts.n_rows, is_exact)
    if is_exact and schema is not None and is_whole(schema):
        check_declared_memory(method, schema, planned_rows)
    prepared = preparation_of(method, schema, found, types_found=types_found)
    ledger = _ledger(method, prepared, noise, declared, journal)

    def preparing(step: str, done: float) -> None:
        report(step, _PREPARED * done)

    text = untyped(source)
    # One pass over a table in parts finds the values of all columns, and the number of records.
    columns = counted_columns(source, prepared) if isinstance(source, RawParts) and text is None else None
    counted = prepared.counted(source.n_rows, ledger, noise) if prepared.count else None
    n_records = source.n_rows if is_exact else 0.0 if counted is None else max(float(counted.values[0]), 0.0)
    require_enough_keys(declared, n_records, counted)
    table: RawTable | RawParts
    if text is not None:
        typed = prepared.typed(text, declared, ledger, noise, counted=counted, progress=preparing)
        typed = learnable(typed, declared, is_exact=is_exact)
        table = typed if rules is None else learned(rules, typed, strict=strict)
    else:
        assert isinstance(source, RawTable | RawParts)
        table = source
        if prepared.types and isinstance(source, RawTable):
            table = prepared.timed(source, ledger, noise, counted=counted, progress=preparing)
    if prepared.types:
        found = to_find(table, schema, computed)
        prepared = preparation_of(method, schema, found, paid=prepared.types)
        columns = counted_columns(table, prepared) if isinstance(table, RawParts) else None
    tell_of_orders(declared, schema, found)
    raw = table if isinstance(table, RawTable) else columns
    assert raw is not None
    bounds: dict[str, FoundBounds] = {}
    ends: dict[str, EndCounts] = {}
    codec = prepared.codec(
        raw,
        schema,
        ledger,
        noise,
        counted=counted,
        progress=preparing,
        units=units,
        bounds=bounds,
        ends=ends,
    )
    tell_of_found(codec.schema, found, is_exact=is_exact, has_units=units is not None)
    if not is_whole(schema) or any(prepared.parts.values()):
        # Found domains, and bins that follow from values, may take more codes than were planned for.
        check_memory(method, codec, prepared, planned_rows, own_options=chosen is None)
    report(_ENCODE, _PREPARED)
    # What only this run has read is not needed any more.
    calendars = [name for name in prepared.lifts if name in codec.rhythms]
    coded = encoded(
        method,
        table,
        codec,
        units,
        strict=strict,
        found=found,
        let_go=owned and judging is None,
        calendars=calendars,
    )
    for sentence in coded.coercions.describe():
        warn_caller(CoercionWarning(sentence))
    doors = doors_to(Curator(coded.engine, ledger, noise, coded.units), codec)
    lifts, judged = None, judging.share if judging else Fraction(0)
    if coded.with_calendars is not None:
        from syntabula.synthesizers.calendar_lifts import LiftSearch

        lifts = LiftSearch(
            codec,
            coded.with_calendars,
            Curator(coded.with_calendars, ledger, noise, coded.units),
            prepared.lifts,
            # In proportion, if preparing has left less of the budget than was planned.
            min((ledger.remaining_share - judged) / (1 - prepared.share), Fraction(1)),
            n_records,
        )
    recoding = prepared.recoding(doors.tables)
    model, choice = _learner(method, rules, codec).learn(
        doors.recoded(recoding) if recoding else doors,
        # This includes what preprocessing did not need.
        share=ledger.remaining_share - judged - (lifts.share if lifts else 0),
        progress=lambda step, done: report(step, _ENCODED + (1 - _ENCODED) * done),
    )
    if recoding:
        from syntabula.models.recoded import RecodedModel

        model = RecodedModel(model, recoding)
    if codec.rhythms:
        from syntabula.synthesizers.fitted_rhythms import with_fitted_rhythms

        codec = with_fitted_rhythms(codec, model)
    if lifts:
        codec = lifts.found(codec, model)
    if method.preprocessing.joins_bins(exact=is_exact):
        codec, model = with_joined_bins(codec, model)
    if rules is not None and ends:
        from syntabula.synthesizers.fitted_ends import with_ends

        codec = with_ends(codec, model, rules, ends)
    if any(isinstance(c, Identifier) and c.pattern for c in codec.schema.columns.values()):
        from syntabula.synthesizers.own_keys import with_own_keys

        codec = with_own_keys(codec, noise)
    if judging:
        assert isinstance(table, RawTable)
        judging.judge(table, codec, model, ledger, noise)
    ledger.require_all_replayed()
    whole = None if rules is None or declared is None else with_found(rules, declared, codec.schema, names)
    released = codec.schema if whole is None else whole.schema
    types_read = keys_read or (table.origin.is_text and not types_found and bool(found))
    return Release(
        method=named,
        codec=codec,
        model=model,
        privacy=statement_of(
            ledger,
            noise,
            method=named,
            provenance={name: column.provenance for name, column in released.columns.items()},
            version=__version__,
            choice=chosen or choice,
            types_read=types_read,
            stored_types=() if table.origin.is_text else tuple(found),
            made_anew=[name for name in found if isinstance(codec.schema[name], Identifier)],
            hidden=[
                n for n in found if n not in bounds and type(codec.schema[n]) in (Numeric, Date, Datetime)
            ],
            cut_off={name: b.beyond for name, b in bounds.items() if b.cuts_off},
            cut_off_at_most=max((b.beyond_at_most for b in bounds.values() if not b.cuts_off), default=0.0),
            rules=() if rules is None else rules.rules.described(),
            rules_observed=rules is not None and rules.rules.provenance == "observed",
        ),
        origin=table.origin,
        rules=whole,
    )


def _planned(method: Settings, source: RawTable | DelimitedFile | RawParts, schema: Schema | None) -> Domain:
    """Return the columns that a fit of this table will learn, of which names and stored types alone are known."""
    stored = stored_types(source)
    names = source.columns if isinstance(source, RawTable) else source.names
    facts = TableFacts(
        schema=schema,
        # A table in parts keeps the stored types of undeclared columns alone, and no others are asked.
        physical={name: stored.get(name, _ANY) for name in names},
        n_rows=GUESSED_ROWS,
        types_found=untyped(source) is not None,
    )
    return planned_domain(method, facts)


def _learner(method: Settings, rules: RowRules | None, codec: Codec) -> Learner:
    """Return the method's learner, told what rules make impossible; if it cannot hold that, such rows are discarded."""
    learner = method.learner
    if rules is None or not isinstance(learner, RestrictedLearner):
        return learner
    from syntabula.table.rules.impossible import possible_cells

    return learner.with_possible({found.clique: found.cells for found in possible_cells(rules, codec)})


def _opened_journal(method: Settings) -> AbstractContextManager[Journal | None]:
    if method.journal is None:
        return nullcontext()
    from syntabula.privacy.journal import Journal

    return Journal(method.journal, must_exist=method.resume)


def _ledger(
    method: Settings,
    prepared: Preparation,
    noise: NoiseSource,
    schema: Schema | None,
    journal: Journal | None,
) -> Ledger:
    """Return the ledger of this run, begun or resumed."""
    budget = prepared.budget(method.whole_budget, failure_before(journal, resume=method.resume))
    facts: dict[str, str] = {}
    if journal is not None:
        from syntabula.synthesizers.run_facts import run_facts

        facts = run_facts(method, budget, noise, schema)
    return open_ledger(budget, journal, facts, resume=method.resume, unit=unit_of(schema))


def _planned_rows(n_rows: int, is_exact: bool) -> int:
    """Return by how many records the memory of a fit is judged: those that there are only where nothing is private."""
    return min(max(n_rows, 1), GUESSED_ROWS) if is_exact else GUESSED_ROWS
