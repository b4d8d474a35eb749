"""What soft rows are to reach: a goal for each marginal, and groups of goals that are compared together."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique
from syntabula.models.targets import Target

if TYPE_CHECKING:
    from torch import Tensor

Numbers = NDArray[np.float32]

_UNKNOWN = 1e-6
"""Cells with less than this part of their table's largest precision were not measured."""


@dataclass(frozen=True, eq=False)
class Goal:
    """What rows should have of one marginal, one number for each cell.

    Attributes:
        clique: Columns in the order of the domain.
        wanted: Probability of each cell.
        precision: One over its standard deviation; 0 where nothing was measured.
        weight: What a squared difference counts.
        explained: Sum of squared standardised differences that noise explains: two deviations above its mean.
    """

    clique: Clique
    wanted: Numbers
    precision: Numbers
    weight: Numbers
    explained: float


class GoalGroup(Protocol):
    """Some goals that few operations compare with the rows."""

    @property
    def precision(self) -> Tensor:
        """One over the standard deviation of each cell; 0 where nothing was measured."""
        ...

    @property
    def weight(self) -> Tensor:
        """What a squared difference of each cell counts."""
        ...

    def difference(self, table: Tensor) -> Tensor:
        """Return how far rows [rows, codes] are from what is wanted, one number for each cell."""
        ...

    def is_explained(self, difference: Tensor) -> bool:
        """Return whether noise explains the differences of each goal."""
        ...

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Add to a gradient by the table what a gradient by the differences gives, times the number of rows.

        Args:
            gradient: [rows, codes]; changed in place.
            table: The rows, in the type in which products are taken.
            slope: The derivative by each of the differences, in the same type.
        """
        ...


def make_goals(
    targets: Sequence[Target], total: float, *, newest: Collection[Clique] = (), emphasis: float = 1.0
) -> list[Goal]:
    """Return a goal for each target.

    A squared difference counts in proportion to one over the standard deviation of its noise, and more for the
    newest targets: equation 6 of Chen, Gong, Wang, MargNet.

    Args:
        targets: Counts to reach, with cliques in the order of the domain.
        total: Number of records.
        newest: Cliques that weigh more than others.
        emphasis: How much more.
    """
    largest = max(float(np.sqrt(t.weight.max())) for t in targets)
    goals = []
    for target in targets:
        sharpness = np.sqrt(target.weight)
        sharpness[sharpness <= _UNKNOWN * sharpness.max()] = 0
        noisy = np.count_nonzero(sharpness) if target.noise else 0
        importance = (emphasis if target.clique in newest else 1.0) / largest
        goals.append(
            Goal(
                target.clique,
                wanted=(target.mean / total).astype(np.float32),
                precision=(sharpness * total).astype(np.float32),
                weight=(sharpness * importance).astype(np.float32),
                explained=noisy + 2 * math.sqrt(2 * noisy),
            )
        )
    return goals
