"""Estimation: the distribution over a junction tree that is nearest to noisy marginals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.pgm.factor import aligned, arranged, axes_outside
from syntabula.models.pgm.junction_tree import JunctionTree
from syntabula.models.pgm.messages import calibrate


@dataclass(frozen=True, eq=False)
class _Target:
    """All measurements of one clique, joined: weighted mean and weight (inverse variance) of each cell."""

    clique: Clique
    holder: int
    mean: FloatArray
    weight: FloatArray


def estimate(
    tree: JunctionTree,
    potentials: Sequence[FloatArray],
    measurements: Sequence[Measurement],
    total: float,
    *,
    iterations: int,
    tolerance: float,
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Fit log-potentials by entropic mirror descent (McKenna, Sheldon, Miklau 2019, algorithm 1).

    Minimises L(mu) = sum over measurements and cells of (mu - y)^2 / (2 variance) over the marginals mu of
    all distributions of the given total. A step moves every potential against the gradient of L at the
    current marginals; the line search keeps the step if L falls by at least half of what the gradient
    promises, and halves it otherwise.

    Args:
        tree: Holds the clique of each measurement.
        potentials: Where to start.
        measurements: What to fit.
        total: Number of records.
        iterations: At most so many steps.
        tolerance: Stop when L falls by less than this part of itself over ten steps.

    Returns:
        The potentials, and the calibrated probabilities of the cliques.
    """
    targets = _join(tree, measurements)
    theta = [p.copy() for p in potentials]
    probabilities = calibrate(tree, theta)
    loss, gradient = _loss(tree, targets, probabilities, total)
    # The largest curvature of L along one cell is the largest weight; total turns probabilities into counts.
    step = 1.0 / (total * max(float(t.weight.max()) for t in targets))
    history = [loss]
    for _ in range(iterations):
        trial = [t - step * g for t, g in zip(theta, gradient, strict=True)]
        moved = calibrate(tree, trial)
        new_loss, new_gradient = _loss(tree, targets, moved, total)
        promised = total * sum(
            float((g * (p - m)).sum()) for g, p, m in zip(gradient, probabilities, moved, strict=True)
        )
        if loss - new_loss >= 0.5 * promised:
            theta, probabilities, loss, gradient = trial, moved, new_loss, new_gradient
            step *= 1.5
        else:
            step *= 0.5
            if step < 1e-300:
                break
            continue
        history.append(loss)
        if len(history) > 10 and history[-11] - loss <= tolerance * max(loss, 1e-12):
            break
    return theta, probabilities


def _join(tree: JunctionTree, measurements: Sequence[Measurement]) -> list[_Target]:
    """Join measurements of the same clique by inverse variance, so that each is looked at once a step."""
    sums: dict[Clique, list[FloatArray]] = {}
    for m in measurements:
        clique = tree.domain.canonical(m.clique)
        values, weight = arranged(m.values, m.clique, clique), 1.0 / arranged(m.variances, m.clique, clique)
        if clique in sums:
            sums[clique][0] += values * weight
            sums[clique][1] += weight
        else:
            sums[clique] = [values * weight, weight.copy()]
    targets = []
    for clique, (weighted, weight) in sums.items():
        holder = tree.holder(clique)
        assert holder is not None
        targets.append(_Target(clique, holder, weighted / weight, weight))
    return targets


def _loss(
    tree: JunctionTree, targets: Sequence[_Target], probabilities: Sequence[FloatArray], total: float
) -> tuple[float, list[FloatArray]]:
    """Return L and its gradient with respect to each clique's counts."""
    loss = 0.0
    gradient: list[FloatArray] = [np.zeros(p.shape) for p in probabilities]
    for target in targets:
        clique = tree.cliques[target.holder]
        counts = total * probabilities[target.holder].sum(axis=axes_outside(clique, target.clique))
        difference = counts - target.mean
        weighted = difference * target.weight
        loss += 0.5 * float((weighted * difference).sum())
        gradient[target.holder] += aligned(weighted, target.clique, clique)
    return loss, gradient
