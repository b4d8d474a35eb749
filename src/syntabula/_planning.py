"""What is known of a step before any data is read, and how progress is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """One step that a strategy will take, known before any data is read.

    Attributes:
        name: What the ledger will call it.
        share: Part of the strategy's budget that it costs.
        cells: Upper bound on the number of cells that are counted and kept.
        noisy_cells: Upper bound on the number of cells that noise is drawn for.
        model_cells: Upper bound on the cells of the model after it.
        cliques: All that the model is fitted to after it, where that is known beforehand: the model then says
            itself how large it will be.
        candidates: The same where the selector keeps a growing model within `model_cells`, and measures only
            what fits: models that state what a fit takes go by them.
        usual: So many of the candidates as are usually measured, for the time of models that state it; empty if
            all are.
        fits: How often a model is fitted in it, roughly.
        fit_mb: What a fit takes by the model's own statement, instead of `model_cells`.
        usual_seconds: Rough time that it takes with a graphical model, where bounds on cells say little of it; None
            to go by them.
        work_seconds: Rough time that it takes beyond that.
    """

    name: str
    share: Fraction
    cells: int = 0
    noisy_cells: int = 0
    model_cells: int = 0
    cliques: tuple[tuple[str, ...], ...] = ()
    candidates: tuple[tuple[str, ...], ...] = ()
    usual: tuple[tuple[str, ...], ...] = ()
    fits: int = 1
    fit_mb: float = 0.0
    usual_seconds: float | None = None
    work_seconds: float = 0.0

    @property
    def memory_mb(self) -> float:
        """Upper bound on what it takes beyond the table."""
        counted, model = self.cells * _BYTES_PER_COUNTED_CELL, self.model_cells * _BYTES_PER_MODEL_CELL
        return (counted + model) / 2**20 + self.fit_mb

    @property
    def seconds(self) -> float:
        """Rough time on two cores, without the reading and counting of rows."""
        bound = self.noisy_cells * _SECONDS_PER_NOISY_CELL + self.model_cells * _SECONDS_PER_MODEL_CELL
        return (bound if self.usual_seconds is None else self.usual_seconds) + self.work_seconds
