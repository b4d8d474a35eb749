"""Steps of a fit that move neighbouring codes together, so that what they agree on is learned before their noise.

A fit stops as soon as noise explains what is left. Where every cell is moved by its own difference alone, much of a
strong dependence is left then: each cell far off the diagonal is within its noise, while all of them together are not.
In a marginal of ordered columns the true differences vary smoothly from code to code and the noise does not, so steps
along the smoothed gradient take up the former first.

A step is the gradient times I + S, where S has entries exp(-d / 2) between cells at a distance d along the ordered
columns: the covariance of a stationary process, so that the matrix is positive definite, the loss falls as by other
steps, and the optimum is the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.targets import Target

_REACH = 2.0
"""Distance at which the smoothing has fallen to 1 / e, in codes of average count (benchmarks/results/rows.md)."""
_FEWEST_CODES = 3
"""Two codes have no neighbours to tell apart."""


@dataclass(frozen=True, eq=False)
class SmoothSteps:
    """Smooths the gradient of each target along its ordered columns.

    The distance of two codes is the part of the records between their middles, times the number of codes. So a frequent
    value such as zero is moved apart from its neighbours, whose counts are of another size, and small codes together.
    Codes that stand apart, such as those of missing values, marginals of single columns, and marginals measured
    without noise stay as they are.

    Attributes:
        norms: Factor by which the gradient of each target grows at most [targets].
        smoothed: For each target that is smoothed: its part of the vector of all cells, and for each ordered column the
            matrix [codes, codes] and the number of cells from one code to the next.
    """

    norms: Sequence[float]
    smoothed: Sequence[tuple[slice, Sequence[tuple[FloatArray, int]]]]

    @classmethod
    def of(cls, domain: Domain, targets: Sequence[Target]) -> Self:
        """Return the smoothing of some targets, whose tables are concatenated in one vector."""
        kernels = _kernels(domain, targets)
        norms, smoothed, start = [], [], 0
        for target in targets:
            shape, end = target.mean.shape, start + target.mean.size
            axes = [
                (kernels[column], math.prod(shape[axis + 1 :]))
                for axis, column in enumerate(target.clique)
                if _is_smoothed(target) and column in kernels
            ]
            if axes:
                smoothed.append((slice(start, end), axes))
            largest = math.prod(float(kernel.sum(axis=0).max()) for kernel, _ in axes)
            norms.append(1.0 + largest if axes else 1.0)
            start = end
        return cls(norms, smoothed)

    def __call__(self, gradient: FloatArray) -> FloatArray:
        """Return the direction of a step, for a gradient of all targets [cells]."""
        if not self.smoothed:
            return gradient
        found = gradient.copy()
        for part, axes in self.smoothed:
            table = gradient[part]
            for kernel, stride in axes:
                table = np.matmul(kernel, table.reshape(-1, len(kernel), stride)).ravel()
            found[part] += table
        return found


def _is_smoothed(target: Target) -> bool:
    return target.mean.ndim > 1 and target.noise > 0


def _kernels(domain: Domain, targets: Sequence[Target]) -> dict[str, FloatArray]:
    """Return the smoothing [codes, codes] of each ordered column in a marginal that is smoothed."""
    inner = {c: domain.size(c) - domain.apart.get(c, 0) for c in domain.ordered}
    wanted = {c for t in targets if _is_smoothed(t) for c in t.clique if inner.get(c, 0) >= _FEWEST_CODES}
    smallest: dict[str, Target] = {}
    for target in sorted(targets, key=lambda t: t.mean.size):
        if target.weight.any():
            for column in target.clique:
                smallest.setdefault(column, target)
    return {c: _kernel(_shares(smallest[c], c), inner[c]) for c in wanted}


def _shares(target: Target, column: str) -> FloatArray:
    """Return about which fraction of the records each code of a column has [codes]."""
    return target.margin(column, max(float(target.mean.sum()), 1.0))


def _kernel(shares: FloatArray, inner: int) -> FloatArray:
    """Return the smoothing of a column's codes, of which those after the first `inner` stand apart."""
    kernel = np.eye(shares.size)
    within = shares[:inner] / shares[:inner].sum()
    middles = inner * (np.cumsum(within) - within / 2)
    kernel[:inner, :inner] = np.exp(-np.abs(middles[:, np.newaxis] - middles) / _REACH)
    return kernel
