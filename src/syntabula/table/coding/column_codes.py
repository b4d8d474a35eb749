"""Encodes the values of one column, each independently and without failure, and decodes the codes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import Roundness
from syntabula.bins.spread import Spread
from syntabula.bins.uniform import Bins, integer_dtype
from syntabula.table.coding.values_within import InBins, ordered_values, present_codes
from syntabula.table.frames.object_columns import object_array
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.repeated_texts import RepeatedTexts
from syntabula.table.schema.columns import Boolean, Categorical, Column, Identifier, Label, Ordered

if TYPE_CHECKING:
    from syntabula.table.coding.conditions import Allowed


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
    counts = {"missing": 0 if column.nullable else int(raw.missing.size - present.sum()) - n_unreadable}
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
    if isinstance(column, Categorical) and column.open:
        codes[unreadable] = column.n_values - 1
        present |= unreadable
    n_strange = counts.get("unknown", 0) + counts.get("unreadable", 0)
    none_fits = 0 < n_strange == n_unreadable + cells.shape[0]
    return ReadColumn(codes, np.ones_like(present) if column.nullable else present, counts, none_fits)


def ordered_points(column: Ordered, raw: RawColumn) -> tuple[NDArray[Any], int]:
    """Return the present values of an ordered column as points of its domain, and the number of missing cells.

    Args:
        column: Declares the grid and the bounds; values outside are clipped to the nearest bound.
        raw: The column as read.

    Returns:
        [n] grid points as 64-bit integers, or float64 if the column has no grid; number of missing cells.
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
    within: Spread | Roundness | None,
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
    present, missing = present_codes(column, codes, None)
    index = present.astype(np.intp)
    if isinstance(column, Categorical):
        return _labels(column, index, missing)
    assert isinstance(column, Boolean)
    return RawColumn(index.astype(np.bool_), missing, PhysicalType("boolean", column.spelling))


def _labels(column: Categorical, index: NDArray[np.intp], missing: NDArray[np.bool_]) -> RawColumn:
    labels = column.labels
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


def surrogates(column: Identifier, missing: NDArray[np.bool_], first_row: int) -> RawColumn:
    """Return running numbers, written as the column declares, or keys of its pattern.

    Args:
        column: The declaration.
        missing: Which cells are missing [n].
        first_row: Position of the first of these rows in the whole table; its running number is this plus 1.
    """
    if column.pattern is not None:
        from syntabula.table.schema.key_patterns import KeyPattern

        keys = KeyPattern.of(column.pattern).drawn(first_row, missing.size)
        if column.integer:
            whole = np.array([int(key) for key in keys], dtype=np.int64)
            return RawColumn(whole, missing, PhysicalType("integer", "int64"))
        return RawColumn(object_array(keys), missing, PhysicalType("text", "str"))
    numbers = range(first_row + 1, first_row + missing.size + 1)
    if column.integer:
        return RawColumn(np.array(numbers, dtype=np.int64), missing, PhysicalType("integer", "int64"))
    width = column.width or 1
    values = np.empty(missing.size, dtype=object)
    values[:] = [f"{column.prefix}{i:0{width}d}" for i in numbers]
    return RawColumn(values, missing, PhysicalType("text", "str"))
