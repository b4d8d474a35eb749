"""Neighbouring groups of codes that noise alone may have made unlike are joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syntabula.marginals.measurement import FloatArray

_UNLIKE = 2.0
"""Neighbouring groups stay apart if they differ by so many standard deviations more than noise and chance make them."""


def joined_groups(tables: FloatArray, sigma: float) -> list[list[int]]:
    """Join neighbouring groups of each leaf until all that are left differ by more than noise and chance.

    Args:
        tables: Noisy counts [leaves, groups, values].
        sigma: Standard deviation of the noise on each count.

    Returns:
        For each leaf, how many groups are joined in each part, in order.
    """
    # Scores follow from sums and products, which are made of all leaves at once.
    records = tables.sum(2).tolist()
    squares = np.einsum("lgv,lgv->lg", tables, tables).tolist()
    products = np.einsum("lgv,lgv->lg", tables[:, :-1], tables[:, 1:]).tolist()
    joining = _Joining(sigma, tables.shape[2])
    leaves = zip(tables, records, squares, products, strict=True)
    return [joining.sizes(list(table), *told) for table, *told in leaves]


@dataclass(frozen=True)
class _Joining:
    """Joins the groups of a leaf.

    Attributes:
        sigma: Standard deviation of the noise on each count.
        n_values: Number of counts of a group.
    """

    sigma: float
    n_values: int

    def sizes(
        self,
        counts: list[FloatArray],
        records: Sequence[float],
        squares: Sequence[float],
        products: list[float],
    ) -> list[int]:
        """Return how many groups are joined in each part.

        Args:
            counts: Of each group [values].
            records: Sum of each.
            squares: Sum of the squares of each.
            products: Of each but the last with the next one.
        """
        parts = [self._part(r, s, 1) for r, s in zip(records, squares, strict=True)]
        scores = [self._unlike(*x) for x in zip(parts, parts[1:], products, strict=False)]
        while scores:
            least = min(scores)
            if least > _UNLIKE:
                break
            i = scores.index(least)
            one, other = parts[i : i + 2]
            square = one.square + other.square + 2 * products[i]
            parts[i : i + 2] = [self._part(one.records + other.records, square, one.size + other.size)]
            counts[i : i + 2] = [counts[i] + counts[i + 1]]
            del scores[i], products[i]
            for j in (i - 1, i):
                if 0 <= j < len(scores):
                    products[j] = float(counts[j] @ counts[j + 1])
                    scores[j] = self._unlike(parts[j], parts[j + 1], products[j])
        return [part.size for part in parts]

    def _part(self, records: float, square: float, size: int) -> _Part:
        noise = self.sigma**2 * size * self.n_values
        is_told = records > 2 * math.sqrt(noise)
        return _Part(size, records, square, is_told, noise / records**2 if is_told else 0.0)

    def _unlike(self, one: _Part, other: _Part, product: float) -> float:
        """Return by how many standard deviations parts differ more than noise and chance make them."""
        if not (one.is_told and other.is_told):
            return -math.inf
        a, b = one.records, other.records
        chance = max(1 - (one.square + other.square + 2 * product) / (a + b) ** 2, 0.0)
        expected = one.noise + other.noise + chance * (1 / a + 1 / b)
        found = one.square / a**2 + other.square / b**2 - 2 * product / (a * b)
        if expected <= 0:
            return math.inf if found > 0 else -math.inf
        return (found / expected - 1) / math.sqrt(2 / self.n_values)


@dataclass(slots=True)
class _Part:
    """Groups that are joined, and what does not depend on their neighbours.

    Attributes:
        size: How many groups.
        records: Sum of their noisy counts.
        square: Sum of the squares of their counts together.
        is_told: Whether noise leaves something of them.
        noise: What it adds to the square of their shares.
    """

    size: int
    records: float
    square: float
    is_told: bool
    noise: float
