"""Adaptive selection: measure what the model gets most wrong, round by round, until the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from syntabula._arguments import (
    count,
    flag,
    megabytes,
    normalise,
    positive,
    share,
)
from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import (
    Clique,
    Domain,
    WorkloadOption,
    checked_workload,
    downward_closure,
    workload_over,
)
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import over_merged
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Rounds, Selector, mean_noise
from syntabula.select.merged_codes import MERGING_ONE_WAY, ONE_WAY, MergedStart
from syntabula.select.model_size import TreeSizes

CHOOSE = "choose marginals"
MEASURE = "measure the chosen marginals"
# At epsilon 1, for all rounds. Of wide tables, rounds grow with the columns, and beliefs in each with the candidates.
_SECONDS_PER_COLUMN = 0.06
_SECONDS_PER_COLUMN_AND_CANDIDATE = 2.4e-4
_SECONDS_OF_LARGEST, _MOST_ROUNDS_PER_COLUMN = 0.015, 2
"""Time of a round by the columns, where the model is at 80 MB and asked for all pairs, and how many rounds there are
where all columns depend on each other: such tables of 15, 20, 30, 45 and 60 columns took 6, 17, 34, 46 and 88 s."""
_SECONDS_OF_EXACT = 0.01
"""Time of all rounds by the cube of the columns where privacy is off: those of 15, 20 and 30 took 29, 114 and 390 s."""
_RECORDS = 20_000
"""Records up to which these hold: more marginals of a longer table stand out from their noise."""


@dataclass(frozen=True, kw_only=True)
class Adaptive(Selector):
    """Choose marginals one by one by the model's error, under a limit on the model's size.

    McKenna, Mullins, Sheldon, Miklau (2022), "AIM: An Adaptive and Iterative Mechanism for Differentially
    Private Synthetic Data", algorithms 1 to 4. With d columns T = 16 d rounds are planned at first; a round
    gets 1 / T of the budget, nine tenths of it for the measurement.

    Departures from the public code: the number of records is never taken as exact; the choice keeps its
    factor one half, as its scores do not all move the same way when a record is added. A round anneals
    if the measurement is within noise of the model's estimate (two standard deviations); the paper
    compares the model before and after, which is equivalent only for a model that also fits the noise.
    After the one-way marginals, codes are merged until pairs can stand out from their noise (`coarsen`),
    which costs nothing and lets more pairs be measured, each with fewer cells; `records_per_noise=None`
    leaves all codes as they are, like the paper.
    Of 500 candidates or more, the sizes of most are estimated (`TreeSizes`). A chosen one that would make the model
    larger than `max_model_mb` is not measured then: its choice is paid, and the rest of its round goes to later ones.
    Where privacy is switched off, marginals are measured in a few rounds (`learn_exactly`), until the model differs from
    the table by no more than a sample of it would.
    With `interactions` a fifth of the budget waits until the rounds have spent the rest. Then the threes and fours of
    columns that the model gets far wrong are measured (`learn_interactions`), and further rounds spend what is left.

    Attributes:
        workload: What the synthetic table should preserve: a Workload, a list of marginals as `Workload.of` takes
            it, or their number of columns (2: all pairs). Candidates are all their non-empty subsets.
        max_cells: Most cells of a candidate, unless it has one column.
        rounds_per_column: T / d: more rounds adapt better, with more noise in each.
        measure_share: Fraction of a round's budget for the measurement; the rest pays for the choice.
        max_model_mb: Largest size of the model, reached in proportion to the budget spent; 80 as in the
            paper (tab_bench has 100, table 4).
        one_way_share: Fraction of the whole for the one-way marginals at the start; by default the cost of d
            rounds, raised to three tenths if many codes are merged.
        records_per_noise: Codes are merged until an average cell of a typical pair holds this many times
            its noise; None merges none.
        max_rounds: Most rounds; the last one spends all that is left.
        interactions: Whether to look for columns that depend on each other only by threes or fours.
    """

    key: ClassVar[str] = "adaptive"
    adaptive: ClassVar[bool] = True

    workload: WorkloadOption = 2
    max_cells: int = 250_000
    rounds_per_column: int = tunable(16, Range(low=2, high=32, log=True))
    measure_share: Fraction | float = tunable(Fraction(9, 10), Range(low=0.5, high=0.95))
    max_model_mb: float = tunable(80.0, Range(low=10.0, high=160.0, log=True))
    one_way_share: Fraction | float | None = None
    max_rounds: int | None = None
    records_per_noise: float | None = 4.0
    interactions: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", checked_workload(self.workload))
        normalise(
            self,
            max_cells=count(),
            rounds_per_column=count(),
            max_rounds=count().or_none,
            max_model_mb=megabytes,
            measure_share=share,
            one_way_share=share.or_none,
            records_per_noise=positive.or_none,
            interactions=flag,
        )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the steps; the number of rounds depends on what they find. If many codes are
        merged, the one-way marginals take three tenths and the rounds correspondingly less.
        """
        candidates = tuple(self._candidates(domain))
        one_way, cells = sum(domain.sizes), [domain.cells(c) for c in candidates]
        first, measure, choose = self._shares(domain, Fraction(1))
        if len(domain) == 1:
            first = Fraction(1)
        steps = [
            PlannedStep(
                name=ONE_WAY, share=first, cells=one_way, noisy_cells=one_way, fit=PlannedFit(cells=one_way)
            )
        ]
        if first < 1:
            beyond: list[PlannedStep] = []
            if self.interactions:
                from syntabula.select.interactions import planned

                beyond = planned(domain)
            rest = 1 - first - sum(s.share for s in beyond)
            rounds = math.ceil((1 - first) / (measure + choose))
            rounds = min(rounds, self.max_rounds or rounds)
            noisy = sum(sorted(cells, reverse=True)[:rounds])
            model_cells = max(one_way, int(self.max_model_mb * 2**20 / 8))
            measured = rest * measure / (measure + choose)
            usual = len(domain) * (_SECONDS_PER_COLUMN + _SECONDS_PER_COLUMN_AND_CANDIDATE * len(candidates))
            fit = PlannedFit(
                cells=model_cells,
                cliques=candidates,
                kept_small=True,
                times=rounds,
                seconds=usual,
                seconds_for=_RECORDS,
                most_seconds=max(usual, self._most_seconds(len(domain), rounds)),
                most_exact_seconds=_SECONDS_OF_EXACT * len(domain) ** 3 * self.max_model_mb / 80,
            )
            steps += [
                PlannedStep(
                    name=CHOOSE,
                    share=rest - measured,
                    cells=sum(cells),
                    fit=replace(fit, times=0, seconds=0.0, most_seconds=None, most_exact_seconds=None),
                ),
                PlannedStep(
                    name=MEASURE,
                    share=measured,
                    noisy_cells=noisy,
                    fit=fit,
                    grows=True,
                ),
                *beyond,
            ]
        return steps

    def _most_seconds(self, n_columns: int, rounds: int) -> float:
        """Return the time of all rounds where the model is soon at its largest."""
        rounds = min(rounds, _MOST_ROUNDS_PER_COLUMN * n_columns)
        return rounds * _SECONDS_OF_LARGEST * n_columns * self.max_model_mb / 80

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
        weights = self._candidates(curator.domain)
        original = curator.domain
        _, measure_share, choose_share = self._shares(curator.domain, share)

        # Start with every column on its own, and merge codes that its pairs could not tell apart.
        start = self._start(curator, share)
        curator, measured = start.curator, start.measured
        held, beyond = Fraction(0), list[Clique]()
        if self.interactions:
            from syntabula.select.interactions import held_for, interactions

            beyond = interactions(original)
            held = held_for(curator, beyond, measured, share)
        model = over_merged(model, start.recoding).fit(measured)
        rounds = Rounds(
            share=share,
            used=start.used,
            round_share=measure_share + choose_share,
            measure_share=self.measure_share,
            max_rounds=self.max_rounds,
            held=held,
        )
        if not curator.is_private:
            from syntabula.select.exact_rounds import learn_exactly

            model, measured = learn_exactly(
                curator,
                model,
                weights,
                measured,
                share=share - start.used - held,
                measure_share=self.measure_share,
                steps=(CHOOSE, MEASURE),
                fitting=TreeSizes(self.max_model_mb),
                progress=report,
            )
            if held:
                model, _ = self._beyond_pairs(curator, model, measured, beyond, share)
            return start.restored(model)
        model = self._adapt(curator, model, measured, start, weights, rounds, report)
        if held:
            model, used = self._beyond_pairs(curator, model, measured, beyond, share)
            rounds.release(used)
            model = self._adapt(curator, model, measured, start, weights, rounds, report)
        report(MEASURE, 1.0)
        return start.restored(model)

    def _adapt(
        self,
        curator: Curator,
        model: MarginalModel,
        measured: list[Measurement],
        start: MergedStart,
        weights: Mapping[Clique, float],
        rounds: Rounds,
        report: Progress,
    ) -> MarginalModel:
        """Return the model after all rounds; what they measure is appended to `measured`."""
        domain = curator.domain
        pure = curator.ledger.budget.currency == "epsilon"
        opened = 0.0  # part of the size limit that may be used before as much of the budget is spent
        sizes = TreeSizes(self.max_model_mb)
        for measure_share, choose_share in rounds:
            report(CHOOSE, rounds.done)

            # Choose the candidate with the largest weighted error beyond its noise.
            noise = mean_noise(curator, 1, measure_share)
            known = [m.clique for m in measured]
            wanted = list(informative(weights, start.measured, noise, domain))
            candidates = sizes(model, wanted, known, max(rounds.done, opened))
            estimates = model.marginals(candidates)
            position = curator.choose(
                candidates,
                estimates,
                share=choose_share,
                step=CHOOSE,
                weights=[weights[c] for c in candidates],
                penalties=[noise * domain.cells(c) for c in candidates],
            )
            chosen, believed = candidates[position], estimates[position]
            if not sizes.confirms(model, chosen, known):
                rounds.give_back(measure_share)
                continue

            # Measure it, and fit again from the current model.
            measured += curator.measure([chosen], share=measure_share, step=MEASURE)
            model = model.fit(measured)

            # If noise explains everything new, measure more precisely from now on: with half the noise.
            difference = float(np.abs(measured[-1].values - believed).sum())
            if difference <= _explained(noise, domain.cells(chosen), laplace=pure):
                if len(candidates) < len(wanted) and opened < 1:
                    # It is the model's size that kept back what there is to learn.
                    opened = min(1.0, 2 * max(rounds.done, opened))
                else:
                    rounds.grow(2 if pure else 4)
        return model

    def _beyond_pairs(
        self,
        curator: Curator,
        model: MarginalModel,
        measured: list[Measurement],
        candidates: Sequence[Clique],
        share: Fraction,
    ) -> tuple[MarginalModel, Fraction]:
        """Return the model with the interactions that were found, and the share that was spent on them."""
        from syntabula.select.interactions import learn_interactions

        return learn_interactions(
            curator, model, measured, candidates, share=share, fitting=TreeSizes(self.max_model_mb)
        )

    def _start(self, curator: Curator, share: Fraction) -> MergedStart:
        """Measure the columns and merge their codes, except if the workload has only single columns."""
        domain = curator.domain
        first = share if len(domain) == 1 else self._shares(domain, share)[0]
        pairs = any(len(c) > 1 for c in workload_over(self.workload, domain).cliques)
        part = Fraction(self.measure_share)
        return MergedStart.of(
            curator,
            share=share,
            first=first,
            most=MERGING_ONE_WAY * share if self.one_way_share is None else first,
            records_per_noise=self.records_per_noise if pairs else None,
            # The number of pairs in a tree over all columns, measured with all that is left.
            n_pairs=len(domain) - 1,
            measure_share=part,
        )

    def _candidates(self, domain: Domain) -> dict[Clique, float]:
        """Return all subsets of the workload's marginals, each with its weight for the workload.

        A candidate r weighs the sum over the workload's marginals s of weight(s) times the columns they share.
        """
        workload = workload_over(self.workload, domain)
        gain = dict.fromkeys(domain.columns, 0.0)  # the weight of a single column
        for clique, weight in zip(workload.cliques, workload.weights, strict=True):
            for column in clique:
                gain[column] += weight
        return {
            clique: sum(gain[c] for c in clique)
            for clique in downward_closure(workload.cliques)
            if len(clique) == 1 or domain.cells(clique) <= self.max_cells
        }

    def _shares(self, domain: Domain, share: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """Return the shares of the one-way marginals, and of a first round's measurement and choice."""
        measure, choose = self._split(share / (self.rounds_per_column * len(domain)))
        one_way = (
            len(domain) * measure if self.one_way_share is None else Fraction(self.one_way_share) * share
        )
        return one_way, measure, choose

    def _split(self, round_share: Fraction) -> tuple[Fraction, Fraction]:
        part = Fraction(self.measure_share)
        return part * round_share, (1 - part) * round_share


def informative(
    candidates: Iterable[Clique], one_way: Sequence[Measurement], noise: float, domain: Domain
) -> list[Clique]:
    """Return the candidates that may differ from the model by more than their noise, judged by single columns alone.

    If all but k records of a column have one code, its marginal with other columns differs from their marginal and its
    own by at most 4 k records: k in other cells, which the model holds elsewhere, and as many in the cells of the one
    code. Where k is within two standard deviations of its noise, the column counts as constant and is measured alone.
    All of it is post-processing of released counts.
    """
    elsewhere = {}
    for measurement in one_way:
        counts = measurement.values
        error = 2 * float(np.max(measurement.sigma)) * math.sqrt(counts.size - 1)
        others = float(counts.sum() - counts.max())
        elsewhere[measurement.clique] = others + error if others > error else 0.0
    return [
        clique
        for clique in candidates
        if len(clique) == 1
        or 4 * min(elsewhere.get((c,), math.inf) for c in clique) > noise * domain.cells(clique)
    ]


def _explained(noise: float, cells: int, *, laplace: bool) -> float:
    """Return a bound on the L1 norm of noise of a given mean size: two standard deviations above its mean."""
    deviation = (
        1.0 if laplace else math.sqrt(math.pi / 2 - 1)
    )  # of the noise's absolute value, in units of its mean
    return noise * (cells + 2 * deviation * math.sqrt(cells))
