"""What a fit will cost in budget, memory and time, known before any data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from syntabula._memory import above_limit
from syntabula._planning import PlannedStep
from syntabula.bins.bin_count import budget_rice
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import MarginalModel, StatesFitCost
from syntabula.prepare.preprocessing import BinCount
from syntabula.privacy.budget import Budget
from syntabula.privacy.statement import folded
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.columns import Boolean, Categorical, Column, Numeric
from syntabula.table.schema.schema import Schema

# Measured on one 2-core machine.
_SECONDS_PER_READ_CELL = 2.3e-7
_SECONDS_PER_READ_COLUMN = 1.3e-3
_SECONDS_PER_COUNTED_CELL = 2e-8
_BYTES_PER_RAW_CELL = 60  # a value as read, its mask and its text
_BEYOND_ANY_MB = 1e12
GUESSED_ROWS = 100_000
GUESSED_CATEGORIES = 50


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    """One step of a plan.

    Attributes:
        name: What will be done.
        share: Part of the whole budget that it costs, 0 .. 1.
        cost: The same in the budget's own unit (mu squared, rho or epsilon); None without privacy.
        memory_mb: Upper bound on what it takes beyond the table.
        seconds: Rough time on two cores.
    """

    name: str
    share: float
    cost: float | None
    memory_mb: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All steps of a fit, before any data is read.

    Attributes:
        method: Key of the synthesizer.
        budget: What may be spent.
        n_rows: Number of rows that was assumed (public or guessed, never read off the data).
        table_mb: Memory for the table itself, raw and encoded.
        steps: The steps in order.
    """

    method: str
    budget: Budget
    n_rows: int
    table_mb: float
    steps: tuple[PlanStep, ...]

    @property
    def memory_mb(self) -> float:
        """Peak memory beyond the interpreter's own."""
        return self.table_mb + max((s.memory_mb for s in self.steps), default=0.0)

    @property
    def seconds(self) -> float:
        """Rough time in all, on two cores."""
        return sum(s.seconds for s in self.steps)

    def check(self, memory_mb: float, domain: Domain) -> None:
        """Raise ResourceError, with numbers and remedies, if a step needs more than the memory given."""
        for step in self.steps:
            if step.memory_mb > memory_mb:
                widest = sorted(domain.columns, key=domain.size, reverse=True)[:3]
                sizes = ", ".join(f"{c!r} has {domain.size(c):,} codes" for c in widest)
                raise ResourceError(
                    f"step {step.name!r} may need {above_limit(step.memory_mb, memory_mb)} ({sizes}); use "
                    f"fewer bins, shorten or group the categories of these columns, or raise memory_mb"
                )

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """Return the plan as a table in plain text."""
        lines = [
            f"Plan for method {self.method}, {self.budget.describe()}",
            f"assuming {self.n_rows:,} rows: about {self.memory_mb:,.0f} MB and {self.seconds:,.1f} s",
            "",
            f"  {'share':>6}  {'memory MB':>9}  {'seconds':>7}  step",
        ]
        for name, places in folded([(s.name, None) for s in self.steps]):
            steps = [self.steps[place] for place in places]
            share, seconds = sum(s.share for s in steps), sum(s.seconds for s in steps)
            memory_mb = max(s.memory_mb for s in steps)
            lines.append(f"  {share:6.1%}  {memory_mb:9,.1f}  {seconds:7,.2f}  {name}")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON-able facts."""
        return {
            "method": self.method,
            "budget": self.budget.to_json(),
            "n_rows": self.n_rows,
            "memory_mb": self.memory_mb,
            "seconds": self.seconds,
            "steps": [
                {
                    "name": s.name,
                    "share": s.share,
                    "cost": s.cost,
                    "memory_mb": s.memory_mb,
                    "seconds": s.seconds,
                }
                for s in self.steps
            ],
        }


def with_model(step: PlannedStep, model: MarginalModel, n_rows: int) -> PlannedStep:
    """Return a step with what fitting a bound model takes in it.

    A model that states what a fit takes is asked for it, times the number of fits: for the memory that it may take,
    and for the time that it usually takes. Of others the size is known
    where all marginals are; a selector that keeps the model within a size has said which.
    """
    measured = step.cliques or step.candidates
    if measured and isinstance(model, StatesFitCost):
        memory_mb = model.fit_cost(measured, n_rows).memory_mb
        seconds = step.work_seconds + step.fits * model.fit_cost(step.usual or measured, n_rows).seconds
        return replace(step, model_cells=0, fit_mb=memory_mb, usual_seconds=None, work_seconds=seconds)
    return replace(step, model_cells=_model_cells(model, step.cliques)) if step.cliques else step


def _model_cells(model: MarginalModel, cliques: Sequence[Clique]) -> int:
    """Return how many cells a bound model has after a fit to some cliques, cut off beyond any machine."""
    try:
        return int(min(model.memory_mb(cliques), _BEYOND_ANY_MB) * 2**20 / 8)
    except OverflowError:
        return int(_BEYOND_ANY_MB * 2**20 / 8)


def guessed_codec(schema: Schema, bins: BinCount, n_rows: int, budget: Budget) -> Codec:
    """Return a codec of the size that the fitted one may have, before any data is read."""
    most = budget_rice(n_rows, budget.epsilon) if bins == "auto" else bins
    return Codec.plan(schema, bins=most)


def guessed_columns(physical: Mapping[str, PhysicalType]) -> dict[str, Column]:
    """Return domains of a plausible size for columns of which only the stored types are known."""
    columns: dict[str, Column] = {}
    for name, stored in physical.items():
        if stored.is_labels:
            labels = tuple(str(i) for i in range(GUESSED_CATEGORIES))
            columns[name] = Categorical(labels, open=True, nullable=True, provenance="private")
        elif stored.kind == "boolean":
            columns[name] = Boolean(nullable=True, provenance="private")
        else:
            columns[name] = Numeric(0.0, 1.0, nullable=True, provenance="private")
    return columns


def make_plan(
    *, method: str, budget: Budget, steps: Sequence[tuple[PlannedStep, Fraction]], n_rows: int, n_columns: int
) -> Plan:
    """Turn planned steps, each with its share of the whole budget, into memory, time and cost."""
    total = budget.total
    table_mb = n_rows * n_columns * (_BYTES_PER_RAW_CELL + 2) / 2**20
    made = []
    for position, (step, share) in enumerate(steps):
        seconds = n_rows * n_columns * _SECONDS_PER_COUNTED_CELL * (step.cells > 0) + step.seconds
        if position == 0:
            seconds += n_columns * (_SECONDS_PER_READ_COLUMN + n_rows * _SECONDS_PER_READ_CELL)
        made.append(
            PlanStep(
                name=step.name,
                share=float(share),
                cost=None if total is None else float(share * total),
                memory_mb=step.memory_mb,
                seconds=seconds,
            )
        )
    return Plan(method=method, budget=budget, n_rows=n_rows, table_mb=table_mb, steps=tuple(made))
