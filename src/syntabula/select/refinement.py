"""What PrivMRF's refinement looks at: how many marginals, in which steps, among which candidates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from syntabula.marginals.domain import Clique, Domain
from syntabula.select.inner_networks import within


def refinement_count(domain: Domain) -> int:
    """Return how many marginals refine the model: 0.8 d."""
    return math.floor(0.8 * len(domain))


def spread_over_steps(refinements: int, n_columns: int) -> list[int]:
    """Return how many marginals each of L = min(d / 2, 8) steps refines by."""
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
    """Return the marginals that the next choice is among: those seen least often, the most dependent first.

    A number of k columns gets a part in proportion to k squared of them, as in the paper's draw. If
    everything useful is measured, it may be measured again.

    Args:
        pool: All that may be measured.
        known: What was measured.
        dependence: R of every pair, in the order of the domain.
        seen: How often each was looked at and not chosen.
        most: How many are returned.
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
