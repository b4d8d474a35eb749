"""Which columns belong together: a chordal graph over noisy dependences, as large as its tables may be."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from syntabula.marginals.domain import Clique, Domain
from syntabula.models.pgm.elimination import as_clique, as_mask, cells_of, eliminate, maximal


def chordal_cliques(
    domain: Domain,
    scores: Mapping[Clique, float],
    *,
    size_penalty: float,
    max_clique_cells: float,
    max_cells: float,
) -> list[Clique]:
    """Return the maximal cliques of a chordal graph with a large sum of scores and small tables.

    The graph is worth the sum of its edges' scores less `size_penalty` for each cell of its maximal cliques
    (Cai, Lei, Wei, Xiao 2021, PrivMRF, attribute graph). From the graph without edges, the edge that raises the
    worth most is added, together with the edges that make the graph chordal again, until none does.

    Departure from the paper's public code, which judges every edge in every step and starts again at random:
    an edge is judged again only when it comes first by what it was worth before.

    Args:
        domain: Columns and sizes.
        scores: A number for each pair of columns, in the order of the domain; released values only.
        size_penalty: Worth of a cell.
        max_clique_cells: No clique has more cells, unless it is one column.
        max_cells: All cliques together have no more, unless they are single columns.
    """
    graph = _Graph(domain, scores, size_penalty)
    held = [1 << i for i in range(len(domain))]
    worth = graph.worth(held)
    # Largest gain first; the number says at which graph it was found.
    waiting = [(-math.inf, 0, pair) for pair in scores]
    heapq.heapify(waiting)
    stage = 1
    while waiting:
        gain, found_at, pair = heapq.heappop(waiting)
        if found_at < stage:
            grown = graph.with_edge(held, pair)
            cells = [cells_of(domain.sizes, mask) for mask in grown]
            wide = [n for n, mask in zip(cells, grown, strict=True) if mask.bit_count() > 1]
            # The graph only grows, so an edge that is too large now stays so.
            if max(wide, default=0) <= max_clique_cells and sum(cells) <= max_cells:
                heapq.heappush(waiting, (worth - graph.worth(grown), stage, pair))
            continue
        if gain >= 0:
            break
        held = graph.with_edge(held, pair)
        worth -= gain
        stage += 1
    return [as_clique(domain, mask) for mask in held]


class _Graph:
    """Chordal graphs over a domain, each given by its maximal cliques as sets of bits."""

    def __init__(self, domain: Domain, scores: Mapping[Clique, float], size_penalty: float) -> None:
        self._domain = domain
        self._penalty = size_penalty
        self._scores = {as_mask(domain, pair): score for pair, score in scores.items()}

    def with_edge(self, held: Sequence[int], pair: Clique) -> list[int]:
        """Return the maximal cliques after adding an edge and what makes the graph chordal again."""
        edge = as_mask(self._domain, pair)
        if any(mask & edge == edge for mask in held):
            return list(held)
        return maximal(clique for _, clique in eliminate(self._domain.sizes, [*held, edge]))

    def worth(self, held: Sequence[int]) -> float:
        """Return the sum of the scores of all edges, less the price of the cliques' cells."""
        edges = {
            1 << self._domain.index(a) | 1 << self._domain.index(b)
            for mask in held
            for a, b in combinations(as_clique(self._domain, mask), 2)
        }
        cells = sum(cells_of(self._domain.sizes, mask) for mask in held)
        return sum(self._scores[edge] for edge in edges) - self._penalty * cells
