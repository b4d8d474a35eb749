"""Steps of a fit that move neighbouring codes together, so that what they agree on is learned before their noise.

A fit stops as soon as noise explains what is left. Where every cell is moved by its own difference alone, much of a
strong dependence is left then: each empty cell off the diagonal is within its noise, while all of them together are not.
In a marginal of ordered columns the true differences vary smoothly from code to code and the noise does not, so steps
along the smoothed gradient take up the former first.

A step is the gradient times I + S, where S has entries exp(-|i - j| / 2) between the cells at a distance along the ordered
columns: the covariance of a stationary process, so that the matrix is positive definite, the loss still falls, and the
optimum is that of other steps.
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
"""Codes at which the smoothing has fallen to 1 / e (benchmarks/results/rows.md)."""
_FEWEST_CODES = 3
"""Two codes have no neighbours to tell apart."""


@dataclass(frozen=True, eq=False)
class SmoothSteps:
    """Smooths the gradient of each target along its ordered columns.

    Marginals of single columns, and those measured without noise, stay as they are.

    Attributes:
        norms: Largest factor by which the gradient of each target grows [targets].
        smoothed: For each target that is smoothed: its part of the vector of all cells, and for each ordered column the
            matrix [codes, codes] and the number of cells from one code to the next.
    """

    norms: Sequence[float]
    smoothed: Sequence[tuple[slice, Sequence[tuple[FloatArray, int]]]]

    @classmethod
    def of(cls, domain: Domain, targets: Sequence[Target]) -> Self:
        """Return the smoothing of some targets, whose tables are concatenated in one vector."""
        known: dict[str, FloatArray] = {}
        norms, smoothed, start = [], [], 0
        for target in targets:
            shape, end = target.mean.shape, start + target.mean.size
            norm, axes = 1.0, []
            for axis, column in enumerate(target.clique if len(shape) > 1 and target.noise else ()):
                inner = shape[axis] - domain.apart.get(column, 0)
                if column in domain.ordered and inner >= _FEWEST_CODES:
                    if column not in known:
                        known[column] = _kernel(shape[axis], inner)
                    axes.append((known[column], math.prod(shape[axis + 1 :])))
                    norm *= float(known[column].sum(axis=0).max())
            if axes:
                smoothed.append((slice(start, end), axes))
            norms.append(1 + norm if axes else 1.0)
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


def _kernel(size: int, inner: int) -> FloatArray:
    """Return the smoothing of a column's codes, of which those after the first `inner` stand apart."""
    kernel = np.eye(size)
    codes = np.arange(inner)
    kernel[:inner, :inner] = np.exp(-np.abs(codes[:, np.newaxis] - codes) / _REACH)
    return kernel
