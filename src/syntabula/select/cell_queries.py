"""Selects single cells round by round where the model is most wrong, as GEM and RAP do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from syntabula._arguments import count, normalise, share
from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Clique, Domain, WorkloadOption, checked_workload, workload_over
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.queries import Cell, CellCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Rounds, Selector

TOTAL = "count the records"
CHOOSE = "choose cells"
MEASURE = "measure the chosen cells"


@dataclass(frozen=True, kw_only=True)
class CellQueries(Selector):
    """Choose the cells of pairs that the model gets most wrong, measure their counts, and fit; no cell twice.

    Liu, Vietri, Wu (2021), "Iterative Methods for Private Synthetic Data: Unifying Framework and New Methods"
    (Adaptive Measurements; GEM takes one cell a round), and Aydore et al. (2021), "Differentially Private
    Query Release Through Adaptive Projection" (RAP, which takes several). All rounds cost the same, half for
    the choices and half for the measurement. A round with several choices makes them one after the other, each
    with its part of the round's budget. In both papers the queries are cells of 3-way marginals; the default
    here is pairs, as in tab_bench.

    Both papers take the number of records as public. Here the column with the fewest codes is measured first,
    for a hundredth of the budget, and its counts are summed.

    A cell costs as much as its whole marginal, so selectors of marginals learn more for the same budget
    (MargNet, section 3.2).

    Attributes:
        workload: Marginals whose cells are candidates: a Workload, a list of marginals as `Workload.of` takes
            it, or their number of columns (2: all pairs). Weights are ignored.
        rounds_per_column: Rounds for each column; five for GEM in tab_bench.
        cells_per_round: How many cells a round chooses and measures.
        measure_share: Fraction of a round's budget for the measurement; the rest pays for the choices.
    """

    key: ClassVar[str] = "cells"
    adaptive: ClassVar[bool] = True
    weighs_codes: ClassVar[bool] = False

    workload: WorkloadOption = 2
    rounds_per_column: int = tunable(5, Range(low=2, high=16, log=True))
    cells_per_round: int = 1
    measure_share: Fraction | float = Fraction(1, 2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", checked_workload(self.workload))
        normalise(self, rounds_per_column=count(), cells_per_round=count(), measure_share=share)

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the steps."""
        members = workload_over(self.workload, domain).cliques
        cells, total = sum(domain.cells(c) for c in members), Fraction(1, 100)
        least = min(domain.sizes)
        rounds, measure = self._rounds(domain, cells), Fraction(self.measure_share)
        fit = PlannedFit(cells=cells, cliques=members, times=rounds)
        return [
            PlannedStep(name=TOTAL, share=total, cells=least, noisy_cells=least, fit=PlannedFit(cells=least)),
            PlannedStep(
                name=CHOOSE,
                share=(1 - total) * (1 - measure),
                cells=cells,
                fit=replace(fit, times=0),
            ),
            PlannedStep(
                name=MEASURE,
                share=(1 - total) * measure,
                cells=cells,
                noisy_cells=rounds * self.cells_per_round,
                fit=fit,
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
        """Measure the number of records, then choose, measure and fit until the share is spent."""
        report = progress or (lambda step, done: None)
        domain = curator.domain
        members = list(workload_over(self.workload, domain).cliques)
        cells, n_cells = CellCurator(curator, members), sum(domain.cells(c) for c in members)
        n_rounds = self._rounds(domain, n_cells)

        used = share / 100
        smallest = min(domain.columns, key=domain.size)
        measured = curator.measure([(smallest,)], share=used, step=TOTAL)
        model = model.over(domain).fit(measured)

        known: set[tuple[Clique, Cell]] = set()
        rounds = Rounds(
            share=share,
            used=used,
            round_share=(share - used) / n_rounds,
            measure_share=self.measure_share,
            max_rounds=n_rounds,
        )
        for measure_share, choose_share in rounds:
            picks = min(self.cells_per_round, n_cells - len(known))
            believed = model.marginals(members)
            chosen: list[tuple[Clique, Cell]] = []
            for _ in range(picks):
                chosen.append(
                    cells.choose(believed, without={*known, *chosen}, share=choose_share / picks, step=CHOOSE)
                )
            known.update(chosen)
            measured += cells.measure(chosen, share=measure_share, step=MEASURE)
            model = model.fit(measured)
            report(CHOOSE, rounds.done)
        report(MEASURE, 1.0)
        return model

    def _rounds(self, domain: Domain, n_cells: int) -> int:
        """Return the number of rounds, limited by the number of cells."""
        return min(self.rounds_per_column * len(domain), -(-n_cells // self.cells_per_round))
