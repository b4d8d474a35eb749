"""Pairs of columns as goals of soft rows, answered by few matrix products."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.domain import Domain
from syntabula.models.targets import Goal

if TYPE_CHECKING:
    from torch import Tensor

_CELLS_PER_BLOCK = 6000
_CELLS_PER_CODE = 40
"""Overhead of a block, and of each code at its edges, in the time of this many cells."""

Pair = tuple[int, int]
"""Positions of two columns, the smaller first."""


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Goals that pair adjacent columns with other adjacent columns, or with the same ones.

    The marginal of a pair is the product of two columns' distributions, summed over the soft rows. So one
    matrix product answers all pairs of such columns, wanted or not, and two more give the gradient.

    Attributes:
        head_codes: Positions of the first columns' codes in a row.
        tail_codes: Positions of the second columns' codes in a row.
        wanted: Target probabilities [head codes, tail codes].
        precision: 1 / the standard deviation of each; 0 where nothing was measured.
        weight: Weight of a squared difference.
        explained: Sum of squared standardised differences that noise explains [head columns, tail columns].
        head_of: Index of each head code's column among the head columns.
        tail_of: Index of each tail code's column among the tail columns.
    """

    head_codes: slice
    tail_codes: slice
    wanted: Tensor
    precision: Tensor
    weight: Tensor
    explained: Tensor
    head_of: Tensor
    tail_of: Tensor

    def difference(self, table: Tensor) -> Tensor:
        """Return one matrix product less the targets; see `GoalGroup.difference`."""
        torch = require("torch", "neural")
        heads, tails = table[:, self.head_codes], table[:, self.tail_codes]
        difference: Tensor = torch.addmm(self.wanted, heads.T, tails, beta=-1.0, alpha=1.0 / len(table))
        return difference

    def is_explained(self, difference: Tensor) -> bool:
        """Compare the sum of each pair's cells; see `GoalGroup.is_explained`."""
        errors = (difference * self.precision).square_()
        n_heads, n_tails = self.explained.shape
        by_tail = errors.new_zeros((len(errors), n_tails)).index_add_(1, self.tail_of, errors)
        sums = errors.new_zeros((n_heads, n_tails)).index_add_(0, self.head_of, by_tail)
        return bool((sums <= self.explained).all())

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Add each side's gradient, a product with the other side; see `GoalGroup.add_gradient`."""
        gradient[:, self.tail_codes] += table[:, self.head_codes] @ slope
        gradient[:, self.head_codes] += table[:, self.tail_codes] @ slope.T


def make_pair_blocks(domain: Domain, goals: Sequence[Goal], device: Any) -> list[PairBlock]:
    """Arrange goals of two columns each into blocks."""
    torch = require("torch", "neural")
    starts = [0, *accumulate(domain.sizes)]
    by_pair = {(domain.index(g.clique[0]), domain.index(g.clique[1])): g for g in goals}

    def tensor(values: np.ndarray) -> Any:
        return torch.tensor(values, device=device)

    blocks = []
    for members in _blocks(domain.sizes, by_pair):
        heads, tails = _spans(members)
        shape = (starts[heads[1]] - starts[heads[0]], starts[tails[1]] - starts[tails[0]])
        wanted, precision, weight = (np.zeros(shape, dtype=np.float32) for _ in range(3))
        explained = np.zeros((heads[1] - heads[0], tails[1] - tails[0]), dtype=np.float32)
        for head, tail in members:
            goal = by_pair[head, tail]
            own = (
                slice(starts[head] - starts[heads[0]], starts[head + 1] - starts[heads[0]]),
                slice(starts[tail] - starts[tails[0]], starts[tail + 1] - starts[tails[0]]),
            )
            wanted[own], precision[own], weight[own] = goal.wanted, goal.precision, goal.weight
            explained[head - heads[0], tail - tails[0]] = goal.explained
        blocks.append(
            PairBlock(
                head_codes=slice(starts[heads[0]], starts[heads[1]]),
                tail_codes=slice(starts[tails[0]], starts[tails[1]]),
                wanted=tensor(wanted),
                precision=tensor(precision),
                weight=tensor(weight),
                explained=tensor(explained),
                head_of=tensor(np.repeat(np.arange(len(explained)), domain.sizes[slice(*heads)])),
                tail_of=tensor(np.repeat(np.arange(explained.shape[1]), domain.sizes[slice(*tails)])),
            )
        )
    return blocks


def pair_numbers(sizes: Sequence[int], pairs: Collection[Pair]) -> int:
    """Return an upper bound on the cells in the blocks of some pairs."""
    # For any arrangement: none costs more than one block of everything, or than one block for each pair.
    width = sum(sizes)
    alone = sum(_cost(sizes[i], sizes[j]) for i, j in pairs)
    return min(alone, _cost(width, width))


def _blocks(sizes: Sequence[int], pairs: Collection[Pair]) -> list[list[Pair]]:
    """Divide pairs into blocks with a small total cost.

    Heads are divided optimally into runs, and within each run tails that are far apart are separated.
    """
    if not pairs:
        return []
    starts = np.cumsum([0, *sizes])
    heads, tails = (np.unique(part) for part in zip(*pairs, strict=True))
    wanted = np.zeros((len(heads), len(tails)), dtype=bool)
    for head, tail in pairs:
        wanted[np.searchsorted(heads, head), np.searchsorted(tails, tail)] = True
    first, after = starts[tails], starts[tails + 1]
    least, begins = [0], [0]
    for end in range(1, len(heads) + 1):
        ways = []
        touched = np.zeros(len(tails), dtype=bool)
        for begin in reversed(range(end)):
            touched |= wanted[begin]
            height = starts[heads[end - 1] + 1] - starts[heads[begin]]
            places = np.flatnonzero(touched)
            gaps = first[places[1:]] - after[places[:-1]]
            width = (after[places] - first[places]).sum()
            dear = _CELLS_PER_BLOCK + _CELLS_PER_CODE * height
            filled = np.minimum(gaps * (height + _CELLS_PER_CODE), dear).sum()
            ways.append((least[begin] + _cost(int(height), int(width)) + int(filled), begin))
        cost, begin = min(ways)
        least.append(cost)
        begins.append(begin)
    blocks, end = list[list[Pair]](), len(heads)
    while end:
        run = heads[begins[end] : end]
        blocks += _parted(starts, run, [p for p in pairs if run[0] <= p[0] <= run[-1]])
        end = begins[end]
    return blocks


def _parted(starts: np.ndarray, run: np.ndarray, pairs: Collection[Pair]) -> Iterator[list[Pair]]:
    """Split the pairs of some heads where a gap between two tails costs more than another block."""
    height = starts[run[-1] + 1] - starts[run[0]]
    part: list[Pair] = []
    for pair in sorted(pairs, key=lambda p: p[1]):
        gap = starts[pair[1]] - starts[part[-1][1] + 1] if part else 0
        if gap * (height + _CELLS_PER_CODE) > _CELLS_PER_BLOCK + _CELLS_PER_CODE * height:
            yield part
            part = []
        part.append(pair)
    yield part


def _spans(members: Sequence[Pair]) -> tuple[Pair, Pair]:
    """Return the first column and the one after the last, of heads and of tails."""
    heads, tails = zip(*members, strict=True)
    return (min(heads), max(heads) + 1), (min(tails), max(tails) + 1)


def _cost(height: int, width: int) -> int:
    return _CELLS_PER_BLOCK + height * width + _CELLS_PER_CODE * (height + width)
