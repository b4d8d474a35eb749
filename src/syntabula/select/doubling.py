"""MargNet's adaptive selection: the budget of a round doubles when a first measurement adds nothing new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from syntabula._arguments import count, normalise, one_of, positive, share
from syntabula._planning import PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import over_merged
from syntabula.privacy.doors.queries import Cell, CellCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Rounds, Selector, mean_noise, pairs_of, plan_of_pairs
from syntabula.select.merged_codes import MERGING_ONE_WAY, ONE_WAY, MergedStart

CHOOSE = "choose pairs"
MEASURE = "measure the chosen pairs"
CHOOSE_CELL = "choose cells"
MEASURE_CELL = "measure the chosen cells"


@dataclass(frozen=True, kw_only=True)
class FirstTimeDoubling(Selector):
    """Choose pairs one by one by the model's error; measure more precisely once a new pair adds nothing new.

    Chen, Gong, Wang, "Beyond One-Size-Fits-All: Neural Networks for Differentially Private Tabular Data
    Synthesis" (MargNet), algorithms 1 and 2. With d columns a round gets rho / (16 d), nine tenths of it for
    the measurement; the one-way marginals at the start get as much each. The score of a pair is its L1
    distance to the model's estimate less that of noise alone (equation 4). If fitting changes a pair that was
    measured for the first time by less than its noise, later rounds get twice the budget (equation 5). All
    pairs are candidates in every round, whatever their size. At the end the model is fitted once more, without
    a new measurement.

    Departures: after the one-way marginals, codes are merged until pairs can stand out from their noise
    (`coarsen`), and the columns are measured again if many are merged, for three tenths of the budget together;
    `records_per_noise=None` leaves all codes as they are, like the paper. The number of records is never taken as
    exact; a remainder that does not pay for two rounds goes into one (the public code does not spend it). Where
    privacy is switched off, pairs are measured whole in a few rounds (`learn_exactly`), whatever the queries. With
    cells as queries (the ablation MargNet-q) the one-way marginals are still measured whole: all their cells cost
    no more than one of them.

    Attributes:
        queries: "pairs", or "cells": one cell of any pair in each round.
        rounds_per_column: c / d: more rounds adapt better, with more noise in each.
        measure_share: Fraction of a round's budget for the measurement; the rest pays for the choice.
        records_per_noise: Codes are merged until an average cell of a typical pair holds this many times
            its noise; None merges none.
    """

    key: ClassVar[str] = "doubling"
    adaptive: ClassVar[bool] = True

    queries: Literal["pairs", "cells"] = "pairs"
    rounds_per_column: int = tunable(16, Range(low=2, high=32, log=True))
    measure_share: Fraction | float = tunable(Fraction(9, 10), Range(low=0.5, high=0.95))
    records_per_noise: float | None = 4.0

    def __post_init__(self) -> None:
        normalise(
            self,
            queries=one_of("pairs", "cells"),
            rounds_per_column=count(),
            measure_share=share,
            records_per_noise=positive.or_none,
        )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the steps; the number of rounds depends on what they find. If many codes are merged, the
        one-way marginals take three tenths and the rounds correspondingly less.
        """
        one_way, round_share = self._shares(domain, Fraction(1))
        return plan_of_pairs(
            domain,
            one_way=one_way,
            round_share=round_share,
            measure_share=Fraction(self.measure_share),
            # Doubling makes for fewer rounds.
            fits=2 * self.rounds_per_column * len(domain) // 3,
            names=(ONE_WAY, CHOOSE, MEASURE)
            if self.queries == "pairs"
            else (ONE_WAY, CHOOSE_CELL, MEASURE_CELL),
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
        first, round_share = self._shares(curator.domain, share)

        # Algorithm 1, lines 3 to 6: start with every column on its own, codes merged that its pairs could not tell apart.
        start = self._start(curator, share, first)
        curator, measured, used = start.curator, start.measured, start.used
        domain = curator.domain
        model = over_merged(model, start.recoding).fit(measured)
        if used == share:
            return start.restored(model)
        pairs = pairs_of(domain)
        if not curator.is_private:
            from syntabula.select.exact_rounds import learn_exactly

            weights = dict.fromkeys(pairs, 1.0)
            model, _ = learn_exactly(
                curator,
                model,
                weights,
                measured,
                share=share - used,
                measure_share=self.measure_share,
                steps=(CHOOSE, MEASURE),
                progress=report,
            )
            return start.restored(model)
        ask = _Pairs(curator, pairs) if self.queries == "pairs" else _Cells(curator, pairs)
        asked: set[tuple[Clique, Cell | None]] = set()
        rounds = Rounds(share=share, used=used, round_share=round_share, measure_share=self.measure_share)
        for measure_share, choose_share in rounds:
            # Algorithm 2, line 5: choose the query that the model gets most wrong, beyond its noise.
            noise = mean_noise(curator, 1, measure_share)
            believed = model.marginals(pairs)
            query = clique, cell = ask.choose(believed, noise, choose_share)

            # Lines 6 to 8: measure it, and fit again from the current model.
            measured += ask.measure(clique, cell, measure_share)
            model = model.fit(measured)

            # Lines 10 and 11.
            (after,) = model.marginals([clique])
            change = np.abs(after - believed[pairs.index(clique)])[cell or ...]
            if query not in asked and float(change.sum()) < noise * change.size:
                rounds.grow(2)
            asked.add(query)
            report(CHOOSE, rounds.done)
        # Line 15: all measurements are weighted by their noise alone.
        model = model.fit(measured)
        report(MEASURE, 1.0)
        return start.restored(model)

    def _start(self, curator: Curator, share: Fraction, first: Fraction) -> MergedStart:
        """Measure the columns and merge their codes."""
        part, d = Fraction(self.measure_share), len(curator.domain)
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

    def _shares(self, domain: Domain, share: Fraction) -> tuple[Fraction, Fraction]:
        """Return the shares of the one-way marginals together, and of a first round."""
        if len(domain) == 1:
            return share, share
        round_share = share / (self.rounds_per_column * len(domain))
        return len(domain) * Fraction(self.measure_share) * round_share, round_share


class _Pairs:
    """Whole pairs as queries."""

    def __init__(self, curator: Curator, pairs: Sequence[Clique]) -> None:
        self._curator = curator
        self._pairs = pairs

    def choose(self, believed: Sequence[FloatArray], noise: float, share: Fraction) -> tuple[Clique, None]:
        penalties = [noise * b.size for b in believed]
        chosen = self._curator.choose(self._pairs, believed, share=share, step=CHOOSE, penalties=penalties)
        return self._pairs[chosen], None

    def measure(self, clique: Clique, cell: Cell | None, share: Fraction) -> list[Measurement]:
        return self._curator.measure([clique], share=share, step=MEASURE)


class _Cells:
    """Single cells of pairs as queries; all have the same noise, so none is deducted."""

    def __init__(self, curator: Curator, pairs: Sequence[Clique]) -> None:
        self._cells = CellCurator(curator, pairs)

    def choose(self, believed: Sequence[FloatArray], noise: float, share: Fraction) -> tuple[Clique, Cell]:
        return self._cells.choose(believed, share=share, step=CHOOSE_CELL)

    def measure(self, clique: Clique, cell: Cell | None, share: Fraction) -> list[Measurement]:
        assert cell is not None  # chosen above
        return self._cells.measure([(clique, cell)], share=share, step=MEASURE_CELL)
