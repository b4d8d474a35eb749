"""Which joint histograms to count, so that many marginals can be read off few of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from syntabula.marginals.domain import Clique, Domain

# Nanoseconds, as measured with numpy 2.4 for 1e3 .. 1e6 cells. They decide how counts are found, never what
# they are.
_PER_ROW = 0.8
_PER_ROW_AND_COLUMN = 0.1
_PER_CELL = 2.5
_PER_HISTOGRAM = 10_000.0


def cover(
    domain: Domain, cliques: Sequence[Clique], *, n_rows: int, block_cells: int
) -> list[tuple[Clique, list[Clique]]]:
    """Choose blocks of columns to count jointly, and the cliques to read off each.

    Greedy: the widest clique that is left starts a block. The block takes in further columns, the best saving
    per bit of its size first, as long as counting the cliques that fit newly would cost more than the wider
    histogram.

    Args:
        domain: Columns and sizes.
        cliques: Distinct cliques in the order of the domain.
        n_rows: Rows to count.
        block_cells: A block is not widened beyond this many cells (a clique that is wider stands alone).

    Returns:
        Blocks in the order of the domain, each with its cliques; every clique is in exactly one block.
    """
    task = _Task(domain, n_rows, block_cells)
    widest_first = sorted(cliques, key=lambda c: (len(c), domain.cells(c)), reverse=True)
    for clique in widest_first:
        task.left[clique] = None
        for column in clique:
            task.of_column.setdefault(column, {})[clique] = None
    blocks = []
    for seed in widest_first:
        if seed in task.left:
            block = task.grow(seed)
            blocks.append((block, task.take(block, seed)))
    return blocks


@dataclass
class _Task:
    """The cliques that are still to be covered."""

    domain: Domain
    n_rows: int
    block_cells: int
    left: dict[Clique, None] = field(default_factory=dict)
    of_column: dict[str, dict[Clique, None]] = field(default_factory=dict)

    def alone(self, clique: Clique) -> float:
        """Return the nanoseconds that a clique takes in a histogram of its own."""
        per_row = _PER_ROW + _PER_ROW_AND_COLUMN * len(clique)
        return self.n_rows * per_row + self.domain.cells(clique) * _PER_CELL + _PER_HISTOGRAM

    def grow(self, seed: Clique) -> Clique:
        """Return the seed's columns and those that it pays to count together with them."""
        block, cells, inside = list(seed), self.domain.cells(seed), 1
        if cells > self.block_cells:
            return seed
        missing: dict[Clique, int] = {}
        self._enter(missing, seed)
        while True:
            fitting = self._fitting_with_one_more(missing, block)
            scores = {c: self._score(c, new, cells, inside) for c, new in fitting.items()}
            best = max(scores, key=lambda c: scores[c], default=None)
            if best is None or scores[best] <= 0:
                return self.domain.canonical(block)
            self._enter(missing, (best,))
            block.append(best)
            cells *= self.domain.size(best)
            inside += len(fitting[best])

    def _enter(self, missing: dict[Clique, int], columns: Sequence[str]) -> None:
        """Note for each clique with these columns how many of its columns the block still lacks."""
        for column in columns:
            for clique in self.of_column[column]:
                missing[clique] = missing.get(clique, len(clique)) - 1

    def _fitting_with_one_more(self, missing: dict[Clique, int], block: list[str]) -> dict[str, list[Clique]]:
        """Return, for columns outside the block, the cliques that fit once the column is taken in."""
        single = [(c,) for c in self.of_column if c not in block and (c,) in self.left]
        fitting: dict[str, list[Clique]] = {}
        for clique in single + [c for c, lacking in missing.items() if lacking == 1]:
            column = next(c for c in clique if c not in block)
            fitting.setdefault(column, []).append(clique)
        return fitting

    def _score(self, column: str, new: list[Clique], cells: int, inside: int) -> float:
        """Return the nanoseconds saved by taking in a column, per bit of its size; 0 where it may not be."""
        wider = cells * self.domain.size(column)
        if wider > self.block_cells:
            return 0.0
        # One unit of cells to make the histogram, and one for each clique that is summed from it.
        more_cells = wider * (1 + inside + len(new)) - cells * (1 + inside)
        extra = self.n_rows * _PER_ROW_AND_COLUMN + more_cells * _PER_CELL
        return (sum(self.alone(c) for c in new) - extra) / math.log2(self.domain.size(column) + 1)

    def take(self, block: Clique, seed: Clique) -> list[Clique]:
        """Remove and return the cliques that are to be read off a block, its seed first."""
        cells, columns = self.domain.cells(block), set(block)
        inside = dict.fromkeys(q for c in block for q in self.of_column[c] if columns.issuperset(q))
        members = [seed] + [q for q in inside if q != seed and cells * _PER_CELL < self.alone(q)]
        for member in members:
            del self.left[member]
            for column in member:
                del self.of_column[column][member]
        return members
