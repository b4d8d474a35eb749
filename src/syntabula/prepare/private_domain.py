"""Find the domain of a raw column under differential privacy; only its stored type is public."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula.prepare.bounds import FoundBounds, extract_bounds
from syntabula.prepare.found_keys import REPEATS_SHARE, SHAPES_SHARE, pattern_of_most, repeats
from syntabula.prepare.found_labels import FoundCategories, exact_key, extract_categories, is_unicode
from syntabula.prepare.found_levels import extract_level
from syntabula.prepare.found_missing import has_missing, with_missing
from syntabula.prepare.found_numbers import (
    KEY_SHARE,
    UNNAMED_SHARE,
    clock_number,
    exact_clock_number,
    may_be_clock_number,
    unnamed_clock_number,
    whole_number_key,
)
from syntabula.prepare.known_labels import open_categorical, with_known_labels
from syntabula.prepare.searched import SearchedColumn, WholeColumn
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.doors.labels import CellText, LabelCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.statement import domain_step
from syntabula.table.clock_numbers import is_clock_name
from syntabula.table.coding.levels import (
    CLOCK_LEVELS,
    CLOCK_RESOLUTIONS,
    DECIMAL_LEVELS,
    MOST_DECIMALS,
    RESOLUTIONS,
    TIME_LEVELS,
)
from syntabula.table.key_names import is_key_name
from syntabula.table.new_keys import how_many_differ
from syntabula.table.raw import RawColumn
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
    Ordered,
    Time,
)
from syntabula.table.schema.text_formats import NumberFormat, fitted_format, resolution_of

if TYPE_CHECKING:
    from syntabula.marginals.asked_points import Points

LEAST_LABEL = 2.0**-18
"""Part of the records that a category holds at least; of a table beyond memory, the others need not be known."""

LEVEL_SHARE = Fraction(1, 4)
"""Fraction of a column's domain budget that finds its decimals or its resolution, if it needs one."""

_INT64_END, _UINT64_END = 2**63 - 1, 2**64 - 1


def extract_column(
    name: str,
    raw: RawColumn | SearchedColumn,
    *,
    share: Fraction,
    delta: Fraction,
    ledger: Ledger,
    noise: NoiseSource,
    beyond: dict[str, float] | None = None,
    n_estimated: float = 0.0,
    hidden_kept: bool = False,
) -> Column:
    """Find the domain of one column and declare it `private`.

    The column's name and stored type are public. If the type holds categories, such as pandas' `category`, the kind
    of its labels is public too, but not the labels. Integers, floats, dates and times get bounds. Text gets the
    categories that enough records share, those that are known to go with them (`with_known_labels`), and "other". Text
    without any such category, or with the name of a key and few of them (`FoundCategories.are_keys`), becomes an
    identifier, whose values are generated anew where they are not missing, in the shape that most of them have if a
    small part of the budget finds one, and as many of them different; so do whole numbers that hardly repeat, in a
    column with the name of a key. Whole numbers in a column with the name of
    clock times are these if nearly all can be; in other columns, if many hardly can be anything else too. Numbers that
    pandas holds as categories are treated like text, except that rare ones become missing. The number of decimals of
    floats and the resolution of times are found too. A column is nullable if more cells are missing than noise explains,
    or if it is left to the learner to tell whether any are; else records with a missing cell are left out.

    Args:
        name: Name of the column.
        raw: The column as read, or what can be asked of one of a table in parts.
        share: Fraction of the whole budget.
        delta: Fraction of the budget's delta, for labels only.
        ledger: Pays for the spends.
        noise: Draws the noise.
        beyond: Gets the noisy fraction of the values that lie outside the bounds, by the name of the column.
        n_estimated: Released number of records; 0 if it is not known.
        hidden_kept: Whether the column is nullable though noise may hide that any cell is missing; see `with_missing`.

    Returns:
        The declared column, with provenance `private`.

    Raises:
        PrivateDomainError: If noise hides all bounds.
        SchemaError: If the stored type has no domain to find.
    """
    raw.physical.require_domain(name)
    cells = WholeColumn(raw) if isinstance(raw, RawColumn) else raw
    least = max(int(n_estimated * LEAST_LABEL), 1)
    # Without noise nothing is hidden.
    is_exact = ledger.budget.currency == "none"
    outside = {} if beyond is None else beyond
    kept = hidden_kept and not is_exact
    column = _Search(name, cells, share, ledger, noise, outside, least, n_estimated, kept).found(delta)
    return column if is_exact else with_missing(column, raw.physical, hidden_kept=hidden_kept)


@dataclass(frozen=True, eq=False, repr=False)
class _Search:
    """The search for one column's domain, and its share of the budget."""

    name: str
    raw: SearchedColumn
    share: Fraction
    ledger: Ledger
    noise: NoiseSource
    beyond: dict[str, float]
    least: int
    n_estimated: float
    hidden_kept: bool

    @property
    def step(self) -> str:
        """Name of the spends in the ledger."""
        return domain_step(self.name)

    def found(self, delta: Fraction) -> Column:
        """Find the domain, by the stored type."""
        physical = self.raw.physical
        if physical.is_labels:
            return self.text(delta) if physical.kind == "text" else self.codes(delta)
        match physical.kind:
            case "boolean":
                return self.boolean()
            case "date":
                return self.date()
            case "datetime":
                return self.moment()
            case "time":
                return self.clock()
            case "integer":
                return self.whole(self.share)
        return self.number()

    def boolean(self) -> Column:
        name = self.raw.physical.name
        return Boolean(
            spelling=name if name in SPELLINGS else SPELLINGS[0],
            nullable=self._has_missing(self.share),
            provenance="private",
        )

    def clock(self) -> Column:
        """Find the resolution; both bounds of a day are known."""
        column, n_levels = self._curator(self.raw.coded(CLOCK_LEVELS), 0), len(CLOCK_RESOLUTIONS)
        level = extract_level(column, n_levels, share=self.share * LEVEL_SHARE, step=self.step)
        resolution: Any = CLOCK_RESOLUTIONS[level]
        nullable = self._has_missing(self.share * (1 - LEVEL_SHARE))
        return Time(
            resolution=resolution,
            format=self._time_format(resolution),
            nullable=nullable,
            provenance="private",
        )

    def _time_format(self, resolution: str) -> str | None:
        format = self.raw.physical.format
        return None if format is None else fitted_format(format, resolution)

    def _number_format(self, decimals: int | None) -> str | None:
        format = self.raw.physical.format
        return None if format is None else NumberFormat.of(format).for_decimals(format, decimals)

    def _has_missing(self, share: Fraction) -> bool:
        # What this would cost is left to the learner, which tells it better.
        return self.hidden_kept or has_missing(self.raw, self._curator, share=share, step=self.step)

    def text(self, delta: Fraction) -> Column:
        column = self._labels(lambda x: x if is_unicode(x) else None)
        if not column.is_private and (key := exact_key(column, self.raw.numbers(), step=self.step)):
            return key
        if not column.is_private or not self.n_estimated:
            found = self._categories(column, self.share, delta)
            key = None if found.labels else Identifier(nullable=found.has_missing, provenance="private")
        else:
            share = self.share * (1 - SHAPES_SHARE - REPEATS_SHARE)
            found = self._categories(column, share, delta * (1 - SHAPES_SHARE))
            key = self._key(found, delta) if found.are_keys(self.name, self.n_estimated) else None
        labels = with_known_labels(found.labels, self.raw.physical.order)
        return key or open_categorical(labels, nullable=found.has_missing)

    def _key(self, found: FoundCategories, delta: Fraction) -> Identifier:
        n_present = self.n_estimated - found.n_missing
        patterns = pattern_of_most(
            self.raw,
            n_present=n_present,
            least=self.least,
            share=self.share * SHAPES_SHARE,
            delta=delta * SHAPES_SHARE,
            step=self.step,
            ledger=self.ledger,
            noise=self.noise,
        )
        counted = repeats(self.raw, self._curator, share=self.share * REPEATS_SHARE, step=self.step)
        pattern, shares = patterns or (None, None)
        many, n_distinct = self.n_estimated, counted.n_distinct(n_present)
        distinct = how_many_differ(pattern, n_rows=many, n_distinct=n_distinct, shares=shares)
        form = Identifier(pattern=pattern, shares=shares, distinct=distinct, provenance="private")
        return replace(form, nullable=found.has_missing)

    def codes(self, delta: Fraction) -> Column:
        # No number can represent all the others.
        found = self._categories(
            self._labels(lambda x: repr(x + 0) if math.isfinite(x) else None), self.share, delta
        )
        if not found.labels:
            return Identifier(integer=True, nullable=found.has_missing, provenance="private")
        read = int if self.raw.physical.kind == "integer" else float
        return Categorical(tuple(sorted(map(read, found.labels))), nullable=True, provenance="private")

    def _labels(self, label: Callable[[Any], CellText]) -> LabelCurator:
        counts: Counter[CellText] = Counter()
        for cell, number in self.raw.labels(self.least).items():
            counts[label(cell)] += number
        counts[None] += self.raw.numbers()[1]
        return LabelCurator({x: n for x, n in counts.items() if n}, self.ledger, self.noise)

    def _categories(self, column: LabelCurator, share: Fraction, delta: Fraction) -> FoundCategories:
        return extract_categories(column, share=share, delta=delta, step=self.step, least=self.least)

    def whole(self, share: Fraction) -> Column:
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
            if clock is not None:
                return clock
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
        self.beyond.pop(self.name)
        return clock

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
        scale = self.raw.physical.scale
        if self.raw.physical.kind == "decimal" and scale is not None and 0 <= scale <= MOST_DECIMALS:
            decimals, share = scale, self.share
        else:
            # The last code is of values that are not finite.
            levels = self.raw.coded(DECIMAL_LEVELS)
            column = self._curator(levels.where(levels.values < DECIMAL_LEVELS.size - 1), 0)
            decimals = extract_level(
                column, MOST_DECIMALS + 2, share=self.share * LEVEL_SHARE, step=self.step
            )
            share = self.share * (1 - LEVEL_SHARE)
        if decimals == 0:
            return self.whole(share)
        kept = None if decimals > MOST_DECIMALS else decimals
        end = float(np.finfo(np.float64).max if kept is None else MAX_GRID // 10**kept)
        found = self._bounds(Numeric(-end, end, decimals=kept), share)
        least, most = self._storable(-end, end)
        ends = [b if kept is None else int(b) / 10**kept for b in (found.lower, found.upper)]
        lower, upper = (min(max(b, least), most) for b in ends)
        return Numeric(
            lower,
            upper,
            decimals=kept,
            format=self._number_format(kept),
            nullable=found.has_missing,
            provenance="private",
        )

    def date(self) -> Column:
        format = self.raw.physical.format
        resolution: Any = resolution_of(format)
        widest = Date(dt.date.min, dt.date.max, resolution=resolution)
        found = self._bounds(widest, self.share)
        days = widest.first_days(np.array(found.within(*widest.grid())))
        epoch = dt.date(1970, 1, 1)
        lower, upper = (epoch + dt.timedelta(days=d) for d in days.tolist())
        return replace(
            widest, lower=lower, upper=upper, format=format, nullable=found.has_missing, provenance="private"
        )

    def moment(self) -> Column:
        column = self._curator(self.raw.coded(TIME_LEVELS), 0)
        level = extract_level(column, len(RESOLUTIONS), share=self.share * LEVEL_SHARE, step=self.step)
        resolution: Any = RESOLUTIONS[level]
        zone = self.raw.physical.timezone
        # One day inside the limits of the calendar, so that the bounds exist in every time zone.
        ends = [
            d.replace(tzinfo=None if zone is None else dt.UTC)
            for d in (dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
        ]
        widest = Datetime(*ends, timezone=zone, resolution=resolution)
        found = self._bounds(widest, self.share * (1 - LEVEL_SHARE))
        first, last = found.within(*widest.grid())
        unit = MICROSECONDS[resolution]
        epoch = dt.datetime(1970, 1, 1, tzinfo=ends[0].tzinfo)
        lower, upper = (epoch + dt.timedelta(microseconds=p * unit) for p in (first, last))
        return Datetime(
            lower,
            upper,
            timezone=zone,
            resolution=resolution,
            format=self._time_format(resolution),
            nullable=found.has_missing,
            provenance="private",
        )

    def _bounds(self, widest: Ordered, share: Fraction) -> FoundBounds:
        column = self._curator(*self.raw.points(widest))
        unit = float(1 / widest.unit) if isinstance(widest, Numeric) else None
        # Every integer of 64 bits and every day is sought; of other numbers, some lie beyond what is.
        ends = None if unit is None or self.raw.physical.kind == "integer" else widest.span()[:2]
        found = extract_bounds(column, share=share, step=self.step, unit=unit, ends=ends)
        self.beyond[self.name] = found.beyond
        return found

    def _storable(self, least: float, most: float) -> tuple[float, float]:
        """Return the part of a range that the column's type can store, which is public, as is the type."""
        lower, upper = self.raw.physical.limits
        return max(least, lower), min(most, upper)

    def _curator(self, points: Points, n_missing: int) -> ColumnCurator:
        return ColumnCurator(points, self.ledger, self.noise, n_missing=n_missing)
