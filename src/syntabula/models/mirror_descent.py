"""Estimates the distribution nearest to noisy marginals by mirror descent.

A fit stops as soon as noise explains what is left. If every cell were moved by its own difference alone, much of a
strong dependence would be left then: each cell far off the diagonal is within its noise, while all of them together
are not. In a marginal of ordered columns the true differences vary smoothly from code to code and the noise does not,
so steps go along the smoothed gradient (`SmoothSteps`) and take up the former first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.factor_graph import FactorGraph, ImpossibleError
from syntabula.models.held_trends import TREND_WEIGHT, Trends, Ways
from syntabula.models.tables import Order, axes_outside
from syntabula.models.targets import Target, shares_of

if TYPE_CHECKING:
    from syntabula.marginals.trend import Trend

_MOST_MOMENTUM = 0.95
_LEAST_STEP = 1e-9
"""Part of the first step from which on a fit has ended: rounding alone decides whether such a step leads downwards."""
_SHORT_STEP = 0.1
"""Part of the first step from which on smoothed steps are given up: they hardly lead downwards any more."""
_SETTLE_EVERY = 16
_SINGLE = 1e-5
_PART_OF_NOISE = 0.7
"""Part of the loss that noise explains to which the last fit brings marginals of dependent columns.

A fit takes up some of the noise with its first steps, and so comes as near to the measurements as the true table is
while it still lies between that and independence: strong pairs came out too weak. Where independence is as near as the
noise, there is nothing to gain.
"""
_PACE = 0.25
"""Part of a Newton step along each trend, at first; all together may lead too far, as they move each other."""
_REACH = 2.0
"""Distance at which the smoothing has fallen to 1 / e, in codes of average count (benchmarks/results/rows.md)."""
_FEWEST_CODES = 3
"""Two codes have no neighbours to tell apart."""
IMPOSSIBLE = 1e5
"""How far below all others the stored log-potential of an impossible cell lies: its exponential is exactly 0."""


def working_precision(targets: Sequence[Target], total: float) -> np.dtype[Any]:
    """Return the floating-point type for a model's tables, which need no more precision than the noise.

    In single precision the count of all records has a relative error of about one millionth, which must stay
    below a tenth of the smallest standard deviation. Potentials, losses and gradients are always in double
    precision.
    """
    measured = [t for t in targets if t.weight.any()]
    heaviest = max(float(t.weight.max()) for t in measured)
    coarse = all(t.noise for t in measured) and heaviest * (_SINGLE * total) ** 2 <= 1
    return np.dtype(np.float32 if coarse else np.float64)


def estimate(
    domain: Domain,
    order: Order,
    targets: Sequence[Target],
    start: Mapping[Clique, FloatArray],
    total: float,
    *,
    iterations: int,
    tolerance: float,
    stop_at_noise: bool,
    last: bool = False,
    trends: Sequence[Trend] = (),
) -> tuple[dict[Clique, FloatArray], np.dtype[Any]]:
    """Fit one table of log-potentials per clique by entropic mirror descent with momentum.

    Minimises L(mu) = sum over measured cells of (mu - y)^2 / (2 variance) over the marginals mu of all
    distributions of the given total (McKenna, Sheldon, Miklau 2019, "Graphical-model based estimation and
    inference for differential privacy", algorithm 1). A step moves every potential against the gradient of L
    at the current marginals, with momentum from the last step (Polyak 1964); it is kept if L decreases. Otherwise the
    momentum is reset (O'Donoghue and Candes 2015), and the step shortened. A fit that may stop at the noise begins
    with gradients smoothed along ordered columns (`SmoothSteps`), and goes on with plain ones where these gain no more.

    Measured trends take part of a Newton step each beside (`Ways`).

    Args:
        domain: The columns, and which are ordered.
        order: Elimination order; see `eliminate`.
        targets: Targets to fit.
        start: Initial log-potentials by clique; 0 for a missing clique.
        total: Number of records.
        iterations: Most steps.
        tolerance: Stop when L decreases by less than this fraction over ten steps.
        stop_at_noise: Stop when each clique is as near to its measurement as noise explains.
        last: No other fit follows; dependent columns are fitted closer, see `_PART_OF_NOISE` and `Trends`.
        trends: Measured trends, each of a pair that has a target.

    Returns:
        The potentials, one table per target, and the precision in which their product can be computed.
    """
    precision = working_precision(targets, total) if stop_at_noise else np.dtype(np.float64)
    held = Trends.of(domain, targets, trends, total=total, told=last and stop_at_noise)
    objective = _Objective(domain, order, targets, total, precision, held)
    theta = objective.joined([_begun(t, start) for t in targets])
    try:
        losses, gradient = objective(theta)
    except ImpossibleError:  # the start is too extreme: its product underflows
        theta = np.zeros(theta.shape)
        losses, gradient = objective(theta)
    before, momentum = theta, 0
    moves = _moves([t.clique for t in targets])
    among = len(targets)
    near = np.array([t.explained(among) for t in targets])
    if last:
        near[[t.dependent(among) for t in targets]] *= _PART_OF_NOISE
    if held is not None:
        near = np.append(near, held.near(last))
    smooth = SmoothSteps.of(domain, targets) if stop_at_noise else SmoothSteps.none(targets)
    first = step = objective.length(smooth.length(targets, total))
    pace = _PACE
    history = [float(losses.sum())]
    for _ in range(iterations):
        if stop_at_noise and np.all(losses <= near):
            break
        keep = min(momentum / (momentum + 3), _MOST_MOMENTUM)
        trial = theta - step * smooth(gradient) - pace * step / first * objective.along_trends(gradient)
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
            gains_no_more = len(history) > 10 and history[-11] - history[-1] <= tolerance * max(
                history[-1], 1e-12
            )
        else:
            step *= 0.7 if momentum else 0.5
            pace *= 1.0 if momentum else 0.5
            gains_no_more = step < (_SHORT_STEP if smooth.alike else _LEAST_STEP) * first
            before, momentum = theta, 0
        if gains_no_more and smooth.alike:
            smooth = SmoothSteps.none(targets)
            first = step = objective.length(smooth.length(targets, total))
            history = history[-1:]
            before, momentum = theta, 0
        elif gains_no_more:
            break
    potentials = {
        t.clique: p if t.possible is None else np.where(t.possible, p, p[t.possible].min() - IMPOSSIBLE)
        for t, p in zip(targets, objective.split(theta), strict=True)
    }
    return potentials, objective.precision


def _begun(target: Target, start: Mapping[Clique, FloatArray]) -> FloatArray:
    """Return the initial potentials of a target; those of impossible cells do not count, and are 0."""
    potentials = start.get(target.clique)
    if potentials is None:
        return np.zeros(target.mean.shape)
    return potentials if target.possible is None else np.where(target.possible, potentials, 0.0)


class _Objective:
    """The loss of each target at some potentials, and that of all trends, with their gradient in the targets' counts.

    The tables of all targets are concatenated in one vector, so that a step updates them all at once.
    """

    def __init__(
        self,
        domain: Domain,
        order: Order,
        targets: Sequence[Target],
        total: float,
        precision: np.dtype[Any],
        trends: Trends | None,
    ) -> None:
        factors = [tuple(domain.index(c) for c in t.clique) for t in targets]
        self._graph = FactorGraph(domain.sizes, factors, order)
        self._shapes = [t.mean.shape for t in targets]
        self._sizes = [t.mean.size for t in targets]
        self._ends = np.cumsum(self._sizes).tolist()
        self._starts = [0, *self._ends[:-1]]
        self._mean = self.joined([t.mean for t in targets])
        self._weight = self.joined([t.weight for t in targets])
        self._total = total
        self._trends = trends
        self._ways: Ways | None = None
        held = [np.zeros(t.mean.shape, bool) if t.possible is None else ~t.possible for t in targets]
        self._impossible = np.concatenate([h.ravel() for h in held]) if any(h.any() for h in held) else None
        self.precision = precision

    def joined(self, tables: Sequence[FloatArray]) -> FloatArray:
        """Concatenate tables, one per target, into a vector."""
        return np.concatenate([t.ravel() for t in tables])

    def split(self, vector: FloatArray) -> list[FloatArray]:
        """Return the tables of a vector."""
        return [
            vector[start:end].reshape(shape)
            for start, end, shape in zip(self._starts, self._ends, self._shapes, strict=True)
        ]

    def __call__(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the losses, of each target and then of all trends, and the gradient [cells].

        Raises ImpossibleError as the graph does.
        """
        difference = self._probabilities(theta)
        difference *= self._total
        difference -= self._mean
        gradient = difference * self._weight
        losses = 0.5 * np.add.reduceat(difference * gradient, self._starts)
        if self._trends is None:
            return losses, gradient
        if self._ways is None:
            places = self._trends.places
            counts = (difference + self._mean)[places]
            self._ways = self._trends.ways(counts, self._weight[places], self._total)
        off, of_trends = self._trends(difference)
        gradient[self._trends.places] += of_trends
        return np.append(losses, off), gradient

    def along_trends(self, gradient: FloatArray) -> FloatArray | float:
        """Return the direction of further steps along the measured trends, for a gradient [cells]."""
        return 0.0 if self._ways is None else self._ways(gradient)

    def length(self, step: float) -> float:
        """Return the length of a first step, given that without trends."""
        return step if self._trends is None else step / (1 + TREND_WEIGHT)

    def _probabilities(self, theta: FloatArray) -> FloatArray:
        """Return the model's probabilities of all cells, in the precision that the noise requires."""
        if self._impossible is not None:
            theta = np.where(self._impossible, -np.inf, theta)
        highest = np.maximum.reduceat(theta, self._starts)
        factors = (theta - np.repeat(highest, self._sizes)).astype(self.precision)
        np.exp(factors, out=factors)
        try:
            marginals = self._graph.marginals(self.split(factors))
        except ImpossibleError:
            if self.precision == np.float64:
                raise
            self.precision = np.dtype(np.float64)  # its exponent range is ten times as large
            return self._probabilities(theta)
        return np.concatenate([t.ravel() for t in marginals], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SmoothSteps:
    """Smooths the gradient of each target along its ordered columns.

    A step is the gradient times I + S, where S has entries exp(-d / 2) between cells at a distance d along the ordered
    columns. It comes fast to where noise explains the rest. Near the optimum it need not lower the loss, as marginals
    answer to potentials of other cells too; plain steps go on from there.

    The distance of two codes is the part of the records between their middles, times the number of codes. So a frequent
    value such as zero is moved apart from its neighbours, whose counts are of another size, and small codes together.
    Codes that stand apart, such as those of missing values, have no neighbours. Marginals of single columns, and
    marginals measured without noise, are not smoothed.

    Attributes:
        norms: Factor by which the gradient of each target grows at most [targets].
        alike: Targets that have one shape and are smoothed along the same axes, all at once: the places of their cells
            in the vector of all cells [targets, cells], and for each axis their matrices [targets, 1, codes, codes]
            and the number of cells from one code to the next.
    """

    norms: Sequence[float]
    alike: Sequence[tuple[NDArray[np.intp], Sequence[tuple[FloatArray, int]]]]

    @classmethod
    def none(cls, targets: Sequence[Target]) -> Self:
        """Return what leaves each gradient as it is."""
        return cls([1.0] * len(targets), [])

    def length(self, targets: Sequence[Target], total: float) -> float:
        """Return the length of a first step, by which the loss falls however it bends."""
        return 1.0 / max(t.curvature(total) * norm for t, norm in zip(targets, self.norms, strict=True))

    @classmethod
    def of(cls, domain: Domain, targets: Sequence[Target]) -> Self:
        """Return the smoothing of some targets, whose tables are concatenated in one vector."""
        kernels = _kernels(domain, targets)
        norms, start = [], 0
        alike: dict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[int, Target]]] = {}
        for target in targets:
            columns = target.clique if _is_smoothed(target) else ()
            axes = tuple(axis for axis, column in enumerate(columns) if column in kernels)
            if axes:
                alike.setdefault((target.mean.shape, axes), []).append((start, target))
            largest = math.prod(float(kernels[target.clique[a]].sum(axis=0).max()) for a in axes)
            norms.append(1.0 + largest if axes else 1.0)
            start += target.mean.size
        stacked = []
        for (shape, axes), members in alike.items():
            places = np.array([first for first, _ in members])[:, np.newaxis] + np.arange(math.prod(shape))
            matrices = [
                (
                    np.stack([kernels[t.clique[a]] for _, t in members])[:, np.newaxis],
                    math.prod(shape[a + 1 :]),
                )
                for a in axes
            ]
            stacked.append((places, matrices))
        return cls(norms, stacked)

    def __call__(self, gradient: FloatArray) -> FloatArray:
        """Return the direction of a step, for a gradient of all targets [cells]."""
        if not self.alike:
            return gradient
        found = gradient.copy()
        for places, matrices in self.alike:
            tables = gradient[places]
            for kernels, stride in matrices:
                parts = tables.reshape(len(places), -1, kernels.shape[-1], stride)
                tables = np.matmul(kernels, parts)
            found[places] += tables.reshape(places.shape)
        return found


def _is_smoothed(target: Target) -> bool:
    return target.mean.ndim > 1 and target.noise > 0


def _kernels(domain: Domain, targets: Sequence[Target]) -> dict[str, FloatArray]:
    """Return the smoothing [codes, codes] of each ordered column in a marginal that is smoothed."""
    inner = {c: domain.size(c) - domain.apart.get(c, 0) for c in domain.ordered}
    wanted = {c for t in targets if _is_smoothed(t) for c in t.clique if inner.get(c, 0) >= _FEWEST_CODES}
    return {c: _kernel(shares, inner[c]) for c, shares in shares_of(targets, wanted).items()}


def _kernel(shares: FloatArray, inner: int) -> FloatArray:
    """Return the smoothing of a column's codes, of which those after the first `inner` stand apart."""
    kernel = np.eye(shares.size)
    within = shares[:inner] / shares[:inner].sum()
    middles = inner * (np.cumsum(within) - within / 2)
    kernel[:inner, :inner] = np.exp(-np.abs(middles[:, np.newaxis] - middles) / _REACH)
    return kernel


def _moves(cliques: Sequence[Clique]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return which tables contain which smaller ones, wide ones first: both numbers, and the axes that only the
    first has."""
    wide = sorted(range(len(cliques)), key=lambda i: -len(cliques[i]))
    # Tables that hold another one hold each of its columns.
    holding: dict[str, list[int]] = {}
    for i in wide:
        for column in cliques[i]:
            holding.setdefault(column, []).append(i)
    place = {i: n for n, i in enumerate(wide)}
    found = [
        (i, j, axes_outside(cliques[i], cliques[j]))
        for j in wide
        if cliques[j]
        for i in min((holding[c] for c in cliques[j]), key=len)
        if set(cliques[j]) < set(cliques[i])
    ]
    nothing = [
        (i, j, tuple(range(len(cliques[i])))) for j in wide if not cliques[j] for i in wide if cliques[i]
    ]
    return sorted([*found, *nothing], key=lambda move: (place[move[0]], place[move[1]]))


def _settled(
    theta: Sequence[FloatArray], moves: Sequence[tuple[int, int, tuple[int, ...]]]
) -> list[FloatArray]:
    """Move the part of a table that depends on some of its columns alone to the table of those columns, without
    changing the model.

    If two measurements disagree on a shared column, each step raises one table and lowers the other by the same
    function of that column, without end. Moved to a common table the two cancel.
    """
    settled = [t.copy() for t in theta]
    for i, j, axes in moves:
        part = settled[i].mean(axis=axes, keepdims=True)
        settled[i] -= part
        settled[j] += part.squeeze(axes)
    return settled
