"""Targets of a fit: the joined measurements of each clique, how columns rise together, and goals for soft rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement, project_simplex
from syntabula.models.tables import aligned, arranged, axes_outside, sum_over

if TYPE_CHECKING:
    from syntabula.marginals.trend import Trend

Numbers = NDArray[np.float32]

_LEAST_PROBABILITY = 1e-9
_SURELY = 3.0
"""Negative logarithm of the probability, at most, that noise alone exceeds what it is said to explain in any target."""
_SIGNIFICANT = 3.0
"""Standard deviations beyond which the difference of one cell counts as more than noise."""
_UNKNOWN = 1e-6
"""Cells whose precision is below this fraction of their table's largest count as not measured."""
_UNKNOWN_WEIGHT = 1e-12
"""The same for the square of the precision."""
_SURER = 10.0
"""Precision at which an impossible cell is empty, in that of the best measured cell."""
_NEARLY_NONE = 1.0
"""Sum of squared standardised counts in a goal's impossible cells that is near enough to none."""
_PART_OF_SAMPLING = 0.1
"""Error of a fit without noise that is near enough, as a part of the error of a sample of as many records."""
_LEAST_ERROR = 0.1
"""The same for a table without sampling error, in records."""


@dataclass(frozen=True, eq=False)
class Target:
    """All measurements of one clique, joined by inverse variance.

    Attributes:
        clique: Columns in the order of the domain.
        mean: Weighted mean of the measured counts.
        weight: Inverse variance of the mean, for each cell; 0 where nothing was measured.
        noise: Expected loss of the true table here: half for each cell with noise.
        possible: False for cells that have no records, by what is known beside the measurements; None if all may.
    """

    clique: Clique
    mean: FloatArray
    weight: FloatArray
    noise: float
    possible: NDArray[np.bool_] | None = None

    def explained(self, among: int = 1) -> float:
        """Return the largest loss that noise explains, with a probability of 95 % for all targets together.

        Twice the loss of the true table is a sum of k squared standard normal errors, which exceeds
        k + 2 sqrt(k x) + 2 x with a probability of at most exp(-x) (Laurent and Massart 2000, lemma 1). So x grows
        with the logarithm of the number of targets: at a level for each alone, the true table would exceed some
        of a hundred, and a fit would go on for hundreds of steps towards their noise.

        Exact counts have no noise to explain. There a tenth of the error that a sample of as many records would have
        is near enough: steps towards the exact counts would have no end, and no sample would show them.

        Args:
            among: Number of targets of a fit.
        """
        if self.noise:
            unlikely = _SURELY + math.log(among)
            return self.noise + math.sqrt(2 * self.noise * unlikely) + unlikely
        records = float(self.mean.sum())
        if not self.weight.any() or records <= 0:
            return 0.0
        spread = max(records - float(np.square(self.mean).sum()) / records, 0.0)  # sum of n p (1 - p)
        return (_PART_OF_SAMPLING**2 * spread + _LEAST_ERROR**2) * float(self.weight.max()) / 2

    def dependent(self, among: int = 1) -> bool:
        """Return whether the columns depend on each other beyond the noise, of which there must be some.

        Args:
            among: Number of targets of a fit.
        """
        counts = self.mean if self.possible is None else np.where(self.possible, self.mean, 0.0)
        records = float(counts.sum())
        if counts.ndim < 2 or not self.noise or records <= 0:
            return False
        independent = np.array(records)
        for axis in range(counts.ndim):
            column = sum_over(counts, tuple(a for a in range(counts.ndim) if a != axis)) / records
            independent = independent[..., np.newaxis] * column
        if self.possible is not None:
            independent = np.where(self.possible, independent, 0.0)
        loss = float((self.weight * np.square(counts - independent)).sum()) / 2
        return loss > self.explained(among)

    def curvature(self, total: float) -> float:
        """Return a bound on the change of a cell's gradient with its log-potential: its weight times its count.

        A count below its standard deviation is replaced by the standard deviation.
        """
        sigma = np.sqrt(np.divide(1.0, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0))
        counts = np.minimum(np.maximum(self.mean, sigma), total)
        return float((self.weight * counts).max())

    def margin(self, column: str, total: float) -> FloatArray:
        """Return the probabilities of one column nearest to the measured counts, all above zero."""
        counts = project_simplex(sum_over(self.mean, axes_outside(self.clique, (column,))), total)
        above: FloatArray = np.maximum(counts, _LEAST_PROBABILITY * total)
        return above / total

    def correction(self, believed: FloatArray) -> FloatArray:
        """Return the log-ratio of measured counts to the model's, 0 where noise explains the difference."""
        if not self.weight.any():
            return np.zeros(self.weight.shape)
        inverse = np.divide(1.0, np.sqrt(self.weight), out=np.zeros_like(self.weight), where=self.weight > 0)
        sigma = np.where(self.noise > 0, inverse, 0.0)
        least = np.minimum(believed, sigma / 2) + _LEAST_PROBABILITY * believed.sum()
        known = np.where(
            np.abs(self.mean - believed) > _SIGNIFICANT * sigma, np.maximum(self.mean, least), believed
        )
        ratio: FloatArray = np.log((known + least) / (believed + least))
        return ratio


def joined_targets(
    domain: Domain,
    measurements: Sequence[Measurement],
    possible: Mapping[Clique, NDArray[np.bool_]] | None = None,
    trends: Sequence[Trend] = (),
) -> list[Target]:
    """Join measurements of the same columns, so that each clique is used once per step.

    Columns in several cliques that were not measured alone get a target of weight 0; so do tables with impossible cells
    and pairs with trends that were not measured. Counts measured in impossible cells are noise, and have no weight.

    Args:
        domain: The columns.
        measurements: At least one.
        possible: Which cells of tables are possible, by clique in the order of the domain.
        trends: Measured trends of pairs of columns.
    """
    sums: dict[Clique, list[FloatArray]] = {}
    noisy: dict[Clique, bool] = {}
    for m in measurements:
        clique = domain.canonical(m.clique)
        values, weight = arranged(m.values, m.clique, clique), 1.0 / arranged(m.variances, m.clique, clique)
        if clique in sums:
            sums[clique][0] += values * weight
            sums[clique][1] += weight
        else:
            sums[clique] = [values * weight, weight.copy()]
        noisy[clique] = noisy.get(clique, True) and bool(np.all(m.sigma))
    targets = []
    for clique, (weighted, weight) in sums.items():
        # A cell that was not measured has a standard deviation larger than any count, and no noise to explain.
        cells = np.count_nonzero(weight > _UNKNOWN_WEIGHT * weight.max()) if noisy[clique] else 0
        targets.append(Target(clique, weighted / weight, weight, cells / 2))
    targets = _with_possible(domain, targets, possible or {})
    known = {t.clique for t in targets}
    for clique in dict.fromkeys(domain.canonical(t.clique) for t in trends):
        if clique not in known:
            nothing = np.zeros(domain.shape(clique))
            targets.append(Target(clique, nothing, nothing, 0.0))
    # Columns that several cliques share need a table of their own, see _settled.
    shared = Counter(c for t in targets for c in t.clique)
    alone = {t.clique for t in targets}
    for column, n in shared.items():
        if n > 1 and (column,) not in alone:
            zeros = np.zeros(domain.size(column))
            targets.append(Target((column,), zeros, zeros, 0.0))
    return targets


def independent_start(
    columns: Sequence[str], targets: Sequence[Target], total: float
) -> dict[Clique, FloatArray]:
    """Return log-potentials by which every column is independent, with the margin of its smallest measured clique."""
    start: dict[Clique, FloatArray] = {}
    for column in columns:
        holding = [t for t in targets if column in t.clique and t.weight.any()]
        if holding:
            smallest = min(holding, key=lambda t: t.mean.size)
            table = np.log(smallest.margin(column, total))
            start[smallest.clique] = start.get(smallest.clique, 0.0) + aligned(
                table, (column,), smallest.clique
            )
    return {
        t.clique: np.array(np.broadcast_to(start[t.clique], t.mean.shape))
        for t in targets
        if t.clique in start
    }


def shares_of(targets: Sequence[Target], columns: Collection[str]) -> dict[str, FloatArray]:
    """Return about which fraction of the records each code of some columns has [codes], by the smallest target that
    was measured of each."""
    found: dict[str, FloatArray] = {}
    for target in sorted(targets, key=lambda t: t.mean.size):
        if target.weight.any():
            for column in target.clique:
                if column in columns and column not in found:
                    found[column] = target.margin(column, max(float(target.mean.sum()), 1.0))
    return found


def _with_possible(
    domain: Domain, targets: Sequence[Target], possible: Mapping[Clique, NDArray[np.bool_]]
) -> list[Target]:
    """Return targets that know which of their cells are possible, and one for each table with zeros that has none."""
    found = []
    for target in targets:
        cells = possible.get(target.clique)
        if cells is None:
            found.append(target)
            continue
        kept = float(cells.mean())
        mean, weight = np.where(cells, target.mean, 0.0), np.where(cells, target.weight, 0.0)
        found.append(Target(target.clique, mean, weight, target.noise * kept, cells))
    measured = {target.clique for target in targets}
    for clique, cells in possible.items():
        if clique not in measured:
            nothing = np.zeros(domain.shape(clique))
            found.append(Target(clique, nothing, nothing, 0.0, cells))
    return found


@dataclass(frozen=True, eq=False)
class Goal:
    """The target of soft rows for one marginal, one number for each cell.

    Attributes:
        clique: Columns in the order of the domain.
        wanted: Target probability of each cell.
        precision: 1 / its standard deviation; 0 where nothing was measured.
        weight: Weight of a squared difference.
        explained: Sum of squared standardised differences that noise explains: two deviations above its mean.
    """

    clique: Clique
    wanted: Numbers
    precision: Numbers
    weight: Numbers
    explained: float


def make_goals(
    targets: Sequence[Target], total: float, *, newest: Collection[Clique] = (), emphasis: float = 1.0
) -> list[Goal]:
    """Return a goal for each target.

    A squared difference is weighted by 1 / the standard deviation of its noise, and more for the newest
    targets: equation 6 of Chen, Gong, Wang, MargNet. Impossible cells are wanted empty, with the weight of a new
    cell that was measured with the least noise of any.

    Args:
        targets: Counts to reach, with cliques in the order of the domain.
        total: Number of records.
        newest: Cliques with more weight than the others.
        emphasis: Factor for their weight.
    """
    largest = max(float(np.sqrt(t.weight.max())) for t in targets)
    goals = []
    for target in targets:
        sharpness = np.sqrt(target.weight)
        sharpness[sharpness <= _UNKNOWN * sharpness.max()] = 0
        noisy = np.count_nonzero(sharpness) if target.noise else 0
        explained = noisy + 2 * math.sqrt(2 * noisy)
        importance = (emphasis if target.clique in newest else 1.0) / largest
        weight = sharpness * importance
        if target.possible is not None:
            sharpness[~target.possible] = largest * _SURER
            weight[~target.possible] = emphasis
            explained += _NEARLY_NONE
        goals.append(
            Goal(
                target.clique,
                wanted=(target.mean / total).astype(np.float32),
                precision=(sharpness * total).astype(np.float32),
                weight=weight.astype(np.float32),
                explained=explained,
            )
        )
    return goals
