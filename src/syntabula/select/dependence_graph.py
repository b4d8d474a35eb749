"""PrivMRF's graph of dependent columns: built from noisy dependences, and searched for marginals to measure."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, pairwise

from syntabula.marginals.domain import Clique, Domain
from syntabula.models.tables import as_clique, as_mask, cells_of, eliminate, maximal
from syntabula.select.usefulness import Limit, maximal_sets


def chordal_cliques(
    domain: Domain,
    scores: Mapping[Clique, float],
    *,
    size_penalty: float,
    max_clique_cells: float,
    max_cells: float,
) -> list[Clique]:
    """Return the maximal cliques of a chordal graph with a large sum of scores and small tables.

    The value of a graph is the sum of its edges' scores less `size_penalty` for each cell of its maximal
    cliques (Cai, Lei, Wei, Xiao 2021, PrivMRF, attribute graph). Starting from no edges, the edge that raises
    the value most is added, with the edges that make the graph chordal again, until no edge raises it.

    Departure from the paper's public code, which scores every edge in every step and restarts at random: an
    edge is scored again only when its last score is the highest.

    Args:
        domain: Columns and sizes.
        scores: A number for each pair of columns, in the order of the domain; released values only.
        size_penalty: Value deducted for each cell.
        max_clique_cells: Most cells of a clique, unless it is one column.
        max_cells: Most cells of all cliques together, unless they are single columns.
    """
    graph = _Graph(domain, scores, size_penalty)
    held = [1 << i for i in range(len(domain))]
    worth = graph.worth(held)
    # Largest gain first; the number is the version of the graph it was computed for.
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
        """Return the maximal cliques after adding an edge and the edges that make the graph chordal again."""
        edge = as_mask(self._domain, pair)
        if any(mask & edge == edge for mask in held):
            return list(held)
        return maximal(clique for _, clique in eliminate(self._domain.sizes, [*held, edge]))

    def worth(self, held: Sequence[int]) -> float:
        """Return the sum of the scores of all edges, less the penalty for the cliques' cells."""
        edges = {
            1 << self._domain.index(a) | 1 << self._domain.index(b)
            for mask in held
            for a, b in combinations(as_clique(self._domain, mask), 2)
        }
        cells = sum(cells_of(self._domain.sizes, mask) for mask in held)
        return sum(self._scores[edge] for edge in edges) - self._penalty * cells


_NEAREST = 8


def best_families(
    domain: Domain, cliques: Iterable[Clique], dependence: Mapping[Clique, float], limit: Limit, most: int
) -> list[Clique]:
    """Return the best family of each column, then the next best of any, up to as many as there are columns.

    Both are in the order of their scores, the best first.

    Args:
        domain: All columns.
        cliques: Maximal cliques of the graph.
        dependence: R of every pair, in the order of the domain.
        limit: Most cells of a family.
        most: Most columns of a family.
    """
    scored: dict[tuple[str, Clique], float] = {}
    for clique in cliques:
        for child, parents, score in _inner_network(domain, clique, dependence, limit, most):
            family = domain.canonical((child, *parents))
            scored[child, family] = max(score, scored.get((child, family), -math.inf))
    ranked = sorted(scored, key=lambda key: -scored[key])
    best: dict[str, Clique] = {}
    for child, family in ranked:
        best.setdefault(child, family)
    families = dict.fromkeys([*best.values(), *(family for _, family in ranked)])
    return list(families)[: len(domain)]


def within(clique: Clique, dependence: Mapping[Clique, float]) -> float:
    """Return the sum of R over all pairs of a clique's columns, with negative values counted as 0."""
    return sum(max(0.0, dependence[pair]) for pair in combinations(clique, 2))


def _inner_network(
    domain: Domain, clique: Clique, dependence: Mapping[Clique, float], limit: Limit, most: int
) -> Iterator[tuple[str, Clique, float]]:
    """Yield the columns of a clique in a greedy order, each with its parents before it and their score.

    The score of parents P of A is correlation-based feature selection: the sum of R(A, p), divided by the
    square root of |P| plus the sum of R(p, q) over pairs within P. Parents are among the columns most
    related to A.
    """

    def related(a: str, b: str) -> float:
        return max(0.0, dependence[domain.canonical((a, b))])

    def score(child: str, parents: Clique) -> float:
        overlap = len(parents) + within(domain.canonical(parents), dependence)
        return sum(related(child, p) for p in parents) / math.sqrt(max(1.0, overlap))

    def parent_sets(child: str, placed: Sequence[str]) -> Iterator[Clique]:
        nearest = sorted(placed, key=lambda p: -related(child, p))[:_NEAREST]
        yield from maximal_sets(domain, nearest, limit.cells / domain.size(child), max(1, most - 1))
        yield from ((p,) for p in nearest if limit.cells < domain.cells((child, p)) <= limit.of_pair)

    placed = [max(clique, key=lambda a: sum(related(a, b) for b in clique if b != a))]
    while len(placed) < len(clique):
        choices = [
            (score(child, parents), child, parents)
            for child in clique
            if child not in placed
            for parents in parent_sets(child, placed)
        ]
        value, child, parents = max(choices, key=lambda choice: choice[0])
        placed.append(child)
        if parents:
            yield child, parents, value


def refinement_count(domain: Domain) -> int:
    """Return the number of marginals that refine the model: 0.8 d."""
    return math.floor(0.8 * len(domain))


def spread_over_steps(refinements: int, n_columns: int) -> list[int]:
    """Return how many marginals each of L = min(d / 2, 8) steps adds."""
    steps = max(1, min(n_columns // 2, 8))
    ends = [refinements * i // steps for i in range(steps + 1)]
    return [after - before for before, after in pairwise(ends) if after > before]


def looked_at(
    pool: Sequence[Clique],
    known: AbstractSet[Clique],
    dependence: Mapping[Clique, float],
    seen: Mapping[Clique, int],
    *,
    most: int,
) -> list[Clique]:
    """Return the candidates of the next choice: those seen least often, the most dependent first.

    Marginals of k columns get a fraction in proportion to k squared, as in the paper's draw. If everything
    useful is measured, it may be measured again.

    Args:
        pool: All marginals that may be measured.
        known: The marginals measured so far.
        dependence: R of every pair, in the order of the domain.
        seen: How often each was a candidate and not chosen.
        most: Most candidates to return.
    """
    fresh = [c for c in pool if c not in known] or list(pool)
    by_width: dict[int, list[Clique]] = {}
    for clique in fresh:
        by_width.setdefault(len(clique), []).append(clique)
    left, found = most, list[Clique]()
    for width, members in sorted(by_width.items()):
        later = sum(w**2 for w in by_width if w > width)
        quota = math.ceil(left * width**2 / (width**2 + later))
        members.sort(key=lambda c: (seen.get(c, 0), -within(c, dependence)))
        found += members[:quota]
        left = most - len(found)
    return found
