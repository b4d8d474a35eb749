"""Merge chosen pairs into wider marginals where few cells suffice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from syntabula.marginals.domain import Clique, Domain, contains

_MOST_STEPS = 100_000
"""Search steps per width; where pairs are so dense that this is not enough, the next smaller width is tried."""


def combined(pairs: Sequence[Clique], domain: Domain, *, max_cells: int) -> list[Clique]:
    """Return marginals that hold all chosen pairs: cliques of the graph whose edges are the pairs, and the rest.

    Zhang et al. (2021), "PrivSyn: Differentially Private Data Synthesis", algorithm 2 (Marginal Combine).
    From large cliques to small ones (three columns), a clique is taken if at most two of its columns are in
    cliques taken before, and its marginal has fewer than `max_cells` cells. Pairs in no taken clique stay.

    Args:
        pairs: Chosen pairs, columns in the order of the domain.
        domain: Columns and their sizes.
        max_cells: Bound on the cells of a merged marginal (gamma).
    """
    search = _Search(domain, pairs, max_cells)
    covered: set[str] = set()
    merged: list[Clique] = []
    for width in range(search.widest, 2, -1):
        while clique := search.find(width, covered):
            merged.append(clique)
            covered |= set(clique)
    return merged + [p for p in pairs if not any(contains(clique, p) for clique in merged)]


@dataclass(eq=False)
class _Search:
    """Depth-first search for one clique of a given width."""

    domain: Domain
    pairs: Sequence[Clique]
    max_cells: int
    next_to: dict[str, set[str]] = field(default_factory=dict)
    steps: int = 0

    def __post_init__(self) -> None:
        for one, other in self.pairs:
            self.next_to.setdefault(one, set()).add(other)
            self.next_to.setdefault(other, set()).add(one)

    @property
    def widest(self) -> int:
        """Most columns that a merged marginal could have."""
        cells = width = 1
        for size in sorted(self.domain.size(c) for c in self.next_to):
            cells *= size
            if cells >= self.max_cells:
                break
            width += 1
        return min(width, 1 + max((len(others) for others in self.next_to.values()), default=0))

    def find(self, width: int, covered: set[str]) -> Clique:
        """Return the first clique of this width that may be taken, in the domain's order; () if none is found."""
        self.steps = 0
        return self._grow((), [c for c in self.domain.columns if c in self.next_to], width, covered)

    def _grow(self, clique: Clique, candidates: list[str], width: int, covered: set[str]) -> Clique:
        if len(clique) == width:
            # A clique that lies in one taken before would add nothing.
            return clique if sum(c in covered for c in clique) <= 2 else ()
        for position, column in enumerate(candidates):
            self.steps += 1
            if len(clique) + len(candidates) - position < width or self.steps > _MOST_STEPS:
                return ()
            grown = (*clique, column)
            if self.domain.cells(grown) >= self.max_cells or sum(c in covered for c in grown) > 2:
                continue
            left = [c for c in candidates[position + 1 :] if c in self.next_to[column]]
            if found := self._grow(grown, left, width, covered):
                return found
        return ()
