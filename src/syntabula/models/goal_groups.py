"""How the goals of soft rows are grouped, so that few operations compare them all, and what room that takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from syntabula.marginals.domain import Clique, Domain
from syntabula.models.cell_goals import MOST_CELLS, apart, make_cell_goals
from syntabula.models.goals import Goal, GoalGroup
from syntabula.models.pair_blocks import make_pair_blocks, pair_numbers
from syntabula.models.stars import make_stars


def group_goals(domain: Domain, goals: Sequence[Goal], device: Any) -> list[GoalGroup]:
    """Arrange goals over a domain into groups on a device of torch."""
    few, whole = apart(goals)
    pairs = [g for g in whole if len(g.clique) == 2]
    return [
        *make_cell_goals(domain, few, device),
        *make_pair_blocks(domain, pairs, device),
        *make_stars(domain, [g for g in whole if len(g.clique) != 2], device),
    ]


def group_numbers(domain: Domain, cliques: Collection[Clique], rows: int) -> int:
    """Bound how many float32 numbers the groups of some cliques' goals take while rows are fitted."""
    pairs = {(domain.index(c[0]), domain.index(c[1])) for c in map(domain.canonical, cliques) if len(c) == 2}
    cells = pair_numbers(domain.sizes, pairs) + sum(domain.cells(c) for c in cliques if len(c) != 2)
    # A product of columns over the rows, and its gradient, for cliques wider than a pair.
    products = sum(domain.cells(c[:-1]) for c in cliques if len(c) > 2)
    # The same for single cells, if these are few.
    products += min(MOST_CELLS, sum(domain.cells(c) for c in cliques))
    # wanted, precision, weight, difference, slope, and one more in the making; half may lie between goals.
    return 12 * cells + rows * 3 * products
