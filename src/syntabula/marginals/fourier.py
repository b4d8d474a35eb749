"""Random Fourier features of records: waves over small sets of columns, whose mean is an embedding of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray

LENGTH_SCALES = (0.03, 0.1, 0.3, 1.0)
"""Width of the kernel of an ordered column, as a part of the records; each feature has one of them."""


@dataclass(frozen=True, eq=False, repr=False)
class FourierFeatures:
    """F waves; feature k of a record is cos and sin of a sum of angles, one for the code of each of its columns.

    A record's 2 F numbers, divided by the square root of F, have length 1 exactly. Their scalar product for two records
    is, in the mean over the angles, a mean of kernels over sets of columns (Rahimi, Recht 2007, "Random Features
    for Large-Scale Kernel Machines"): products of exp(-(r - r')^2 / (2 l^2)) in the ranks of ordered columns, and of
    whether the codes of others are equal.

    Sets of columns are those at some distances from each other, the columns lying on a ring: for each tuple of
    `shifts` and each column one set, so that all columns have as many features.

    Attributes:
        domain: Columns and sizes.
        shifts: Distances of the columns of a set from its first, which is at 0.
        angles: For each column [codes, columns of a set, shifts, waves], as the first, second, .. column of a set.
    """

    domain: Domain
    shifts: tuple[tuple[int, ...], ...]
    angles: tuple[FloatArray, ...]

    @property
    def waves(self) -> int:
        """Number of waves over each set of columns."""
        return int(self.angles[0].shape[3])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shifts, columns and waves; their product is F."""
        return len(self.shifts), len(self.domain), self.waves

    @property
    def count(self) -> int:
        """Number F of waves."""
        return int(np.prod(self.shape))

    def blocks(self) -> Iterator[tuple[Clique, list[FloatArray]]]:
        """Yield the columns of each set and the angles of their codes [codes, waves], in the order of `shape`."""
        d = len(self.domain)
        for place, shift in enumerate(self.shifts):
            for first in range(d):
                members = [(first + distance) % d for distance in shift]
                angles = [self.angles[column][:, i, place] for i, column in enumerate(members)]
                yield tuple(self.domain.columns[column] for column in members), angles


def draw_features(
    domain: Domain,
    one_way: Mapping[str, FloatArray],
    *,
    most: int,
    columns: int,
    rng: np.random.Generator,
) -> FourierFeatures:
    """Draw features of a table.

    Args:
        domain: Columns and sizes.
        one_way: Counts of each column, public or released, which give the ranks of ordered ones.
        most: About how many waves; at least one for each column.
        columns: Columns of a set; all of them where there are fewer.
        rng: Draws distances and angles.
    """
    d = len(domain)
    width = min(columns, d)
    every = _shifts(d, width, max(most // d, 1), rng)
    waves = max(most // (d * len(every)), 1)
    shape = (width, len(every), waves)
    angles = []
    for column in domain:
        size = domain.size(column)
        if column in domain.ordered:
            counts = np.maximum(one_way[column], 0.0)
            shares = counts / counts.sum() if counts.sum() > 0 else np.full(size, 1 / size)
            ranks = np.cumsum(shares) - shares / 2
            scales = rng.choice(LENGTH_SCALES, shape)
            angles.append(ranks[:, None, None, None] * rng.standard_normal(shape) / scales)
        else:
            angles.append(rng.uniform(0, 2 * np.pi, (size, *shape)))
    return FourierFeatures(domain, tuple(every), tuple(angles))


def _shifts(d: int, width: int, most: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return distinct distances of the columns of a set; for pairs those that give each pair once, or nearly."""
    if width == 1:
        return [(0,)]
    if width == 2:
        distances: Sequence[int] | NDArray[np.intp] = rng.permutation(np.arange(1, d // 2 + 1))[:most]
        return [(0, int(distance)) for distance in distances]
    drawn = {(0, *sorted(rng.permutation(np.arange(1, d))[: width - 1].tolist())) for _ in range(most)}
    return sorted(drawn)
