"""Groups goals into blocks of pairs, marginals that share columns, and single cells, so that few products answer
them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.pair_blocks import make_pair_blocks, pair_numbers
from syntabula.models.row_fitting import GoalGroup
from syntabula.models.targets import Goal

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class SharedColumns:
    """Goals that share all columns but one, with nearby columns for that one, answered by one matrix product.

    One-way goals share no column; goals of three or more columns share two or more.

    Attributes:
        heads: Positions of the shared columns; none for one-way goals.
        tails: Position of the other column of each goal.
        head_codes: Positions of each head's codes in a row.
        tail_codes: Positions in a row of the codes of the tails and of the columns between them.
        wanted: Target probabilities [cells of the heads, tail codes].
        precision: 1 / the standard deviation of each; 0 where nothing was measured.
        weight: Weight of a squared difference.
        explained: Sum of squared standardised differences that noise explains, for each goal.
        tail_of: Position in `tails` of each tail code [tail codes]; arbitrary for codes of columns in between.
    """

    heads: tuple[int, ...]
    tails: tuple[int, ...]
    head_codes: tuple[slice, ...]
    tail_codes: slice
    wanted: Tensor
    precision: Tensor
    weight: Tensor
    explained: Tensor
    tail_of: Tensor

    def difference(self, table: Tensor) -> Tensor:
        """Return one matrix product less the targets; see `GoalGroup.difference`."""
        torch = require("torch", "neural")
        cells, codes = self._cells(table), table[:, self.tail_codes]
        difference: Tensor = torch.addmm(self.wanted, cells.T, codes, beta=-1.0, alpha=1.0 / len(table))
        return difference

    def is_explained(self, difference: Tensor) -> bool:
        """Compare the sum over each tail's codes; see `GoalGroup.is_explained`."""
        errors = (difference * self.precision).square_().sum(dim=0)
        sums = errors.new_zeros(len(self.tails)).index_add(0, self.tail_of, errors)
        return bool((sums <= self.explained).all())

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Add the gradient of the tails, then of each head; see `GoalGroup.add_gradient`."""
        codes = table[:, self.tail_codes]
        gradient[:, self.tail_codes] += self._cells(table) @ slope
        if not self.heads:
            return
        by_cell = codes @ slope.T
        blocks = [table[:, head] for head in self.head_codes]
        for own, head in enumerate(self.head_codes):
            gradient[:, head] += _without_others(by_cell, blocks, own)

    def _cells(self, table: Tensor) -> Tensor:
        """Return the distribution of each row over the cells of the heads."""
        if not self.heads:
            return table.new_ones((len(table), 1))
        cells = table[:, self.head_codes[0]]
        for codes in self.head_codes[1:]:
            cells = (cells[:, :, None] * table[:, None, codes]).flatten(1)
        return cells


def _without_others(by_cell: Any, blocks: Sequence[Tensor], own: int) -> Any:
    """Reduce a gradient over the cells of some columns to one of them, with the others' distributions as factors."""
    before, after = (math.prod(b.shape[1] for b in part) for part in (blocks[:own], blocks[own + 1 :]))
    found = by_cell.unflatten(1, (before, blocks[own].shape[1], after))
    for block in blocks[:own]:
        found = (found.unflatten(1, (block.shape[1], -1)) * block[:, :, None, None, None]).sum(dim=1)
    for block in reversed(blocks[own + 1 :]):
        found = (found.unflatten(-1, (-1, block.shape[1])) * block[:, None, None, None, :]).sum(dim=-1)
    return found[:, 0, :, 0]


def make_shared_columns(domain: Domain, goals: Sequence[Goal], device: Any) -> list[SharedColumns]:
    """Arrange goals by the columns that most of them share."""
    torch = require("torch", "neural")
    starts = np.cumsum([0, *domain.sizes]).tolist()

    def tensor(values: np.ndarray | list[float], kind: Any = torch.float32) -> Any:
        return torch.tensor(values, dtype=kind, device=device)

    groups = []
    for heads, tails, members in _cover(domain, goals):
        first, end = starts[tails[0]], starts[tails[-1] + 1]
        shape = (domain.cells(heads), end - first)
        wanted, precision, weight = (np.zeros(shape, dtype=np.float32) for _ in range(3))
        tail_of = np.zeros(end - first)
        for number, (goal, tail) in enumerate(zip(members, tails, strict=True)):
            order = [goal.clique.index(c) for c in (*heads, domain.columns[tail])]
            own = slice(starts[tail] - first, starts[tail + 1] - first)
            for table, numbers in (
                (wanted, goal.wanted),
                (precision, goal.precision),
                (weight, goal.weight),
            ):
                table[:, own] = numbers.transpose(order).reshape(shape[0], -1)
            tail_of[own] = number
        positions = tuple(domain.index(c) for c in heads)
        groups.append(
            SharedColumns(
                heads=positions,
                tails=tuple(tails),
                head_codes=tuple(slice(starts[p], starts[p + 1]) for p in positions),
                tail_codes=slice(first, end),
                wanted=tensor(wanted),
                precision=tensor(precision),
                weight=tensor(weight),
                explained=tensor([goal.explained for goal in members]),
                tail_of=tensor(tail_of, torch.int64),
            )
        )
    return groups


def _cover(domain: Domain, goals: Sequence[Goal]) -> Iterator[tuple[Clique, list[int], list[Goal]]]:
    """Group goals by all their columns but one, starting with the columns that most goals share.

    Yields:
        The shared columns, positions of the others (adjacent or nearly so), and the goals.
    """
    left = {g.clique: g for g in goals}
    by_heads: dict[Clique, list[tuple[int, Clique]]] = {}
    for clique in left:
        for column in clique:
            heads = tuple(c for c in clique if c != column)
            by_heads.setdefault(heads, []).append((domain.index(column), clique))
    while left:
        present = {h: [m for m in members if m[1] in left] for h, members in by_heads.items()}
        heads = max(present, key=lambda h: (len(present[h]), -domain.cells(h) if len(h) > 1 else 0))
        for run in _runs(domain, sorted(present[heads])):
            yield heads, [tail for tail, _ in run], [left.pop(clique) for _, clique in run]
        del by_heads[heads]


def _runs(domain: Domain, tails: Sequence[tuple[int, Clique]]) -> list[list[tuple[int, Clique]]]:
    """Split tails where the columns between two of them have more codes than the tails before."""
    runs: list[list[tuple[int, Clique]]] = []
    spare = 0
    for tail in tails:
        between = sum(domain.sizes[runs[-1][-1][0] + 1 : tail[0]]) if runs else 0
        if not runs or between > spare:
            runs.append([])
            spare = between = 0
        runs[-1].append(tail)
        spare += domain.sizes[tail[0]] - between
    return runs


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
