"""Draft a schema from the data, for experiments or for a person to correct.

Every domain is `observed`, which the privacy guarantee does not cover, until somebody who knows the columns replaces
it with public facts and changes its provenance.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import SchemaError
from syntabula.table import day_numbers
from syntabula.table.clock_numbers import are_clock_times
from syntabula.table.coding.levels import MOST_DECIMALS, are_rounded, bounds_around
from syntabula.table.draft_numbers import (
    note_of_accounts,
    note_of_amounts,
    note_of_codes,
    note_of_missing_code,
    note_of_open,
    note_of_step,
)
from syntabula.table.draft_texts import NO_VALUES, drafted_text
from syntabula.table.files.quoted_cells import with_quotes
from syntabula.table.frames.text_numbers import with_texts_read
from syntabula.table.key_names import REMEDY, is_key_name, is_of_persons
from syntabula.table.new_keys import (
    FEW_VALUES,
    MANY_VALUES,
    are_numbers_of_rows,
    identifier_of,
    key_of_units,
    number_key_of,
)
from syntabula.table.raw import Dialect, RawColumn, RawTable
from syntabula.table.read import read
from syntabula.table.rules.near_sums import NearSum
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.clock_columns import AS_NUMBER
from syntabula.table.schema.columns import (
    MAX_GRID,
    MICROSECONDS,
    SPELLINGS,
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Numeric,
    Time,
    time_zone,
    with_missing_text,
)
from syntabula.table.schema.schema import Schema, completed, is_whole, undeclared
from syntabula.table.schema.text_formats import NumberFormat, fitted_format, resolution_of

_MOST_ROWS_OF_A_KEY = 100
"""Values with more rows than this on average are not keys of persons."""

_CLOCK_NUMBERS = (
    "holds whole numbers that look like clock times, 905 for 09:05, so it is treated as such; if they are other numbers, "
    "declare it numeric"
)
_LIMITS_NOTE = (
    "holds numbers, and in some cells a text such as a limit, which `texts` lists; add others that may occur"
)
_UNIQUE_NOTE = (
    "differs in every row, as where there is one row a day, so its values are drawn without repetition; if two rows may "
    "have the same one, leave out `unique`"
)
_LEAST_UNIQUE = 50
_NO_CHANCE = 40
"""Values drawn evenly from a domain of n all differ with a probability below e^-20 if they are more than sqrt(40 n)."""
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_TIME = (dt.datetime.min - _EPOCH) // dt.timedelta(microseconds=1)
_LAST_TIME = (dt.datetime.max - _EPOCH) // dt.timedelta(microseconds=1)


def draft_schema(source: Any) -> tuple[Schema, list[str]]:
    """Draft a schema from a table.

    Args:
        source: A raw table, data frame, Arrow table or path of a file; every cell is looked at.

    Returns:
        A schema whose domains are all `observed`, and notes about choices that a person should check. One note lists
        all columns that it applies to; notes never show values.

    Raises:
        SchemaError: If a column holds mixed or nested values, durations, or text that is not valid Unicode;
            the message names the column and the remedy.
    """
    table = read(source)
    schema, notes, _ = draft_with_rules(replace(table, origin=with_quotes(table.origin, source)))
    return schema, notes


def draft_with_rules(table: RawTable) -> tuple[Schema, list[str], Rules | None]:
    """Draft a schema, and also return rules that hold in every row of the table; see `draft_schema`."""
    return draft_with_sums(table)[:3]


def draft_with_sums(table: RawTable) -> tuple[Schema, list[str], Rules | None, list[NearSum]]:
    """Draft a schema, and also return rules that hold in every row, and sums that hold in nearly every row."""
    from syntabula.table.finite import finite_table
    from syntabula.table.rules.ordered_names import told, unordered
    from syntabula.table.rules.proposals import proposed_rules, proposed_sums
    from syntabula.table.rules.told_rules import note_of_rules, note_of_sums

    table = day_numbers.with_days_read(with_texts_read(table))
    columns, noted = _drafted(table.columns)
    schema = Schema(columns, **_form_of_file(table))
    notes = [_note(names, note) for note, names in noted.items()]
    # As rows are held to them at a fit.
    finite = finite_table(table, schema)
    rules = proposed_rules(finite, schema)
    if rules is not None:
        notes.append(note_of_rules(rules))
    if sums := proposed_sums(finite, schema, rules):
        notes.append(note_of_sums(sums))
    ruled = replace(schema, rules=rules).compiled_rules
    named = [] if ruled is None else [{*condition.expression.columns} for condition in ruled.conditions]
    if pairs := unordered(schema.columns, {}, rules, named):
        notes.append(told(pairs))
    return schema, notes, rules, sums


def _form_of_file(table: RawTable) -> dict[str, Any]:
    """Return what nothing but a schema says of a text file; UTF-16 shows itself."""
    dialect = table.origin.dialect or Dialect()
    encoding = None if dialect.encoding in ("utf-8", "utf-16") else dialect.encoding
    return {"encoding": encoding, "quotes": "all" if dialect.every else None}


def whole_schema(table: RawTable, schema: Schema | None) -> Schema:
    """Return a schema of all columns of a table: as declared, or else drafted from the table.

    Raises:
        SchemaError: If the table does not fit the schema, or as `draft_schema`.
    """
    if schema is not None:
        schema.check_table(table)
    if is_whole(schema):
        return schema
    found = {name: table.columns[name] for name in undeclared(table.columns, schema)}
    return completed(schema, table.columns, _drafted(found)[0])


def _drafted(columns: Mapping[str, RawColumn]) -> tuple[dict[str, Column], dict[str, list[str]]]:
    """Return the columns' domains, and the notes, each with the names of its columns."""
    drafted: dict[str, Column] = {}
    noted: dict[str, list[str]] = {}
    has_order = False
    for name, raw in columns.items():
        of_persons = is_of_persons(name, is_number=raw.physical.kind != "text")
        repeats = (of_persons or is_key_name(name)) and _repeats_keys(raw)
        names_persons = repeats and of_persons and raw.physical.kind != "float"
        names_others = repeats and not of_persons and _has_many_texts(raw)
        key_of = _key_of_person if names_persons else _key_of_others if names_others else None
        try:
            column, note = _draft_column(name, raw) if key_of is None else (key_of(raw), None)
            drafted[name] = with_missing_text(_in_format(column, raw.physical.format), raw.physical)
        except SchemaError as error:
            raise SchemaError(f"column {name!r}: {error}") from None
        drawn = drafted[name]
        if isinstance(drawn, Date | Datetime) and drawn.unique:
            if has_order:
                # Rows have one order.
                drafted[name], note = replace(drawn, unique=False), None if note == _UNIQUE_NOTE else note
            has_order = True
        if note:
            noted.setdefault(note, []).append(name)
        if repeats:
            so = ", so it is treated as an identifier" if names_persons or names_others else ""
            noted[f"holds keys with several rows each{so}; {REMEDY.format(name=name)}"] = [name]
    return drafted, noted


def _in_format(column: Column, format: str | None) -> Column:
    """Return a column with the format in which its cells are written."""
    if format is None:
        return column
    if isinstance(column, Categorical) and column.label_type is int and not NumberFormat.of(format).is_usual:
        # Categories have no format, in which alone their cells could be read.
        numbers = [int(label) for label in column.categories]
        column = Numeric(
            min(numbers), max(numbers), integer=True, nullable=column.nullable, provenance=column.provenance
        )
    match column:
        case Date():
            resolution: Any = resolution_of(format)
            return replace(column, format=format, resolution=resolution)
        case Time(format="1435"):
            return column
        case Datetime() | Time():
            return replace(column, format=fitted_format(format, column.resolution))
        case Numeric():
            decimals = 0 if column.integer else column.decimals
            return replace(column, format=NumberFormat.of(format).for_decimals(format, decimals))
    return column


def _repeats_keys(raw: RawColumn) -> bool:
    """Return whether a column has many values, most of them with a few rows each."""
    if raw.physical.kind not in ("integer", "float", "text"):
        return False
    present = raw.values[~raw.missing]
    distinct = len(set(present.tolist()))
    return distinct > FEW_VALUES and distinct < present.size <= _MOST_ROWS_OF_A_KEY * distinct


def _has_many_texts(raw: RawColumn) -> bool:
    """Return whether a column holds so many different texts that none of them is a category."""
    return raw.physical.kind == "text" and len(set(raw.values[~raw.missing].tolist())) > MANY_VALUES


def _key_of_others(raw: RawColumn) -> Identifier:
    """Return the domain of keys of orders, stores and the like, which come again as often as they do here."""
    texts = Counter(raw.values[~raw.missing].tolist())
    return identifier_of(texts, nullable=bool(raw.missing.any()), provenance="observed")


def _key_of_person(raw: RawColumn) -> Identifier:
    """Return the domain of keys of persons, none of which a draft should list."""
    nullable = bool(raw.missing.any())
    return key_of_units(raw.values[~raw.missing], nullable=nullable, provenance="observed")


def _note(names: list[str], note: str) -> str:
    if len(names) == 1:
        return f"column {names[0]!r}: {note}"
    return f"columns {', '.join(map(repr, names))}: each {note}"


def _draft_column(name: str, raw: RawColumn) -> tuple[Column, str | None]:
    if raw.beside is not None:
        texts = tuple(raw.beside.distinct.tolist()[1:])
        nullable = bool((raw.missing & (raw.beside.places == 0)).any())
        return replace(_numbers(raw), texts=texts, nullable=nullable), _LIMITS_NOTE
    present = ~raw.missing
    if raw.physical.kind == "float":
        present &= ~np.isnan(raw.values)
    elif raw.physical.kind == "decimal":
        present &= np.fromiter((isinstance(v, Decimal) and v.is_finite() for v in raw.values), np.bool_)
    values = raw.values[present]
    nullable = bool(values.size < raw.missing.size or not values.size)
    note = None if values.size else NO_VALUES
    if raw.physical.format in day_numbers.FORMATS.values():
        note = day_numbers.NOTE
    match raw.physical.kind:
        case "boolean":
            name = raw.physical.name
            spelling = name if name in SPELLINGS else SPELLINGS[0]
            return Boolean(spelling=spelling, nullable=nullable, provenance="observed"), note
        case "text":
            return drafted_text(raw)
        case "integer":
            column, inner = _whole(name, values, nullable)
            if raw.physical.order and isinstance(column, Categorical):
                held = {*column.categories}
                column = replace(column, categories=tuple(x for x in raw.physical.order if x in held))
            return column, inner or note_of_open(raw.physical, values)
        case "float":
            column, inner = _real(name, values, nullable)
            return column, inner or note_of_amounts(raw.physical, getattr(column, "decimals", None))
        case "decimal":
            return _decimal(name, values, nullable)
        case "date":
            days = (values.min(), values.max()) if values.size else (0, 0)
            low, high = (_EPOCH.date() + dt.timedelta(days=int(d)) for d in days)
            return _unique(Date(low, high, nullable=nullable, provenance="observed"), values, note)
        case "time":
            if note is None and raw.physical.format == "%H%M":
                note = "holds digits that look like clock times; if they are codes, declare it categorical"
            return _clock(values, nullable), note
        case "datetime":
            column, zone_note = _times(values, raw.physical.timezone, nullable)
            return _unique(column, values, note or zone_note)
    raise SchemaError(raw.physical.without_domain)


def _numbers(raw: RawColumn) -> Numeric:
    """Return the domain of the numbers of a column, whatever else they look like."""
    values = raw.values[~raw.missing]
    whole = raw.physical.kind == "integer"
    column, _ = (_whole if whole else _real)("", values, False)
    if isinstance(column, Numeric):
        return column
    return Numeric(values.min(), values.max(), integer=whole, provenance="observed")


def _whole(name: str, values: NDArray[Any], nullable: bool) -> tuple[Column, str | None]:
    if not values.size:
        return Numeric(0, 0, integer=True, nullable=True, provenance="observed"), NO_VALUES
    distinct = np.unique(values)
    low, high = int(distinct[0]), int(distinct[-1])
    if distinct.size <= FEW_VALUES:
        labels = tuple(int(v) for v in distinct)
        return Categorical(labels, nullable=nullable, provenance="observed"), None
    if are_clock_times(name, distinct):
        return Time(format=AS_NUMBER, nullable=nullable, provenance="observed"), _CLOCK_NUMBERS
    if distinct.size == values.size and (is_key_name(name) or are_numbers_of_rows(values.size, low, high)):
        key = number_key_of(values, nullable=nullable, provenance="observed")
        by = "running numbers" if key.pattern is None else "new numbers of as many digits"
        return key, (
            f"differs in every row, so it is treated as an identifier and replaced by {by}; declare it numeric to "
            "learn it"
        )
    note = note_of_missing_code(distinct) or note_of_codes(distinct.size, values.size, high - low)
    note = note or note_of_step(distinct) or note_of_accounts(values, distinct.size)
    return Numeric(low, high, integer=True, nullable=nullable, provenance="observed"), note


def _real(name: str, values: NDArray[Any], nullable: bool) -> tuple[Column, str | None]:
    finite = values[np.isfinite(values)]
    note = None
    if finite.size < values.size:
        nullable, note = True, "holds infinite values, which count as missing"
    if not finite.size:
        return Numeric(0.0, 0.0, nullable=nullable, provenance="observed"), note or NO_VALUES
    low, high = float(finite.min()), float(finite.max())
    whole = bool((np.rint(finite) == finite).all()) and max(abs(low), abs(high)) <= 2**53
    if whole and nullable:
        # Integers become floats if one is missing.
        column, inner = _whole(name, finite.astype(np.int64), nullable)
        return column, note or inner or "holds only whole numbers, so it is treated as integer"
    decimals = _decimals(finite, max(abs(low), abs(high)))
    width = math.inf if decimals is None else (high - low) * 10.0**decimals
    low, high = (low, high) if decimals is None else bounds_around(low, high, decimals)
    distinct = np.unique(finite)
    note = note or note_of_missing_code(distinct)
    note = note or note_of_codes(distinct.size, finite.size, width) or note_of_step(distinct, decimals)
    return Numeric(low, high, decimals=decimals, nullable=nullable, provenance="observed"), note


def _decimals(values: NDArray[Any], magnitude: float) -> int | None:
    for decimals in range(MOST_DECIMALS + 1):
        scale = 10.0**decimals
        if magnitude * scale > MAX_GRID:
            return None
        if are_rounded(values, decimals).all():
            return decimals
    return None


def _decimal(name: str, values: NDArray[Any], nullable: bool) -> tuple[Column, str | None]:
    whole = all(v == v.to_integral_value() for v in values)
    if whole and all(-(2**63) <= v < 2**63 for v in values):
        return _whole(name, np.array([int(v) for v in values], dtype=np.int64), nullable)
    return _real(name, values.astype(np.float64), nullable)


def _clock(values: NDArray[Any], nullable: bool) -> Column:
    # Both bounds of a day are known.
    resolution: Any = next(
        unit for unit, length in MICROSECONDS.items() if unit != "day" and not (values % length).any()
    )
    resolution = "minute" if resolution == "hour" else resolution
    return Time(resolution=resolution, nullable=nullable, provenance="observed")


def _unique(column: Date | Datetime, values: NDArray[Any], note: str | None) -> tuple[Column, str | None]:
    """Return a column as one that no two rows share, with a note, if its values hardly differ by chance."""
    first, last = column.grid()
    if column.nullable or values.size < _LEAST_UNIQUE or values.size**2 < _NO_CHANCE * (last - first + 1):
        return column, note
    if np.unique(values).size < values.size:
        return column, note
    return replace(column, unique=True), note or _UNIQUE_NOTE


def _times(values: NDArray[Any], zone: str | None, nullable: bool) -> tuple[Datetime, str | None]:
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    resolution: Any = next(unit for unit, length in MICROSECONDS.items() if not (values % length).any())
    note = None
    if zone is not None:
        try:
            time_zone(zone)
        except SchemaError:
            zone, note = (
                "UTC",
                "has a time zone that is unknown on this machine; synthetic values will be in UTC",
            )
    ends = (_EPOCH + dt.timedelta(microseconds=min(max(m, _FIRST_TIME), _LAST_TIME)) for m in (low, high))
    lower, upper = (m if zone is None else m.replace(tzinfo=dt.UTC) for m in ends)
    column = Datetime(
        lower, upper, timezone=zone, resolution=resolution, nullable=nullable, provenance="observed"
    )
    return column, note
