"""Which marginals stand out from their noise (theta-usefulness of PrivBayes, also used by PrivMRF)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from syntabula.marginals.domain import Clique, Domain
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import mean_noise

_LARGEST_POOL = 50_000


@dataclass(frozen=True)
class Limit:
    """The most cells that a marginal may have.

    Attributes:
        cells: Limit for three columns or more; a single column may always be measured.
        of_pair: Limit for two columns; at least `cells`.
    """

    cells: float
    of_pair: float

    def allows(self, domain: Domain, clique: Clique) -> bool:
        """Return whether a marginal of two columns or more may be measured."""
        return domain.cells(clique) <= (self.of_pair if len(clique) == 2 else self.cells)


def largest_useful(
    curator: Curator, n_records: float, n_measured: int, share: Fraction, *, theta: float
) -> float:
    """Return the most cells of a useful marginal.

    A marginal is theta-useful if its average count is at least theta times the average absolute noise on it:
    n / cells >= theta E|noise| (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017, PrivBayes, section 5).

    Args:
        curator: Computes the noise that a share of the budget buys.
        n_records: Noisy number of records; below 1 counts as 1.
        n_measured: Number of marginals that will share the budget.
        share: Fraction of the whole budget for all of them.
        theta: Least ratio of count to noise.

    Returns:
        A number of cells; infinite without noise.
    """
    noise = mean_noise(curator, n_measured, share)
    return max(1.0, n_records) / (theta * noise) if noise else math.inf


def maximal_sets(domain: Domain, columns: Sequence[str], cells: float, most: int) -> Iterator[Clique]:
    """Yield the maximal sets within the limits on columns and cells: no other column would fit.

    The empty set is yielded if no column fits.

    Args:
        domain: All columns.
        columns: Columns to choose from.
        cells: Most cells of a set.
        most: Most columns of a set.
    """
    # Small columns first: once one does not fit, none after it does.
    ordered = sorted(columns, key=domain.size)

    def extend(chosen: Clique, size: int, start: int) -> Iterator[Clique]:
        smallest_left = next((c for c in ordered if c not in chosen), None)
        if len(chosen) == most or smallest_left is None or size * domain.size(smallest_left) > cells:
            yield domain.canonical(chosen)
            return
        for position in range(start, len(ordered)):
            grown = size * domain.size(ordered[position])
            if grown > cells:
                break
            yield from extend((*chosen, ordered[position]), grown, position + 1)

    yield from extend((), 1, 0)


def useful_sets(domain: Domain, cliques: Sequence[Clique], limit: Limit, most: int) -> list[Clique]:
    """Return all sets of at most `most` columns within a clique that may be measured.

    Single columns are always included. If there are too many sets to enumerate, the widest are left out.
    """
    found: dict[Clique, None] = {(c,): None for c in domain.columns}
    narrow = list(found)
    for _ in range(1, most):
        wider: dict[Clique, None] = {}
        for clique in cliques:
            place = {c: i for i, c in enumerate(clique)}
            for chosen in narrow:
                if place.keys() >= set(chosen):
                    grown = ((*chosen, c) for c in clique[place[chosen[-1]] + 1 :])
                    wider |= dict.fromkeys(g for g in grown if limit.allows(domain, g))
        if len(found) + len(wider) > _LARGEST_POOL:
            break
        found |= wider
        narrow = list(wider)
    return list(found)
