"""RAP++'s selection: pairs and random thresholds by turns, the few of each round that are farthest off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from syntabula._arguments import (
    count,
    megabytes,
    normalise,
    share,
)
from syntabula._planning import PlannedStep, Progress
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.threshold import random_thresholds
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector
from syntabula.select.rounds import Rounds, affordable, choose_worst, mean_noise, pairs_of, plan_of_pairs

ONE_WAY = "measure one-way marginals"
CHOOSE = "choose pairs and thresholds"
MEASURE = "measure what was chosen"


@dataclass(frozen=True, kw_only=True)
class TopQ(Selector):
    """In each round choose the q pairs, or the q thresholds, that are farthest off; none twice.

    Vietri et al. (2022), "Private Synthetic Data for Multitask Learning and Marginal Queries" (RAP++), with the
    q of tab_bench, table 7. The paper's statistics come in two kinds: pairs, and random linear thresholds of
    the ordered columns, each crossed with a column that is not ordered. Half of each round's budget goes to the
    choices, and a candidate scores its L1 distance to the model's belief less that of noise alone. The q of a
    round are chosen one after the other, each with its part of the budget; one draw of Gumbel noise for all of
    them, as in the paper, is the same.

    Departures from the public code: it measures all that it ever chose again in every round, for which it does
    not pay; here it is measured once. It takes the number of records as public; here one-way marginals come
    first. It deducts a record for each cell of a pair, and nothing for thresholds, whatever the noise. Its pairs
    are of unordered columns alone; here ordered ones have bins, so that all pairs count. Its kinds come in
    random order, with a round for each unordered column, 50 for the thresholds, and budgets in proportion to
    the columns of either sort; here both take turns, with a round for each column and the same budget. Of
    the two million thresholds of table 7, 200 are drawn: each is counted with every unordered column.

    Attributes:
        rounds_per_column: Rounds of each kind, for each column.
        chosen_per_round: q.
        measure_share: Part of a round's budget that goes to the measurement; the rest pays for the choices.
        one_way_share: Part of the whole for the one-way marginals at the start.
        n_thresholds: How many are drawn over the ordered columns; each is a candidate with every column that is not
            ordered. 0 for pairs alone; more need a model of free soft rows.
        threshold_seed: Of the thresholds, which are not secret.
        max_model_mb: The model may grow by so much, in proportion to the rounds done, as tab_bench has it for
            Private-PGM: pairs that would make it larger wait, and if none is left that fits, those that were
            measured are measured again. A model whose size does not depend on the marginals, as RAP++'s own, is
            not concerned.
    """

    key: ClassVar[str] = "top_q"
    adaptive: ClassVar[bool] = True

    rounds_per_column: int = 1
    chosen_per_round: int = 5
    measure_share: Fraction | float = Fraction(1, 2)
    one_way_share: Fraction | float = Fraction(1, 10)
    n_thresholds: int = 0
    threshold_seed: int = 0
    max_model_mb: float = 100.0

    def __post_init__(self) -> None:
        normalise(
            self,
            rounds_per_column=count(),
            chosen_per_round=count(),
            n_thresholds=count(0),
            threshold_seed=count(0),
            measure_share=share,
            one_way_share=share,
            max_model_mb=megabytes,
        )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say what the steps cost."""
        one_way = self._one_way(domain, Fraction(1))
        rounds = sum(self._turns(domain))
        first, *others = plan_of_pairs(
            domain,
            one_way=one_way,
            round_share=(1 - one_way) / max(rounds, 1),
            measure_share=Fraction(self.measure_share),
            names=(ONE_WAY, CHOOSE, MEASURE),
            picks=self.chosen_per_round,
            max_model_mb=self.max_model_mb,
        )
        # Two codes of each threshold, with all codes of all columns at most.
        further = self.n_thresholds * 2 * sum(domain.sizes)
        return [first, *(replace(s, cells=s.cells + further) for s in others)]

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure one-way marginals, then choose, measure and fit in every round."""
        report = progress or (lambda step, done: None)
        domain = curator.domain
        used = self._one_way(domain, share)
        measured = curator.measure([(c,) for c in domain.columns], share=used, step=ONE_WAY)
        model = model.over(domain).fit(measured)
        if used == share:
            return model

        kinds = [pairs_of(domain)]
        ordered = self._ordered(domain)
        if ordered:
            rng = np.random.default_rng(self.threshold_seed)
            thresholds = random_thresholds(ordered, self.n_thresholds, rng)
            curator, model = curator.with_thresholds(thresholds), model.with_thresholds(thresholds)
            others = [c for c in domain.columns if c not in ordered]
            kinds.append([(t, c) for t in thresholds for c in others] or [(t,) for t in thresholds])

        turns = self._turns(domain)
        order = sorted((i / n, kind) for kind, n in enumerate(turns) for i in range(n))
        rounds = Rounds(
            share=share,
            used=used,
            round_share=(share - used) / len(order),
            measure_share=self.measure_share,
            max_rounds=len(order),
        )
        for (_, kind), (measure_share, choose_share) in zip(order, rounds, strict=True):
            growth_mb = self.max_model_mb * rounds.done
            cliques = [m.clique for m in measured]
            chosen, left = self._choose(
                curator, model, kinds[kind], cliques, growth_mb, choose_share, measure_share
            )
            kinds[kind] = [c for c in kinds[kind] if c not in chosen]
            measured += curator.measure(chosen, share=measure_share + left, step=MEASURE)
            model = model.fit(measured)
            report(CHOOSE, rounds.done)
        report(MEASURE, 1.0)
        return model

    def _choose(
        self,
        curator: Curator,
        model: MarginalModel,
        candidates: Sequence[Clique],
        measured: Sequence[Clique],
        growth_mb: float,
        share: Fraction,
        measure_share: Fraction,
    ) -> tuple[list[Clique], Fraction]:
        """Choose the q candidates that the model gets most wrong, beyond the noise of their measurement.

        Returns:
            The chosen ones, fewer than q where no more fit the model together, and what is left of the share.
        """
        left = affordable(model, candidates, measured, growth_mb)
        left = left or list(dict.fromkeys(c for c in measured if len(c) > 1))
        left = left or [min(candidates, key=curator.domain.cells)]
        picks = min(self.chosen_per_round, len(left))
        chosen = choose_worst(
            curator,
            model,
            left,
            picks=picks,
            share=share,
            noise=mean_noise(curator, picks, measure_share),
            step=CHOOSE,
            still_open=lambda left, chosen: affordable(model, left, [*measured, *chosen], growth_mb),
        )
        return chosen, share * (picks - len(chosen)) / picks

    def _ordered(self, domain: Domain) -> list[str]:
        """Return the columns that thresholds are drawn over."""
        return [c for c in domain if self.n_thresholds and c in domain.ordered]

    def _one_way(self, domain: Domain, share: Fraction) -> Fraction:
        return share if len(domain) == 1 else Fraction(self.one_way_share) * share

    def _turns(self, domain: Domain) -> tuple[int, ...]:
        """Return the number of rounds of each kind: no more than there are candidates for."""
        rounds = self.rounds_per_column * len(domain)
        n_ordered = len(self._ordered(domain))
        candidates = [len(pairs_of(domain))]
        if n_ordered:
            candidates.append(self.n_thresholds * max(1, len(domain) - n_ordered))
        return tuple(min(rounds, -(-n // self.chosen_per_round)) for n in candidates)
