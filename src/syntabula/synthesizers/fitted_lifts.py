"""Fits how hours and weekdays follow other columns to noisy counts, on rows that a model draws.

The share of an hour in a row is its share in all rows times a lift by each of some other columns, up to a common factor:
a multinomial logistic regression on groups of their codes. It is fitted by scaling the lifts of one column after the
other, as in iterative proportional fitting (Deming and Stephan, 1940). Only released values are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.lift import KINDS, Calendar, with_all_kinds
from syntabula.bins.rhythm import HOURS, WEEKDAYS, proportions
from syntabula.models.recoded import one_way_of
from syntabula.synthesizers.fitted_rhythms import shares_of_kinds
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Ordered

if TYPE_CHECKING:
    from syntabula.models.base import Model
    from syntabula.table.coding.codec import Codec

_DRAWN, _DRAWN_SLOWLY = 20_000, 2_000
"""Rows on which lifts are fitted; models without marginals may draw a hundred in a second."""
_MOST_NUMBERS = 1_000_000
"""Largest number of shares of all rows' kinds of time that a fit holds."""
_ROUNDS, _NEAR = 20, 2e-3
"""Times that each column is scaled at most, and the largest change of a share after which nothing is gained."""
_LEAST, _MOST = 1e-3, 1e3
"""Least and largest lift by one column."""
_AXES: dict[Calendar, int] = {"weekday": 0, "hour": 1}


_Known = tuple[Calendar, str]
"""A calendar, and a column that it tells of."""


class LiftFit:
    """Lifts of weekdays and hours by groups of other columns' codes.

    Args:
        base: Share of each weekday and hour in all rows [weekdays, hours]; of those that are told apart.

    Attributes:
        factors: Lift of each kind of time in each group, by calendar and column [groups, kinds].
    """

    def __init__(self, base: NDArray[np.float64]) -> None:
        self._base = (base / base.sum()).astype(np.float32)
        self._rows: dict[_Known, NDArray[np.intp]] = {}
        self._targets: dict[_Known, NDArray[np.float64]] = {}
        self._each: NDArray[np.float32] | None = None
        # Of each row by one calendar [n, kinds], which is asked for all columns in turn.
        self._kinds: dict[Calendar, NDArray[np.float32]] = {}
        self.factors: dict[_Known, NDArray[np.float64]] = {}

    def shares(self, calendar: Calendar, groups: NDArray[np.intp], size: int) -> NDArray[np.float64]:
        """Return the share of each kind of time in groups of the rows as fitted so far [size, kinds].

        Args:
            calendar: Whether weekdays or hours are asked for.
            groups: Group of each row [n]; `size` for rows that do not count.
            size: Number of groups; those of no row are as all rows are.
        """
        if self._each is None:
            return np.tile(self._base.sum(axis=1 - _AXES[calendar]).astype(np.float64), (size, 1))
        if calendar not in self._kinds:
            self._kinds[calendar] = _of_calendar(self._each, calendar)
        kinds = self._kinds[calendar]
        # A row of average times in each group steadies small ones.
        found = _sums(kinds, groups, size) + kinds.mean(axis=0)
        shares: NDArray[np.float64] = found / found.sum(axis=1, keepdims=True)
        return shares

    def learn(
        self, calendar: Calendar, column: str, groups: NDArray[np.intp], known: NDArray[np.float64]
    ) -> None:
        """Fit another column's lifts, and the others again.

        Args:
            calendar: Whether they are those of weekdays or of hours.
            column: The name of the column.
            groups: Group of each row [n]; one more than there are for rows that do not count.
            known: Number of records of each group and kind of time [groups, kinds].
        """
        key = (calendar, column)
        self._rows[key], self._targets[key] = groups, self._raked(calendar, known)
        self.factors[key] = np.ones(known.shape)
        if self._each is None:
            self._each = np.repeat(self._base[None], groups.size, axis=0)
        for _ in range(_ROUNDS):
            farthest = 0.0
            for (name, other), target in self._targets.items():
                now = self.shares(name, self._rows[name, other], len(target))
                is_known = (now > 0) & (target.sum(axis=1, keepdims=True) > 0)
                before = self.factors[name, other]
                wanted = before * np.divide(target, now, out=np.ones(now.shape), where=is_known)
                self.factors[name, other] = np.clip(wanted, _LEAST, _MOST)
                self._scale(name, self._rows[name, other], self.factors[name, other] / before)
                farthest = max(farthest, float(np.abs(target - now)[is_known].max(initial=0.0)))
            if farthest < _NEAR:
                break

    def _scale(self, calendar: Calendar, groups: NDArray[np.intp], factors: NDArray[np.float64]) -> None:
        """Multiply the share of each kind of time in each row by the factors of its group."""
        assert self._each is not None
        # A last group is that of rows that do not count.
        every = np.concatenate([factors, np.ones((1, factors.shape[1]))]).astype(np.float32)
        own = every[groups]
        self._each *= own[:, :, None] if calendar == "weekday" else own[:, None, :]
        self._each /= _of_calendar(self._each, "weekday").sum(axis=1)[:, None, None]
        self._kinds.clear()

    def _raked(self, calendar: Calendar, known: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of each kind of time in each group, of counts that have the base's shares in all rows."""
        base = self._base.sum(axis=1 - _AXES[calendar])
        held = known.sum(axis=1, keepdims=True)
        found = known.copy()
        for _ in range(_ROUNDS):
            now = found.sum(axis=0)
            found *= np.divide(base * held.sum(), now, out=np.ones(now.size), where=now > 0)
            rows = found.sum(axis=1, keepdims=True)
            found *= np.divide(held, rows, out=np.ones(rows.shape), where=rows > 0)
        shares: NDArray[np.float64] = np.divide(found, held, out=np.zeros(found.shape), where=held > 0)
        return shares


@dataclass(frozen=True, eq=False)
class ModelRows:
    """What a release says so far, by its model and its rhythms.

    Attributes:
        codec: The codec.
        codes: Expected number of rows of each code, by column.
        drawn: Codes of some rows, by column [n].
    """

    codec: Codec
    codes: Mapping[str, NDArray[np.float64]]
    drawn: Mapping[str, NDArray[np.intp]]

    @classmethod
    def of(cls, codec: Codec, model: Model) -> ModelRows:
        """Draw rows of a model of a codec's codes."""
        columns = codec.domain.columns
        counts = one_way_of(model, columns)
        n_rows = _DRAWN if counts is not None else _DRAWN_SLOWLY
        rows = model.sample(n_rows, np.random.default_rng(0))
        drawn = {c: rows.column(c).astype(np.intp) for c in columns}
        if counts is None:
            scale = model.total / n_rows
            sizes = codec.domain.sizes
            counts = [_counts(drawn[c], size) * scale for c, size in zip(columns, sizes, strict=True)]
        return cls(codec, {c: np.maximum(n, 0.0) for c, n in zip(columns, counts, strict=True)}, drawn)

    def for_fits(self, kinds: int) -> ModelRows:
        """Return as many of the rows as a fit of this number of kinds of time takes."""
        some = slice(max(_MOST_NUMBERS // kinds, _DRAWN_SLOWLY))
        return replace(self, drawn={c: codes[some] for c, codes in self.drawn.items()})

    def kinds(self, name: str, calendar: Calendar) -> NDArray[np.float64]:
        """Return the share of each kind of time in the rows whose bins hold all kinds [kinds]."""
        return self._shares(name, calendar, calendar)

    def base(self, name: str, groups: Mapping[Calendar, NDArray[np.intp]]) -> NDArray[np.float64]:
        """Return the share of each group of weekdays and of hours in the rows whose bins hold all of them.

        Args:
            name: The column.
            groups: Group of each weekday, and of each hour; one for all of a calendar that is not given.
        """
        # What holds all weekdays holds all hours, too.
        weekdays = self._shares(name, "weekday", "hour" if "hour" in groups else "weekday")
        rhythm = self.codec.rhythms[name]
        hours = np.array(rhythm.hours or (1.0,) * (WEEKDAYS * HOURS)).reshape(WEEKDAYS, HOURS)
        every = weekdays[:, None] * proportions(hours)
        merged = [groups.get(c, np.zeros(n, np.intp)) for c, n in KINDS.items()]
        found = np.zeros([int(own.max()) + 1 for own in merged])
        np.add.at(found, (merged[0][:, None], merged[1][None]), every)
        return found

    def with_choice(self, name: str, calendar: Calendar) -> NDArray[np.bool_]:
        """Return which of the drawn rows lie in bins of a column that hold all kinds of time [n]."""
        return self._choice(name, calendar)[self.drawn[name]]

    def counts(
        self, other: str, groups: NDArray[np.intp], open_rows: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected number of open rows, and of others, in groups of another column's codes [groups]."""
        every = np.bincount(groups, self.codes[other])
        drawn = groups[self.drawn[other]]
        # Groups that are hardly drawn are as the others are.
        open_part = np.bincount(drawn[open_rows], minlength=every.size) + open_rows.mean()
        held = every * open_part / (np.bincount(drawn, minlength=every.size) + 1)
        return held, np.maximum(every - held, 0.0)

    def groups(self, name: str, most: int) -> NDArray[np.intp]:
        """Return a group for each code of a column [codes]: neighbours that hold as much, or frequent codes alone."""
        domain, counts = self.codec.domain, self.codes[name]
        n_apart = domain.apart.get(name, 0) if name in domain.ordered else 0
        size = counts.size - n_apart
        if name in domain.ordered:
            groups = even_groups(counts[:size], most - (n_apart > 0))
        else:
            groups = np.full(size, most - 1)
            frequent = np.argsort(-counts, kind="stable")[: most - 1 if size > most else most]
            groups[frequent] = np.arange(frequent.size)
        groups = np.unique(groups, return_inverse=True)[1].astype(np.intp)
        return np.append(groups, np.full(n_apart, groups.max() + 1))

    def _shares(self, name: str, calendar: Calendar, within: Calendar) -> NDArray[np.float64]:
        """Return the share of each kind of time in the rows whose bins hold all kinds of another calendar [kinds]."""
        bins = self.codec.bins[name]
        has_choice = self._choice(name, within)[: bins.size]
        return shares_of_kinds(self.codec, name, calendar, self.codes[name][: bins.size] * has_choice)

    def _choice(self, name: str, calendar: Calendar) -> NDArray[np.bool_]:
        """Return which codes of a column are bins that hold all kinds of time [codes]."""
        column, bins = self.codec.schema[name], self.codec.bins[name]
        assert isinstance(column, Ordered)
        found = np.zeros(self.codec.domain.size(name), np.bool_)
        found[: bins.size] = with_all_kinds(bins, days_of(column), calendar)
        return found


def even_groups(counts: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """Return groups of neighbours that hold about as many records each, numbered from 0 [counts]."""
    total = float(counts.sum())
    if not total > 0:
        counts, total = np.ones(counts.size), float(counts.size)
    middles = np.cumsum(counts) - counts / 2
    groups = np.minimum((middles / total * most).astype(np.intp), most - 1)
    return np.unique(groups, return_inverse=True)[1].astype(np.intp)


def _of_calendar(each: NDArray[np.float32], calendar: Calendar) -> NDArray[np.float32]:
    """Return the sums of rows [n, weekdays, hours] by weekday or by hour; a product sums a few numbers fastest."""
    _, weekdays, hours = each.shape
    found: NDArray[np.float32] = (
        each @ np.ones(hours, np.float32)
        if calendar == "weekday"
        else (np.ones((1, weekdays), np.float32) @ each)[:, 0]
    )
    return found


def _counts(codes: NDArray[np.intp], size: int) -> NDArray[np.float64]:
    return np.bincount(codes, minlength=size).astype(np.float64)


def _sums(values: NDArray[np.float32], groups: NDArray[np.intp], size: int) -> NDArray[np.float64]:
    """Return the sums of rows of values in groups, without the rows beyond them [size, columns]."""
    sums = [np.bincount(groups, column, minlength=size)[:size] for column in values.T]
    return np.stack(sums, axis=1)
