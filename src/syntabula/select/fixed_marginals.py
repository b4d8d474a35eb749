"""Marginals chosen beforehand and measured together: columns, pairs, or a workload."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from syntabula._arguments import flag, normalise, positive
from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import (
    Domain,
    Workload,
    WorkloadOption,
    checked_workload,
    workload_over,
)
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import over_merged
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector
from syntabula.select.interactions import LOOK, held_for, interactions, learn_interactions, planned
from syntabula.select.merged_codes import MERGING_ONE_WAY, ONE_WAY, MergedStart
from syntabula.select.model_size import Growth

ALL_PAIRS = "measure all pairs"
GIVEN = "measure the workload"
_ONE_WAY_SHARE = Fraction(1, 20)
_GROWTH_MB = 80.0  # of a model that interactions make larger


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
    columns_apart: ClassVar[bool] = True
    step: ClassVar[str] = ONE_WAY

    def _workload(self, domain: Domain) -> Workload:
        return workload_over(1, domain)


@dataclass(frozen=True, kw_only=True)
class AllPairs(FixedMarginals):
    """Measure every pair of columns at once, with equal noise.

    With m = d (d - 1) / 2 pairs and budget rho each count receives Gaussian noise of variance m / (2 rho).
    This is how Private-GSD is run in Chen, Li, Gong, McKenna, Wang, tab_bench. For a table with a single
    column, that column is measured.

    A departure: a twentieth of the budget measures the columns first, or three tenths if many codes are merged, and
    codes are merged until pairs can stand out from their noise (`coarsen`). All pairs of columns of 100 codes would
    otherwise hold little but noise. `records_per_noise=None` measures nothing but the pairs, and leaves all codes, like
    the paper.

    Attributes:
        records_per_noise: Codes are merged until an average cell of a typical pair holds this many times
            its noise; None merges none.
        interactions: Whether to look for columns that depend on each other only by threes or fours,
            with a fifth of the budget. What that leaves measures all pairs again. It needs `records_per_noise`.
    """

    key: ClassVar[str] = "all_pairs"
    step: ClassVar[str] = ALL_PAIRS

    records_per_noise: float | None = 4.0
    interactions: bool = False

    def __post_init__(self) -> None:
        normalise(self, records_per_noise=positive.or_none, interactions=flag)
        if self.interactions and self.records_per_noise is None:
            raise ArgumentError(
                "interactions needs records_per_noise; give it a number, or leave interactions out"
            )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the columns, and of all pairs with the rest."""
        (pairs,) = super().plan(domain)
        if not self._starts_with_columns(domain):
            return [pairs]
        cells = sum(domain.sizes)
        columns = PlannedStep(name=ONE_WAY, share=_ONE_WAY_SHARE, cells=cells, noisy_cells=cells)
        beyond = planned(domain) if self.interactions else []
        rest = 1 - _ONE_WAY_SHARE - sum(s.share for s in beyond)
        return [columns, replace(pairs, share=rest), *beyond]

    def _workload(self, domain: Domain) -> Workload:
        return workload_over(2, domain)

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure the columns, merge codes that noise would drown in pairs, then measure all pairs and fit."""
        if not self._starts_with_columns(curator.domain):
            return super().select(curator, model, share=share, progress=progress)
        report = progress or (lambda step, done: None)
        pairs = self._workload(curator.domain).cliques
        start = MergedStart.of(
            curator,
            share=share,
            first=_ONE_WAY_SHARE * share,
            most=MERGING_ONE_WAY * share,
            records_per_noise=self.records_per_noise,
            n_pairs=len(pairs),
        )
        beyond = interactions(curator.domain) if self.interactions else []
        curator = start.curator
        held = held_for(curator, beyond, start.measured, share)
        counted = curator.measure(pairs, share=share - start.used - held, step=self.step)
        measured = start.measured + counted
        report(self.step, 0.3)
        fitted = over_merged(model, start.recoding).fit(measured)
        if held:
            report(LOOK, 0.6)
            room = Growth(_GROWTH_MB, beyond_now=True)
            fitted, used = learn_interactions(curator, fitted, measured, beyond, share=share, fitting=room)
            if curator.is_private:
                again = curator.measure(pairs, share=held - used, step=self.step)
                averaged = [one.averaged(other) for one, other in zip(counted, again, strict=True)]
                measured = start.measured + averaged + measured[len(start.measured) + len(counted) :]
                fitted = fitted.fit(measured)
        report("fit the model", 1.0)
        return start.restored(fitted)

    def _starts_with_columns(self, domain: Domain) -> bool:
        return self.records_per_noise is not None and len(domain) > 1


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
