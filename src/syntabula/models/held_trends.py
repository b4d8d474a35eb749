"""How columns rise together, as far as fits are held to it beside the cells of their targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.targets import Target, shares_of

if TYPE_CHECKING:
    from syntabula.marginals.trend import Trend

TREND_WEIGHT = 4.0
"""Weight of a trend beside what all cells of its marginal say of it already (benchmarks/results/rows.md)."""
_TREND_NEAR, _MEASURED_NEAR_AT_LAST = 0.5, 0.1
"""Standard deviations of noise, as a root mean square over all trends, to which fits bring them, and the last fit if some
were measured.

Fits come from where columns rise together less than they should. Of 19 strong correlations of loans at epsilon 1, last
fits that ended at half a deviation had 7 within a tenth, and these have 9. Trends that cells tell have more noise, and
would take twice the time.
"""
_STRAIGHT = 1e-9
"""Second derivative of a trend's loss below which no step follows from it."""
_SAMPLING = 1 / 12
"""Standard deviation of a record's product of two independent ranks: a fit is held no closer to a measured trend than a
sample of as many records would be."""
_FEWEST_CODES = 3
"""Two codes that are measured are all that there is to know."""


@dataclass(frozen=True, eq=False)
class Trends:
    """How two ordered columns rise together, for some targets, whose tables are concatenated in one vector.

    A fit stops where noise explains the distances of all cells of a marginal together. The sum over its cells of count
    times the ranks of both codes is known far better than that: where a fit stopped at .84 of a correlation of .94, it
    tells .94 to within .04. So the last fit is also held to these numbers. Trends that were measured have less noise
    still, and hold every fit.

    A trend is the sum over cells of count times scores, which are the products of both codes' ranks, as deviations from
    their mean. Codes that stand apart, such as those of missing values, have none.

    Attributes:
        places: Places of the cells of all trends in the vector [scores]; no two are the same.
        scores: Their scores, divided by the standard deviation of their trend [scores].
        starts: Where each trend begins among these [trends].
        shifts: How far the counts that were measured of its cells are from each trend, in standard deviations [trends].
        measured: Whether each was measured itself [trends].
    """

    places: NDArray[np.intp]
    scores: FloatArray
    starts: NDArray[np.intp]
    shifts: FloatArray
    measured: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        domain: Domain,
        targets: Sequence[Target],
        measured: Sequence[Trend] = (),
        *,
        total: float = 0.0,
        told: bool = True,
    ) -> Self | None:
        """Return the trends of some targets; None if there are none.

        Args:
            domain: The columns, and which are ordered.
            targets: One of each pair that has a measured trend, and others.
            measured: The trends that were measured. Of several of a pair the last one counts.
            total: Number of records.
            told: Whether to add the trends of all other measured pairs of ordered columns that depend on each other.
        """
        inner = {c: domain.size(c) - domain.apart.get(c, 0) for c in domain.ordered}
        known = {domain.canonical(t.clique): t for t in measured}
        starts = np.cumsum([0, *(t.mean.size for t in targets)])[:-1].tolist()
        rising = [
            (start, t)
            for start, t in zip(starts, targets, strict=True)
            if t.clique in known
            or (
                told
                and t.mean.ndim == 2
                and all(inner.get(c, 0) >= _FEWEST_CODES for c in t.clique)
                and t.dependent(len(targets))
            )
        ]
        if not rising:
            return None
        shares = shares_of(targets, {c for _, t in rising for c in t.clique if c in inner})
        ranks = {c: _ranks(s, inner[c]) for c, s in shares.items()}
        places, scores, shifts = [], [], []
        for start, target in rising:
            trend = known.get(target.clique)
            first, second = target.clique
            if trend is None:
                products = np.where(target.weight > 0, np.outer(ranks[first], ranks[second]), 0.0).ravel()
                weights = target.weight.ravel()
                variance = np.divide(
                    np.square(products), weights, out=np.zeros(products.size), where=weights > 0
                )
                sigma, shift = float(np.sqrt(variance.sum())), 0.0
            else:
                given = dict(zip(trend.clique, trend.scores, strict=True))
                products = np.outer(given[first], given[second]).ravel()
                sigma = math.hypot(trend.sigma, _SAMPLING * math.sqrt(total))
                shift = (float(products @ target.mean.ravel()) - trend.value) / sigma
            scores.append(products / sigma)
            shifts.append(shift)
            places.append(start + np.arange(products.size))
        sizes = [s.size for s in scores]
        return cls(
            np.concatenate(places),
            np.concatenate(scores),
            np.cumsum([0, *sizes[:-1]]),
            np.array(shifts),
            np.array([target.clique in known for _, target in rising]),
        )

    def near(self, last: bool) -> float:
        """Return the loss that is near enough, where no other fit follows and where one does."""
        deviations = _MEASURED_NEAR_AT_LAST if last and self.measured.any() else _TREND_NEAR
        return TREND_WEIGHT / 2 * deviations**2 * self.starts.size

    def ways(self, counts: FloatArray, weight: FloatArray, total: float) -> Ways:
        """Return steps that move each measured trend to where its loss and that of the pair's cells are least.

        Args:
            counts: The model's, of the cells of all trends [scores].
            weight: Inverse variance of what was measured of them [scores].
            total: Number of records.
        """
        means = np.add.reduceat(self.scores * counts, self.starts) / total
        moved = counts * (self.scores - np.repeat(means, self._sizes))
        bend = TREND_WEIGHT * np.square(np.add.reduceat(moved * self.scores, self.starts))
        bend += np.add.reduceat(weight * np.square(moved), self.starts)
        inverse = np.divide(1.0, bend, out=np.zeros_like(bend), where=self.measured & (bend > _STRAIGHT))
        return Ways(self.places, self.starts, moved, self.scores * np.repeat(inverse, self._sizes))

    @property
    def _sizes(self) -> NDArray[np.intp]:
        return np.diff(self.starts, append=self.scores.size)

    def __call__(self, difference: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss of all trends, and its gradient with respect to the counts of their cells [scores].

        Args:
            difference: Of the model's counts from the measured ones [cells].
        """
        off = np.add.reduceat(self.scores * difference[self.places], self.starts) + self.shifts
        gradient = TREND_WEIGHT * np.repeat(off, self._sizes) * self.scores
        return TREND_WEIGHT / 2 * float(np.square(off).sum()), gradient


@dataclass(frozen=True, eq=False)
class Ways:
    """Newton steps along the scores of each measured trend, by the counts of a model at the beginning of a fit.

    A trend has far less noise than cells have, and so a loss that bends far more along its scores than any cell's:
    with the step that suits cells it takes a hundred steps more.

    Attributes:
        places: Places of the cells of all trends in the vector [scores].
        starts: Where each trend begins among these [trends].
        moved: How the counts change with a potential along the scores [scores].
        lengths: The scores over the second derivative of the loss along them [scores].
    """

    places: NDArray[np.intp]
    starts: NDArray[np.intp]
    moved: FloatArray
    lengths: FloatArray

    def __call__(self, gradient: FloatArray) -> FloatArray:
        """Return the direction of a step, for a gradient of all targets [cells]."""
        slopes = np.add.reduceat(self.moved * gradient[self.places], self.starts)
        found = np.zeros(gradient.shape)
        found[self.places] = self.lengths * np.repeat(slopes, np.diff(self.starts, append=self.places.size))
        return found


def _ranks(shares: FloatArray, inner: int) -> FloatArray:
    """Return the rank of each code of a column as a deviation from the mean; 0 after the first `inner`."""
    within = shares[:inner] / shares[:inner].sum()
    middles = np.cumsum(within) - within / 2
    ranks = np.zeros(shares.size)
    ranks[:inner] = middles - 0.5
    return ranks
