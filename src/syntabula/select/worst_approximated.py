"""Selects in a fixed number of rounds, each measuring the marginal that the model approximates worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from syntabula._arguments import count, megabytes, normalise, share
from syntabula._memory import above_limit
from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain, WorkloadOption, checked_workload, workload_over
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector
from syntabula.select.model_size import affordable

TOTAL = "measure the number of records"
CHOOSE = "choose marginals"
MEASURE = "measure the chosen marginals"
_SECONDS_PER_ROUND = 0.012


@dataclass(frozen=True, kw_only=True)
class WorstApproximated(Selector):
    """Start from a uniform model; T times choose the marginal with the largest error, measure it and fit again.

    Hardt, Ligett, McSherry (2012), "A Simple and Practical Algorithm for Differentially Private Data Release"
    (MWEM), figure 1, with the marginals of a workload as queries as in McKenna, Sheldon, Miklau (2019),
    Private-PGM, with the settings of its public code: T is the number of columns, all rounds cost the same,
    nine tenths of it for the measurement, and the score of a marginal is its L1 distance to the model less
    its number of cells. A marginal may be chosen again.

    Departures: the number of records, public in the paper, is measured first; the paper scores single cells,
    and one cell costs as much as its whole marginal when a record is added or removed.

    Attributes:
        workload: What the synthetic table should preserve: a Workload, a list of marginals as `Workload.of` takes
            it, or their number of columns (2: all pairs). Its members are the candidates.
        rounds: T; None for the number of columns.
        measure_share: Fraction of a round's budget for the measurement; the rest pays for the choice.
        total_share: Fraction of the whole for the number of records.
        max_model_mb: Most that the model may grow, in proportion to the rounds done.
    """

    key: ClassVar[str] = "mwem"
    adaptive: ClassVar[bool] = True
    weighs_codes: ClassVar[bool] = False

    workload: WorkloadOption = 2
    rounds: int | None = None
    measure_share: Fraction | float = tunable(Fraction(9, 10), Range(low=0.5, high=0.95))
    total_share: Fraction | float = Fraction(1, 100)
    max_model_mb: float = 25.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", checked_workload(self.workload))
        normalise(
            self,
            rounds=count().or_none,
            measure_share=share,
            total_share=share,
            max_model_mb=megabytes,
        )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the steps; which marginals are measured depends on the table."""
        members = workload_over(self.workload, domain).cliques
        cells = sorted((domain.cells(c) for c in members), reverse=True)
        total, measure = Fraction(self.total_share), Fraction(self.measure_share)
        # A marginal may be chosen in every round.
        noisy = cells[0] * self._rounds(domain)
        model_cells = max(sum(domain.sizes), int(self.max_model_mb * 2**20 / 8))
        rounds = 1 - total
        return [
            PlannedStep(name=TOTAL, share=total, cells=1, noisy_cells=1, fit=PlannedFit(cells=1)),
            PlannedStep(
                name=CHOOSE,
                share=rounds * (1 - measure),
                cells=sum(cells),
                fit=PlannedFit(cells=model_cells, seconds=0.0),
            ),
            PlannedStep(
                name=MEASURE,
                share=rounds * measure,
                noisy_cells=noisy,
                fit=PlannedFit(
                    cells=model_cells,
                    cliques=members,
                    kept_small=True,
                    times=self._rounds(domain),
                    seconds=_SECONDS_PER_ROUND * self._rounds(domain),
                ),
            ),
        ]

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure the number of records, then choose, measure and fit in every round.

        Raises:
            ResourceError: If no marginal of the workload fits within the model's size limit; nothing was spent.
        """
        report = progress or (lambda step, done: None)
        domain, model = curator.domain, model.over(curator.domain)
        members = list(workload_over(self.workload, domain).cliques)
        rounds = self._rounds(domain)
        self._affordable(model, members, [], 1 / rounds)
        total_share = Fraction(self.total_share) * share
        round_share = (share - total_share) / rounds
        measure_share = Fraction(self.measure_share) * round_share

        (records,) = curator.measure([()], share=total_share, step=TOTAL)
        total = max(1.0, float(records.values))
        measured: list[Measurement] = []
        for number in range(1, rounds + 1):
            # Choose the marginal with the largest error among those that keep the model small enough.
            cliques = [m.clique for m in measured]
            candidates = self._affordable(model, members, cliques, number / rounds)
            # The model is uniform and has no number of records until something is measured.
            scale = 1.0 if measured else total / model.total
            estimates = [scale * e for e in model.marginals(candidates)]
            position = curator.choose(
                candidates,
                estimates,
                share=round_share - measure_share,
                step=CHOOSE,
                penalties=[float(domain.cells(c)) for c in candidates],
            )
            chosen = candidates[position]
            if chosen in cliques and not any(m.sigma for m in measured):
                break  # without noise there is nothing left to learn

            # Measure it, and fit to all measurements again, from the current model.
            measured += curator.measure([chosen], share=measure_share, step=MEASURE)
            model = model.fit(measured)
            report(CHOOSE, number / rounds)
        return model

    def _rounds(self, domain: Domain) -> int:
        return self.rounds or len(domain)

    def _affordable(
        self, model: MarginalModel, members: Sequence[Clique], measured: Sequence[Clique], part: float
    ) -> list[Clique]:
        """Return the candidates that keep the model within its current limit, or do not make it larger."""
        growth_mb = self.max_model_mb * part
        found = affordable(model, members, measured, growth_mb)
        if not found:
            smallest = min(members, key=model.domain.cells)
            raise ResourceError(
                f"with even the smallest marginal of the workload, {smallest}, the model takes "
                f"{above_limit(model.memory_mb([smallest]), growth_mb)} that it may grow to in the first round; use "
                "fewer bins, shorten or group categories, or raise max_model_mb"
            )
        return found
