"""What a fit will cost, step by step, and how that is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from syntabula._memory import above_limit
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Domain
from syntabula.marginals.parts import HELD_VALUES
from syntabula.privacy.budget import Budget
from syntabula.privacy.pricing import standard_deviation, whole_count
from syntabula.privacy.statement import folded
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.privacy.units import RECORD, Unit

_ROWS_SHOWN = (1, 2, 5, 10)
_USUAL_PART = 0.2
"""Part of the values that usual columns have between two powers of two at least; of a normal distribution around 0, a
sixth."""
_LONG, _FAR_LONGER = 60.0, 3.0
"""Seconds, and times the usual ones, from which on a plan shows how long a fit may take at most."""


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    """One step of a plan.

    Attributes:
        name: What will be done.
        share: Fraction of the whole budget that it costs, 0 .. 1.
        cost: The same in the budget's own unit (mu squared, rho or epsilon); None without privacy.
        memory_mb: Upper bound on the memory it needs beyond the table.
        seconds: Rough time on two cores.
        instead: Whether it stands for another way of learning, which may replace the others.
        more_seconds: How much longer it may take where nearly all columns depend on each other.
        remedy: What lowers its memory beside fewer codes; empty if no option of the method does.
    """

    name: str
    share: float
    cost: float | None
    memory_mb: float
    seconds: float
    instead: bool = False
    more_seconds: float = 0.0
    remedy: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All steps of a fit, before any data is read.

    Attributes:
        method: Key of the synthesizer.
        budget: What may be spent.
        n_rows: Assumed number of rows (public or guessed, never read off the data).
        table_mb: Memory for the table itself, raw and encoded; of a table in parts, for what is held of it at once.
        passes: How often a table in parts is read at least; None for a table in memory.
        read_again: How many of its columns may have so many values that they are read once more, or several times if they
            are not declared.
        steps: The steps in order.
        choice: The method that `method` chose by what is known before values are read; None if it chooses none, or
            by released values too.
        unit: Whom the guarantee protects.
        computed: Columns that rules of the schema compute, which cost nothing.
        caution: What is known of the method with a budget that speaks for another one.
        least_for_bounds: How many values of a column of numbers, days or times that nothing declares must lie between
            two powers of two for its bounds to be found; 0 if none is to be found, or without privacy.
    """

    method: str
    budget: Budget
    n_rows: int
    table_mb: float
    steps: tuple[PlanStep, ...]
    choice: MethodChoice | None = None
    unit: Unit = RECORD
    computed: tuple[str, ...] = ()
    passes: int | None = None
    read_again: int = 0
    caution: str = ""
    least_for_bounds: float = 0.0

    @property
    def memory_mb(self) -> float:
        """Peak memory beyond the interpreter's own."""
        return self.table_mb + max((s.memory_mb for s in self.steps), default=0.0)

    @property
    def seconds(self) -> float:
        """Rough total time on two cores, without what may be done instead."""
        return sum(s.seconds for s in self.steps if not s.instead)

    @property
    def most_seconds(self) -> float:
        """The same where nearly all columns depend on each other, which nobody can know before the table is asked."""
        return self.seconds + sum(s.more_seconds for s in self.steps if not s.instead)

    @property
    def noise_by_rows(self) -> dict[int, float]:
        """Standard deviation of the noise on a count that takes the whole budget, by the rows that a unit may have.

        It is empty where each record is a unit, and 0 without privacy.
        """
        if self.unit.column is None:
            return {}
        several = sorted({*_ROWS_SHOWN, self.unit.rows})
        return {rows: standard_deviation(whole_count(self.budget, rows)) for rows in several}

    def check(self, memory_mb: float, domain: Domain) -> None:
        """Raise ResourceError, with numbers and remedies, if a step needs more memory than allowed.

        Args:
            memory_mb: What is allowed.
            domain: Of the columns, of which the widest are named.
        """
        for step in self.steps:
            if step.memory_mb > memory_mb:
                widest = sorted(domain.columns, key=domain.size, reverse=True)[:3]
                lower = f"{step.remedy}, " if step.remedy else ""
                sizes = ", ".join(f"{c!r} has {domain.size(c):,} codes" for c in widest)
                raise ResourceError(
                    f"step {step.name!r} may need {above_limit(step.memory_mb, memory_mb)} ({sizes}); use "
                    f"fewer bins, shorten or group the categories of these columns, {lower}or raise memory_mb"
                )

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """Return the plan as a table in plain text."""
        lines = [
            f"Plan for method {self.method}, {self.budget.describe(self.unit.short)}",
            f"assuming {self.n_rows:,} rows: about {self.memory_mb:,.0f} MB and {self.seconds:,.1f} s",
            *self._most(),
            *(() if self.choice is None else (f"{self.choice.method}, because {self.choice.reason}.",)),
            *((self.caution,) if self.caution else ()),
            *self._passes(),
            *self._units(),
            *self._bounds(),
            "",
            f"  {'share':>6}  {'memory MB':>9}  {'seconds':>7}  step",
        ]
        for name, places in folded([(s.name, None) for s in self.steps]):
            steps = [self.steps[place] for place in places]
            share, seconds = sum(s.share for s in steps), sum(s.seconds for s in steps)
            memory_mb = max(s.memory_mb for s in steps)
            lines.append(f"  {share:6.1%}  {memory_mb:9,.1f}  {seconds:7,.2f}  {name}")
        if self.computed:
            lines += ["", f"Computed by rules, at no cost: {', '.join(self.computed)}"]
        return "\n".join(lines) + "\n"

    def _most(self) -> list[str]:
        """Return a line on how long it may take, if that is much longer."""
        most = self.most_seconds
        if most < max(_LONG, _FAR_LONGER * self.seconds):
            return []
        return [f"(up to {most:,.0f} s where nearly all columns depend on each other)"]

    def _passes(self) -> list[str]:
        """Return a line on how often a table in parts is read."""
        if self.passes is None:
            return []
        times = "once" if self.passes == 1 else f"{self.passes} times"
        lines = [f"The table is read {times}, and once more for each question about three columns or more."]
        if self.read_again:
            columns = "A column" if self.read_again == 1 else f"{self.read_again} columns"
            lines.append(
                f"{columns} with more than {HELD_VALUES:,} values would be read once more, and some times if undeclared."
            )
        return lines

    def _units(self) -> list[str]:
        """Return lines on what several rows a unit cost."""
        noise = self.noise_by_rows
        if not noise:
            return []
        return [
            "",
            f"Of each {self.unit.column!r}, at most {self.unit.rows} rows are used (rows_per_unit). Noise grows with "
            "that number; on a count that takes the whole budget:",
            "  rows_per_unit " + "".join(f"{rows:>8}" for rows in noise),
            "  noise         " + "".join(f"{sigma:>8.3g}" for sigma in noise.values()),
        ]

    def _bounds(self) -> list[str]:
        """Return lines on bounds that noise may hide, if it may hide those of usual columns."""
        if self.least_for_bounds <= _USUAL_PART * self.n_rows:
            return []
        return [
            "",
            "Noise may hide numbers and days that nothing declares: for the bounds of such a column to be found, about",
            f"{self.least_for_bounds:,.0f} of {self.n_rows:,} values must lie between two powers of two, such as 32 "
            "and 64. Declare them in a",
            "schema, use fewer columns, or raise epsilon.",
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON-able facts."""
        unit = {
            "unit": self.unit.column,
            "rows_per_unit": self.unit.rows,
            "noise_by_rows": {str(rows): sigma for rows, sigma in self.noise_by_rows.items()},
        }
        told = ("name", "share", "cost", "memory_mb", "seconds")
        return (unit if self.unit.column is not None else {}) | {
            **({"caution": self.caution} if self.caution else {}),
            "method": self.method,
            "budget": self.budget.to_json(),
            "n_rows": self.n_rows,
            "least_for_bounds": self.least_for_bounds,
            "memory_mb": self.memory_mb,
            "passes": self.passes,
            "read_again": self.read_again,
            "seconds": self.seconds,
            "most_seconds": self.most_seconds,
            "choice": None if self.choice is None else self.choice.to_json(),
            "computed": list(self.computed),
            "steps": [{name: getattr(step, name) for name in told} for step in self.steps],
        }
