"""Counts a table in parts in few passes: the first one counts all pairs of columns, which are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from syntabula._arguments import megabytes
from syntabula._memory import table_mb
from syntabula.marginals.counting import (
    BLOCK_CELLS,
    CountArray,
    arranged,
    check_limit,
    cover,
    margins,
    positions_of,
    result_cells,
)
from syntabula.marginals.domain import Clique, Domain, EncodedTable, all_cliques
from syntabula.marginals.parts import BYTES_PER_KEY, CHUNK_ROWS, CountFold, Fold, RowParts, State

KEPT_WAYS = 2
"""Cliques of up to this many columns are counted in the first pass and kept: most methods ask no others."""

_KEPT = 0.25
"""Part of the memory limit that kept counts may take while they are counted."""

_USUAL_ROWS = 1_000_000
"""Histograms are chosen for this many rows, as the real number is private."""


class PassEngine:
    """Counts marginals of a table whose records lie in parts.

    The first pass counts all cliques of one and two columns, as far as a quarter of the limit holds them, those of few
    cells first, and keeps them. Later questions are answered from what is kept, or take a pass.

    Args:
        parts: The encoded records.
        domain: Their columns and sizes.
        limit_mb: Largest memory that counting may take, on all processes together, with what is kept.
        keep_ways: Cliques of up to this many columns are kept; 0 to keep none.

    Raises:
        ArgumentError: If the limit is not a positive number.
    """

    def __init__(
        self,
        parts: RowParts[EncodedTable],
        domain: Domain,
        *,
        limit_mb: float = 4000.0,
        keep_ways: int = KEPT_WAYS,
    ) -> None:
        self._parts = parts
        self._domain = domain
        self._limit_mb: float = megabytes("limit_mb", limit_mb)
        self._kept: dict[Clique, CountArray] | None = None
        self._to_keep = self._keepable(keep_ways)
        self.passes = 0

    @property
    def domain(self) -> Domain:
        """Columns and sizes of the table."""
        return self._domain

    @property
    def limit_mb(self) -> float:
        """Largest memory that one call may take, its results included."""
        return self._limit_mb

    def check_memory(self, cliques: Sequence[Clique]) -> None:
        """Raise ResourceError if counting could need more memory than the limit; depends only on the domain."""
        further = [c for c in positions_of(self._domain, cliques) if c not in self._to_keep]
        needed = self._memory_mb(further) + table_mb(result_cells(self._domain, cliques)) if further else 0.0
        check_limit(self._domain, cliques, needed_mb=needed, limit_mb=self._limit_mb)

    def read(self) -> None:
        """Make the first pass, unless it was made."""
        if self._kept is None:
            self._kept = self._counted([*self._to_keep])
            for counts in self._kept.values():
                counts.flags.writeable = False

    def counts(self, cliques: Sequence[Clique]) -> list[CountArray]:
        """Return exact counts of each clique, one axis per column in the clique's order.

        Args:
            cliques: Any number of columns each, in any order; without columns, the number of rows.

        Returns:
            The counts; those that are kept cannot be written to.

        Raises:
            SchemaError: If a clique names an unknown column, or one twice.
            ResourceError: If the counts could need more memory than the limit; raised before counting.
        """
        wanted = positions_of(self._domain, cliques)
        self.check_memory(cliques)
        self.read()
        kept = self._kept or {}
        found = {c: kept[c] for c in wanted if c in kept}
        return arranged([found | self._counted([c for c in wanted if c not in kept])], wanted, cliques)

    def summed(self, counts: Callable[[EncodedTable], CountArray]) -> CountArray:
        """Return the sum of the count arrays of disjoint pieces of the table, which together hold each record once."""
        # Pieces of no records make no difference, and give the sum its shape.
        total = counts(EncodedTable(self._domain, tuple(np.zeros(0, np.uint8) for _ in self._domain)))
        self.passes += 1
        for piece in self._parts.pieces():
            total = total + counts(piece)
        return total

    def records(self) -> EncodedTable:
        """Return the encoded records, which are then in memory: one to four bytes for each cell."""
        self.passes += 1
        pieces = [tuple(np.zeros(0, np.uint8) for _ in self._domain)]
        pieces += [piece.codes for piece in self._parts.pieces()]
        return EncodedTable(self._domain, tuple(map(np.concatenate, zip(*pieces, strict=True))))

    def mapped(self, domain: Domain, rows: Callable[[EncodedTable], EncodedTable]) -> PassEngine:
        """Return an engine of the same records in another coding, which is made anew in each pass."""
        recoded = _Recoded(self._parts, rows)
        return PassEngine(recoded, domain, limit_mb=self._limit_mb, keep_ways=0)

    def _counted(self, wanted: Sequence[Clique]) -> dict[Clique, CountArray]:
        """Return the counts of cliques in the order of the domain, by one pass if there are any."""
        if not wanted:
            return {}
        self.passes += 1
        blocks = self._blocks(wanted)
        fold = CountFold(self._domain, tuple(block for block, _ in blocks))
        histograms = fold.histograms(self._parts.fold(fold))
        found: dict[Clique, CountArray] = {}
        for (block, members), counts in zip(blocks, histograms, strict=True):
            found |= {c: np.array(margin) for c, margin in margins(block, counts, members).items()}
        return found

    def _blocks(self, wanted: Sequence[Clique]) -> list[tuple[Clique, list[Clique]]]:
        """Return the histograms to count; each clique has its own where memory does not suffice for wider ones."""
        wide = cover(self._domain, [*wanted], n_rows=_USUAL_ROWS, block_cells=BLOCK_CELLS)
        if self._memory_mb([block for block, _ in wide]) <= self._limit_mb * (1 - _KEPT):
            return wide
        return cover(self._domain, [*wanted], n_rows=_USUAL_ROWS, block_cells=0)

    def _memory_mb(self, blocks: Sequence[Clique]) -> float:
        """Return an upper bound on the memory of what is kept and of a pass with these histograms."""
        states = self._parts.states_at_once
        cells = sum(map(self._domain.cells, self._to_keep)) + states * sum(map(self._domain.cells, blocks))
        return table_mb(cells * 8 + states * CHUNK_ROWS * BYTES_PER_KEY, 1)

    def _keepable(self, keep_ways: int) -> dict[Clique, None]:
        """Return the cliques of few columns for which there is memory, those of few cells first."""
        ways = range(min(keep_ways, len(self._domain)) + 1) if keep_ways else ()
        every = sorted(
            (c for k in ways for c in all_cliques(self._domain.columns, k)), key=self._domain.cells
        )
        sums = np.cumsum([float(self._domain.cells(c)) for c in every])
        room = _KEPT * self._limit_mb * 2**20 / 8 / (self._parts.states_at_once + 1)
        return dict.fromkeys(every[: int(np.searchsorted(sums, room, side="right"))])


@dataclass(frozen=True, eq=False, repr=False)
class _Recoded:
    """Parts in another coding. What recodes them may not be picklable, so it stays in this process."""

    parts: RowParts[EncodedTable]
    rows: Callable[[EncodedTable], EncodedTable]

    @property
    def states_at_once(self) -> int:
        return 1

    def fold(self, fold: Fold[EncodedTable]) -> State:
        state = fold.start()
        for piece in self.pieces():
            fold.add(state, piece)
        return state

    def pieces(self) -> Iterator[EncodedTable]:
        yield from map(self.rows, self.parts.pieces())
