"""Selects the families of a Bayesian network privately, one column at a time, and measures them at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from syntabula._arguments import (
    count,
    megabytes,
    normalise,
    positive,
    share,
)
from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import consistent_total
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import over_merged
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector
from syntabula.select.merged_codes import MERGING_ONE_WAY, ONE_WAY, MergedStart
from syntabula.select.model_size import affordable
from syntabula.select.usefulness import largest_useful, maximal_sets

TOTAL = "measure the number of records"
CHOOSE = "choose the network"
MEASURE = "measure the network's families"
_ONE_WAY_SHARE = Fraction(1, 20)
_SECONDS_PER_COLUMN = 0.003


@dataclass(frozen=True, kw_only=True)
class ParentSets(Selector):
    """Choose the parents on which each column depends most, then measure every family.

    Zhang, Cormode, Procopiuc, Srivastava, Xiao (2017), "PrivBayes: Private Data Release via Bayesian Networks",
    ACM TODS 42(4): the greedy network of section 4, theta-usefulness and maximal parent sets for columns of any
    size as in section 5, and the score R, the distance of column and parents from independence.

    Each of d - 1 choices is an exponential mechanism over all columns X that are not placed yet and all maximal
    sets of placed parents Pi such that X with Pi is useful: its average count is at least theta times the
    average noise it will get. With budget rho a choice has epsilon sqrt(8 beta rho / (d - 1)).

    Departures from the paper, whose neighbours replace a record and whose number of records is public: here a
    record is added or removed, so the number of records is private, and R is taken in counts, where
    its sensitivity does not depend on the number of records (four records for 2 n R). Single columns are measured
    first, for a twentieth of the budget or three tenths if many codes are merged, and codes are merged until pairs can
    stand out from their noise (`coarsen`), so that more families are useful; the number of records follows from these
    measurements. `records_per_noise=None` leaves all codes as they are, like the paper, and measures the number of
    records instead. The root is the
    first column, not a random one. The number of parents and the cells of a family are also bounded, so
    that a choice counts few cells; in the paper only usefulness bounds them. Public code scales a
    normalised mutual information as if it were not normalised, which is not private; it is not followed.

    Attributes:
        theta: Least ratio of average count to average noise of a family.
        structure_share: Fraction of the budget for the choices; beta in the paper.
        total_share: Fraction of the budget for the number of records, which usefulness depends on; it has no effect if
            codes are merged.
        max_parents: Most parents of a column.
        max_cells: Most cells of a family, unless it is one column.
        max_candidates: Most candidates of a choice; if there are more, smaller parent sets are considered.
        max_model_mb: Most that the model may grow.
        records_per_noise: Codes are merged until an average cell of a typical pair holds this many times
            its noise; None merges none.
    """

    key: ClassVar[str] = "privbayes"

    theta: float = tunable(4.0, Range(low=1.0, high=8.0))
    structure_share: Fraction | float = tunable(Fraction(3, 10), Range(low=0.1, high=0.5))
    total_share: Fraction | float = Fraction(1, 100)
    max_parents: int = 4
    max_cells: int = 250_000
    max_candidates: int = 5_000
    max_model_mb: float = 80.0
    records_per_noise: float | None = 4.0

    def __post_init__(self) -> None:
        normalise(
            self,
            structure_share=share,
            total_share=share,
            max_parents=count(),
            max_cells=count(),
            max_candidates=count(),
            theta=positive,
            max_model_mb=megabytes,
            records_per_noise=positive.or_none,
        )
        first = self.total_share if self.records_per_noise is None else MERGING_ONE_WAY
        if self.structure_share + first >= 1:
            raise ArgumentError(
                "structure_share and what is measured before leave nothing for the families; lower structure_share"
                + (" or total_share" if self.records_per_noise is None else "")
            )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the steps; which families are measured depends on the table. If many codes are merged, the
        one-way marginals take three tenths and the families correspondingly less.
        """
        total, choose, measure = self._shares(domain, Fraction(1))
        largest = sorted(domain.sizes, reverse=True)
        family = math.prod(largest[: self.max_parents + 1])
        cells = sum(max(n, min(family, self.max_cells)) for n in domain.sizes)
        usual = _SECONDS_PER_COLUMN * len(domain)
        counted = 1 if self.records_per_noise is None else sum(domain.sizes)
        steps = [
            PlannedStep(
                name=TOTAL if self.records_per_noise is None else ONE_WAY,
                share=total,
                cells=counted,
                noisy_cells=counted,
                fit=PlannedFit(cells=1, seconds=0.0),
            ),
            PlannedStep(name=CHOOSE, share=choose, cells=cells, fit=PlannedFit(cells=1, seconds=usual / 2)),
            PlannedStep(
                name=MEASURE,
                share=measure,
                cells=cells,
                noisy_cells=cells,
                fit=PlannedFit(cells=cells, seconds=usual / 2),
            ),
        ]
        return [s for s in steps if s.share]  # a single column only needs measuring

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Choose the network, measure its families and fit the model."""
        report = progress or (lambda step, done: None)
        start, n_records = self._start(curator, share)
        _, choose_share, _ = self._shares(curator.domain, share)
        measure_share = share - start.used - choose_share
        curator, model = start.curator, over_merged(model, start.recoding)
        domain = curator.domain
        root = domain.columns[0]
        network: list[Clique] = []
        if len(domain) > 1:
            limit = largest_useful(curator, n_records, len(domain), measure_share, theta=self.theta)
            for number in range(1, len(domain)):
                report(CHOOSE, 0.6 * number / len(domain))
                placed = [root, *(family[-1] for family in network)]
                candidates = self._candidates(model, network, placed, min(limit, self.max_cells))
                part = choose_share / (len(domain) - 1)
                network.append(candidates[curator.choose_dependent(candidates, share=part, step=CHOOSE)])
        # A family includes its parents' counts, so the root is measured on its own only if it is nobody's parent.
        alone = [] if any(root in family for family in network) else [(root,)]
        measured = curator.measure([*alone, *network], share=measure_share, step=MEASURE)
        report(MEASURE, 0.8)
        fitted = model.fit(measured)
        report("fit the model", 1.0)
        return start.restored(fitted)

    def _start(self, curator: Curator, share: Fraction) -> tuple[MergedStart, float]:
        """Return what is measured before the network, and the number of records; nothing if there is one column."""
        domain = curator.domain
        first, choose, _ = self._shares(domain, share)
        if not first:
            return MergedStart(curator, [], Recoding.identity(domain), first), 1.0
        if self.records_per_noise is None:
            (counted,) = curator.measure([()], share=first, step=TOTAL)
            return MergedStart(curator, [], Recoding.identity(domain), first), float(counted.values)
        start = MergedStart.of(
            curator,
            share=share - choose,
            first=first,
            most=MERGING_ONE_WAY * share,
            records_per_noise=self.records_per_noise,
            # The number of families that will be measured, with all that is left for them.
            n_pairs=len(domain),
            # Fewer families of more codes would be useful.
            alone=False,
        )
        return start, consistent_total(start.measured)

    def _shares(self, domain: Domain, share: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """Return the shares of what is measured before the network, of all choices, and of the families."""
        if len(domain) == 1:
            return Fraction(0), Fraction(0), share
        first = Fraction(self.total_share) if self.records_per_noise is None else _ONE_WAY_SHARE
        total, choose = first * share, Fraction(self.structure_share) * share
        return total, choose, share - total - choose

    def _candidates(
        self, model: MarginalModel, network: Sequence[Clique], placed: Sequence[str], limit: float
    ) -> list[Clique]:
        """Return the candidate families of the next choice, child last."""
        left = [c for c in model.domain.columns if c not in placed]
        for most in range(self.max_parents, 0, -1):
            found = []
            for child in left:
                for parents in maximal_sets(model.domain, placed, limit / model.domain.size(child), most):
                    found.append((*parents, child))
                    if len(found) > self.max_candidates and most > 1:
                        break
            if len(found) <= self.max_candidates:
                break
        if model.memory_mb([*network, *found]) <= model.memory_mb([]) + self.max_model_mb:
            return found
        fitting = affordable(model, found, network, self.max_model_mb)
        return fitting or [(child,) for child in left]
