"""What is known of a step before any data is read, and how progress is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

MOST_ROWS = 10**15

# Seconds per unit of work, measured on one 2-core machine; they say which step is long, not how long exactly.
_SECONDS_PER_NOISY_CELL = 2e-6
_SECONDS_PER_MODEL_CELL = 4e-6
SECONDS_PER_WEIGHED_MARGINAL = 9e-5  # to count one of very many small ones, and to weigh it
_BYTES_PER_COUNTED_CELL = 8
_BYTES_PER_MODEL_CELL = 8 * 6  # potential, belief, gradient and work space

Progress = Callable[[str, float], None]
"""Called with the name of a step and the part of the whole that is done, in 0 .. 1."""


@dataclass(frozen=True)
class FitCost:
    """What fitting takes.

    Attributes:
        memory_mb: Bound on it, the model included.
        seconds: Rough time on one core.
    """

    memory_mb: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class PlannedFit:
    """What a model is fitted to in a step, as far as it is known beforehand.

    Attributes:
        cells: Upper bound on the cells of a graphical model after it.
        cliques: All that the model may be fitted to; empty where that depends on what is found.
        kept_small: Whether the selector keeps a growing model within `cells`, and measures only what fits.
        usual: So many of the cliques as are usually measured; empty if all are.
        times: How often a model is fitted in it, roughly.
        seconds: Rough time of the step with a graphical model, where bounds on cells say little of it; None to go
            by them.
    """

    cells: int
    cliques: tuple[tuple[str, ...], ...] = ()
    kept_small: bool = False
    usual: tuple[tuple[str, ...], ...] = ()
    times: int = 1
    seconds: float | None = None

    @property
    def cost(self) -> FitCost:
        """What it takes with a graphical model of so many cells."""
        seconds = self.cells * _SECONDS_PER_MODEL_CELL if self.seconds is None else self.seconds
        return FitCost(self.cells * _BYTES_PER_MODEL_CELL / 2**20, seconds)


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """One step that a strategy will take, known before any data is read.

    Attributes:
        name: What the ledger will call it.
        share: Part of the strategy's budget that it costs.
        cells: Upper bound on the number of cells that are counted and kept.
        noisy_cells: Upper bound on the number of cells that noise is drawn for.
        fit: What a model is fitted to in it; None if none is.
        cost: What that takes by the model's own statement; None to take the model for a graphical one.
        work_seconds: Rough time that it takes beyond that.
    """

    name: str
    share: Fraction
    cells: int = 0
    noisy_cells: int = 0
    fit: PlannedFit | None = None
    cost: FitCost | None = None
    work_seconds: float = 0.0

    def costing(self, cost: FitCost) -> PlannedStep:
        """Return the same step with what its fit takes, as the model says."""
        return replace(self, noisy_cells=self._drawn, fit=None, cost=cost)

    @property
    def memory_mb(self) -> float:
        """Upper bound on what it takes beyond the table."""
        return self.cells * _BYTES_PER_COUNTED_CELL / 2**20 + self.fit_cost.memory_mb

    @property
    def seconds(self) -> float:
        """Rough time on two cores, without the reading and counting of rows."""
        return self._drawn * _SECONDS_PER_NOISY_CELL + self.fit_cost.seconds + self.work_seconds

    @property
    def fit_cost(self) -> FitCost:
        """What its fit takes."""
        return self.cost or (FitCost(0.0, 0.0) if self.fit is None else self.fit.cost)

    @property
    def _drawn(self) -> int:
        """The noisy cells that take time of their own, beyond that of the fit."""
        return self.noisy_cells if self.fit is None or self.fit.seconds is None else 0
