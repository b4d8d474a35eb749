"""All one-way marginals, nothing else: the independent baseline."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from syntabula._planning import PlannedStep, Progress
from syntabula.marginals.domain import Domain
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector


@dataclass(frozen=True)
class OneWay(Selector):
    """Measure every column on its own, with equal noise.

    With d columns and budget rho each count receives Gaussian noise of variance d / (2 rho).
    """

    key: ClassVar[str] = "one_way"

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say what will be measured: every column once, with the whole budget."""
        cells = sum(domain.sizes)
        return [
            PlannedStep(
                name="measure one-way marginals",
                share=Fraction(1),
                cells=cells,
                noisy_cells=cells,
                model_cells=cells,
                candidates=tuple((c,) for c in domain.columns),
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
        """Measure all columns and fit the model."""
        cliques = [(c,) for c in curator.domain.columns]
        measured = curator.measure(cliques, share=share, step="measure one-way marginals")
        if progress:
            progress("measure one-way marginals", 0.5)
        fitted = model.over(curator.domain).fit(measured)
        if progress:
            progress("fit", 1.0)
        return fitted
