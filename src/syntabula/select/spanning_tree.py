"""Selects a noisy maximum spanning tree over pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np

from syntabula._arguments import normalise, not_negative, positive
from syntabula._planning import SECONDS_PER_WEIGHED_MARGINAL, PlannedFit, PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.recoding import Recoding, compress
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import RecodedModel, over_merged
from syntabula.privacy.doors.tables import Candidates, Curator
from syntabula.select.base import Selector
from syntabula.select.merged_codes import coarsen
from syntabula.select.model_size import PairGrowth
from syntabula.select.rising import fitted_again, held_for_trends, learn_trends, planned_trends

ONE_WAY = "measure one-way marginals"
TREE = "choose the spanning tree"
PAIRS = "measure the tree's pairs"
_SECONDS_PER_COLUMN = 0.001
_GROWTH_MB = 10.0
"""Most megabytes that trends add to a tree."""


@dataclass(frozen=True, kw_only=True)
class SpanningTree(Selector):
    """Choose d - 1 pairs that connect all columns and measure them (McKenna, Miklau, Sheldon 2021, section 4).

    The budget is spent in thirds: one-way marginals, the tree, the tree's pairs. Where columns are ordered, a
    twenty-fifth is kept for trends, which are no part of the paper (`learn_trends`). With budget rho for the thirds and d
    columns, one-way counts receive variance 3 d / (2 rho), each of the d - 1 choices is an exponential
    mechanism of epsilon sqrt(8 rho / (3 (d - 1))), and pair counts receive variance 3 (d - 1) / (2 rho).

    As in the public code, the weights of the pairs are computed on the compressed domain, and the exact number of
    records is never used; the total comes from the measurements. Departures from it: a column of which noise hides every
    code stays as it is, where the code merges it into one. The paper compresses
    by merging all codes that noise hides into one; by default they are joined to groups large enough
    for pairs (`coarsen`), which is also post-processing and more accurate at small budgets.

    Attributes:
        records_per_noise: Codes are merged until an average cell of a typical pair holds this many times
            its noise; None merges as the paper does.
        compress_sigmas: With `records_per_noise=None`, codes whose noisy count is below this many standard
            deviations of the noise are merged into one; 0 keeps all codes.
    """

    key: ClassVar[str] = "spanning_tree"

    records_per_noise: float | None = tunable(4.0, Range(low=1.0, high=16.0, log=True))
    compress_sigmas: float = 3.0

    def __post_init__(self) -> None:
        normalise(self, records_per_noise=positive.or_none, compress_sigmas=not_negative)

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of each third; the tree's pairs are bounded by the d - 1 largest."""
        trends = planned_trends(domain)
        third = (1 - sum(s.share for s in trends)) / Fraction(3)
        one_way = sum(domain.sizes)
        columns = PlannedFit(cells=one_way)
        largest = sorted(combinations(domain.columns, 2), key=domain.cells, reverse=True)
        pairs = [domain.cells(p) for p in largest]
        if not pairs:
            return [
                PlannedStep(name=ONE_WAY, share=Fraction(1), cells=one_way, noisy_cells=one_way, fit=columns)
            ]
        tree = sum(pairs[: len(domain) - 1])
        return [
            PlannedStep(name=ONE_WAY, share=third, cells=one_way, noisy_cells=one_way, fit=columns),
            PlannedStep(
                name=TREE,
                share=third,
                cells=sum(pairs),
                fit=columns,
                work_seconds=SECONDS_PER_WEIGHED_MARGINAL * len(pairs),
            ),
            PlannedStep(
                name=PAIRS,
                share=third,
                cells=tree,
                noisy_cells=tree,
                fit=PlannedFit(
                    cells=tree,
                    cliques=tuple(largest[: len(domain) - 1]),
                    kept_small=True,
                    seconds=_SECONDS_PER_COLUMN * len(domain),
                ),
            ),
            *trends,
        ]

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure one-way marginals, choose the tree, measure its pairs and fit."""
        report = progress or (lambda step, done: None)
        columns = curator.domain.columns
        held = held_for_trends(curator, model, share)
        third = (share - held) / 3
        first = third if len(columns) > 1 else share

        # Step 1: measure every column, with the first third.
        one_way = curator.measure([(c,) for c in columns], share=first, step=ONE_WAY)
        report(ONE_WAY, 0.1)

        # Step 2: merge the codes that noise hides, by post-processing of step 1.
        recoding, measured = self._merged(curator, one_way, third)
        merged = curator.recoded(recoding)
        independent = over_merged(model, recoding).fit(measured)
        if len(columns) == 1:
            return RecodedModel(independent, recoding)
        report("fit one-way marginals", 0.2)

        # Step 3: weigh all pairs by their distance from independence and grow the tree, with the second third.
        tree = self._grow_tree(merged, independent, third, report)

        # Step 4: measure the tree's pairs, with the last third, and fit the model to everything.
        measured += merged.measure(tree, share=third, step=PAIRS)
        report(PAIRS, 0.6)
        fitted = independent.fit(measured)
        report("fit the model", 0.8)

        # Beyond the paper: learn the trends that the tree does not hold. What they leave measures its pairs once more.
        if held:
            fitted, used = learn_trends(
                merged,
                fitted,
                measured,
                share=held,
                fitting=PairGrowth(_GROWTH_MB),
                progress=lambda step, done: report(step, 0.8 + 0.15 * done),
            )
            if used < held:
                measured += merged.measure(tree, share=held - used, step=PAIRS)
                fitted = fitted_again(fitted, measured)
        report("fit the model", 1.0)
        return RecodedModel(fitted, recoding)

    def _merged(
        self, curator: Curator, one_way: Sequence[Measurement], share: Fraction
    ) -> tuple[Recoding, list[Measurement]]:
        domain, least = curator.domain, self.records_per_noise
        if least is None or len(domain) == 1:
            recoding = compress(one_way, domain=domain, threshold_sigmas=self.compress_sigmas)
            return recoding, [recoding.merge_measurement(m) for m in one_way]
        pair_sigma = curator.noise_sigma(len(domain) - 1, share)
        return coarsen(one_way, domain=domain, pair_sigma=pair_sigma, records_per_noise=least)

    def _grow_tree(
        self, curator: Curator, independent: MarginalModel, share: Fraction, report: Progress
    ) -> list[Clique]:
        """Run Kruskal's algorithm with each edge chosen by the exponential mechanism.

        The pairs are weighed once; each choice then takes a few numpy passes over them.
        """
        columns = curator.domain.columns
        pairs: list[Clique] = list(combinations(columns, 2))
        weighed = Candidates(curator, pairs, independent.marginals(pairs))
        one, other = np.triu_indices(len(columns), 1)
        component = np.arange(len(columns))
        tree: list[Clique] = []
        for step in range(len(columns) - 1):
            joining = component[one] != component[other]
            chosen = weighed.choose(share=share / (len(columns) - 1), step=TREE, among=joining)
            tree.append(pairs[chosen])
            component[component == component[other[chosen]]] = component[one[chosen]]
            report(TREE, 0.2 + 0.3 * (step + 1) / (len(columns) - 1))
        return tree
