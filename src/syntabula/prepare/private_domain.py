"""Find the domain of a raw column under differential privacy; only its stored type is public."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from syntabula.prepare.bounds import FoundBounds
from syntabula.prepare.found_keys import REPEATS_SHARE, SHAPES_SHARE, pattern_of_most, repeats
from syntabula.prepare.found_labels import FoundCategories, exact_key, extract_categories, is_unicode
from syntabula.prepare.found_levels import extract_level
from syntabula.prepare.found_missing import with_missing
from syntabula.prepare.known_labels import in_order, open_categorical, with_known_labels
from syntabula.prepare.number_search import LEVEL_SHARE, NumberSearch
from syntabula.prepare.searched import SearchedColumn, WholeColumn
from syntabula.privacy.doors.labels import CellText, LabelCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.table.coding.levels import (
    CLOCK_LEVELS,
    CLOCK_RESOLUTIONS,
    RESOLUTIONS,
    TIME_LEVELS,
)
from syntabula.table.new_keys import how_many_differ
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import (
    MICROSECONDS,
    SPELLINGS,
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Time,
)
from syntabula.table.schema.text_formats import fitted_format, resolution_of

LEAST_LABEL = 2.0**-18
"""Part of the records that a category holds at least; of a table beyond memory, the others need not be known."""


def extract_column(
    name: str,
    raw: RawColumn | SearchedColumn,
    *,
    share: Fraction,
    delta: Fraction,
    ledger: Ledger,
    noise: NoiseSource,
    bounds: dict[str, FoundBounds] | None = None,
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
        bounds: Gets the bounds, by the name of the column.
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
    kept = hidden_kept and not is_exact
    found = {} if bounds is None else bounds
    column = _Search(name, cells, share, ledger, noise, found, least, n_estimated, kept).found(delta)
    return column if is_exact else with_missing(column, raw.physical, hidden_kept=hidden_kept)


@dataclass(frozen=True, eq=False, repr=False)
class _Search(NumberSearch):
    """The search for one column's domain, by its stored type."""

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
        labels = in_order(map(read, found.labels), self.raw.physical.order)
        return Categorical(labels, nullable=True, provenance="private")

    def _labels(self, label: Callable[[Any], CellText]) -> LabelCurator:
        counts: Counter[CellText] = Counter()
        for cell, number in self.raw.labels(self.least).items():
            counts[label(cell)] += number
        counts[None] += self.raw.numbers()[1]
        return LabelCurator({x: n for x, n in counts.items() if n}, self.ledger, self.noise)

    def _categories(self, column: LabelCurator, share: Fraction, delta: Fraction) -> FoundCategories:
        return extract_categories(column, share=share, delta=delta, step=self.step, least=self.least)

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
