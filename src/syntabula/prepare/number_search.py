"""Find the domain of a column of numbers under differential privacy; only its name and stored type are public."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from syntabula.prepare.bounds import FoundBounds, extract_bounds
from syntabula.prepare.found_levels import extract_level
from syntabula.prepare.found_missing import has_missing
from syntabula.prepare.found_numbers import (
    KEY_SHARE,
    UNNAMED_SHARE,
    clock_number,
    exact_clock_number,
    exact_row_numbers,
    may_be_clock_number,
    unnamed_clock_number,
    whole_number_key,
)
from syntabula.prepare.searched import SearchedColumn
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.statement import domain_step
from syntabula.table.clock_numbers import is_clock_name
from syntabula.table.coding.levels import DECIMAL_LEVELS, MOST_DECIMALS, ROOMY_DECIMALS
from syntabula.table.key_names import is_key_name
from syntabula.table.schema.columns import MAX_GRID, Column, Numeric, Ordered
from syntabula.table.schema.text_formats import NumberFormat

if TYPE_CHECKING:
    from syntabula.marginals.asked_points import Points

LEVEL_SHARE = Fraction(1, 4)
"""Fraction of a column's domain budget that finds its decimals or its resolution, if it needs one."""

FINER_SHARE = Fraction(1, 8)
"""Fraction of what this leaves that finds how many decimals there are beyond six."""

_INT64_END, _UINT64_END = 2**63 - 1, 2**64 - 1


@dataclass(frozen=True, eq=False, repr=False)
class NumberSearch:
    """The search for one column's domain, and its share of the budget."""

    name: str
    raw: SearchedColumn
    share: Fraction
    ledger: Ledger
    noise: NoiseSource
    bounds: dict[str, FoundBounds]
    least: int
    n_estimated: float
    hidden_kept: bool

    @property
    def step(self) -> str:
        """Name of the spends in the ledger."""
        return domain_step(self.name)

    def whole(self, share: Fraction) -> Column:
        """Find whether whole numbers are keys, clock times or quantities, and then their bounds."""
        if is_key_name(self.name):
            key = whole_number_key(
                self.raw, self._whole_points()[0], self._curator, share=share, step=self.step
            )
            if key is not None:
                return key
            share *= 1 - KEY_SHARE
        elif is_clock_name(self.name):
            clock = clock_number(
                *self._whole_points(), self._curator, share=share * KEY_SHARE, step=self.step
            )
            if clock is not None:
                return clock
            share *= 1 - KEY_SHARE
        elif self.ledger.budget.currency == "none":
            clock = exact_clock_number(
                self.name, *self._whole_points(), self._curator, share=share, step=self.step
            )
            return clock or self._number_or_row_number(share)
        else:
            return self._number_or_clock(share)
        return self._whole(share)

    def _number_or_clock(self, share: Fraction) -> Column:
        """Find bounds, and ask whether numbers are clock times only where these may be; else the model gets the rest."""
        number = self._whole(share * (1 - UNNAMED_SHARE))
        if not may_be_clock_number(number):
            return number
        clock = unnamed_clock_number(
            self._whole_points()[0],
            self._curator,
            nullable=number.nullable,
            share=share * UNNAMED_SHARE,
            step=self.step,
        )
        if clock is None:
            return number
        self.bounds.pop(self.name)
        return clock

    def _number_or_row_number(self, share: Fraction) -> Column:
        number = self._whole(share)
        points, _ = self._whole_points()
        key = exact_row_numbers(self.raw, points, self._curator, number, share=share, step=self.step)
        if key is None:
            return number
        self.bounds.pop(self.name)
        return key

    def _whole_points(self) -> tuple[Points, int]:
        return self.raw.points(Numeric(*self._limits(), integer=True))

    def _whole(self, share: Fraction) -> Numeric:
        limits = self._limits()
        found = self._bounds(Numeric(*limits, integer=True), share)
        least, most = self._storable(*limits)
        return Numeric(
            *found.within(int(least), int(most)),
            integer=True,
            format=self._number_format(0),
            nullable=found.has_missing,
            provenance="private",
        )

    def _limits(self) -> tuple[int, int]:
        if self.raw.physical.kind != "integer":
            return -(2**53), 2**53
        return (0, _UINT64_END) if self.raw.is_unsigned else (-(2**63), _INT64_END)

    def number(self) -> Column:
        """Find how many decimals numbers have, and their bounds."""
        scale = self.raw.physical.scale
        if self.raw.physical.kind == "decimal" and scale is not None and 0 <= scale <= MOST_DECIMALS:
            decimals, share = scale, self.share
        else:
            decimals, share = self._decimals()
        if decimals == 0:
            return self.whole(share)
        kept = None if decimals > MOST_DECIMALS else decimals
        # So many decimals leave no room for large numbers, which others in the column may be.
        sought = None if decimals > ROOMY_DECIMALS else decimals
        end = float(np.finfo(np.float64).max if sought is None else MAX_GRID // 10**sought)
        found = self._bounds(Numeric(-end, end, decimals=sought), share)
        least, most = self._storable(-end, end)
        ends = [b if sought is None else int(b) / 10**sought for b in (found.lower, found.upper)]
        lower, upper = (min(max(b, least), most) for b in ends)
        if kept is not None and max(abs(lower), abs(upper)) > MAX_GRID // 10**kept:
            kept = None
        return Numeric(
            lower,
            upper,
            decimals=kept,
            format=self._number_format(kept),
            nullable=found.has_missing,
            provenance="private",
        )

    def _decimals(self) -> tuple[int, Fraction]:
        """Return how many decimals numbers have, one more than `MOST_DECIMALS` for more, and what share is left.

        How many there are beyond six is asked of columns alone that have so many, since more levels hide more.
        """
        levels, more = self.raw.coded(DECIMAL_LEVELS), ROOMY_DECIMALS + 1
        # The last code is of values that are not finite.
        finite = levels.where(levels.values < DECIMAL_LEVELS.size - 1)
        column = self._curator(finite.mapped(lambda codes: np.minimum(codes, more)).ascending(), 0)
        decimals = extract_level(column, more + 1, share=self.share * LEVEL_SHARE, step=self.step)
        share = self.share * (1 - LEVEL_SHARE)
        if decimals < more:
            return decimals, share
        beyond = finite.where(finite.values >= more).mapped(lambda codes: codes - more)
        n_levels = MOST_DECIMALS + 2 - more
        finer = extract_level(self._curator(beyond, 0), n_levels, share=share * FINER_SHARE, step=self.step)
        return more + finer, share * (1 - FINER_SHARE)

    def _number_format(self, decimals: int | None) -> str | None:
        format = self.raw.physical.format
        return None if format is None else NumberFormat.of(format).for_decimals(format, decimals)

    def _has_missing(self, share: Fraction) -> bool:
        # What this would cost is left to the learner, which tells it better.
        return self.hidden_kept or has_missing(self.raw, self._curator, share=share, step=self.step)

    def _bounds(self, widest: Ordered, share: Fraction) -> FoundBounds:
        column = self._curator(*self.raw.points(widest))
        unit = float(1 / widest.unit) if isinstance(widest, Numeric) else None
        # Every integer of 64 bits and every day is sought; of other numbers, some lie beyond what is.
        ends = None if unit is None or self.raw.physical.kind == "integer" else widest.span()[:2]
        found = extract_bounds(
            column, share=share, step=self.step, unit=unit, ends=ends, n_records=self.n_estimated
        )
        self.bounds[self.name] = found
        return found

    def _storable(self, least: float, most: float) -> tuple[float, float]:
        """Return the part of a range that the column's type can store, which is public, as is the type."""
        lower, upper = self.raw.physical.limits
        return max(least, lower), min(most, upper)

    def _curator(self, points: Points, n_missing: int) -> ColumnCurator:
        return ColumnCurator(points, self.ledger, self.noise, n_missing=n_missing)
