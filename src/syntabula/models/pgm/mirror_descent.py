"""Estimation: the distribution that is nearest to noisy marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.pgm.factor import arranged
from syntabula.models.pgm.factor_graph import FactorGraph, ImpossibleError


@dataclass(frozen=True, eq=False)
class Target:
    """All measurements of one clique, joined by inverse variance.

    Attributes:
        clique: Columns in the order of the domain.
        mean: Weighted mean of the measured counts.
        weight: Inverse variance of the mean, for each cell.
        noise: Loss that the true table is expected to have here: half for each cell with noise.
        slack: How far above that a true table may well be: two standard deviations of the loss.
    """

    clique: Clique
    mean: FloatArray
    weight: FloatArray
    noise: float
    slack: float


def join(domain: Domain, measurements: Sequence[Measurement]) -> list[Target]:
    """Join measurements of the same columns, so that each clique is looked at once a step."""
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
        # A squared normal error over its variance has mean 1 and variance 2; the loss is half their sum.
        cells = weight.size if noisy[clique] else 0
        targets.append(Target(clique, weighted / weight, weight, cells / 2, (2 * cells) ** 0.5))
    return targets


def estimate(
    domain: Domain,
    targets: Sequence[Target],
    start: Mapping[Clique, FloatArray],
    total: float,
    *,
    iterations: int,
    tolerance: float,
    noise_level: float,
) -> dict[Clique, FloatArray]:
    """Fit one table of log-potentials per clique by entropic mirror descent.

    McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for differential
    privacy", algorithm 1. Minimises L(mu) = sum over measured cells of (mu - y)^2 / (2 variance) over the
    marginals mu of all distributions of the given total. A step moves every potential against the gradient
    of L at the current marginals; the line search keeps the step if L falls by at least half of what the
    gradient promises, and halves it otherwise.

    Args:
        domain: The columns.
        targets: What to fit.
        start: Log-potentials to start from, by clique; 0 for a clique that is not in it.
        total: Number of records.
        iterations: At most so many steps.
        tolerance: Stop when L falls by less than this part of itself over ten steps.
        noise_level: Stop when L is at most this part of what the true table is expected to have, and no
            clique is farther from its measurement than noise explains; 0 for never.

    Returns:
        The potentials, one table per target.
    """
    graph = FactorGraph(domain.sizes, [tuple(domain.index(c) for c in t.clique) for t in targets])
    theta = [start.get(t.clique, np.zeros(t.mean.shape)).copy() for t in targets]
    try:
        probabilities = graph.marginals([np.exp(p - p.max()) for p in theta])
    except ImpossibleError:  # a start so far out that nothing is possible is no start
        theta = [np.zeros(t.mean.shape) for t in targets]
        probabilities = graph.marginals([np.exp(p) for p in theta])
    losses, gradient = _losses(targets, probabilities, total)
    loss = sum(losses)
    # The largest curvature of L along one cell is the largest weight; total turns probabilities into counts.
    step = 1.0 / (total * max(float(t.weight.max()) for t in targets))
    history = [loss]
    expected = noise_level * sum(t.noise for t in targets)
    for _ in range(iterations):
        if loss <= expected and all(own <= t.noise + t.slack for own, t in zip(losses, targets, strict=True)):
            break
        trial = [t - step * g for t, g in zip(theta, gradient, strict=True)]
        for t in trial:
            t -= t.max()
        try:
            moved = graph.marginals([np.exp(t) for t in trial])
        except ImpossibleError:
            step *= 0.5
            continue
        new_losses, new_gradient = _losses(targets, moved, total)
        new_loss = sum(new_losses)
        promised = total * sum(
            float(np.vdot(g, p - m)) for g, p, m in zip(gradient, probabilities, moved, strict=True)
        )
        if loss - new_loss >= 0.5 * promised:
            theta, probabilities, gradient = trial, moved, new_gradient
            losses, loss = new_losses, new_loss
            step *= 1.5
        else:
            step *= 0.5
            if step < 1e-300:
                break
            continue
        history.append(loss)
        if len(history) > 10 and history[-11] - loss <= tolerance * max(loss, 1e-12):
            break
    return {t.clique: p for t, p in zip(targets, theta, strict=True)}


def _losses(
    targets: Sequence[Target], probabilities: Sequence[FloatArray], total: float
) -> tuple[list[float], list[FloatArray]]:
    """Return the loss of each target, and its gradient with respect to the target's counts."""
    losses, gradient = [], []
    for target, probability in zip(targets, probabilities, strict=True):
        difference = probability * total - target.mean
        weighted = difference * target.weight
        losses.append(0.5 * float(np.vdot(weighted, difference)))
        gradient.append(weighted)
    return losses, gradient
