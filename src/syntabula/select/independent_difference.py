"""Selects pairs whose dependence (InDif) outweighs their noise, and merges them if few cells suffice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np

from syntabula._arguments import count, megabytes, normalise, positive, share
from syntabula._memory import above_limit
from syntabula._planning import SECONDS_PER_WEIGHED_MARGINAL, PlannedFit, PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.domain import Clique, Domain, contains
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import over_merged
from syntabula.privacy.doors.scores import batches
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector, mean_noise
from syntabula.select.merged_codes import MERGING_ONE_WAY, ONE_WAY, MergedStart

DEPENDENCE = "measure dependence of pairs"
CHOSEN = "measure the chosen marginals"
_PARTS = 2**20
# Pairs that are usually taken. Per column: at epsilon 1 on adult and bank, a third of it at 0.2 and twice as many at 5.
# Of all pairs: at epsilon 1 on 100 simulated columns, an eighth of whose pairs depend on each other.
_USUAL_PER_COLUMN, _USUAL_PART = 2, 0.13


@dataclass(frozen=True, kw_only=True)
class IndependentDifference(Selector):
    """Choose pairs whose dependence exceeds the noise that measuring them would add, and merge them.

    Zhang et al. (2021), "PrivSyn: Differentially Private Data Synthesis", algorithms 1 and 2. The dependence
    (InDif) of a pair is || M_ij - M_i M_j' / n ||_1, released with Gaussian noise of variance 8 m / rho_1 for
    m pairs (sensitivity 4). The error of leaving a pair out is its dependence; that of measuring marginals of
    c_1, c_2, ... cells is the noise (sum c^(2/3))^(3/2) / sqrt(pi rho_2), when each gets a part of rho_2 in
    proportion to c^(2/3). Pairs are added one by one as long as the sum of both errors falls. Under a pure
    budget the noise is Laplace, and 1/2 and 2 replace 2/3 and 3/2.

    Departures from the public code: dependence and noise are both in records, so that noise has its proper
    weight (the code scales dependence by n twice and takes nearly all pairs); there is no threshold;
    dependences below 0, which only noise causes, count as 0; the number of records is never taken as
    exact; no pair is forced. The columns are measured before the dependences, and codes are merged until pairs can
    stand out from their noise (`coarsen`); the columns take three tenths of the budget if many are merged. Merged codes
    also make the dependence of a pair less a matter of chance than thousands of nearly empty cells do.
    `records_per_noise=None` leaves all codes as they are, like the paper.

    Attributes:
        dependence_share: Fraction of the budget for the dependences.
        one_way_share: Fraction of the budget for the one-way marginals; the rest measures the chosen pairs.
            If no pair is worth measuring, the one-way marginals are measured again with the rest.
        max_cells: Most cells of a candidate: beyond this, noise outweighs any dependence.
        max_merged_cells: Merged marginals have fewer cells than this (gamma); 0 merges nothing.
        max_model_mb: Most that the model may grow beyond its unfitted size; pairs that do not fit are left out.
        records_per_noise: Codes are merged until an average cell of a typical pair holds this many times
            its noise; None merges none.
    """

    key: ClassVar[str] = "independent_difference"

    dependence_share: Fraction | float = tunable(Fraction(1, 10), Range(low=0.05, high=0.3))
    one_way_share: Fraction | float = Fraction(1, 10)
    max_cells: int = 250_000
    max_merged_cells: int = 5000
    max_model_mb: float = 100.0
    records_per_noise: float | None = 4.0

    def __post_init__(self) -> None:
        normalise(
            self,
            dependence_share=share,
            one_way_share=share,
            max_cells=count(),
            max_merged_cells=count(0),
            max_model_mb=megabytes,
            records_per_noise=positive.or_none,
        )
        if Fraction(self.dependence_share) + Fraction(self.one_way_share) >= 1:
            raise ArgumentError(
                "dependence_share and one_way_share leave nothing for the measurements; lower one of them"
            )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the steps; how many pairs are measured depends on the table. If many codes are merged, the
        one-way marginals take three tenths and the chosen marginals correspondingly less.
        """
        one_way = sum(domain.sizes)
        pairs = self._candidates(domain)
        # Merged marginals of three columns or more share at most two, so that each brings a new column.
        chosen = max(one_way, sum(map(domain.cells, pairs)) + len(domain) * self.max_merged_cells)
        model_cells = max(one_way, int(self.max_model_mb * 2**20 / 8))
        dependence, first, rest = self._shares(domain, Fraction(1))
        # Only the dependences of the pairs are kept.
        counted = max((sum(map(domain.cells, part)) for part in batches(domain.cells, pairs)), default=0)
        steps = [
            PlannedStep(name=ONE_WAY, share=first, cells=one_way, noisy_cells=one_way),
            PlannedStep(
                name=DEPENDENCE,
                share=dependence,
                cells=counted,
                noisy_cells=len(pairs),
                work_seconds=SECONDS_PER_WEIGHED_MARGINAL * len(pairs),
            ),
            PlannedStep(
                name=CHOSEN,
                share=rest,
                cells=chosen,
                noisy_cells=chosen,
                fit=PlannedFit(
                    cells=model_cells,
                    cliques=tuple(pairs) or tuple((c,) for c in domain.columns),
                    kept_small=True,
                    usual=tuple(pairs[:: max(1, len(pairs) // self._usual(domain, len(pairs)))]),
                ),
            ),
        ]
        return [s for s in steps if s.share]  # without pairs, all goes to the columns

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure the columns and the dependence of all pairs, then choose, combine, measure and fit.

        Raises:
            ResourceError: If even the smallest pair does not fit `max_model_mb`; nothing was spent.
        """
        report = progress or (lambda step, done: None)
        dependence_share, one_way_share, rest = self._shares(curator.domain, share)
        if not dependence_share:
            columns: list[Clique] = [(c,) for c in curator.domain.columns]
            return model.over(curator.domain).fit(curator.measure(columns, share=rest, step=CHOSEN))
        self._check_size(model.over(curator.domain), self._candidates(curator.domain))

        # Release every column, merge codes that its pairs could not tell apart, and release every pair's dependence.
        start = self._start(curator, share, one_way_share)
        rest -= start.used - one_way_share
        curator, measured = start.curator, start.measured
        domain = curator.domain
        columns = [(c,) for c in domain.columns]
        model = over_merged(model, start.recoding)
        pairs = self._candidates(domain)
        dependences = curator.measure_dependence(pairs, share=dependence_share, step=DEPENDENCE)
        report(ONE_WAY, 0.2)

        # Algorithms 1 and 2: choose pairs, and merge them; post-processing of what was released.
        pure = curator.ledger.budget.currency == "epsilon"
        unit = mean_noise(curator, 1, rest)
        power = 1 / 2 if pure else 2 / 3
        pairs = self._chosen(pairs, dependences, model, unit, power)
        marginals = combined(pairs, domain, max_cells=self.max_merged_cells) or columns
        report("choose marginals", 0.3)

        # Measure each with a share of the rest in proportion to a power of its cells, and fit.
        weights = [round(_PARTS * domain.cells(c) ** power) for c in marginals]
        if not pairs:
            measured += curator.measure(columns, share=rest, step=CHOSEN)
        for clique, weight in zip(marginals if pairs else [], weights, strict=False):
            part = rest * Fraction(weight, sum(weights))
            measured += curator.measure([clique], share=part, step=CHOSEN, ahead=marginals)
        report(CHOSEN, 0.5)
        fitted = model.fit(measured)
        report("fit the model", 1.0)
        return start.restored(fitted)

    def _start(self, curator: Curator, share: Fraction, first: Fraction) -> MergedStart:
        """Measure the columns and merge their codes."""
        dependence = Fraction(self.dependence_share) * share
        n_pairs = _USUAL_PER_COLUMN * len(curator.domain)
        return MergedStart.of(
            curator,
            share=share - dependence,
            first=first,
            most=max(first, MERGING_ONE_WAY * share),
            records_per_noise=self.records_per_noise,
            n_pairs=n_pairs,
        )

    def _usual(self, domain: Domain, n_pairs: int) -> int:
        return max(_USUAL_PER_COLUMN * len(domain), round(_USUAL_PART * n_pairs))

    def _shares(self, domain: Domain, share: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """Return the shares of the dependences, the one-way marginals and the rest; without pairs the rest is
        everything."""
        if not self._candidates(domain):
            return Fraction(0), Fraction(0), share
        dependence, one_way = share * Fraction(self.dependence_share), share * Fraction(self.one_way_share)
        return dependence, one_way, share - dependence - one_way

    def _candidates(self, domain: Domain) -> list[Clique]:
        return [p for p in combinations(domain.columns, 2) if domain.cells(p) <= self.max_cells]

    def _check_size(self, model: MarginalModel, pairs: Sequence[Clique]) -> None:
        """Refuse a model without room for a single pair, judged by the domain alone."""
        domain = model.domain
        smallest = min(pairs, key=domain.cells)
        growth_mb = _growth_mb(model, [smallest])
        if growth_mb > self.max_model_mb:
            raise ResourceError(
                f"with all columns and the smallest pair, {smallest}, the model grows by "
                f"{above_limit(growth_mb, self.max_model_mb)}; use fewer bins, shorten or group categories, or raise "
                "max_model_mb"
            )

    def _chosen(
        self,
        pairs: Sequence[Clique],
        dependences: FloatArray,
        model: MarginalModel,
        unit: float,
        power: float,
    ) -> list[Clique]:
        """Add the pair that lowers the error most, one by one, as long as a pair lowers it.

        The error of a set X of pairs is its noise, unit (sum over X of c^power)^(1 / power), and the dependence
        of all pairs outside it.
        """
        domain = model.domain
        lost = np.maximum(dependences, 0.0)
        weight = np.array([float(domain.cells(p)) for p in pairs]) ** power
        # Among pairs with equally many cells the most dependent one gains most, so a step looks at one pair per size.
        order = np.lexsort((-lost, weight))
        _, heads = np.unique(weight[order], return_index=True)
        ends = np.array([*heads[1:], order.size])
        taken: list[Clique] = []
        total = 0.0
        while (left := np.flatnonzero(heads < ends)).size:
            first = order[heads[left]]
            gain = lost[first] - unit * ((total + weight[first]) ** (1 / power) - total ** (1 / power))
            if gain.max() <= 0:
                break
            best = int(first[gain == gain.max()].min())
            heads[left[first == best]] += 1
            if _growth_mb(model, [*taken, pairs[best]]) <= self.max_model_mb:
                taken.append(pairs[best])
                total += weight[best]
        return taken


def _growth_mb(model: MarginalModel, pairs: Sequence[Clique]) -> float:
    """Return how much larger the model is with all columns and some pairs than without any measurement."""
    columns: list[Clique] = [(c,) for c in model.domain.columns]
    return model.memory_mb([*columns, *pairs]) - model.memory_mb([])


_MOST_STEPS = 100_000
"""Search steps per width; if the pairs are too dense for this, the next smaller width is tried."""


def combined(pairs: Sequence[Clique], domain: Domain, *, max_cells: int) -> list[Clique]:
    """Return marginals that hold all chosen pairs: cliques of the graph whose edges are the pairs, and the rest.

    Zhang et al. (2021), "PrivSyn: Differentially Private Data Synthesis", algorithm 2 (Marginal Combine).
    From large cliques to small ones (three columns), a clique is taken if at most two of its columns are in
    cliques taken before, and its marginal has fewer than `max_cells` cells. Pairs that no taken clique
    covers are kept.

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
        """Return the first clique of this width that may be taken, in the domain's order; () if there is none."""
        self.steps = 0
        return self._grow((), [c for c in self.domain.columns if c in self.next_to], width, covered)

    def _grow(self, clique: Clique, candidates: list[str], width: int, covered: set[str]) -> Clique:
        if len(clique) == width:
            # A clique within one taken before would add nothing.
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
