"""Columns of numbers."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula.bins.uniform import integer_dtype
from syntabula.errors import SchemaError
from syntabula.table.raw import PhysicalKind, PhysicalType
from syntabula.table.schema.column_base import (
    BIN_COUNT,
    FLAG,
    Ordered,
    clip_integers,
    declare,
    integers_to,
    left_out,
    plain_bound,
    require_order,
    unless,
)
from syntabula.table.schema.number_formats import NumberFormat

MAX_DECIMALS = 15
MAX_GRID = 2**50
"""Largest grid point of a decimal column: up to it, x * 10**decimals rounds back to the same point in float64."""


@dataclass(frozen=True)
class Numeric(Ordered):
    """Numbers between two bounds, both included; others are clipped to the nearest bound.

    Any number between the bounds can appear in synthetic data. Declare numeric codes, such as 0, 1000 and 5000 if no
    others exist, as categorical.

    Attributes:
        lower: Lower bound. Integers are kept exactly, up to 64 bits.
        upper: Upper bound; may equal the lower one (a constant).
        integer: Whether values are whole numbers.
        decimals: Number of decimal places of values that are not integers; None for any.
        bins: Number of bins, to override the codec's default.
        format: The number 1234.5 as text files write it, in quotes: "1234,5" or "1.234,5" with a decimal comma,
            "1,234.50" to write all decimals, "1234.0" at least one, "$1,234" or "1.234,5 €" with a sign; files are read
            and written so.

    Raises:
        SchemaError: If bounds are reversed, not finite or too large, or arguments contradict each other.
    """

    kind: ClassVar[str] = "numeric"
    lower: int | float
    upper: int | float
    _: KW_ONLY
    integer: bool = False
    decimals: int | None = None
    bins: int | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        declare(self, integer=FLAG, bins=BIN_COUNT, decimals=left_out(count(0, MAX_DECIMALS)))
        if self.format is not None:
            self._check_format(NumberFormat.of(self.format))
        for side in ("lower", "upper"):
            object.__setattr__(self, side, plain_bound(side, getattr(self, side), self.integer))
        require_order(self.lower <= self.upper)
        if self.integer:
            # Each bound may fit a type that the other does not.
            integer_dtype(int(self.lower), int(self.upper))
        if self.decimals is not None:
            self._check_decimals(self.decimals)

    def _check_format(self, form: NumberFormat) -> None:
        whole = self.integer or self.decimals == 0
        if not form.mark and not whole:
            raise SchemaError("format has no decimal mark, but the column is not integer; write 1234.5 in it")
        if form.places == "50" and self.decimals is None:
            raise SchemaError(
                "format writes all decimals, but their number is not declared; declare `decimals`, or end the format "
                "in 5 to write as many as a number needs"
            )

    def _check_decimals(self, decimals: int) -> None:
        if self.integer:
            raise SchemaError("integer columns cannot have decimals; drop one of the two")
        low, high = self._decimal_grid(decimals)
        if low > high:
            raise SchemaError("no number with that many decimals lies within the bounds; allow more decimals")
        if max(abs(low), abs(high)) > MAX_GRID:
            raise SchemaError(
                "bounds this large cannot keep that many decimals exactly; allow fewer decimals"
            )

    def _decimal_grid(self, decimals: int) -> tuple[int, int]:
        low, high = (Decimal(repr(b)).scaleb(decimals) for b in (self.lower, self.upper))
        return math.ceil(low), math.floor(high)

    def grid(self) -> tuple[int, int] | None:
        """First and last grid point, in units of 10**-decimals; None for numbers of any precision."""
        if self.integer:
            return int(self.lower), int(self.upper)
        return None if self.decimals is None else self._decimal_grid(self.decimals)

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column of this stored type cannot be read as numbers; None if it can."""
        return unless(physical, {"integer", "float", "decimal"}, self.kind)

    @property
    def in_words(self) -> str:
        """Description of a value."""
        return "a number"

    @property
    def stored(self) -> PhysicalType:
        """Stored type of numbers if the source has none."""
        whole = self.integer or self.decimals == 0
        plain = integers_to(int(self.upper)) if whole else PhysicalType("float", "DOUBLE")
        return plain if self.format is None else replace(plain, format=self.format, scale=self.decimals)

    @property
    def grain(self) -> str:
        """Distance between points, in words."""
        if self.integer:
            return " in whole numbers"
        return "" if self.decimals is None else f" with {self.decimals} decimals"

    def points(self, values: NDArray[Any], kind: PhysicalKind) -> tuple[NDArray[Any], int, int]:
        """Return the points of numbers, and how many were clipped and rounded; see `Ordered.points`."""
        if self.integer:
            return _whole_numbers(values, kind, int(self.lower), int(self.upper))
        reals = values.astype(np.float64)
        inside = np.clip(reals, float(self.lower), float(self.upper)) + 0.0
        clipped = int((inside != reals).sum())
        if self.decimals is None:
            return inside, clipped, 0
        points = np.rint(inside * 10.0**self.decimals).astype(np.int64)
        return clip_integers(points, *self._decimal_grid(self.decimals))[0], clipped, 0

    def values(self, points: NDArray[Any]) -> tuple[NDArray[Any], PhysicalType]:
        """Return the numbers at points, and their type."""
        if self.integer:
            return points, PhysicalType("integer", str(points.dtype))
        scaled = points if self.decimals is None else points / 10.0**self.decimals
        return scaled, PhysicalType("float", "float64")

    def written(self, value: object) -> tuple[Fraction, Fraction]:
        """Return the point of a number, twice; see `Ordered.written`."""
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
            raise TypeError
        # The shortest text of a float is the number that the user meant.
        number = Fraction(Decimal(repr(value)) if isinstance(value, float) else value)
        point = number * 10 ** (self.decimals or 0)
        return point, point


def _whole_numbers(
    values: NDArray[Any], kind: PhysicalKind, lower: int, upper: int
) -> tuple[NDArray[Any], int, int]:

    if kind == "integer":
        return *clip_integers(values, lower, upper), 0
    dtype = integer_dtype(lower, upper)
    if kind == "decimal":
        # Clip first: a decimal with a huge exponent would fill the memory as an integer.
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
    # Rounding cannot leave the bounds, because they are whole.
    points[between] = whole_reals[between].astype(dtype)
    return points, int(values.size - between.sum()), int((whole_reals != values)[between].sum())


def _float_at(bound: int, direction: float) -> float:
    """Return the float nearest to an integer on one side of it (the integer itself if it is a float)."""
    near = float(bound)
    beyond = int(near) < bound if direction > 0 else int(near) > bound
    return float(np.nextafter(near, direction)) if beyond else near
