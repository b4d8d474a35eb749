"""Raw values to small integer codes and back, by the declared domain alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import repeat
from types import MappingProxyType
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from syntabula.discretize.spread import Spread
from syntabula.discretize.uniform import Bins, UniformBins, integer_dtype
from syntabula.discretize.within_bin import normal_within, uniform_within
from syntabula.errors import DataError, SchemaError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable, code_dtype
from syntabula.table.columns import (
    MICROSECONDS,
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Label,
    Numeric,
)
from syntabula.table.raw import PhysicalKind, PhysicalType, RawColumn, RawTable
from syntabula.table.schema import Schema

Binned = Numeric | Date | Datetime
_DAY = MICROSECONDS["day"]

_SENTENCES = {
    "clipped": "some values lie outside the declared bounds and count as the nearest bound",
    "rounded": "some values of an integer column are not whole and were rounded",
    "unknown": "some values are not declared categories and count as other, as missing, or drop their record",
    "missing": "some cells are missing though the column is not nullable, and their records are left out",
}


@dataclass(frozen=True, repr=False)
class Coercions:
    """What did not fit the declared domain: exact counts, for the operator's eyes only, never for release.

    Attributes:
        clipped: Per column, number of values outside the bounds.
        rounded: Per column, number of values that are not whole though declared integer.
        unknown: Per column, number of values that are no declared category.
        missing: Per column, number of missing cells of a column that is not nullable.
        records_left_out: Number of records that could not be encoded.
    """

    clipped: Mapping[str, int] = field(default_factory=dict)
    rounded: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    records_left_out: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns with any coercion."""
        return tuple(dict.fromkeys(name for kind in _SENTENCES for name in getattr(self, kind)))

    def describe(self) -> list[str]:
        """Return one sentence per column and kind of coercion, without counts or values."""
        return [f"column {n!r}: {text}" for kind, text in _SENTENCES.items() for n in getattr(self, kind)]

    def __bool__(self) -> bool:
        return bool(self.columns)

    def __repr__(self) -> str:
        return f"Coercions(columns={list(self.columns)})"


@dataclass(frozen=True)
class Codec:
    """One coder per learned column of a schema; identifiers are not learned.

    Codes of a column: its bins or categories in order, then "other" if it is open, then missing if it is
    nullable. Nothing about a codec depends on data, unless bins were privately fitted and paid for elsewhere.

    Attributes:
        schema: Declared columns.
        bins: Bins of every numeric, date and datetime column, in grid points where the column has a grid.
        spreads: How the values of some of these columns lie within their bins; evenly if not given.

    Raises:
        SchemaError: If nothing is left to learn, or bins are missing, needless or do not span the domain.
    """

    schema: Schema
    bins: Mapping[str, Bins] = field(repr=False)
    spreads: Mapping[str, Spread] = field(default_factory=dict, repr=False)
    domain: Domain = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", MappingProxyType(dict(self.bins)))
        needed = {n for n, c in self.schema.columns.items() if isinstance(c, Binned)}
        if needed != set(self.bins):
            raise SchemaError(f"bins do not match the columns {sorted(needed ^ set(self.bins))}")
        for name, bins in self.bins.items():
            lower, upper, integer = _span(self.schema[name])
            if bins.integer != integer or bins.edges[0] != lower or bins.edges[-1] != upper + integer:
                raise SchemaError(f"bins of column {name!r} do not span its declared domain")
        object.__setattr__(self, "spreads", MappingProxyType(dict(self.spreads)))
        for name, spread in self.spreads.items():
            if name not in self.bins or len(spread.means) != self.bins[name].size:
                raise SchemaError(f"the spread of column {name!r} does not fit its bins")
        sizes = {n: _size(c, self.bins.get(n)) for n, c in self._learned().items()}
        if not sizes:
            raise SchemaError("the schema has no column to learn from; declare one that is no identifier")
        object.__setattr__(self, "domain", Domain.from_sizes(sizes))

    @classmethod
    def plan(
        cls,
        schema: Schema,
        *,
        bins: int = 100,
        fitted: Mapping[str, Bins] | None = None,
        spreads: Mapping[str, Spread] | None = None,
    ) -> Self:
        """Make a codec with uniform bins, before any data is read.

        Args:
            schema: Declared columns.
            bins: Number of bins of columns that do not state their own; an integer column, date or datetime
                with no more values than that keeps one code per value.
            fitted: Bins of some columns from another discretiser, used instead.
            spreads: How the values of some columns lie within their bins.

        Returns:
            The codec.

        Raises:
            ArgumentError: If `bins` is not an integer from 1 to a million.
            SchemaError: If the schema has nothing to learn, or fitted bins do not fit it.
        """
        UniformBins(bins)
        chosen = dict(fitted or {})
        for name, column in schema.columns.items():
            if isinstance(column, Binned) and name not in chosen:
                lower, upper, integer = _span(column)
                count = bins if column.bins is None else column.bins
                chosen[name] = UniformBins(count).bins(lower, upper, integer=integer)
        return cls(schema, chosen, spreads or {})

    def encode(self, table: RawTable, *, strict: bool = False) -> tuple[EncodedTable, Coercions]:
        """Encode a table; total on every table whose columns are stored as the schema says.

        Values outside the bounds count as the nearest bound, unlisted categories as "other" if the column is
        open, else as missing if it is nullable. A record that still has a cell without a code is left out.
        Whether it is depends on that record alone, so adding or removing one record of the raw table changes
        at most one record of the encoded table, and the guarantee carries over (a 1-stable transformation).

        Args:
            table: Table to encode.
            strict: Whether to raise instead of coercing. Such a failure depends on the data and is not
                covered by the guarantee.

        Returns:
            Codes of the learned columns, and what was coerced (not for release).

        Raises:
            SchemaError: If column names or stored types do not fit the schema.
            DataError: In strict mode, if anything had to be coerced; names columns, never values.
        """
        self.schema.check_table(table)
        kept = np.ones(table.n_rows, dtype=np.bool_)
        codes: dict[str, NDArray[Any]] = {}
        counts: dict[str, dict[str, int]] = {kind: {} for kind in _SENTENCES}
        for name, column in self._learned().items():
            read = _encode_column(column, table.columns[name], self.bins.get(name))
            kept &= read.valid
            codes[name] = read.codes.astype(code_dtype(self.domain.size(name)))
            for kind, count in read.counts.items():
                if count:
                    counts[kind][name] = count
        coercions = Coercions(**counts, records_left_out=int(kept.size - kept.sum()))
        if strict and coercions:
            raise DataError(
                f"strict reading failed. {'; '.join(coercions.describe())}. Correct the table, widen the "
                "bounds or categories, declare the column open or nullable, or read without strict. This "
                "failure depends on the data and is not covered by the privacy guarantee"
            )
        if coercions.records_left_out:
            codes = {name: array[kept] for name, array in codes.items()}
        return EncodedTable.from_mapping(self.domain, codes), coercions

    def decode(self, table: EncodedTable, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Turn codes into values of the declared kinds.

        Args:
            table: Codes over this codec's domain.
            rng: Source of ordinary randomness for values within bins.

        Returns:
            One column per column of the schema, in its order; identifiers are running numbers from 1.
            Encoding the values again gives the same codes.

        Raises:
            DataError: If the table has another domain.
        """
        if table.domain != self.domain:
            raise DataError(
                "the encoded table has another domain than the codec; encode it with the same codec"
            )
        decoded = {}
        for name, column in self.schema.columns.items():
            if isinstance(column, Identifier):
                decoded[name] = _surrogates(column, table.n_rows)
            else:
                bins, spread = self.bins.get(name), self.spreads.get(name)
                decoded[name] = _decode_column(column, table.column(name), bins, spread, rng)
        return decoded

    def to_json(self) -> dict[str, Any]:
        """Return all that rebuilds the codec as a dictionary of JSON values."""
        # The outer edges follow from the schema, and one of them may exceed 64 bits.
        cuts = {n: list(b.cuts) for n, b in self.bins.items()}
        spreads = {n: [list(s.means), list(s.deviations)] for n, s in self.spreads.items()}
        return {"schema": self.schema.to_json(), "cuts": cuts} | ({"spreads": spreads} if spreads else {})

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Rebuild a codec from what `to_json` returned; raises SchemaError on anything else."""
        if not isinstance(document, Mapping) or set(document) - {"spreads"} != {"schema", "cuts"}:
            raise SchemaError("a codec is a mapping with the keys 'schema' and 'cuts', and perhaps 'spreads'")
        schema = Schema.from_json(document["schema"])
        try:
            cuts = msgspec.convert(document["cuts"], dict[str, list[int | float]])
            read = msgspec.convert(document.get("spreads", {}), dict[str, tuple[list[float], list[float]]])
        except msgspec.ValidationError as error:
            raise SchemaError(f"the cuts or spreads of a codec cannot be read: {error}") from None
        bins = {}
        for name, inner in cuts.items():
            lower, upper, integer = _span(schema[name])
            bins[name] = Bins((lower, *inner, upper + integer), integer=integer)
        return cls(schema, bins, {n: Spread(tuple(m), tuple(d)) for n, (m, d) in read.items()})

    def _learned(self) -> dict[str, Column]:
        return {n: c for n, c in self.schema.columns.items() if not isinstance(c, Identifier)}


@dataclass(frozen=True, eq=False)
class _Read:
    """One column's codes [n], arbitrary where not valid, and its counts of coercions."""

    codes: NDArray[np.int64]
    valid: NDArray[np.bool_]
    counts: dict[str, int]


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


def _span(column: Column) -> tuple[Any, Any, bool]:
    """Return first and last value of a binned column, and whether they are grid points (integers)."""
    if not isinstance(column, Binned):
        raise SchemaError(f"a {column.kind} column has no bins")
    grid = column.grid()
    if grid is not None:
        return *grid, True
    assert isinstance(column, Numeric)
    return float(column.lower), float(column.upper), False


def _size(column: Column, bins: Bins | None) -> int:
    if bins is not None:
        values = bins.size
    elif isinstance(column, Categorical):
        values = len(column.categories) + column.open
    else:
        values = 2
    return values + column.nullable


def _encode_column(column: Column, raw: RawColumn, bins: Bins | None) -> _Read:
    present = _present(raw)
    values = raw.values[present] if not present.all() else raw.values
    counts = {"missing": 0 if column.nullable else int(raw.missing.size - present.sum())}
    known: NDArray[np.bool_] | None = None
    if bins is not None:
        assert isinstance(column, Binned)
        points, clipped, rounded = _grid_points(column, values, raw.physical.kind)
        counts |= {"clipped": clipped, "rounded": rounded}
        found = bins.codes(points)
    elif isinstance(column, Categorical):
        if column.label_type is float and raw.physical.kind == "decimal":
            values = values.astype(np.float64)
        labels = _all_labels(column)
        found = _look_up(labels, values)
        known = found >= 0
        counts["unknown"] = int(known.size - known.sum())
        if column.open:
            found[~known] = len(labels) - 1
            known = None
    else:
        found = values.astype(np.int64)
    codes = np.full(raw.missing.size, _size(column, bins) - 1, dtype=np.int64)
    if known is not None and not known.all():
        present[present] = known
        found = found[known]
    codes[present] = found
    return _Read(codes, np.ones_like(present) if column.nullable else present, counts)


def _all_labels(column: Categorical) -> tuple[Label, ...]:
    """Return the label of every code but missing."""
    return (*column.categories, column.other_label) if column.open else column.categories


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


def _decode_column(
    column: Column,
    codes: NDArray[Any],
    bins: Bins | None,
    spread: Spread | None,
    rng: np.random.Generator,
) -> RawColumn:
    missing = np.zeros(codes.size, dtype=np.bool_)
    if column.nullable:
        missing = codes == _size(column, bins) - 1
    # Missing cells get some valid content, so that every array has its plain type.
    index = np.where(missing, 0, codes).astype(np.intp)
    if isinstance(column, Categorical):
        return _labels(column, index, missing)
    if isinstance(column, Boolean):
        return RawColumn(index.astype(np.bool_), missing, PhysicalType("boolean", "bool"))
    assert isinstance(column, Binned)
    assert bins is not None
    points = normal_within(bins, spread, index, rng) if spread else uniform_within(bins, index, rng)
    if isinstance(column, Date):
        return RawColumn(points, missing, PhysicalType("date", "date"))
    if isinstance(column, Datetime):
        zone = column.timezone
        name = "datetime64[us]" if zone is None else f"datetime64[us, {zone}]"
        physical = PhysicalType("datetime", name, timezone=zone)
        return RawColumn(points * MICROSECONDS[column.resolution], missing, physical)
    if column.integer:
        return RawColumn(points, missing, PhysicalType("integer", str(points.dtype)))
    if column.decimals is not None:
        points = points / 10.0**column.decimals
    return RawColumn(points, missing, PhysicalType("float", "float64"))


def _labels(column: Categorical, index: NDArray[np.intp], missing: NDArray[np.bool_]) -> RawColumn:
    labels = _all_labels(column)
    if column.label_type is str:
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return RawColumn(array[index], missing, PhysicalType("text", "str"))
    if column.label_type is bool:
        return RawColumn(np.array(labels, dtype=np.bool_)[index], missing, PhysicalType("boolean", "bool"))
    if column.label_type is float:
        return RawColumn(np.array(labels, dtype=np.float64)[index], missing, PhysicalType("float", "float64"))
    numbers = [int(v) for v in labels]
    values = np.array(numbers, dtype=integer_dtype(min(numbers), max(numbers)))
    return RawColumn(values[index], missing, PhysicalType("integer", str(values.dtype)))


def _surrogates(column: Identifier, n_rows: int) -> RawColumn:
    missing = np.zeros(n_rows, dtype=np.bool_)
    if column.integer:
        return RawColumn(np.arange(1, n_rows + 1), missing, PhysicalType("integer", "int64"))
    width = column.width or 1
    values = np.empty(n_rows, dtype=object)
    values[:] = [f"{column.prefix}{i:0{width}d}" for i in range(1, n_rows + 1)]
    return RawColumn(values, missing, PhysicalType("text", "str"))
