"""Steps and their cost as planned before any data is read, and the type of progress callbacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction

MOST_ROWS = 10**15

# Seconds per unit of work, measured on one 2-core machine; they show which steps are long, not exact times.
_SECONDS_PER_NOISY_CELL = 2e-6
_SECONDS_PER_MODEL_CELL = 4e-6
SECONDS_PER_WEIGHED_MARGINAL = 9e-5  # to count and weigh one of very many small marginals
_BYTES_PER_COUNTED_CELL = 8
_BYTES_PER_MODEL_CELL = 8 * 6  # potential, belief, gradient and work space
_MOST_EPSILON = 10.0
"""Epsilon from which on a larger one, or none, hardly lets more be learned: models are at their largest."""

Progress = Callable[[str, float], None]
"""Called with the name of a step and the fraction of all work that is done, in [0, 1]."""


TRIED_RECORDS = 4
"""Records of a step of training that is tried where nobody asks for its time."""

_times_asked: ContextVar[bool] = ContextVar("times_asked", default=True)


@contextmanager
def memory_alone() -> Iterator[None]:
    """Let plans made within state no time that would have to be measured, as only their memory is looked at."""
    before = _times_asked.set(False)
    try:
        yield
    finally:
        _times_asked.reset(before)


def times_are_asked() -> bool:
    """Return whether a plan is to state times; a step of training is then tried once, on few records."""
    return _times_asked.get()


def one_by_one(
    shares: Mapping[str, Fraction], step: str, progress: Progress
) -> Iterator[tuple[str, Fraction]]:
    """Yield columns and their shares, and report before each the fraction of them that is done."""
    for position, item in enumerate(shares.items()):
        progress(step, position / len(shares))
        yield item


def raised(
    shares: Mapping[str, Fraction], enough: Fraction, limits: Sequence[Mapping[str, Fraction]], room: Fraction
) -> dict[str, Fraction]:
    """Return shares raised to what is enough, or all by the same part of what they lack where there is no room for it.

    Args:
        shares: The planned shares; one of 0 stays 0.
        enough: What each needs.
        limits: Shares of which each may take the sum of its own at most.
        room: By how much all together may grow; not at all if below 0.
    """
    more = {}
    for name, share in shares.items():
        most = sum((limit.get(name, Fraction(0)) for limit in limits), Fraction(0))
        more[name] = max(min(enough, most) - share, Fraction(0)) if share else Fraction(0)
    wanted = sum(more.values(), Fraction(0))
    part = min(max(room, Fraction(0)) / wanted, Fraction(1)) if wanted else Fraction(0)
    return {name: share + part * more[name] for name, share in shares.items()}


@dataclass(frozen=True)
class FitCost:
    """Memory and time of a fit.

    Attributes:
        memory_mb: Upper bound on the memory, the model included.
        seconds: Rough time on one core.
        most_seconds: The same where nearly all columns depend on each other; None where that hardly changes it.
        most_exact_seconds: As `most_seconds`, where privacy is switched off; None where that hardly changes it.
    """

    memory_mb: float
    seconds: float
    most_seconds: float | None = None
    most_exact_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class PlannedFit:
    """The fit of a model in a step, as far as it is known beforehand.

    Attributes:
        cells: Upper bound on the cells of a graphical model after the fit.
        cliques: All cliques that the model may be fitted to; empty if they depend on the data.
        kept_small: Whether the selector keeps a growing model within `cells`, and measures only what fits.
        usual: A typical selection of the cliques that are measured; empty if all are.
        times: Rough number of fits in the step.
        seconds: Rough time of the step with a graphical model, if the bounds on cells say little about it; None to
            derive it from them.
        seconds_for: Number of records up to which `seconds` holds; more take longer in proportion, as more marginals are
            worth measuring. None if it does not depend on them.
        most_seconds: As `seconds`, where nearly all columns depend on each other; None where that hardly changes it.
        most_exact_seconds: As `most_seconds`, where privacy is switched off; None where that hardly changes it.
    """

    cells: int
    cliques: tuple[tuple[str, ...], ...] = ()
    kept_small: bool = False
    usual: tuple[tuple[str, ...], ...] = ()
    times: int = 1
    seconds: float | None = None
    seconds_for: int | None = None
    most_seconds: float | None = None
    most_exact_seconds: float | None = None

    @property
    def cost(self) -> FitCost:
        """Memory and time with a graphical model of this many cells."""
        seconds = self.cells * _SECONDS_PER_MODEL_CELL if self.seconds is None else self.seconds
        memory_mb = self.cells * _BYTES_PER_MODEL_CELL / 2**20
        return FitCost(memory_mb, seconds, self.most_seconds, self.most_exact_seconds)

    def for_records(self, n_records: int) -> PlannedFit:
        """Return the same fit with its time for a number of records."""
        if self.seconds is None or self.seconds_for is None or n_records <= self.seconds_for:
            return self
        times = n_records / self.seconds_for
        most, exact = (m and m * times for m in (self.most_seconds, self.most_exact_seconds))
        return replace(self, seconds=self.seconds * times, most_seconds=most, most_exact_seconds=exact)


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """One step of a strategy, known before any data is read.

    Attributes:
        name: Its name in the ledger.
        share: Fraction of the strategy's budget that it spends.
        cells: Upper bound on the number of cells that are counted and kept.
        noisy_cells: Upper bound on the number of cells that noise is drawn for.
        fit: The fit of a model in it; None if there is none.
        cost: Memory and time of the fit as the model states them; None to assume a graphical model.
        work_seconds: Rough time of its other work.
        instead: Whether it stands for another way of learning, which may replace the steps before it.
        grows: Whether its time is that of epsilon 1, and a larger budget lets it measure more.
        remedy: What lowers its memory beside fewer codes, such as "lower batch, which is 512"; empty if nothing does.
        of_trends: Whether it is left out, and its share goes to the others, without privacy or with a model that takes no
            trends.
    """

    name: str
    share: Fraction
    cells: int = 0
    noisy_cells: int = 0
    fit: PlannedFit | None = None
    cost: FitCost | None = None
    work_seconds: float = 0.0
    instead: bool = False
    grows: bool = False
    remedy: str = ""
    of_trends: bool = False

    def costing(self, cost: FitCost) -> PlannedStep:
        """Return the same step with the cost of its fit, as the model states it."""
        return replace(self, noisy_cells=self._drawn, fit=None, cost=cost)

    @property
    def memory_mb(self) -> float:
        """Upper bound on the memory that it needs beyond the table."""
        return self.cells * _BYTES_PER_COUNTED_CELL / 2**20 + self.fit_cost.memory_mb

    @property
    def seconds(self) -> float:
        """Rough time on two cores, without reading and counting rows."""
        return self._drawn * _SECONDS_PER_NOISY_CELL + self.fit_cost.seconds + self.work_seconds

    def seconds_at(self, epsilon: float) -> float:
        """Return the rough time with a budget, which may be infinite: in proportion to epsilon above 1, and to its root
        below, as of AIM on adult, bank and wide tables (benchmarks/results/aim.md)."""
        return self.seconds * self._growth(epsilon)

    def most_seconds_at(self, epsilon: float) -> float:
        """Return the same where nearly all columns depend on each other."""
        cost = self.fit_cost
        if math.isinf(epsilon):
            return max(self.seconds_at(epsilon), cost.most_exact_seconds or 0.0)
        more = 0.0 if cost.most_seconds is None else max(cost.most_seconds - cost.seconds, 0.0)
        return (self.seconds + more) * self._growth(epsilon)

    def _growth(self, epsilon: float) -> float:
        if not self.grows:
            return 1.0
        return math.sqrt(epsilon) if epsilon < 1 else min(epsilon, _MOST_EPSILON)

    @property
    def fit_cost(self) -> FitCost:
        """Memory and time of its fit."""
        return self.cost or (FitCost(0.0, 0.0) if self.fit is None else self.fit.cost)

    @property
    def _drawn(self) -> int:
        """The noisy cells whose time is not part of the fit's."""
        return self.noisy_cells if self.fit is None or self.fit.seconds is None else 0


def without_trends(steps: Sequence[PlannedStep]) -> list[PlannedStep]:
    """Return steps of which none is of trends, with the same share in all."""
    kept = [s for s in steps if not s.of_trends]
    if len(kept) == len(steps):
        return kept
    part = sum((s.share for s in steps), Fraction(0)) / sum((s.share for s in kept), Fraction(0))
    return [replace(s, share=part * s.share) for s in kept]
