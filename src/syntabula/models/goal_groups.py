"""Groups goals into blocks of pairs, marginals that share columns, and single cells, so that few products answer
them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.pair_blocks import make_pair_blocks, pair_numbers
from syntabula.models.row_fitting import GoalGroup
from syntabula.models.shared_columns import make_shared_columns
from syntabula.models.targets import Goal

if TYPE_CHECKING:
    from torch import Tensor


MOST_CELLS = 256
"""With more cells than this, matrix products over whole marginals are faster."""
_FEW = 1 / 4
"""Marginals with at most this fraction of their cells measured are answered cell by cell."""


@dataclass(frozen=True, eq=False)
class CellGoals:
    """Some cells of marginals with the same number of columns, answered one by one.

    Attributes:
        codes: Positions of each cell's codes in a row [columns of a marginal, cells].
        wanted: Target probability [cells].
        precision: 1 / the standard deviation of each.
        weight: Weight of a squared difference.
        explained: Sum of squared standardised differences that noise explains, for each marginal.
        goal_of: Index of each cell's marginal.
    """

    codes: Tensor
    wanted: Tensor
    precision: Tensor
    weight: Tensor
    explained: Tensor
    goal_of: Tensor

    def difference(self, table: Tensor) -> Tensor:
        """Return a mean of products, one factor for each column of a cell; see `GoalGroup.difference`."""
        chances = math.prod(self._chances(table))
        difference: Tensor = chances.mean(dim=1) - self.wanted
        return difference

    def is_explained(self, difference: Tensor) -> bool:
        """Compare the sum of each marginal's cells; see `GoalGroup.is_explained`."""
        errors = (difference * self.precision).square_()
        sums = errors.new_zeros(len(self.explained)).index_add_(0, self.goal_of, errors)
        return bool((sums <= self.explained).all())

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Give each code of a cell the product of the others; see `GoalGroup.add_gradient`."""
        chances = self._chances(table)
        for own, codes in enumerate(self.codes):
            by_own = math.prod([*chances[:own], *chances[own + 1 :]], start=slope[:, None])
            gradient.T.index_add_(0, codes, by_own.expand(len(codes), len(table)).to(gradient.dtype))

    def _chances(self, table: Tensor) -> list[Any]:
        """Return the probability of each column's code of the cells in each row [cells, rows]."""
        return [table.T.index_select(0, codes) for codes in self.codes]


def apart(goals: Sequence[Goal]) -> tuple[list[Goal], list[Goal]]:
    """Return the goals with few measured cells, and all others."""
    known = [int(np.count_nonzero(g.precision)) for g in goals]
    few = [bool(0 < n <= _FEW * g.wanted.size) for n, g in zip(known, goals, strict=True)]
    if sum(n for n, is_few in zip(known, few, strict=True) if is_few) > MOST_CELLS:
        few = [False] * len(few)
    both = list(zip(goals, few, strict=True))
    return [g for g, is_few in both if is_few], [g for g, is_few in both if not is_few]


def make_cell_goals(domain: Domain, goals: Sequence[Goal], device: Any) -> list[CellGoals]:
    """Group the measured cells of some goals by their number of columns."""
    torch = require("torch", "neural")
    starts = np.cumsum([0, *domain.sizes])

    def tensor(values: Sequence[np.ndarray], kind: Any = torch.float32) -> Any:
        return torch.tensor(np.concatenate(values, axis=-1), dtype=kind, device=device)

    found = []
    for width in sorted({len(g.clique) for g in goals}):
        members = [g for g in goals if len(g.clique) == width]
        cells = [np.nonzero(g.precision) for g in members]
        both = list(zip(members, cells, strict=True))
        codes = [
            np.array([starts[domain.index(c)] + code for c, code in zip(g.clique, own, strict=True)])
            for g, own in both
        ]
        found.append(
            CellGoals(
                codes=tensor(codes, torch.int64),
                wanted=tensor([g.wanted[own] for g, own in both]),
                precision=tensor([g.precision[own] for g, own in both]),
                weight=tensor([g.weight[own] for g, own in both]),
                explained=tensor([np.array([g.explained for g in members])]),
                goal_of=tensor([np.full(own[0].size, i) for i, own in enumerate(cells)], torch.int64),
            )
        )
    return found


def group_goals(domain: Domain, goals: Sequence[Goal], device: Any) -> list[GoalGroup]:
    """Group goals over a domain, on a torch device."""
    few, whole = apart(goals)
    pairs = [g for g in whole if len(g.clique) == 2]
    return [
        *make_cell_goals(domain, few, device),
        *make_pair_blocks(domain, pairs, device),
        *make_shared_columns(domain, [g for g in whole if len(g.clique) != 2], device),
    ]


def group_numbers(domain: Domain, cliques: Collection[Clique], rows: int) -> int:
    """Return an upper bound on the float32 numbers that the goals of some cliques need during a fit."""
    pairs = {(domain.index(c[0]), domain.index(c[1])) for c in map(domain.canonical, cliques) if len(c) == 2}
    cells = pair_numbers(domain.sizes, pairs) + sum(domain.cells(c) for c in cliques if len(c) != 2)
    # A product of columns over the rows, and its gradient, for cliques wider than a pair.
    products = sum(domain.cells(c[:-1]) for c in cliques if len(c) > 2)
    # The same for single cells, if there are few.
    products += min(MOST_CELLS, sum(domain.cells(c) for c in cliques))
    # wanted, precision, weight, difference, slope, and a temporary; up to half may lie between goals.
    return 12 * cells + rows * 3 * products
