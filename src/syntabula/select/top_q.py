"""RAP++'s selection: in each round the few pairs, or random thresholds, that the model gets most wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from syntabula._arguments import count, flag, megabytes, normalise, positive, share, text
from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.threshold import CrossedThresholds, random_thresholds
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.queries import ThresholdCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector, choose_worst, mean_noise, pairs_of, plan_of_pairs
from syntabula.select.model_size import still_affordable

TOTAL = "measure the number of records"
ONE_WAY = "measure one-way marginals"
CHOOSE = "choose pairs and thresholds"
MEASURE = "measure what was chosen"
_TOTAL_SHARE = Fraction(1, 100)
_SECONDS_PER_THRESHOLD = 3e-6  # and round


@dataclass(frozen=True, kw_only=True)
class TopQ(Selector):
    """In each round choose the q pairs, or the q thresholds, with the largest error; none twice.

    Vietri et al. (2022), "Private Synthetic Data for Multitask Learning and Marginal Queries" (RAP++), section 4.
    The defaults are what tab_bench calls RAP++ selection (its table 11): three pairs per round, as many rounds as it
    takes to measure one pair per column (6 for bank's 17 columns, as there; it has fewer for its two widest tables),
    half of each round's budget for the choices, no one-way marginals first, and scores that deduct no noise. The
    complete RAP++ (`RAPPlusPlus`) has five pairs per round, one round per column, and thresholds.

    The paper has two kinds of statistics: pairs, and random linear thresholds of the ordered columns, each crossed
    with a column that is not ordered. The kinds take turns, and share the budget in proportion to the number of
    columns that they cover: all columns, and the ordered ones. The score of a candidate is its L1 distance to the
    model's estimate. The q of a round are chosen one after the other, each with its part of the budget, which is
    equivalent to one draw of Gumbel noise for all of them as in the paper.

    Departures from the public code: it measures everything chosen so far again in every round without charging for
    it; here each is measured once. It takes the number of records as public; here it is measured first, for a
    hundredth of the budget, or follows from one-way marginals. It deducts a record for each cell of a pair.
    Its pairs are of unordered columns only; here ordered columns are binned, so that all pairs are candidates.
    Its kinds come in random order. It has two million thresholds by tab_bench's table 7, and 200,000 by its
    code.

    Attributes:
        rounds_per_column: Rounds of pairs for each column; the number of rounds is rounded up.
        chosen_per_round: q, of either kind.
        measure_share: Fraction of a round's budget for the measurement; the rest pays for the choices.
        one_way_share: Fraction of the whole for the one-way marginals at the start; None to measure the
            number of records instead, for a hundredth.
        deduct_noise: Whether to subtract from a pair's score what noise alone would add to it.
        n_thresholds: Number of thresholds drawn over the ordered columns, each crossed with another random column. 0
            for pairs alone; more than 0 needs the relaxed_projection model.
        threshold_rounds: Rounds of thresholds.
        crossed_with: Column that all thresholds are crossed with, such as one to predict; None for any column that
            is not ordered.
        threshold_seed: Seed of the thresholds, which are not secret.
        max_model_mb: Most that the model may grow, in proportion to the rounds done, as tab_bench limits
            Private-PGM: pairs that would make it larger wait, and if no other pair fits, measured pairs are
            measured again. It has no effect on a model whose size does not depend on the marginals, such as
            RAP++'s own.
    """

    key: ClassVar[str] = "top_q"
    adaptive: ClassVar[bool] = True

    rounds_per_column: float = tunable(1 / 3, Range(low=0.1, high=2.0, log=True))
    chosen_per_round: int = tunable(3, Range(low=1, high=10))
    measure_share: Fraction | float = Fraction(1, 2)
    one_way_share: Fraction | float | None = None
    deduct_noise: bool = False
    n_thresholds: int = 0
    threshold_rounds: int = 50
    crossed_with: str | None = None
    threshold_seed: int = 0
    max_model_mb: float = 100.0

    def __post_init__(self) -> None:
        normalise(
            self,
            rounds_per_column=positive,
            chosen_per_round=count(),
            measure_share=share,
            one_way_share=share.or_none,
            deduct_noise=flag,
            n_thresholds=count(0),
            threshold_rounds=count(),
            crossed_with=text.or_none,
            threshold_seed=count(0),
            max_model_mb=megabytes,
        )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the steps."""
        start, turns = self._start_share(domain, Fraction(1)), self._turns(domain)
        first, *others = plan_of_pairs(
            domain,
            one_way=start,
            round_share=(1 - start) / max(sum(turns), 1),
            measure_share=Fraction(self.measure_share),
            names=(ONE_WAY, CHOOSE, MEASURE),
            picks=self.chosen_per_round,
            max_model_mb=self.max_model_mb,
        )
        if not others:
            return [first]
        if self.one_way_share is None:
            first = PlannedStep(name=TOTAL, share=start, cells=1, noisy_cells=1, fit=PlannedFit(cells=1))
        # Counts and beliefs of each threshold, with all codes of the widest column at most.
        drawn = self.n_thresholds * bool(turns[1:])
        choose, measure = others
        seconds = _SECONDS_PER_THRESHOLD * drawn * self.threshold_rounds
        choose = replace(
            choose,
            cells=choose.cells + 4 * drawn * max(domain.sizes),
            work_seconds=choose.work_seconds + seconds,
        )
        return [first, choose, measure]

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure the number of records or one-way marginals, then choose, measure and fit in every round."""
        report = progress or (lambda step, done: None)
        domain, model = curator.domain, model.over(curator.domain)
        ordered = self._ordered(domain) if len(domain) > 1 else []
        kinds: list[_Pairs | _Thresholds] = [_Pairs(self, curator)]
        if ordered:
            model = model.with_thresholds(
                {}
            )  # raises before anything is spent if the model cannot hold thresholds
            kinds.append(_Thresholds(self, curator, self._drawn(domain, ordered)))

        used = self._start_share(domain, share)
        measured: list[Measurement] = []
        if self.one_way_share is not None or used == share:
            measured = curator.measure([(c,) for c in domain.columns], share=used, step=ONE_WAY)
            model = model.fit(measured)
            if used == share:
                return model
        else:
            (counted,) = curator.measure([()], share=used, step=TOTAL)

        turns, weights = self._turns(domain), (len(domain), len(ordered))
        order = sorted((i / n, kind) for kind, n in enumerate(turns) for i in range(n))
        for number, (_, kind) in enumerate(order, start=1):
            part = Fraction(weights[kind], sum(weights[: len(turns)]) * turns[kind])
            # The model has no number of records until something is measured.
            scale = 1.0 if measured else max(1.0, float(counted.values)) / model.total
            done = number / len(order)
            model, found = kinds[kind].asked(model, measured, scale, part * (share - used), done)
            measured += found
            model = model.fit(measured)
            report(CHOOSE, done)
        report(MEASURE, 1.0)
        return model

    def _drawn(self, domain: Domain, ordered: Sequence[str]) -> CrossedThresholds:
        others = [c for c in domain if c not in ordered]
        if self.crossed_with is not None:
            others = [domain.columns[domain.index(self.crossed_with)]]
        rng = np.random.default_rng(self.threshold_seed)
        return random_thresholds(ordered, others, self.n_thresholds, rng)

    def _start_share(self, domain: Domain, share: Fraction) -> Fraction:
        part = _TOTAL_SHARE if self.one_way_share is None else Fraction(self.one_way_share)
        return share if len(domain) == 1 else part * share

    def _ordered(self, domain: Domain) -> list[str]:
        """Return the columns that thresholds are drawn over."""
        return [c for c in domain if self.n_thresholds and c in domain.ordered]

    def _turns(self, domain: Domain) -> tuple[int, ...]:
        """Return the number of rounds of each kind, limited by the number of candidates."""
        turns = [math.ceil(self.rounds_per_column * len(domain))]
        candidates = [len(pairs_of(domain))]
        if self._ordered(domain):
            turns.append(self.threshold_rounds)
            candidates.append(self.n_thresholds)
        return tuple(
            min(rounds, -(-n // self.chosen_per_round)) for rounds, n in zip(turns, candidates, strict=True)
        )


class _Pairs:
    """Pairs as candidates, each once."""

    def __init__(self, options: TopQ, curator: Curator) -> None:
        self._options, self._curator = options, curator
        self._left = pairs_of(curator.domain)

    def asked(
        self,
        model: MarginalModel,
        measured: Sequence[Measurement],
        scale: float,
        share: Fraction,
        done: float,
    ) -> tuple[MarginalModel, list[Measurement]]:
        """Choose and measure the pairs that the model gets most wrong: q, or as many as fit it together.

        Args:
            model: The model, fitted to all measurements so far.
            measured: Measurements so far.
            scale: Factor for the model's estimates.
            share: Fraction of the whole budget for the round.
            done: Fraction of all rounds done, including this one.
        """
        options, known = self._options, [m.clique for m in measured]
        measure_share = Fraction(options.measure_share) * share
        fitting = partial(still_affordable, model, known, options.max_model_mb * done)
        left = fitting(self._left, []) or list(dict.fromkeys(c for c in known if len(c) > 1))
        left = left or [min(self._left, key=self._curator.domain.cells)]
        picks = min(options.chosen_per_round, len(left))
        chosen = choose_worst(
            self._curator,
            model,
            left,
            picks=picks,
            share=share - measure_share,
            noise=mean_noise(self._curator, picks, measure_share) if options.deduct_noise else 0.0,
            step=CHOOSE,
            still_open=fitting,
            scale=scale,
        )
        self._left = [c for c in self._left if c not in chosen]
        # If fewer are chosen, each is measured with a larger share.
        rest = (share - measure_share) * Fraction(picks - len(chosen), picks)
        return model, self._curator.measure(chosen, share=measure_share + rest, step=MEASURE)


class _Thresholds:
    """Thresholds as candidates, each once."""

    def __init__(self, options: TopQ, curator: Curator, thresholds: CrossedThresholds) -> None:
        self._options, self._thresholds = options, thresholds
        self._curator = ThresholdCurator(curator, thresholds)
        self._left = np.ones(len(thresholds), dtype=np.bool_)

    def asked(
        self,
        model: MarginalModel,
        measured: Sequence[Measurement],
        scale: float,
        share: Fraction,
        done: float,
    ) -> tuple[MarginalModel, list[Measurement]]:
        """Choose and measure the q thresholds that the model gets most wrong; return the model with all chosen so
        far."""
        measure_share = Fraction(self._options.measure_share) * share
        chosen = self._curator.choose(
            scale * model.crossed_counts(self._thresholds),
            among=self._left,
            picks=min(self._options.chosen_per_round, int(np.count_nonzero(self._left))),
            share=share - measure_share,
            step=CHOOSE,
        )
        self._left[chosen] = False
        known = self._thresholds.named(np.flatnonzero(~self._left).tolist())
        found = self._curator.measure(chosen, share=measure_share, step=MEASURE)
        return model.with_thresholds(known), found
