"""MargNet's adaptive selection: rounds whose budget doubles when a first measurement brings nothing new."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import MarginalModel
from syntabula.privacy.curator import Curator
from syntabula.select.base import PlannedStep, Progress
from syntabula.select.rounds import HALF_NORMAL, Rounds

ONE_WAY = "measure one-way marginals"
CHOOSE = "choose pairs"
MEASURE = "measure the chosen pairs"


@dataclass(frozen=True, kw_only=True)
class FirstTimeDoubling:
    """Choose pairs one by one against a model's beliefs; look closer when a new pair brings nothing new.

    Chen, Gong, Wang, "Beyond One-Size-Fits-All: Neural Networks for Differentially Private Tabular Data
    Synthesis" (MargNet), algorithms 1 and 2. With d columns a round gets rho / (16 d), nine tenths of it for
    the measurement; the one-way marginals at the start get as much each. A pair scores its L1 distance to the
    model's belief less that of noise alone (equation 4). If fitting moves a pair that was measured for the
    first time by less than its noise, later rounds get twice the budget (equation 5). All pairs are candidates
    in every round, whatever their size. At the end the model is fitted once more, with nothing new.

    Departures: the number of records is nowhere taken as exact; a rest that does not pay for two rounds goes
    into one (the public code does not spend it).

    Attributes:
        rounds_per_column: c / d: more rounds choose finer, with more noise each.
        measure_share: Part of a round's budget that goes to the measurement; the rest pays for the choice.
    """

    rounds_per_column: int = 16
    measure_share: Fraction | float = Fraction(9, 10)

    def __post_init__(self) -> None:
        check_count("rounds_per_column", self.rounds_per_column)
        check_part("measure_share", self.measure_share)

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say what the steps cost; how many rounds there will be depends on what they find."""
        one_way, round_share = self._shares(domain, Fraction(1))
        return plan_of_pairs(
            domain,
            one_way=one_way,
            round_share=round_share,
            measure_share=Fraction(self.measure_share),
            names=(ONE_WAY, CHOOSE, MEASURE),
        )

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure one-way marginals, then choose, measure and fit until the share is spent."""
        report = progress or (lambda step, done: None)
        domain = curator.domain
        pairs = pairs_of(domain)
        used, round_share = self._shares(domain, share)

        # Algorithm 1, lines 3 to 6: start with every column on its own.
        measured = curator.measure([(c,) for c in domain.columns], share=used, step=ONE_WAY)
        model = model.over(domain).fit(measured)
        rounds = Rounds(share=share, used=used, round_share=round_share, measure_share=self.measure_share)
        for measure_share, choose_share in rounds:
            # Algorithm 2, line 5: choose the pair that the model gets most wrong, beyond its noise.
            sigma = curator.noise_sigma(1, measure_share)
            believed = model.marginals(pairs)
            noise = [HALF_NORMAL * sigma * domain.cells(c) for c in pairs]
            position = curator.choose(pairs, believed, share=choose_share, step=CHOOSE, penalties=noise)
            chosen = pairs[position]
            first = all(m.clique != chosen for m in measured)
            if sigma == 0 and not first:
                break  # without noise there is nothing left to learn

            # Lines 6 to 8: measure it, and fit again from where the model stands.
            measured += curator.measure([chosen], share=measure_share, step=MEASURE)
            model = model.fit(measured)

            # Lines 10 and 11.
            (after,) = model.marginals([chosen])
            if first and float(np.abs(after - believed[position]).sum()) < noise[position]:
                rounds.grow(2)
            report(CHOOSE, rounds.done)
        # Line 15: all measurements count by their noise alone.
        model = model.fit(measured)
        report(MEASURE, 1.0)
        return model

    def _shares(self, domain: Domain, share: Fraction) -> tuple[Fraction, Fraction]:
        """Return the shares of the one-way marginals together, and of a first round."""
        if len(domain) == 1:
            return share, share
        round_share = share / (self.rounds_per_column * len(domain))
        return len(domain) * Fraction(self.measure_share) * round_share, round_share


def pairs_of(domain: Domain) -> list[Clique]:
    """Return all pairs of columns."""
    return list(combinations(domain.columns, 2))


def plan_of_pairs(
    domain: Domain,
    *,
    one_way: Fraction,
    round_share: Fraction,
    measure_share: Fraction,
    names: tuple[str, str, str],
    picks: int = 1,
) -> list[PlannedStep]:
    """Say what one-way marginals cost, and then rounds of choosing and measuring pairs."""
    singles = tuple((c,) for c in domain.columns)
    pairs, cells = tuple(pairs_of(domain)), sum(domain.sizes)
    first = PlannedStep(
        name=names[0], share=one_way, cells=cells, noisy_cells=cells, model_cells=cells, cliques=singles
    )
    if one_way == 1:
        return [first]
    counted = sorted((domain.cells(c) for c in pairs), reverse=True)
    chosen = math.ceil((1 - one_way) / round_share) * picks
    cliques = (*singles, *pairs)
    steps = [first]
    for name, part, kept, noisy in (
        (names[1], 1 - measure_share, sum(counted), 0),
        (names[2], measure_share, 0, sum(counted[:chosen])),
    ):
        steps.append(
            PlannedStep(
                name=name,
                share=(1 - one_way) * part,
                cells=kept,
                noisy_cells=noisy,
                model_cells=cells + sum(counted),
                cliques=cliques,
            )
        )
    return steps


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise ArgumentError unless a value is an integer of at least that."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ArgumentError(f"{name} must be an integer of at least {least}")


def check_part(name: str, value: Fraction | float) -> None:
    """Raise ArgumentError unless a value is a part of the budget."""
    if not 0 < value < 1:
        raise ArgumentError(f"{name} must be a part of the budget, above 0 and below 1")
