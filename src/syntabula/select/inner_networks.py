"""The families of columns that PrivMRF measures first: a greedy Bayesian network within each clique of its graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from syntabula.marginals.domain import Clique, Domain
from syntabula.select.usefulness import Limit, maximal_sets

_NEAREST = 8


def best_families(
    domain: Domain, cliques: Iterable[Clique], dependence: Mapping[Clique, float], limit: Limit, most: int
) -> list[Clique]:
    """Return the best family of each column, then the next best of any, up to as many as there are columns.

    Args:
        domain: All columns.
        cliques: Of the graph.
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
    best = dict(reversed(ranked))  # of each column the highest, as the last one counts
    families = dict.fromkeys([*best.values(), *(family for _, family in ranked)])
    return list(families)[: len(domain)]


def within(clique: Clique, dependence: Mapping[Clique, float]) -> float:
    """Return the sum of R over all pairs of a clique's columns, noise below zero counting as none."""
    return sum(max(0.0, dependence[pair]) for pair in combinations(clique, 2))


def _inner_network(
    domain: Domain, clique: Clique, dependence: Mapping[Clique, float], limit: Limit, most: int
) -> Iterator[tuple[str, Clique, float]]:
    """Yield the columns of a clique in a greedy order, each with its parents before it and their score.

    The score of parents P of A is correlation-based feature selection: the sum of R(A, p) over the root of
    |P| plus the sum of R(p, q) over pairs within P. Parents are among the columns most related to A.
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
