"""A plug-in as a package of its own would have it: a selector, a model, a metric and a discretizer in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np

from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula.bins.uniform import Bins, UniformBins
from syntabula.marginals.domain import Clique, Domain
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.metric import MetricInfo
from syntabula.metrics.score import Score
from syntabula.models.base import MarginalModel
from syntabula.models.pgm import PGM
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector


@dataclass(frozen=True, kw_only=True)
class Chain(Selector):
    """Measure every column with the next one.

    Attributes:
        closed: Whether the last column is measured with the first one too.
    """

    key: ClassVar[str] = "chain"

    closed: bool = False

    def _pairs(self, domain: Domain) -> list[Clique]:
        columns = list(domain.columns)
        pairs = list(pairwise(columns))
        if self.closed and len(columns) > 2:
            pairs.append((columns[-1], columns[0]))
        return pairs or [(columns[0],)]

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say that all is spent on the pairs at once."""
        cells = sum(domain.cells(pair) for pair in self._pairs(domain))
        return [
            PlannedStep(
                name="measure the chain",
                share=Fraction(1),
                cells=cells,
                noisy_cells=cells,
                fit=PlannedFit(cells=cells, cliques=tuple(self._pairs(domain))),
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
        """Measure the pairs and fit the model."""
        del progress
        measured = curator.measure(self._pairs(curator.domain), share=share, step="measure the chain")
        return model.over(curator.domain).fit(measured)


@dataclass(frozen=True, kw_only=True, eq=False)
class PatientPGM(PGM):
    """Private-PGM that goes on to the optimum.

    Attributes:
        tolerance: A fit stops when ten steps improve the loss by less than this part.
    """

    kind: ClassVar[str] = "patient-pgm"

    tolerance: float = 1e-5


@dataclass(frozen=True)
class HalvedBins:
    """Two bins, cut at a noisy median.

    Attributes:
        key: Name.
        needs_count: It uses no number of records.
    """

    key: str = "halved"
    needs_count: bool = False

    def fit(
        self,
        column: ColumnCurator,
        lower: float,
        upper: float,
        *,
        count: int,
        n_estimated: float,
        share: Fraction,
        step: str,
    ) -> Bins:
        """Return the bins."""
        del n_estimated
        even = UniformBins(min(count, 8)).bins(lower, upper, integer=column.integer)
        counts = np.maximum(column.histogram(even.edges, share=share, step=step).values, 0.0)
        middle = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
        cut = even.edges[min(max(middle, 1), len(even.edges) - 2)]
        inner: Sequence[float] = [cut] if even.edges[0] < cut < even.edges[-1] else []
        return Bins((even.edges[0], *inner, even.edges[-1]), integer=column.integer)


@dataclass(frozen=True)
class RowCount:
    """How far the synthetic table is from as many rows as the real one."""

    key: str = "row-count"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table."""
        del rng
        off = abs(tables.synthetic.n_rows / tables.real.n_rows - 1)
        return Score(metric=self.key, value=off, direction="lower")


ROW_COUNT = MetricInfo(
    key="row-count",
    group="fidelity",
    summary="Difference of the numbers of rows, relative to the real one",
    direction="lower",
    best=0.0,
    home="example_plugin:RowCount",
)
