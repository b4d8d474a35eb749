"""Estimation: the distribution that is nearest to noisy marginals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from syntabula.marginals.consistency import project_simplex
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.pgm.factor import arranged, axes_outside, sum_over
from syntabula.models.pgm.factor_graph import FactorGraph, ImpossibleError

_LEAST_PROBABILITY = 1e-9
_SIGNIFICANT = 3.0
"""Standard deviations beyond which a difference of one cell is taken for more than noise."""
_MOST_MOMENTUM = 0.95
_UNKNOWN = 1e-12
_LEAST_STEP = 1e-300
_SETTLE_EVERY = 16
_SINGLE = 1e-5


@dataclass(frozen=True, eq=False)
class Target:
    """All measurements of one clique, joined by inverse variance.

    Attributes:
        clique: Columns in the order of the domain.
        mean: Weighted mean of the measured counts.
        weight: Inverse variance of the mean, for each cell; 0 where nothing was measured.
        noise: Loss that the true table is expected to have here: half for each cell with noise.
    """

    clique: Clique
    mean: FloatArray
    weight: FloatArray
    noise: float

    @property
    def explained(self) -> float:
        """Loss that noise still explains: two standard deviations above what it gives the true table, and 4.

        Half of a squared standard normal error has mean 1/2 and variance 1/2. The 4 is for small tables, whose
        loss has a long tail: 3 for two cells would be passed by one true table in twenty, and trying to fit
        that one costs hundreds of steps in vain.
        """
        return self.noise + 2 * math.sqrt(self.noise) + 4 if self.noise else 0.0

    def curvature(self, total: float) -> float:
        """Return how much a cell's gradient changes with its log-potential, at most: its weight times its count.

        A count is taken for as large as its standard deviation if it was measured smaller.
        """
        sigma = np.sqrt(np.divide(1.0, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0))
        counts = np.minimum(np.maximum(self.mean, sigma), total)
        return float((self.weight * counts).max())

    def margin(self, column: str, total: float) -> FloatArray:
        """Return the probabilities of one column that are nearest to the measured counts, none quite zero."""
        counts = project_simplex(sum_over(self.mean, axes_outside(self.clique, (column,))), total)
        above: FloatArray = np.maximum(counts, _LEAST_PROBABILITY * total)
        return above / total

    def correction(self, believed: FloatArray) -> FloatArray:
        """Return the log-ratio of measured to believed counts, 0 where noise explains the difference."""
        if not self.weight.any():
            return np.zeros(self.weight.shape)
        sigma = np.where(self.noise > 0, 1.0 / np.sqrt(self.weight), 0.0)
        least = np.minimum(believed, sigma / 2) + _LEAST_PROBABILITY * believed.sum()
        known = np.where(
            np.abs(self.mean - believed) > _SIGNIFICANT * sigma, np.maximum(self.mean, least), believed
        )
        ratio: FloatArray = np.log((known + least) / (believed + least))
        return ratio


def join(domain: Domain, measurements: Sequence[Measurement]) -> list[Target]:
    """Join measurements of the same columns, so that each clique is looked at once a step.

    Columns in several cliques that were not measured alone get a target of weight 0.
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
        # A cell that was not measured has a standard deviation beyond any count: no noise to explain.
        cells = np.count_nonzero(weight > _UNKNOWN * weight.max()) if noisy[clique] else 0
        targets.append(Target(clique, weighted / weight, weight, cells / 2))
    # Columns that several cliques share need a table of their own, see _settled.
    shared = Counter(c for t in targets for c in t.clique)
    for column, n in shared.items():
        if n > 1 and (column,) not in sums:
            zeros = np.zeros(domain.size(column))
            targets.append(Target((column,), zeros, zeros, 0.0))
    return targets


def working_precision(targets: Sequence[Target], total: float) -> np.dtype[Any]:
    """Return the floating-point type for the tables of a model that need only be as exact as noise leaves them.

    In single precision a count of all records is off by some millionth part, which is to stay below a tenth of
    the least standard deviation. Potentials, losses and gradients are held in double precision in any case.
    """
    measured = [t for t in targets if t.weight.any()]
    heaviest = max(float(t.weight.max()) for t in measured)
    coarse = all(t.noise for t in measured) and heaviest * (_SINGLE * total) ** 2 <= 1
    return np.dtype(np.float32 if coarse else np.float64)


def estimate(
    domain: Domain,
    targets: Sequence[Target],
    start: Mapping[Clique, FloatArray],
    total: float,
    *,
    iterations: int,
    tolerance: float,
    stop_at_noise: bool,
) -> tuple[dict[Clique, FloatArray], np.dtype[Any]]:
    """Fit one table of log-potentials per clique by entropic mirror descent with momentum.

    Minimises L(mu) = sum over measured cells of (mu - y)^2 / (2 variance) over the marginals mu of all
    distributions of the given total (McKenna, Sheldon, Miklau 2019, "Graphical-model based estimation and
    inference for differential privacy", algorithm 1). A step moves every potential against the gradient of L
    at the current marginals, and on in the direction of the last step (Polyak 1964); it is kept if L falls.
    If it does not, the momentum is dropped (O'Donoghue and Candes 2015), and the step made shorter.

    Args:
        domain: The columns.
        targets: What to fit.
        start: Log-potentials to start from, by clique; 0 for a clique that is not in it.
        total: Number of records.
        iterations: At most so many steps.
        tolerance: Stop when L falls by less than this part of itself over ten steps.
        stop_at_noise: Stop when no clique is farther from its measurement than noise explains.

    Returns:
        The potentials, one table per target, and the precision in which their product can be worked out.
    """
    precision = working_precision(targets, total) if stop_at_noise else np.dtype(np.float64)
    objective = _Objective(domain, targets, total, precision)
    theta = objective.joined([start.get(t.clique, np.zeros(t.mean.shape)) for t in targets])
    try:
        losses, gradient = objective(theta)
    except ImpossibleError:  # a start so far out that nothing is possible is no start
        theta = np.zeros(theta.shape)
        losses, gradient = objective(theta)
    before, momentum = theta, 0
    moves = _moves([t.clique for t in targets])
    explained = np.array([t.explained for t in targets])
    step = 1.0 / max(t.curvature(total) for t in targets)
    history = [float(losses.sum())]
    for _ in range(iterations):
        if stop_at_noise and np.all(losses <= explained):
            break
        keep = min(momentum / (momentum + 3), _MOST_MOMENTUM)
        trial = theta - step * gradient
        if keep:
            trial += keep * (theta - before)
        try:
            new_losses, new_gradient = objective(trial)
        except ImpossibleError:
            new_losses = np.full(losses.shape, np.inf)
        if new_losses.sum() < history[-1]:
            before, theta, losses, gradient = theta, trial, new_losses, new_gradient
            step *= 1.05 if momentum else 1.5
            momentum += 1
            history.append(float(losses.sum()))
            if len(history) % _SETTLE_EVERY == 0:
                before, theta = (
                    objective.joined(_settled(objective.split(x), moves)) for x in (before, theta)
                )
            if len(history) > 10 and history[-11] - history[-1] <= tolerance * max(history[-1], 1e-12):
                break
        else:
            step *= 0.7 if momentum else 0.5
            before, momentum = theta, 0
            if step < _LEAST_STEP:
                break
    potentials = {t.clique: p for t, p in zip(targets, objective.split(theta), strict=True)}
    return potentials, objective.precision


class _Objective:
    """The loss of each target at some potentials, and its gradient by the target's counts.

    The tables of all targets lie one after the other in one vector, so that a step touches them all at once.
    """

    def __init__(
        self, domain: Domain, targets: Sequence[Target], total: float, precision: np.dtype[Any]
    ) -> None:
        self._graph = FactorGraph(domain.sizes, [tuple(domain.index(c) for c in t.clique) for t in targets])
        self._shapes = [t.mean.shape for t in targets]
        self._ends = np.cumsum([t.mean.size for t in targets]).tolist()
        self._starts = [0, *self._ends[:-1]]
        self._mean = self.joined([t.mean for t in targets])
        self._weight = self.joined([t.weight for t in targets])
        self._total = total
        self.precision = precision

    def joined(self, tables: Sequence[FloatArray]) -> FloatArray:
        """Return the vector of some tables, one per target."""
        return np.concatenate([t.ravel() for t in tables])

    def split(self, vector: FloatArray) -> list[FloatArray]:
        """Return the tables of a vector."""
        return [
            vector[start:end].reshape(shape)
            for start, end, shape in zip(self._starts, self._ends, self._shapes, strict=True)
        ]

    def __call__(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the losses [targets] and the gradient [cells]; raises ImpossibleError as the graph does."""
        difference = self._probabilities(theta)
        difference *= self._total
        difference -= self._mean
        gradient = difference * self._weight
        difference *= gradient
        return 0.5 * np.add.reduceat(difference, self._starts), gradient

    def _probabilities(self, theta: FloatArray) -> FloatArray:
        """Return the model's probabilities of all cells, found in as many digits as noise leaves."""
        tables = [np.subtract(t, t.max(), dtype=self.precision) for t in self.split(theta)]
        for table in tables:
            np.exp(table, out=table)
        try:
            marginals = self._graph.marginals(tables)
        except ImpossibleError:
            if self.precision == np.float64:
                raise
            self.precision = np.dtype(np.float64)  # whose exponents reach ten times as far
            return self._probabilities(theta)
        return np.concatenate([t.ravel() for t in marginals], dtype=np.float64)


def _moves(cliques: Sequence[Clique]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return which tables hold which smaller ones, wide ones first: numbers, and axes that only the first has."""
    wide = sorted(range(len(cliques)), key=lambda i: -len(cliques[i]))
    return [
        (i, j, axes_outside(cliques[i], cliques[j]))
        for i in wide
        for j in wide
        if set(cliques[j]) < set(cliques[i])
    ]


def _settled(
    theta: Sequence[FloatArray], moves: Sequence[tuple[int, int, tuple[int, ...]]]
) -> list[FloatArray]:
    """Move what a table says of some of its columns alone to the table of those columns; the model stays the same.

    Where two measurements disagree on a column that they share, each step raises one table and lowers the other
    by the same function of that column, without end. Moved to a common place the two cancel.
    """
    settled = [t.copy() for t in theta]
    for i, j, axes in moves:
        part = settled[i].mean(axis=axes, keepdims=True)
        settled[i] -= part
        settled[j] += part.squeeze(axes)
    return settled
