"""Sets of cliques: subsets, closures and maxima. Two cliques are the same if they have the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from syntabula._arguments import count
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique


def contains(outer: Clique, inner: Clique) -> bool:
    """Return whether every column of `inner` is one of `outer`."""
    return set(inner) <= set(outer)


def all_cliques(columns: Sequence[str], k: int) -> list[Clique]:
    """Return all sets of k of the columns, in lexicographic order of their positions.

    Args:
        columns: Distinct column names.
        k: Columns per clique, 0 .. number of columns; there is one clique of no columns.

    Raises:
        ArgumentError: If k is not such an integer, or a column is named twice.
    """
    k = count(0, len(columns))("k", k)
    if len(set(columns)) != len(columns):
        raise ArgumentError("a column is named twice")
    return list(combinations(columns, k))


def distinct(cliques: Iterable[Clique]) -> list[Clique]:
    """Return each set of columns once, as it was first written."""
    first: dict[frozenset[str], Clique] = {}
    for clique in cliques:
        first.setdefault(frozenset(clique), tuple(clique))
    return list(first.values())


def downward_closure(cliques: Iterable[Clique]) -> list[Clique]:
    """Return all non-empty subsets of the cliques, each once, small ones first.

    A subset keeps the order of columns of the first clique that it comes from.
    """
    given = distinct(cliques)
    widest = max((len(c) for c in given), default=0)
    subsets = (s for k in range(1, widest + 1) for c in given for s in combinations(c, k))
    return distinct(subsets)


def maximal(cliques: Iterable[Clique]) -> list[Clique]:
    """Return the cliques that lie in no other one, each once, in their order."""
    given = distinct(cliques)
    wide_first = sorted((frozenset(c) for c in given), key=len, reverse=True)
    kept: list[frozenset[str]] = []
    for clique in wide_first:
        if not any(clique < other for other in kept):
            kept.append(clique)
    top = set(kept)
    return [c for c in given if frozenset(c) in top]
