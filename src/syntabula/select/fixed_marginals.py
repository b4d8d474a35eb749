"""Marginals chosen beforehand and all measured at once: columns, pairs, or a workload."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.workload import Workload, WorkloadOption, checked_workload, workload_over
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector

ONE_WAY = "measure one-way marginals"
ALL_PAIRS = "measure all pairs"
GIVEN = "measure the workload"


class FixedMarginals(Selector, ABC):
    """Measures a workload that depends on the domain alone, with the budget divided by the marginals' weights.

    Attributes:
        step: Name of the measurement in the ledger.
    """

    step: ClassVar[str]

    @abstractmethod
    def _workload(self, domain: Domain) -> Workload:
        """Return the workload, columns in the order of the domain."""

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of measuring everything once, with the whole budget."""
        cliques = self._workload(domain).cliques
        cells = sum(domain.cells(c) for c in cliques)
        return [
            PlannedStep(
                name=self.step,
                share=Fraction(1),
                cells=cells,
                noisy_cells=cells,
                fit=PlannedFit(cells=cells, cliques=cliques),
            )
        ]

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure marginals of equal weight together, and fit the model to all of them."""
        report = progress or (lambda step, done: None)
        workload = self._workload(curator.domain)
        weights = [Fraction(w) for w in workload.weights]
        measured: list[Measurement] = []
        for weight in dict.fromkeys(weights):
            alike = [c for c, w in zip(workload.cliques, weights, strict=True) if w == weight]
            part = share * weight * len(alike) / sum(weights)
            measured += curator.measure(alike, share=part, step=self.step)
        report(self.step, 0.3)
        fitted = model.over(curator.domain).fit(measured)
        report("fit the model", 1.0)
        return fitted


@dataclass(frozen=True)
class OneWay(FixedMarginals):
    """Measure every column on its own, with equal noise: the independent baseline.

    With d columns and budget rho each count receives Gaussian noise of variance d / (2 rho).
    """

    key: ClassVar[str] = "one_way"
    step: ClassVar[str] = ONE_WAY

    def _workload(self, domain: Domain) -> Workload:
        return workload_over(1, domain)


@dataclass(frozen=True)
class AllPairs(FixedMarginals):
    """Measure every pair of columns at once, with equal noise.

    With m = d (d - 1) / 2 pairs and budget rho each count receives Gaussian noise of variance m / (2 rho).
    This is how Private-GSD is run in Chen, Li, Gong, McKenna, Wang, tab_bench. For a table with a single
    column, that column is measured.
    """

    key: ClassVar[str] = "all_pairs"
    step: ClassVar[str] = ALL_PAIRS

    def _workload(self, domain: Domain) -> Workload:
        return workload_over(2, domain)


@dataclass(frozen=True, kw_only=True)
class GivenWorkload(FixedMarginals):
    """Measure the marginals of a workload at once, each with a share of the budget in proportion to its weight.

    For a column that is in none of them only the number of codes is known, so its codes are equally likely.

    Attributes:
        workload: A Workload, a list of marginals as `Workload.of` takes it, or their number of columns.
    """

    key: ClassVar[str] = "given"
    step: ClassVar[str] = GIVEN

    workload: WorkloadOption = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", checked_workload(self.workload))

    def _workload(self, domain: Domain) -> Workload:
        return workload_over(self.workload, domain)
