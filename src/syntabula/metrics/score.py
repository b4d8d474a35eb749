"""A score, its direction and its baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from syntabula._arguments import shown
from syntabula._figures import short
from syntabula.errors import ArgumentError

Direction = Literal["lower", "higher"]
Baseline = Literal["HALF", "HISTOGRAM", "SELF"]
"""Tables of known quality, to compare a score with (Du and Li, SynMeter v2, Section 7.2).

HALF: one random half of the real table against the other, as good as a fresh sample can be. HISTOGRAM: every
column resampled on its own, so that all dependence is lost. SELF: the real table itself.
"""

Part = tuple[str, ...]
"""One part of a score: the columns of a marginal, or the name of an evaluator."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """One number about a synthetic table, with its direction and its baselines.

    Attributes:
        metric: Key of the metric, as in `registry.list_metrics`.
        value: The number; NaN if it cannot be computed for these tables.
        direction: Whether lower or higher is better.
        details: The parts whose mean, or other summary, the value is.
        facts: How it was computed, such as the number of rows compared.
        note: One sentence that a reader must know, such as why there is no value.
        baselines: The same metric for tables of known quality.

    Raises:
        ArgumentError: If the direction is neither "lower" nor "higher".

    Examples:
        >>> score = Score(metric="tvd-2", value=0.02, direction="lower", baselines={"HALF": 0.01})
        >>> print(score)
        0.02, lower is better; HALF 0.01
    """

    metric: str
    value: float
    direction: Direction
    details: Mapping[Part, float] = field(default_factory=dict)
    facts: Mapping[str, int | float | str] = field(default_factory=dict)
    note: str = ""
    baselines: Mapping[Baseline, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.direction not in ("lower", "higher"):
            raise ArgumentError(f"direction is {shown(self.direction)}; it must be 'lower' or 'higher'")

    @classmethod
    def mean(
        cls,
        metric: str,
        details: Mapping[Part, float],
        *,
        direction: Direction,
        needed: str = "no column to compare",
        facts: Mapping[str, int | float | str] | None = None,
    ) -> Score:
        """Return the unweighted mean of parts as a score; without parts it has no value, and its note says why."""
        value = float(np.mean([*details.values()])) if details else math.nan
        note = "" if details else needed
        return cls(
            metric=metric, value=value, direction=direction, details=details, facts=facts or {}, note=note
        )

    def with_baselines(self, baselines: Mapping[Baseline, float]) -> Score:
        """Return the score with baselines."""
        return replace(self, baselines={**self.baselines, **baselines})

    def worst(self, n: int = 5) -> list[tuple[Part, float]]:
        """Return the parts where the synthetic table is worst, the worst first."""
        known = [(part, value) for part, value in self.details.items() if not math.isnan(value)]
        return sorted(known, key=lambda item: item[1], reverse=self.direction == "lower")[:n]

    @property
    def worst_part(self) -> tuple[Part, float] | None:
        """The part where the synthetic table is worst; None if all parts read the same, as where all are 0."""
        found = self.worst(len(self.details))
        return found[0] if found and short(found[0][1]) != short(found[-1][1]) else None

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able facts; NaN becomes null."""
        return {
            "metric": self.metric,
            "value": _or_none(self.value),
            "direction": self.direction,
            "baselines": {name: _or_none(value) for name, value in self.baselines.items()},
            "facts": {k: _or_none(v) if isinstance(v, float) else v for k, v in self.facts.items()},
            "note": self.note,
            "details": [{"of": [*part], "value": _or_none(value)} for part, value in self.details.items()],
        }

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"no value: {self.note}"
        scale = ", ".join(f"{name} {_shown(value)}" for name, value in self.baselines.items())
        text = f"{short(self.value)}, {self.direction} is better"
        return f"{text}; {scale}" if scale else text


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _shown(value: float) -> str:
    return "no value" if math.isnan(value) else short(value)
