"""Marginals that were chosen beforehand, all measured at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from syntabula._planning import PlannedStep, Progress
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.workload import Workload, WorkloadOption, checked_workload, workload_over
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector

ALL_PAIRS = "measure all pairs"
GIVEN = "measure the workload"


@dataclass(frozen=True)
class AllPairs(Selector):
    """Measure every pair of columns at once, with equal noise.

    With m = d (d - 1) / 2 pairs and budget rho each count receives Gaussian noise of variance m / (2 rho).
    This is how Private-GSD is run in Chen, Li, Gong, McKenna, Wang, tab_bench. A table of a single column
    has that column measured.
    """

    key: ClassVar[str] = "all_pairs"

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say what will be measured: every pair once, with the whole budget."""
        return [_planned(ALL_PAIRS, domain, workload_over(2, domain).cliques)]

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure all pairs and fit the model."""
        return _measure(curator, model, workload_over(2, curator.domain), share, ALL_PAIRS, progress)


@dataclass(frozen=True, kw_only=True)
class GivenWorkload(Selector):
    """Measure the marginals of a workload at once, each with a part of the budget in proportion to its weight.

    A column that is in none of them is known only by its number of codes: it comes out evenly.

    Attributes:
        workload: A Workload, a list of marginals as `Workload.of` takes it, or their number of columns.
    """

    key: ClassVar[str] = "given"

    workload: WorkloadOption = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", checked_workload(self.workload))

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say what will be measured: the workload once, with the whole budget."""
        return [_planned(GIVEN, domain, workload_over(self.workload, domain).cliques)]

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure the workload and fit the model."""
        return _measure(curator, model, workload_over(self.workload, curator.domain), share, GIVEN, progress)


def _planned(step: str, domain: Domain, cliques: Sequence[Clique]) -> PlannedStep:
    cells = sum(domain.cells(c) for c in cliques)
    return PlannedStep(
        name=step,
        share=Fraction(1),
        cells=cells,
        noisy_cells=cells,
        model_cells=cells,
        cliques=tuple(cliques),
    )


def _measure(
    curator: Curator,
    model: MarginalModel,
    workload: Workload,
    share: Fraction,
    step: str,
    progress: Progress | None,
) -> MarginalModel:
    """Measure marginals of equal weight together, and fit the model to all."""
    report = progress or (lambda step, done: None)
    weights = [Fraction(w) for w in workload.weights]
    measured: list[Measurement] = []
    for weight in dict.fromkeys(weights):
        alike = [c for c, w in zip(workload.cliques, weights, strict=True) if w == weight]
        part = share * weight * len(alike) / sum(weights)
        measured += curator.measure(alike, share=part, step=step)
    report(step, 0.3)
    fitted = model.over(curator.domain).fit(measured)
    report("fit the model", 1.0)
    return fitted
