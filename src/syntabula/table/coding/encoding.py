"""Raw values of one column to codes: total, exact, and each value on its own."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import Bins, integer_dtype
from syntabula.table.raw import PhysicalKind, RawColumn
from syntabula.table.schema.column_codes import Binned, all_labels, n_codes
from syntabula.table.schema.columns import (
    MICROSECONDS,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Label,
    Numeric,
)

_DAY = MICROSECONDS["day"]


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """One column's codes [n], arbitrary where not valid, its counts of coercions, and whether no cell could be read."""

    codes: NDArray[np.int64]
    valid: NDArray[np.bool_]
    counts: dict[str, int]
    none_fits: bool


def encode_column(column: Column, raw: RawColumn, bins: Bins | None) -> ReadColumn:
    """Encode one column; total on every column that is stored as its kind reads.

    Args:
        column: Its declaration.
        raw: The column as read [n].
        bins: Its bins if it is ordered, else None.
    """
    present = _present(raw)
    unreadable = np.zeros_like(present) if raw.unreadable is None else raw.unreadable
    if isinstance(column, Identifier):
        # Whatever is written there, it is not missing.
        present, unreadable = present | unreadable, np.zeros_like(present)
    values = raw.values[present] if not present.all() else raw.values
    n_unreadable = int(unreadable.sum())
    counts = {"missing": 0 if column.nullable else int(raw.missing.size - present.sum()) - n_unreadable}
    # A cell that is no label of any type is an unlisted one.
    counts["unknown" if isinstance(column, Categorical) else "unreadable"] = n_unreadable
    known: NDArray[np.bool_] | None = None
    if bins is not None:
        assert isinstance(column, Binned)
        points, clipped, rounded = _grid_points(column, values, raw.physical.kind)
        counts |= {"clipped": clipped, "rounded": rounded}
        found = bins.codes(points)
    elif isinstance(column, Categorical):
        if column.label_type is float and raw.physical.kind == "decimal":
            values = values.astype(np.float64)
        labels = all_labels(column)
        found = _look_up(labels, values)
        known = found >= 0
        counts["unknown"] += int(known.size - known.sum())
        if column.open:
            found[~known] = len(labels) - 1
            known = None
    elif isinstance(column, Identifier):
        found = np.zeros(values.size, dtype=np.int64)
    else:
        found = values.astype(np.int64)
    codes = np.full(raw.missing.size, n_codes(column, bins) - 1, dtype=np.int64)
    if known is not None and not known.all():
        present[present] = known
        found = found[known]
    codes[present] = found
    if isinstance(column, Categorical) and column.open:
        codes[unreadable] = len(all_labels(column)) - 1
        present |= unreadable
    n_strange = counts.get("unknown", 0) + counts.get("unreadable", 0)
    none_fits = 0 < n_strange == n_unreadable + int(values.size)
    return ReadColumn(codes, np.ones_like(present) if column.nullable else present, counts, none_fits)


def ordered_points(column: Numeric | Date | Datetime, raw: RawColumn) -> tuple[NDArray[Any], int]:
    """Return the values of an ordered column that are not missing as points of its domain, and how many are.

    Args:
        column: Declares the grid and the bounds; values outside count as the nearest bound.
        raw: The column as read.

    Returns:
        [n] grid points as 64-bit integers, or float64 where the column has no grid; number of missing cells.
    """
    present = _present(raw)
    points, _, _ = _grid_points(column, raw.values[present], raw.physical.kind)
    return points, int(present.size - present.sum())


def _present(raw: RawColumn) -> NDArray[np.bool_]:
    """Return which cells hold a value, NaN being none."""
    present = ~raw.missing
    if raw.physical.kind == "float":
        present &= ~np.isnan(raw.values)
    elif raw.physical.kind == "decimal":
        present &= np.fromiter((not isinstance(v, Decimal) or not v.is_nan() for v in raw.values), np.bool_)
    return present


def _look_up(labels: tuple[Label, ...], values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each value in the labels, -1 where it is none of them.

    Python's equality is exact between integers, floats and decimals, so that one dictionary serves all types.
    """
    position = {label: code for code, label in enumerate(labels)}
    return np.fromiter(map(position.get, values.tolist(), repeat(-1)), np.int64, count=values.size)


def _grid_points(column: Binned, values: NDArray[Any], kind: PhysicalKind) -> tuple[NDArray[Any], int, int]:
    """Return values inside the domain (grid points if it has a grid), and how many were clipped, rounded."""
    if isinstance(column, Date):
        days = values if kind == "date" else values // _DAY
        return *_clip_integers(days, *column.grid()), 0
    if isinstance(column, Datetime):
        inside, clipped = _clip_integers(values, *column.bounds())
        return _clip_integers(inside // MICROSECONDS[column.resolution], *column.grid())[0], clipped, 0
    if column.integer:
        return _whole_numbers(values, kind, int(column.lower), int(column.upper))
    reals = values.astype(np.float64)
    inside = np.clip(reals, float(column.lower), float(column.upper)) + 0.0
    clipped = int((inside != reals).sum())
    grid = column.grid()
    if grid is None:
        return inside, clipped, 0
    assert column.decimals is not None
    points = np.rint(inside * 10.0**column.decimals).astype(np.int64)
    return _clip_integers(points, *grid)[0], clipped, 0


def _clip_integers(values: NDArray[Any], lower: int, upper: int) -> tuple[NDArray[Any], int]:
    """Clip 64-bit integers exactly, whatever the signs of type and bounds; return them and how many moved."""
    info = np.iinfo(values.dtype)
    dtype = integer_dtype(lower, upper)
    if lower > info.max or upper < info.min:
        nearest = lower if lower > info.max else upper
        return np.full(values.size, nearest, dtype=dtype), int(values.size)
    least, most = (values.dtype.type(b) for b in (max(lower, int(info.min)), min(upper, int(info.max))))
    inside = np.clip(values, least, most)
    return inside.astype(dtype), int((inside != values).sum())


def _whole_numbers(
    values: NDArray[Any], kind: PhysicalKind, lower: int, upper: int
) -> tuple[NDArray[Any], int, int]:
    if kind == "integer":
        return *_clip_integers(values, lower, upper), 0
    dtype = integer_dtype(lower, upper)
    if kind == "decimal":
        # Clipped first: the integer of a decimal with a huge exponent would fill the memory.
        inside = [min(max(v, lower), upper) for v in values.tolist()]
        clipped = sum(a != b for a, b in zip(inside, values.tolist(), strict=True))
        whole = [int(v) if isinstance(v, int) else int(v.to_integral_value()) for v in inside]
        rounded = sum(a != b for a, b in zip(whole, inside, strict=True))
        return np.array(whole, dtype=dtype), clipped, rounded
    whole_reals = np.rint(values)
    below, above = values < _float_at(lower, np.inf), values > _float_at(upper, -np.inf)
    between = ~(below | above)
    points = np.full(values.size, lower, dtype=dtype)
    points[above] = upper
    # Rounding cannot leave the bounds, as they are whole themselves.
    points[between] = whole_reals[between].astype(dtype)
    return points, int(values.size - between.sum()), int((whole_reals != values)[between].sum())


def _float_at(bound: int, direction: float) -> float:
    """Return the float nearest to an integer on one side of it (the integer itself if it is a float)."""
    near = float(bound)
    beyond = int(near) < bound if direction > 0 else int(near) > bound
    return float(np.nextafter(near, direction)) if beyond else near
