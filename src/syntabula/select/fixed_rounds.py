"""Selects in a fixed number of rounds of equal cost, each choosing the pairs that the model gets most wrong."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from syntabula._arguments import (
    count,
    flag,
    megabytes,
    normalise,
    positive,
    share,
)
from syntabula._planning import PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Domain
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import over_merged
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import (
    Rounds,
    Selector,
    choose_worst,
    mean_noise,
    pairs_of,
    plan_of_pairs,
)
from syntabula.select.merged_codes import MERGING_ONE_WAY, ONE_WAY, MergedStart
from syntabula.select.model_size import Growth, affordable

CHOOSE = "choose pairs"
MEASURE = "measure the chosen pairs"


@dataclass(frozen=True, kw_only=True)
class FixedRounds(Selector):
    """Start from one-way marginals; in each of T rounds choose the q pairs with the largest error, and measure them.

    With q = 1 this is the selection of MargNet-s, the ablation of Chen, Gong, Wang, MargNet, section 6.4: a
    tenth of the budget for the one-way marginals, then 5 d rounds, half of each for the choice. The paper says
    only that rounds are those of GEM; the shares are from its code. The score of a pair is its L1 distance to
    the model's estimate less that of noise alone. What tab_bench calls RAP++ selection is `TopQ`.

    The q pairs of a round are chosen one after the other, each with its part of the budget, which is
    equivalent to one draw of Gumbel noise for all of them as in RAP++. After the one-way marginals, codes are merged
    as in `FirstTimeDoubling`. Where privacy is switched off, the rounds are
    those of `learn_exactly`.

    Attributes:
        rounds_per_column: T / d.
        pairs_per_round: q.
        measure_share: Fraction of a round's budget for the measurement; the rest pays for the choices.
        one_way_share: Fraction of the whole for the one-way marginals at the start.
        again: Whether a pair may be chosen in several rounds.
        max_model_mb: Most that the model may grow, in proportion to the rounds done, as tab_bench limits
            Private-PGM. If no pair fits, the smallest is taken nevertheless. It has no effect on a model
            whose size does not depend on the marginals.
        records_per_noise: Codes are merged until an average cell of a typical pair holds this many times
            its noise; None merges none.
    """

    key: ClassVar[str] = "fixed_rounds"
    adaptive: ClassVar[bool] = True

    rounds_per_column: int = tunable(5, Range(low=2, high=16, log=True))
    pairs_per_round: int = 1
    measure_share: Fraction | float = tunable(Fraction(1, 2), Range(low=0.3, high=0.9))
    one_way_share: Fraction | float = Fraction(1, 10)
    again: bool = True
    max_model_mb: float = 100.0
    records_per_noise: float | None = 4.0

    def __post_init__(self) -> None:
        normalise(
            self,
            rounds_per_column=count(),
            pairs_per_round=count(),
            measure_share=share,
            one_way_share=share,
            again=flag,
            max_model_mb=megabytes,
            records_per_noise=positive.or_none,
        )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the steps."""
        one_way = self._one_way(domain, Fraction(1))
        return plan_of_pairs(
            domain,
            one_way=one_way,
            round_share=(1 - one_way) / self._rounds(domain),
            measure_share=Fraction(self.measure_share),
            names=(ONE_WAY, CHOOSE, MEASURE),
            picks=self.pairs_per_round,
            max_model_mb=self.max_model_mb,
        )

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
        start = self._start(curator, share)
        curator, measured, used = start.curator, start.measured, start.used
        domain, n_rounds = curator.domain, self._rounds(curator.domain)
        model = over_merged(model, start.recoding).fit(measured)

        left = pairs_of(domain)
        if not curator.is_private and used < share:
            from syntabula.select.exact_rounds import learn_exactly

            model, _ = learn_exactly(
                curator,
                model,
                dict.fromkeys(left, 1.0),
                measured,
                share=share - used,
                measure_share=self.measure_share,
                steps=(CHOOSE, MEASURE),
                fitting=Growth(self.max_model_mb),
                progress=report,
            )
            return start.restored(model)
        rounds = Rounds(
            share=share,
            used=used,
            round_share=(share - used) / n_rounds,
            measure_share=self.measure_share,
            max_rounds=n_rounds,
        )
        for measure_share, choose_share in rounds:
            growth_mb = self.max_model_mb * rounds.done
            candidates = affordable(model, left, [m.clique for m in measured], growth_mb)
            candidates = candidates or [min(left, key=domain.cells)]
            picks = min(self.pairs_per_round, len(candidates))
            noise = mean_noise(curator, picks, measure_share)
            chosen = choose_worst(
                curator,
                model,
                candidates,
                picks=picks,
                share=choose_share,
                noise=noise,
                step=CHOOSE,
            )
            if not self.again:
                left = [c for c in left if c not in chosen]
            measured += curator.measure(chosen, share=measure_share, step=MEASURE)
            model = model.fit(measured)
            report(CHOOSE, rounds.done)
        # Fit once more without a new measurement, for models that give new ones more weight.
        model = model.fit(measured)
        report(MEASURE, 1.0)
        return start.restored(model)

    def _start(self, curator: Curator, share: Fraction) -> MergedStart:
        """Measure the columns and merge their codes."""
        part, d = Fraction(self.measure_share), len(curator.domain)
        first = self._one_way(curator.domain, share)
        return MergedStart.of(
            curator,
            share=share,
            first=first,
            most=max(first, MERGING_ONE_WAY * share),
            records_per_noise=self.records_per_noise if d > 1 else None,
            # Two pairs a column.
            n_pairs=2 * d,
            measure_share=part,
        )

    def _one_way(self, domain: Domain, share: Fraction) -> Fraction:
        return share if len(domain) == 1 else Fraction(self.one_way_share) * share

    def _rounds(self, domain: Domain) -> int:
        """Return the number of rounds, limited by the number of pairs if none is chosen twice."""
        rounds = self.rounds_per_column * len(domain)
        return (
            rounds if self.again else min(rounds, max(1, -(-len(pairs_of(domain)) // self.pairs_per_round)))
        )
