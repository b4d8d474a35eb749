"""Two noisy counts of the same records, in wide cells and in parts of these, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.privacy.pricing import NoisyVector


@dataclass(frozen=True)
class CountsInParts:
    """Noisy counts of parts, of which the sums of some groups were counted too.

    Attributes:
        values: [k] estimates of the counts, unbiased and with the least variance of all linear ones.
        group: [k] group of each part; the parts of a group lie side by side.
        variance: Variance of the noise that each part was counted with.
        variance_of_sum: [groups] variance of the noise that each group's sum was counted with.
    """

    values: NDArray[np.float64]
    group: NDArray[np.int64]
    variance: float
    variance_of_sum: NDArray[np.float64]

    def noise_of_sums(self) -> NDArray[np.float64]:
        """Return the standard deviation [k] of the sum of the first 1 to k parts."""
        sizes = np.bincount(self.group, minlength=self.variance_of_sum.size)
        variances = np.zeros(self.group.size)
        before = 0.0
        for group in dict.fromkeys(self.group.tolist()):
            here = self.group == group
            m = np.arange(1, sizes[group] + 1)
            known = self.variance_of_sum[group] + sizes[group] * self.variance
            saved = m**2 * self.variance**2 / known if known else 0.0
            variances[here] = before + m * self.variance - saved
            before = float(variances[here][-1])
        return np.sqrt(np.maximum(variances, 0.0))

    def reversed(self) -> CountsInParts:
        """Return the same counts, from the last part to the first."""
        return CountsInParts(self.values[::-1], self.group[::-1], self.variance, self.variance_of_sum)


def combined(
    fine: NoisyVector,
    fine_edges: Sequence[int | float],
    coarse: NDArray[np.float64],
    coarse_sigma: float,
    coarse_edges: Sequence[int | float],
) -> CountsInParts:
    """Return the best linear estimates of the counts of parts, by generalised least squares.

    The difference between a sum of parts and the count of their cell is divided among the parts in equal amounts, and
    the parts take as much of it as their noise has in that of both.

    Args:
        fine: Noisy counts [k] of the parts.
        fine_edges: Their k + 1 edges, ascending, from the first to the last of `coarse_edges`.
        coarse: Noisy counts [cells] of the cells, with noise of their own.
        coarse_sigma: Standard deviation of that noise.
        coarse_edges: Their cells + 1 edges. Cells whose edge is none of the parts are counted with their neighbour.
    """
    known = set(fine_edges)
    shared = [i for i, edge in enumerate(coarse_edges) if edge in known]
    starts = {coarse_edges[i] for i in shared[1:-1]}
    group = np.cumsum([edge in starts for edge in fine_edges[:-1]])
    sums = np.add.reduceat(coarse, shared[:-1])
    variance_of_sum = np.float64(coarse_sigma**2) * np.diff(shared)
    variance = fine.sigma**2
    known_by = variance_of_sum + np.bincount(group) * variance
    with np.errstate(divide="ignore", invalid="ignore"):
        taken = np.where(known_by > 0, variance / known_by, 0.0)
    missing = taken * (sums - np.bincount(group, weights=fine.values))
    return CountsInParts(fine.values + missing[group], group, variance, variance_of_sum)
