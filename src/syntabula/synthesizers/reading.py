"""How a fit reads a table: in parts or whole, what it asks of raw columns, and the engine that counts codes."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from syntabula.errors import ArgumentError, CoercionWarning, DataError, warn_caller
from syntabula.marginals.counting import CountingEngine, engine_for
from syntabula.marginals.domain import EncodedTable
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.units import LateUnits, Units
from syntabula.table.coding.column_codes import Coercions
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import TEXT_FORMATS, PhysicalType, RawTable
from syntabula.table.read import may_have_parts, needs_parts, parts_of, read
from syntabula.table.schema.schema import Schema, check_name, is_whole, undeclared

if TYPE_CHECKING:
    from syntabula.marginals.measurement import FloatArray
    from syntabula.prepare.preparation import Preparation
    from syntabula.synthesizers.settings import Settings
    from syntabula.table.coding.codec import Codec
    from syntabula.table.files.delimited import DelimitedFile
    from syntabula.table.parts.encoded_parts import EncodedParts
    from syntabula.table.parts.found_parts import FoundParts
    from syntabula.table.parts.points import CountedColumns
    from syntabula.table.parts.text_parts import TextParts
    from syntabula.table.rules.row_rules import RowRules


def opened(
    method: Settings, source: Any, schema: Schema | None, *, judged: bool = False
) -> AbstractContextManager[RawTable | DelimitedFile | RawParts]:
    """Return the table: in parts, in memory, or a text file whose types are not known yet.

    Args:
        method: The synthesizer.
        source: The table.
        schema: The declared columns.
        judged: Whether the model is measured against the table.

    Raises:
        ArgumentError: If the table can be read in parts alone, and that is not possible here.
        DataError: If it cannot be read.
    """
    if (parts := _in_parts(method, source, schema, judged=judged)) is not None:
        return parts
    if not is_whole(schema) and not method.allow_observed:
        from syntabula.table.files.delimited import delimited_file, is_delimited

        if is_delimited(source):
            return delimited_file(source, schema)
    return nullcontext(read(source, schema))


def _in_parts(
    method: Settings, source: Any, schema: Schema | None, *, judged: bool = False
) -> RawParts | None:
    """Return a table in parts; None if it is read into memory, as tables of usual size are.

    Args:
        method: The synthesizer.
        source: The table.
        schema: The declared columns.
        judged: Whether the model is measured against the table.

    Raises:
        ArgumentError: If the table can be read in parts alone, and that is not possible here.
    """
    if not may_have_parts(source):
        return None
    reason = _objection(method, schema, judged=judged)
    if reason is None:
        return parts_of(source, schema, workers=method.workers)
    if needs_parts(source):
        raise ArgumentError(f"{_named(source)} {reason}, or give one table that memory holds")
    return None


def _named(source: Any) -> str:
    if isinstance(source, str | os.PathLike):
        return f"{'the folder ' if os.path.isdir(source) else ''}{os.fspath(source)!r}"
    return "a table in parts"


def _objection(method: Settings, schema: Schema | None, *, judged: bool) -> str | None:
    """Return why a table cannot be read in parts, with a remedy; None if it can."""
    if not is_whole(schema) and method.allow_observed:
        return (
            "cannot be read for domains that are observed; draft a schema from one of its files with `syntabula schema "
            "FILE`, check it, and give it, or leave out allow_observed, so that domains are found privately"
        )
    return "cannot be searched for options yet; fit one set of options" if judged else None


def untyped(source: RawTable | DelimitedFile | RawParts) -> DelimitedFile | TextParts | None:
    """Return the table if it is text of columns whose types have to be found; None if their types are known."""
    if isinstance(source, RawTable):
        return None
    if not isinstance(source, RawParts):
        return source
    if source.container not in TEXT_FORMATS:
        return None
    from syntabula.table.parts.text_parts import TextParts

    return source if isinstance(source, TextParts) else None


def stored_types(source: RawTable | DelimitedFile | RawParts) -> Mapping[str, PhysicalType]:
    """Return the type of each column as the source stores it."""
    if isinstance(source, RawParts):
        return {name: stored.physical for name, stored in source.stored.items()}
    if isinstance(source, RawTable):
        return {name: column.physical for name, column in source.columns.items()}
    return source.physical


def to_find(
    source: RawTable | DelimitedFile | RawParts, schema: Schema | None, computed: Collection[str]
) -> dict[str, PhysicalType]:
    """Return the stored types of the columns whose domains have to be found; those that rules compute have none.

    Raises:
        SchemaError: If one of them has a name that no schema can hold, which must be said before anything is spent.
    """
    physical = stored_types(source)
    for name in physical:
        check_name(name)
    return {name: physical[name] for name in undeclared(physical, schema) if name not in computed}


def counted_columns(parts: RawParts, prepared: Preparation) -> CountedColumns | FoundParts:
    """Return what one pass finds of the columns whose domains or bins depend on the values; it reads no others."""
    if not is_whole(parts.schema):
        from syntabula.table.coding.levels import LEVELS
        from syntabula.table.key_names import is_key_name
        from syntabula.table.parts.found_parts import found_parts

        return found_parts(parts, LEVELS, frozenset(filter(is_key_name, parts.stored)))
    return prepared.counted_columns(parts, parts.schema)


def learnable(table: RawTable | RawParts, schema: Schema | None, *, is_exact: bool) -> RawTable | RawParts:
    """Return a table whose infinite numbers count as missing where bounds are found, or cells may be missing.

    If it is exact, so not under a budget, a warning says so of undeclared columns, and texts that are all numbers, in a
    form that no library reads, such as 1.234,50 or 12 %, are numbers, as a draft has them.
    """
    if is_exact and isinstance(table, RawTable) and not is_whole(schema):
        from syntabula.table.frames.text_numbers import with_signed_numbers_read

        table = with_signed_numbers_read(table, schema)
    elif is_exact and isinstance(table, RawParts) and not is_whole(schema):
        from syntabula.table.parts.written_parts import with_signed_numbers_in_parts

        table = with_signed_numbers_in_parts(table)
    if is_whole(schema) and not any(column.nullable for column in schema.columns.values()):
        return table
    from syntabula.table.finite import finite_parts, finite_table

    return (
        finite_parts(table, tell=is_exact)
        if isinstance(table, RawParts)
        else finite_table(table, schema, tell=is_exact)
    )


def learned(rules: RowRules, table: RawTable | RawParts, *, strict: bool) -> RawTable | RawParts:
    """Return what is learned of a table; warns of rules that some of its rows break.

    Raises:
        DataError: If strict, and a row breaks a rule or a value of a column in an order is out of bounds.
    """
    if isinstance(table, RawParts):
        from syntabula.table.parts.learned_parts import RulesFold, learned_parts

        fold = RulesFold(rules)
        state = table.fold(fold)
        _tell_of_rules(fold.broken(state), fold.clipped(state), strict=strict)
        return learned_parts(table, rules)
    broken = [rule for rule, rows in rules.broken_by(table.columns, table.n_rows).items() if rows.any()]
    learned, clipped = rules.learned_table(table)
    _tell_of_rules(broken, clipped, strict=strict)
    return learned


def _tell_of_rules(broken: Sequence[str], clipped: dict[str, int], *, strict: bool) -> None:
    """Warn of rules that some rows break, and of values out of bounds; refuse them if strict."""
    outside = Coercions(clipped=clipped).describe()
    if broken:
        outside.append(
            f"rules that some rows of the table break: {'; '.join(broken)}. Synthetic rows satisfy them all the same; "
            "`syntabula evaluate --schema` gives the share of rows that break each"
        )
    if strict and outside:
        raise DataError(
            f"strict reading failed. {'; '.join(outside)}. Correct the table or the rules, or read without strict. This "
            "failure depends on the data and is not covered by the privacy guarantee"
        )
    for sentence in outside:
        warn_caller(CoercionWarning(sentence))


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table in the codes of a codec.

    Attributes:
        engine: Counts it.
        coercions: What did not fit the codec.
        units: Whom the records are about, if a schema names units.
        with_calendars: Counts it with the weekdays and hours of some columns (`table.coding.calendar_codes`); None if
            there are none.
    """

    engine: CountingEngine
    coercions: Coercions
    units: Units | LateUnits | None
    with_calendars: CountingEngine | None


def encoded(
    method: Settings,
    table: RawTable | RawParts,
    codec: Codec,
    units: Units | LateUnits | None,
    *,
    strict: bool,
    found: Collection[str],
    let_go: bool,
    calendars: Sequence[str] = (),
) -> Encoded:
    """Return the encoded table, as an engine counts it.

    Of a table in parts, all pairs of columns are counted now, in the pass that finds what does not fit. With `let_go`, a
    table in memory is empty afterwards. `calendars` are the columns whose weekdays and hours may be counted, too.
    """
    limit = method.memory_mb
    if isinstance(table, RawTable):
        if calendars:
            from syntabula.table.coding.calendar_codes import encoded_with_calendars

            every, coercions = encoded_with_calendars(
                codec, calendars, table, strict=strict, found=found, let_go=let_go
            )
            rows = EncodedTable(codec.domain, every.codes[: len(codec.domain)])
        else:
            rows, coercions = codec.encode(table, strict=strict, found=found, let_go=let_go)
            every = rows
        if let_go:
            table.columns.clear()
        if isinstance(units, Units) and coercions.kept is not None:
            units = units.take(coercions.kept)
        with_calendars = engine_for(every, limit_mb=limit) if calendars else None
        return Encoded(engine_for(rows, limit_mb=limit), coercions, units, with_calendars)
    from syntabula.marginals.passes import PassEngine
    from syntabula.table.parts.encoded_parts import EncodedParts

    parts = EncodedParts(table, codec, found)
    engine = PassEngine(parts, codec.domain, limit_mb=limit)
    engine.read()
    # Most methods ask for nothing further, and have the memory for themselves.
    table.end_processes()
    assert parts.coercions is not None
    if strict:
        parts.coercions.require_none()
    if isinstance(units, LateUnits) and parts.coercions.records_left_out:
        units = replace(units, read=partial(_units_left, units, parts))
    with_calendars = None
    if calendars:
        from syntabula.table.coding.calendar_codes import calendar_domain

        # Whether anything is asked of it is known later; then that is a pass of its own.
        coded = EncodedParts(table, codec, found, calendars)
        domain = calendar_domain(codec, calendars)
        with_calendars = PassEngine(coded, domain, limit_mb=limit, keep_ways=0)
    return Encoded(engine, parts.coercions, units, with_calendars)


def _units_left(units: LateUnits, parts: EncodedParts) -> Units:
    return units.read().take(parts.left())


def doors_to(curator: Curator, codec: Codec) -> Doors:
    """Return the doors to a table that a codec wrote, for which a curator answers."""
    return Doors(curator, partial(_texts, codec), partial(_weekdays, codec))


def _texts(codec: Codec) -> Mapping[str, Sequence[str]]:
    # Only models of texts ask for them.
    from syntabula.table.coding.code_texts import code_texts

    return code_texts(codec)


def _weekdays(codec: Codec) -> Mapping[str, FloatArray]:
    # Only trees ask for them.
    from syntabula.table.coding.code_weekdays import code_weekdays

    return code_weekdays(codec)
