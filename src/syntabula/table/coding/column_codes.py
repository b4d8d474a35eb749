"""The codes of one column, and what became of values that do not fit its declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import Bins, integer_dtype
from syntabula.errors import DataError, SchemaError
from syntabula.table.coding.values_within import InBins, ordered_values, present_codes
from syntabula.table.frames.object_columns import object_array
from syntabula.table.raw import PhysicalType, RawColumn, RepeatedTexts
from syntabula.table.schema.columns import Boolean, Categorical, Column, Identifier, Label, Ordered

if TYPE_CHECKING:
    from syntabula.table.coding.conditions import Allowed
    from syntabula.table.coding.values_within import Within


COERCIONS = {
    "clipped": "some values lie outside the declared bounds and are clipped to the nearest bound",
    "rounded": "some values are not whole, or not multiples of the column's step, and were rounded",
    "unknown": "some values are not declared categories",
    "unreadable": "some cells cannot be read as the declared kind, or are infinite (days and times are read as in "
    "2024-01-31T10:00)",
    "missing": "some cells are missing though the column is not nullable, and their records are left out",
}
"""A sentence for each kind of coercion; for cells without a code, their outcome is added."""


def outcome(column: Column) -> str:
    """Return what happens to a cell that holds no value of a column's domain, by the declaration alone."""
    if isinstance(column, Categorical) and column.open:
        return "become the category for all others"
    return (
        "become missing"
        if column.nullable
        else "their records are left out, because the column is not nullable"
    )


_NONE = {
    "unknown": (
        "no value is a declared category, so all",
        "; check the kind and the categories in the schema",
    ),
    "unreadable": ("no cell can be read as the declared kind, so all", "; check the kind in the schema"),
}
"""Beginning and end of the sentence for columns in which no present cell has a code."""


@dataclass(frozen=True, repr=False)
class Coercions:
    """Cells that did not fit the declared domain: exact counts, only for the operator, never for release.

    Attributes:
        clipped: Per column, number of values outside the bounds.
        rounded: Per column, number of values that are not whole although declared integer, or off the grid of a step.
        unknown: Per column, number of values that are not declared categories.
        unreadable: Per column, number of cells that cannot be read as the declared kind, or are infinite and so count
            as missing.
        missing: Per column, number of missing cells of a column that is not nullable.
        records_left_out: Number of records that could not be encoded.
        outcomes: Per column, what happens to unknown and unreadable cells.
        none_fit: Columns in which all present cells are unknown or unreadable.
        kept: Which records of the table could be encoded [records].
    """

    clipped: Mapping[str, int] = field(default_factory=dict)
    rounded: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    records_left_out: int = 0
    outcomes: Mapping[str, str] = field(default_factory=dict)
    none_fit: tuple[str, ...] = ()
    kept: NDArray[np.bool_] | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns with any coercion."""
        return tuple(dict.fromkeys(name for kind in COERCIONS for name in getattr(self, kind)))

    def describe(self) -> list[str]:
        """Return one sentence for each coercion, with all of its columns, and without counts or values."""
        columns: dict[str, list[str]] = {}
        for kind, text in COERCIONS.items():
            for name in getattr(self, kind):
                lacks_code = kind in _NONE and name in self.outcomes
                begin, end = _NONE[kind] if lacks_code and name in self.none_fit else (f"{text} and", "")
                sentence = f"{begin} {self.outcomes[name]}{end}" if lacks_code else text
                columns.setdefault(sentence, []).append(repr(name))
        return [
            f"column{'s' if len(names) > 1 else ''} {', '.join(names)}: {sentence}"
            for sentence, names in columns.items()
        ]

    def require_none(self) -> None:
        """Raise DataError if there is any; the message names columns, never values."""
        if self:
            raise DataError(
                f"strict reading failed. {'; '.join(self.describe())}. Correct the table, widen the "
                "bounds or categories, declare the column open or nullable, or read without strict. This "
                "failure depends on the data and is not covered by the privacy guarantee"
            )

    def __bool__(self) -> bool:
        return bool(self.columns)

    def __repr__(self) -> str:
        return f"Coercions(columns={list(self.columns)})"


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """A column's codes [n], arbitrary where not valid, its counts of coercions, and whether no cell could be read."""

    codes: NDArray[np.int64]
    valid: NDArray[np.bool_]
    counts: dict[str, int]
    none_fits: bool


def encode_column(column: Column, raw: RawColumn, bins: Bins | None) -> ReadColumn:
    """Encode one column; never fails on a column stored in a type that its kind can read.

    Args:
        column: Its declaration.
        raw: The column as read [n].
        bins: Its bins if it is ordered, else None.
    """
    present = present_cells(raw)
    unreadable = np.zeros_like(present) if raw.unreadable is None else raw.unreadable
    if isinstance(column, Identifier):
        # Something is written there, so the cell is not missing.
        present, unreadable = present | unreadable, np.zeros_like(present)
    cells = raw.cells if present.all() else raw.cells[present]
    n_unreadable = int(unreadable.sum())
    beside = None if raw.beside is None else raw.beside.places.astype(np.int64)
    n_beside = 0 if beside is None else int(np.count_nonzero(beside))
    n_absent = int(raw.missing.size - present.sum()) - n_unreadable - n_beside
    counts = {"missing": 0 if column.nullable else n_absent}
    # A cell that cannot be read as a label counts as unlisted.
    counts["unknown" if isinstance(column, Categorical) else "unreadable"] = n_unreadable
    known: NDArray[np.bool_] | None = None
    if bins is not None:
        assert isinstance(column, Ordered)
        points, clipped, rounded = column.points(_values(cells), raw.physical.kind)
        counts |= {"clipped": clipped, "rounded": rounded}
        found = bins.codes(points)
    elif isinstance(column, Categorical):
        if column.label_type is float and raw.physical.kind == "decimal":
            cells = _values(cells).astype(np.float64)
        found = _look_up(column.labels, cells)
        known = found >= 0
        counts["unknown"] += int(known.size - known.sum())
        if column.open:
            found[~known] = column.n_values - 1
            known = None
    elif isinstance(column, Identifier):
        found = np.zeros(cells.shape, dtype=np.int64)
    else:
        found = _values(cells).astype(np.int64)
    codes = np.full(raw.missing.size, column.n_codes(bins) - 1, dtype=np.int64)
    if known is not None and not known.all():
        present[present] = known
        found = found[known]
    codes[present] = found
    if beside is not None and bins is not None:
        held = beside > 0
        codes[held] = bins.size - 1 + beside[held]
        present |= held
    if isinstance(column, Categorical) and column.open:
        codes[unreadable] = column.n_values - 1
        present |= unreadable
    n_strange = counts.get("unknown", 0) + counts.get("unreadable", 0)
    none_fits = 0 < n_strange == n_unreadable + n_beside + cells.shape[0]
    return ReadColumn(codes, np.ones_like(present) if column.nullable else present, counts, none_fits)


def ordered_points(column: Ordered, raw: RawColumn) -> tuple[NDArray[Any], int]:
    """Return the present values of an ordered column as points of its domain, and the number of missing cells.

    Args:
        column: Declares the grid and the bounds; values outside are clipped to the nearest bound.
        raw: The column as read.

    Returns:
        [n] grid points as 64-bit integers, or float64 if the column has no grid; number of other cells.
    """
    present = present_cells(raw)
    points, _, _ = column.points(raw.values[present], raw.physical.kind)
    return points, int(present.size - present.sum())


def present_cells(raw: RawColumn) -> NDArray[np.bool_]:
    """Return which cells hold a value; NaN is not a value."""
    present = ~raw.missing
    if raw.physical.kind == "float":
        present &= ~np.isnan(raw.values)
    elif raw.physical.kind == "decimal":
        present &= np.fromiter((not isinstance(v, Decimal) or not v.is_nan() for v in raw.values), np.bool_)
    return present


def _values(cells: NDArray[Any] | RepeatedTexts) -> NDArray[Any]:
    return cells.texts() if isinstance(cells, RepeatedTexts) else cells


def _look_up(labels: tuple[Label, ...], values: NDArray[Any] | RepeatedTexts) -> NDArray[np.int64]:
    """Return the position of each value in the labels, or -1 if it is not a label.

    Python's equality is exact between integers, floats and decimals, so one dictionary serves all types.
    """
    if isinstance(values, RepeatedTexts):
        found: NDArray[np.int64] = _look_up(labels, values.distinct)[values.places]
        return found
    position = {label: code for code, label in enumerate(labels)}
    return np.fromiter(map(position.get, values.tolist(), repeat(-1)), np.int64, count=values.size)


def satisfies(column: Column, raw: RawColumn, condition: Allowed) -> NDArray[np.bool_]:
    """Return which cells of a column satisfy a condition."""
    present = present_cells(raw)
    found = np.full(present.size, condition.missing) & ~present
    if isinstance(column, Ordered):
        if raw.beside is not None:
            held = raw.beside.places > 0
            found[held] = np.isin(raw.beside.places[held], [code + 1 for code in condition.codes])
        points, _, _ = column.points(raw.values[present], raw.physical.kind)
        inside = np.zeros(points.size, np.bool_)
        for first, last in condition.spans:
            inside |= (points >= first) & (points < last)
        found[present] = inside
        return found
    codes = encode_column(column, raw, None).codes
    return np.asarray(found | (present & np.isin(codes, [*condition.codes])))


def decode_column(
    column: Column,
    codes: NDArray[Any],
    bins: Bins | None,
    within: Within | None,
    rng: np.random.Generator,
) -> RawColumn:
    """Turn codes [n] into values of the declared kind, whatever other columns hold.

    Args:
        column: Its declaration.
        codes: Codes as `encode_column` gives them.
        bins: Its bins if it is ordered, else None.
        within: How values lie within them; evenly if None.
        rng: Source of ordinary randomness for values within bins.
    """
    if not isinstance(column, Ordered):
        return decode_labels(column, codes)
    assert bins is not None
    return ordered_values({"": InBins.of(column, codes, bins, within)}, rng)[""]


def decode_labels(column: Column, codes: NDArray[Any]) -> RawColumn:
    """Turn codes [n] of a column of categories or flags into its values."""
    present, missing, _ = present_codes(column, codes, None)
    index = present.astype(np.intp)
    if isinstance(column, Categorical):
        return _labels(column, index, missing)
    assert isinstance(column, Boolean)
    return RawColumn(index.astype(np.bool_), missing, PhysicalType("boolean", column.spelling))


def _labels(column: Categorical, index: NDArray[np.intp], missing: NDArray[np.bool_]) -> RawColumn:
    labels, own_other = column.labels, column.code_of_own_other
    if own_other is not None:
        labels, index = column.categories, np.where(index == len(column.categories), own_other, index)
    if column.label_type is str:
        return RawColumn(
            RepeatedTexts.placed([*map(str, labels)], index), missing, PhysicalType("text", "str")
        )
    if column.label_type is bool:
        return RawColumn(np.array(labels, dtype=np.bool_)[index], missing, PhysicalType("boolean", "bool"))
    if column.label_type is float:
        return RawColumn(np.array(labels, dtype=np.float64)[index], missing, PhysicalType("float", "float64"))
    numbers = [int(v) for v in labels]
    values = np.array(numbers, dtype=integer_dtype(min(numbers), max(numbers)))
    return RawColumn(values[index], missing, PhysicalType("integer", str(values.dtype)))


def surrogates(
    name: str, column: Identifier, missing: NDArray[np.bool_], first_row: int, own: int = 0
) -> RawColumn:
    """Return running numbers, written as the column declares, or keys of its pattern.

    Args:
        name: Name of the column.
        column: The declaration.
        missing: Which cells are missing [n].
        first_row: Position of the first of these rows in the whole table; its running number is this plus 1.
        own: See `Codec.own_keys`.

    Raises:
        SchemaError: If its pattern has fewer different keys than there are rows.
    """
    from syntabula.table.schema.key_patterns import repeated_positions

    n = missing.size
    repeated = None if column.distinct is None else repeated_positions(first_row, n, column.distinct, name)
    if column.pattern is not None:
        pattern = column.keys(f"{name}\0{own:x}" if own else name)
        try:
            positions = pattern.positions(first_row, n) if repeated is None else repeated
        except SchemaError as error:
            raise SchemaError(f"column {name!r}: {error}") from None
        if column.integer:
            return RawColumn(pattern.numbers_at(positions), missing, PhysicalType("integer", "int64"))
        return RawColumn(object_array(pattern.at(positions)), missing, PhysicalType("text", "str"))
    numbers = np.arange(first_row, first_row + n) if repeated is None else repeated.astype(np.int64)
    numbers = numbers + 1
    if column.integer:
        return RawColumn(numbers, missing, PhysicalType("integer", "int64"))
    width = column.width or 1
    values = np.empty(n, dtype=object)
    values[:] = [f"{column.prefix}{i:0{width}d}" for i in numbers.tolist()]
    return RawColumn(values, missing, PhysicalType("text", "str"))
