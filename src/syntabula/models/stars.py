"""Targets of soft rows, arranged so that few matrix products find all their marginals."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.cell_targets import MOST_CELLS, CellTargets, apart, make_cell_targets
from syntabula.models.pair_blocks import (
    PairBlock,
    explained_sum,
    make_pair_blocks,
    pair_numbers,
    sharpness,
)
from syntabula.models.pgm.mirror_descent import Target

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class WideStar:
    """Targets that share all columns but one, with neighbours for that one: one matrix product finds them all.

    One-way targets share no column; those of three and more columns share two and more.

    Attributes:
        heads: Positions of the shared columns; none for one-way targets.
        tails: Position of the other column of each target.
        head_codes: Where the codes of each head lie in a row.
        tail_codes: Where the codes of the tails, and of columns between them, lie in a row.
        wanted: Probabilities to reach [cells of the heads, tail codes].
        precision: One over the standard deviation of each; 0 where nothing was measured.
        weight: What a squared difference counts.
        explained: Sum of squared standardised differences that noise explains, of each target.
        tail_of: Position in `tails` of each tail code [tail codes]; any for those that are no tail's.
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
        """Return how far rows are from what is wanted, one number for each cell."""
        torch = require("torch", "neural")
        cells, codes = self._cells(table), table[:, self.tail_codes]
        difference: Tensor = torch.addmm(self.wanted, cells.T, codes, beta=-1.0, alpha=1.0 / len(table))
        return difference

    def is_explained(self, difference: Tensor) -> bool:
        """Return whether noise explains the differences of all targets."""
        errors = (difference * self.precision).square_().sum(dim=0)
        sums = errors.new_zeros(len(self.tails)).index_add(0, self.tail_of, errors)
        return bool((sums <= self.explained).all())

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Add to a gradient by the table what a gradient by the differences gives, times the number of rows.

        Args:
            gradient: [rows, codes]; changed in place.
            table: The rows, in the type in which products are taken.
            slope: The derivative by each of the differences, in the same type.
        """
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
    """Sum a gradient by the cells of some columns, times the other columns' distributions, to one of them."""
    before, after = (math.prod(b.shape[1] for b in part) for part in (blocks[:own], blocks[own + 1 :]))
    found = by_cell.unflatten(1, (before, blocks[own].shape[1], after))
    for block in blocks[:own]:
        found = (found.unflatten(1, (block.shape[1], -1)) * block[:, :, None, None, None]).sum(dim=1)
    for block in reversed(blocks[own + 1 :]):
        found = (found.unflatten(-1, (-1, block.shape[1])) * block[:, None, None, None, :]).sum(dim=-1)
    return found[:, 0, :, 0]


Star = WideStar | PairBlock | CellTargets
"""Some targets that are found together, most by one matrix product."""


def make_stars(
    domain: Domain,
    targets: Sequence[Target],
    total: float,
    *,
    newest: Collection[Clique] = (),
    emphasis: float = 1.0,
    device: Any,
) -> list[Star]:
    """Arrange targets so that few matrix products find them all.

    A squared difference counts in proportion to one over the standard deviation of its noise, and more for the
    newest targets: equation 6 of Chen, Gong, Wang, MargNet.

    Args:
        domain: The columns.
        targets: Counts to reach, with cliques in the order of the domain.
        total: Number of records.
        newest: Cliques that weigh more than others.
        emphasis: How much more.
        device: Where the rows are.
    """
    torch = require("torch", "neural")
    largest = max(float(np.sqrt(t.weight.max())) for t in targets)
    starts = np.cumsum([0, *domain.sizes]).tolist()

    def tensor(values: np.ndarray | list[float], kind: Any = torch.float32) -> Any:
        return torch.tensor(values, dtype=kind, device=device)

    def importance(clique: Clique) -> float:
        return (emphasis if clique in newest else 1.0) / largest

    few, whole = apart(targets)
    pairs = [t for t in whole if len(t.clique) == 2]
    stars: list[Star] = [
        *make_cell_targets(domain, few, total, importance=importance, device=device),
        *make_pair_blocks(domain, pairs, total, importance=importance, device=device),
    ]
    for heads, tails, members in _cover(domain, [t for t in whole if len(t.clique) != 2]):
        first, end = starts[tails[0]], starts[tails[-1] + 1]
        shape = (domain.cells(heads), end - first)
        wanted, precision, weight = (np.zeros(shape, dtype=np.float32) for _ in range(3))
        explained, tail_of = list[float](), np.zeros(end - first)
        for number, (target, tail) in enumerate(zip(members, tails, strict=True)):
            order = [target.clique.index(c) for c in (*heads, domain.columns[tail])]
            own = slice(starts[tail] - first, starts[tail + 1] - first)
            sharp = sharpness(target).transpose(order).reshape(shape[0], -1)
            wanted[:, own] = target.mean.transpose(order).reshape(shape[0], -1) / total
            precision[:, own] = sharp * total
            weight[:, own] = sharp * importance(target.clique)
            explained.append(explained_sum(target, sharp))
            tail_of[own] = number
        positions = tuple(domain.index(c) for c in heads)
        stars.append(
            WideStar(
                heads=positions,
                tails=tuple(tails),
                head_codes=tuple(slice(starts[p], starts[p + 1]) for p in positions),
                tail_codes=slice(first, end),
                wanted=tensor(wanted),
                precision=tensor(precision),
                weight=tensor(weight),
                explained=tensor(explained),
                tail_of=tensor(tail_of, torch.int64),
            )
        )
    return stars


def star_numbers(domain: Domain, cliques: Collection[Clique], rows: int) -> int:
    """Bound how many float32 numbers the stars of some cliques take while rows are fitted."""
    pairs = {(domain.index(c[0]), domain.index(c[1])) for c in map(domain.canonical, cliques) if len(c) == 2}
    cells = pair_numbers(domain.sizes, pairs) + sum(domain.cells(c) for c in cliques if len(c) != 2)
    # A product of columns over the rows, and its gradient, for cliques wider than a pair.
    products = sum(domain.cells(c[:-1]) for c in cliques if len(c) > 2)
    # The same for single cells, if these are few.
    products += min(MOST_CELLS, sum(domain.cells(c) for c in cliques))
    # wanted, precision, weight, difference, slope, and one more in the making; half may lie between targets.
    return 12 * cells + rows * 3 * products


def _cover(domain: Domain, targets: Sequence[Target]) -> Iterator[tuple[Clique, list[int], list[Target]]]:
    """Group targets by all their columns but one: the choice that most targets have in common comes first.

    Yields:
        The columns in common, positions of the others, side by side or nearly so, and the targets.
    """
    left = {t.clique: t for t in targets}
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
    """Divide tails where the columns between two of them have more codes than the tails before."""
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
