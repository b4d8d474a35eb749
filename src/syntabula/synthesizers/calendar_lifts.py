"""Learns what hours and weekdays tell of other columns, once a model is fitted.

The model knows a column of days or times by its bins, which last days or weeks. A few times the column is chosen that
depends on its hours most, beyond what is known already, and both are counted together; so are weekdays. The hour then
follows these columns as in a multinomial logistic regression on their codes, so that a time is a leaf of the model
(`bins.lift`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.lift import KINDS, Calendar, Lift, Lifts
from syntabula.errors import ResourceError
from syntabula.marginals.measurement import HALF_NORMAL
from syntabula.marginals.recoding import Recoding
from syntabula.marginals.shrinkage import without_noise
from syntabula.prepare.preprocessing import lift_step
from syntabula.synthesizers.fitted_lifts import LiftFit, ModelRows, even_groups
from syntabula.table.coding.calendar_codes import calendar_column, calendars_of

if TYPE_CHECKING:
    from syntabula.marginals.counting import CountingEngine
    from syntabula.models.base import Model
    from syntabula.privacy.doors.tables import Curator
    from syntabula.table.coding.codec import Codec

_CHOICE = Fraction(1, 3)
"""Part of a share that chooses the other column."""
_QUESTIONS: Mapping[Calendar, int] = {"hour": 3, "weekday": 1}
"""Columns that are counted with each calendar under a budget; without one, twice as many, and so with weekdays alone."""
_TOLERATED = 0.1
"""Part of the records that noise on all cells of a pair may move."""
_FEWEST_GROUPS, _MOST_GROUPS = 3, 32
"""Groups of the other column's codes."""
_FEWEST_HOURS = 4
"""Groups of hours that are worth a question."""
_WEEKENDS = (0, 0, 0, 0, 0, 1, 1)
"""Groups of weekdays where noise leaves two."""


class _Asked(NamedTuple):
    """What is asked of a column's calendar: each question's share, and the groups of times and of other codes."""

    calendar: Calendar
    others: tuple[str, ...]
    times: int
    share: Fraction
    kinds: int
    groups: int


@dataclass(frozen=True, eq=False)
class LiftSearch:
    """Asks a table for the lifts of its times.

    Attributes:
        codec: How the table was encoded.
        engine: Counts the table with the calendars of its times; see `calendar_domain`. It is asked for memory alone.
        curator: Answers for it.
        shares: Fraction of the whole budget for each column of times.
        part: Part of the shares that may be spent.
        n_rows: Number of records, as far as it is released; the exact one if privacy is off.
    """

    codec: Codec
    engine: CountingEngine
    curator: Curator
    shares: Mapping[str, Fraction]
    part: Fraction
    n_rows: float

    @property
    def share(self) -> Fraction:
        """Fraction of the whole budget that will be spent: of columns whose lifts noise would not hide."""
        every = (asked.share * asked.times for found in self._asked.values() for asked in found)
        return sum(every, Fraction(0))

    @cached_property
    def _asked(self) -> dict[str, list[_Asked]]:
        """What is asked of each column, by released values alone."""
        found: dict[str, list[_Asked]] = {}
        for name, share in self.shares.items():
            calendars = calendars_of(self.codec, name) if name in self.codec.rhythms else []
            factor = 1 if self.curator.is_private and len(calendars) > 1 else 2
            others = {c: self._others(name, c) for c in calendars}
            times = {c: min(_QUESTIONS[c] * factor, len(others[c])) for c in calendars if others[c]}
            each = share * self.part / max(sum(times.values()), 1)
            asked = [self._sized(c, others[c], n, each) for c, n in times.items()]
            found[name] = [question for question in asked if question is not None]
        return {name: asked for name, asked in found.items() if asked}

    def _others(self, name: str, calendar: Calendar) -> tuple[str, ...]:
        """Return the columns that may be counted with a calendar all at once, those of the fewest codes first."""
        domain, times = self.codec.domain, calendar_column(self.codec.domain, name, calendar)
        found = sorted((c for c in domain if c != name), key=domain.size)
        while found:
            try:
                self.engine.check_memory([(c, times) for c in found])
            except ResourceError:
                found = found[: len(found) // 2]
            else:
                break
        return tuple(found)

    def _sized(
        self, calendar: Calendar, others: tuple[str, ...], times: int, share: Fraction
    ) -> _Asked | None:
        """Return questions with as many groups as noise leaves; None if these are too few."""
        sigma = self.curator.noise_sigma(1, share * (1 - _CHOICE))
        cells = math.inf if not sigma else _TOLERATED * self.n_rows / (HALF_NORMAL * sigma)
        kinds = KINDS[calendar]
        if calendar == "hour":
            kinds = int(min(math.sqrt(cells), kinds))
            if kinds < _FEWEST_HOURS:
                return None
        elif cells < kinds * _FEWEST_GROUPS:
            kinds = len({*_WEEKENDS})
        groups = int(min(cells / kinds, _MOST_GROUPS))
        return _Asked(calendar, others, times, share, kinds, groups) if groups >= _FEWEST_GROUPS else None

    def found(self, codec: Codec, model: Model) -> Codec:
        """Return a codec with the lifts.

        Args:
            codec: The codec, with what was found since the table was encoded.
            model: The model of its codes.
        """
        if not self._asked:
            return codec
        every_row = ModelRows.of(codec, model)
        lifts: dict[str, Lifts] = {}
        for name, every in self._asked.items():
            calendars = [_Calendar.of(asked, name, self.codec, self.curator, every_row) for asked in every]
            base = every_row.base(name, {c.asked.calendar: c.kinds for c in calendars})
            fit, rows = LiftFit(base), every_row.for_fits(base.size)
            for calendar in calendars:
                for _ in range(calendar.asked.times):
                    calendar.ask(fit, rows)
            own = tuple(lift for calendar in calendars for lift in calendar.lifts(fit))
            bins = codec.bins[name]
            lifts[name] = Lifts(own, tuple(int(c) for c in bins.cuts), (1.0,) * bins.size)
        return replace(codec, lifts=lifts)


@dataclass(frozen=True, eq=False)
class _Calendar:
    """Questions about one calendar of a column.

    Attributes:
        asked: What is asked.
        name: The column.
        curator: Answers for groups of kinds of time and of other columns' codes.
        times: What the calendar's codes are called there.
        kinds: Group of each kind of time [kinds].
        groups: Group of each code of the other columns, by column.
    """

    asked: _Asked
    name: str
    curator: Curator
    times: str
    kinds: NDArray[np.intp]
    groups: Mapping[str, NDArray[np.intp]]

    @classmethod
    def of(cls, asked: _Asked, name: str, codec: Codec, curator: Curator, rows: ModelRows) -> Self:
        calendar = asked.calendar
        if calendar == "hour":
            kinds = even_groups(rows.kinds(name, calendar), asked.kinds)
        else:
            kinds = np.array(_WEEKENDS if asked.kinds < KINDS[calendar] else range(KINDS[calendar]))
        times = calendar_column(codec.domain, name, calendar)
        groups = {c: rows.groups(c, asked.groups) for c in codec.domain if c in asked.others}
        maps = {times: np.append(kinds, kinds.max() + 1), **groups}
        merged = curator.recoded(Recoding(curator.domain, maps))
        return cls(asked, name, merged, times, kinds, groups)

    def ask(self, fit: LiftFit, rows: ModelRows) -> None:
        """Choose a column, count it with the times, and fit their lifts."""
        calendar, asked, step = self.asked.calendar, self.asked, lift_step(self.name)
        is_open = rows.with_choice(self.name, calendar)
        left = [c for c in self.groups if (calendar, c) not in fit.factors]
        counts = [rows.counts(c, self.groups[c], is_open) for c in left]
        expected = [
            fit.shares(calendar, self._of_rows(c, rows), held.size) * held[:, None]
            for c, (held, _) in zip(left, counts, strict=True)
        ]
        # A single column is not chosen, and the count has the whole share.
        choosing = asked.share * _CHOICE * (len(left) > 1)
        measuring = asked.share - choosing
        sigma, chosen = self.curator.noise_sigma(1, measuring), 0
        if choosing:
            estimates = [np.column_stack([e, apart]) for e, (_, apart) in zip(expected, counts, strict=True)]
            chosen = self.curator.choose(
                [(c, self.times) for c in left],
                estimates,
                share=choosing,
                step=step,
                # What the noise of a count and the chance in which records there are add to a distance.
                penalties=[HALF_NORMAL * float(np.sqrt(sigma**2 + e).sum()) for e in estimates],
            )
        other = left[chosen]
        (counted,) = self.curator.measure([(other, self.times)], share=measuring, step=step)
        # Each group by itself, as noise hides small ones first; and so does chance.
        known = [
            without_noise(own, math.sqrt(sigma**2 + float(likely.mean())), likely, free=likely.size - 1)
            for own, likely in zip(counted.values[:, :-1], expected[chosen], strict=True)
        ]
        fit.learn(calendar, other, self._of_rows(other, rows), np.stack(known))

    def lifts(self, fit: LiftFit) -> list[Lift]:
        """Return the lifts that were fitted, with four digits, which are more than noise leaves."""
        return [
            Lift(
                calendar,
                other,
                tuple(self.groups[other].tolist()),
                tuple(tuple(float(f"{x:.4g}") for x in row) for row in factors[:, self.kinds].tolist()),
            )
            for (calendar, other), factors in fit.factors.items()
            if calendar == self.asked.calendar
        ]

    def _of_rows(self, column: str, rows: ModelRows) -> NDArray[np.intp]:
        """Return the group of each drawn row [n]; one more than there are where bins leave no choice."""
        groups, is_open = self.groups[column], rows.with_choice(self.name, self.asked.calendar)
        return np.where(is_open, groups[rows.drawn[column]], groups.max() + 1)
