"""Columns of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula.bins.scale import Scale
from syntabula.bins.uniform import integer_dtype
from syntabula.errors import SchemaError
from syntabula.table.raw import PhysicalKind, PhysicalType
from syntabula.table.schema.column_base import (
    BIN_COUNT,
    FLAG,
    Ordered,
    checked_atoms,
    clip_integers,
    declare,
    integers_to,
    left_out,
    like_a_formula,
    plain_bound,
    plain_label,
    require_order,
    type_of,
    unless,
)
from syntabula.table.schema.text_formats import NumberFormat, read_number

MAX_DECIMALS = 15
_DIGITS_OF_32_BITS = (6, 7)
"""Digits of decimals that a float of 32 bits stands for: all of six, and most of seven."""
_MOST_EXACT_POWER = 22
"""Largest power of ten that a float holds exactly."""
MOST_TEXTS = 50
"""Most texts that a column may declare beside its numbers."""
MAX_GRID = 2**50
"""Largest grid point of a column of decimals or steps: up to it, a value rounds back to the same point in float64."""


@dataclass(frozen=True)
class Numeric(Ordered):
    """Numbers between two bounds, both included; others are clipped to the nearest bound.

    Any number between the bounds can appear in synthetic data. Declare numeric codes, such as 0, 1000 and 5000 if no
    others exist, as categorical.

    Some cells may hold a declared text instead, such as a limit of detection. Such a column is written as text.

    Attributes:
        lower: Lower bound. Integers are kept exactly, up to 64 bits.
        upper: Upper bound; may equal the lower one (a constant).
        integer: Whether values are whole numbers.
        decimals: Number of decimal places of values that are not integers; None for any.
        step: All values are multiples of this number, such as 100 or .25; others are rounded to the nearest one. None if
            `integer` or `decimals` say how values lie.
        bins: Number of bins, to override the codec's default.
        atoms: Values known to be frequent, such as 0 or a limit of 50000; each gets a code of its own. An empty list
            if no value is; left out, they are found privately, for part of the budget.
        usual: The range in which most values lie, as two numbers within the bounds; a public fact, like these. Bins are
            narrow there and widen outside. Without it, they widen from 0 if the bounds are 10,000 or more apart.
        format: The number 1234.5 as text files write it, in quotes: "1234,5" or "1.234,5" with a decimal comma,
            "1,234.50" to write two decimals always, "1234.0" at least one, "$1,234" or "1.234,5 €" with a sign; files are
            read and written so. "12,34,567" has groups of two digits before the thousands, as in India.
        texts: Texts that cells may hold in place of a number, such as "<0.5" and ">1000"; each is drawn as often as a
            category. Numbers stay numbers; where scores and rules need one, such a cell counts as missing.

    Raises:
        SchemaError: If bounds are reversed, not finite or too large, an atom is no value of the column, or arguments
            contradict each other.
    """

    kind: ClassVar[str] = "numeric"
    lower: int | float
    upper: int | float
    _: KW_ONLY
    integer: bool = False
    decimals: int | None = None
    step: int | float | None = None
    bins: int | None = None
    atoms: tuple[int | float, ...] | None = None
    usual: tuple[int | float, int | float] | None = None
    format: str | None = None
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        declare(self, integer=FLAG, bins=BIN_COUNT, decimals=left_out(count(0, MAX_DECIMALS)))
        for side in ("lower", "upper"):
            object.__setattr__(self, side, plain_bound(side, getattr(self, side), self.integer))
        require_order(self.lower <= self.upper)
        if self.usual is not None:
            object.__setattr__(self, "usual", self._checked_usual(self.usual))
        if self.integer:
            # Each bound may fit a type that the other does not.
            integer_dtype(int(self.lower), int(self.upper))
        if self.step is not None:
            object.__setattr__(self, "step", self._checked_step(self.step))
        if self._scale is not None:
            self._check_grid()
        if self.atoms is not None:
            object.__setattr__(self, "atoms", checked_atoms(self, self.atoms, self._atom))
        if self.format is not None:
            self._check_format(NumberFormat.of(self.format))
        object.__setattr__(self, "texts", self._checked_texts(self.texts))
        self._check_missing_text()

    def _checked_texts(self, given: object) -> tuple[str, ...]:
        if isinstance(given, str | bytes | dict) or not isinstance(given, Iterable):
            raise SchemaError(f"texts must be a list of texts, not {type_of(given)}")
        texts = tuple(plain_label(f"text number {i}", text) for i, text in enumerate(given, start=1))
        if len(texts) > MOST_TEXTS:
            raise SchemaError(f"texts must be at most {MOST_TEXTS}; declare the column as categorical")
        for text in texts:
            if not isinstance(text, str):
                raise SchemaError(
                    f"texts must be texts, in quotes, not {type_of(text)}; declare a number as an atom"
                )
            if not text or text != text.strip():
                raise SchemaError(
                    "a text is empty or begins or ends with a space; declare it without, or `nullable`"
                )
            if like_a_formula(text):
                raise SchemaError(
                    "a text begins like a formula, which a spreadsheet would run; declare it otherwise"
                )
            if _is_number(text) or read_number(text, self.format) is not None:
                raise SchemaError("a text is a number in a file; declare it as an atom, within the bounds")
        if len(set(texts)) < len(texts):
            raise SchemaError("a text is listed more than once; list each once")
        return tuple(map(str, texts))

    @property
    def beside(self) -> tuple[str, ...]:
        """Texts that cells may hold in place of a number."""
        return self.texts

    def _check_format(self, form: NumberFormat) -> None:
        if not form.mark and not self._is_whole:
            raise SchemaError("format has no decimal mark, but the column is not integer; write 1234.5 in it")
        if form.fixed_places is not None and not (
            self._is_whole or (self._places or 99) <= form.fixed_places
        ):
            raise SchemaError(
                f"format writes {form.fixed_places} decimals, but values may have more; declare fewer `decimals`, or end "
                "the format in 5 to write as many as a number needs"
            )

    def _checked_usual(self, given: object) -> tuple[int | float, int | float]:
        if not isinstance(given, list | tuple) or len(given) != 2:
            raise SchemaError("usual must be a list of two numbers, the range in which most values lie")
        low, high = (plain_bound("usual", end, self.integer) for end in given)
        if not self.lower <= low < high <= self.upper:
            raise SchemaError("usual must be two numbers within the bounds, the smaller one first")
        return low, high

    def _checked_step(self, given: object) -> int | float:
        step = plain_bound("step", given, self.integer)
        if step <= 0:
            raise SchemaError("step must be above 0")
        if self.decimals is not None:
            raise SchemaError("a step says how many decimals values have; drop decimals")
        return int(step) if step == int(step) else step

    def _check_grid(self) -> None:
        if self.integer and self.decimals is not None:
            raise SchemaError("integer columns cannot have decimals; drop one of the two")
        low, high = self._scaled_grid()
        if low > high:
            raise SchemaError(
                "no number with that many decimals lies within the bounds; allow more decimals"
                if self.step is None
                else "no multiple of step lies within the bounds; make step smaller"
            )
        if not self.integer and max(abs(low), abs(high)) * self.unit.numerator > MAX_GRID:
            raise SchemaError(
                "bounds this large cannot keep that many decimals exactly; allow fewer decimals"
                if self.step is None
                else "bounds this large cannot keep multiples of step exactly; make step larger"
            )

    def _atom(self, value: object) -> int | float:
        return plain_bound("an atom", value, self.integer)

    @property
    def unit(self) -> Fraction:
        """Distance between points of the grid; 1 if there is none."""
        if self.step is not None:
            # The shortest text of a float is the number that the user meant.
            return Fraction(Decimal(repr(self.step)))
        return Fraction(1, 10 ** (self.decimals or 0))

    @property
    def _scale(self) -> Fraction | None:
        """Distance between points if the column declares decimals or a step."""
        return None if self.decimals is None and self.step is None else self.unit

    def _scaled_grid(self) -> tuple[int, int]:
        low, high = (Fraction(Decimal(repr(b))) / self.unit for b in (self.lower, self.upper))
        return math.ceil(low), math.floor(high)

    def grid(self) -> tuple[int, int] | None:
        """First and last grid point, in units of 10**-decimals or of the step; None for numbers of any precision."""
        if self._scale is not None:
            return self._scaled_grid()
        return (int(self.lower), int(self.upper)) if self.integer else None

    def scale(self) -> Scale | None:
        """Return a scale that is even where most values lie; None if that is everywhere. See `Ordered.scale`."""
        lower, upper, integer = self.span()
        unit = float(1 / self.unit)
        usual = None if self.usual is None else (self.usual[0] * unit, self.usual[1] * unit)
        return Scale.of(lower, upper, integer=integer, unit=unit, usual=usual)

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
        plain = integers_to(int(self.upper)) if self._is_whole else PhysicalType("float", "DOUBLE")
        return plain if self.format is None else replace(plain, format=self.format, scale=self._places)

    @property
    def _is_whole(self) -> bool:
        return self.integer or (self._scale is not None and self.unit.denominator == 1)

    @property
    def _places(self) -> int | None:
        """Number of decimals of all values; None if it is not declared."""
        if self.step is None:
            return self.decimals
        _, _, decimals = f"{Decimal(repr(self.step)).normalize():f}".partition(".")
        return len(decimals)

    @property
    def grain(self) -> str:
        """Distance between points, in words."""
        if self.step is not None:
            return f" in steps of {self.step}"
        if self.integer:
            return " in whole numbers"
        return "" if self.decimals is None else f" with {self.decimals} decimals"

    def points(self, values: NDArray[Any], kind: PhysicalKind) -> tuple[NDArray[Any], int, int]:
        """Return the points of numbers, and how many were clipped and rounded; see `Ordered.points`."""
        if self.integer:
            points, clipped, rounded = _whole_numbers(values, kind, int(self.lower), int(self.upper))
            if self.step is None:
                return points, clipped, rounded
            on_grid = _nearest_multiples(points, int(self.unit), *self._scaled_grid())
            return on_grid, clipped, rounded + int((on_grid * int(self.unit) != points).sum())
        reals = values.astype(np.float64)
        if self._scale is None:
            reals = _as_meant(reals)
        inside = np.clip(reals, float(self.lower), float(self.upper)) + 0.0
        clipped = int((inside != reals).sum())
        if self._scale is None:
            return inside, clipped, 0
        # A quotient of whole numbers is the float nearest to a point, which is what a decimal in a file is read as.
        near = np.rint(inside * float(self.unit.denominator) / self.unit.numerator).astype(np.int64)
        points = clip_integers(near, *self._scaled_grid())[0]
        if self.step is None:
            return points, clipped, 0
        stored = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
        off = self._reals(points).astype(stored) != inside.astype(stored)
        return points, clipped, int(off.sum())

    def values(self, points: NDArray[Any]) -> tuple[NDArray[Any], PhysicalType]:
        """Return the numbers at points, and their type."""
        if self.integer:
            whole = points if self.step is None else points * points.dtype.type(int(self.unit))
            return whole, PhysicalType("integer", str(whole.dtype))
        scaled = points if self._scale is None else self._reals(points)
        return scaled, PhysicalType("float", "float64")

    def _reals(self, points: NDArray[Any]) -> NDArray[np.float64]:
        reals: NDArray[np.float64] = points * float(self.unit.numerator) / float(self.unit.denominator)
        return reals

    def written(self, value: object) -> tuple[Fraction, Fraction]:
        """Return the point of a number, twice; see `Ordered.written`."""
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
            raise TypeError
        # The shortest text of a float is the number that the user meant.
        point = Fraction(Decimal(repr(value)) if isinstance(value, float) else value) / self.unit
        return point, point


def _as_meant(reals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers [n] of which those that 32 bits hold are the decimal of few digits that is nearest to it, if any.

    Numbers of 32 bits, of which .8 is .800000011920929, then equal those that are written, counted and drawn as .8.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        short = reals.astype(np.float32)
        is_short = (short == reals) & (np.rint(reals) != reals) & np.isfinite(short)
    places = np.flatnonzero(is_short)
    meant = reals.copy() if places.size else reals
    for digits in _DIGITS_OF_32_BITS:
        some = reals[places]
        decimals = digits - 1 - np.floor(np.log10(np.abs(some)))
        # Beyond, a power of ten is no float. A quotient of whole numbers is the float nearest to a decimal.
        scale = 10.0 ** np.minimum(decimals, _MOST_EXACT_POWER)
        near = np.rint(some * scale) / scale
        is_near = near.astype(np.float32) == short[places]
        meant[places[is_near]] = near[is_near]
        places = places[~is_near]
    return meant


def _is_number(text: str) -> bool:
    """Return whether a text is a number, infinite, or nan, which is missing."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _nearest_multiples(values: NDArray[Any], step: int, first: int, last: int) -> NDArray[Any]:
    """Return the multiples of a step nearest to 64-bit integers, in steps, from a first to a last one."""
    size = values.dtype.type(step)
    below, rest = np.divmod(values, size)
    # Compared by the distance upwards, because twice the rest may exceed 64 bits.
    nearest = below + (rest >= size - rest).astype(values.dtype)
    return clip_integers(nearest, first, last)[0]


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
