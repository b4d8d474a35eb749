"""What a metric is, and what is known of one before it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from syntabula._entries import Entry, Kind
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Direction, Score

Group = Literal["fidelity", "queries", "utility", "privacy"]
Need = Literal["target", "holdout"]


class Metric(Protocol):
    """A pure function of tables; what can be set in it are the fields of a frozen dataclass."""

    @property
    def key(self) -> str:
        """Its name, options that change its meaning included."""

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table against the real one.

        Args:
            tables: Real and synthetic table in one coding; never changed.
            rng: Source of subsamples, splits and queries; the same state gives the same score.

        Returns:
            The score. Where the tables lack what the metric is about, such as a numeric column, its value is
            NaN and its note says so.
        """


@dataclass(frozen=True, kw_only=True)
class MetricInfo(Entry):
    """A metric that can be named in `evaluate`.

    Attributes:
        group: What it judges.
        direction: Whether lower or higher is better.
        best: Its value for a perfect table; None where that depends on the data.
        options: Arguments of the class.
        needs: What `evaluate` must be given for it.
        quick: Whether it belongs to those that are computed if none is named.
        baselines: Whether its value for HALF, HISTOGRAM and SELF is its scale, computed as cheaply as its own.
    """

    kind: Kind = "metric"
    group: Group
    direction: Direction
    best: float | None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    needs: tuple[Need, ...] = ()
    quick: bool = True
    baselines: bool = True

    def make(self) -> Metric:
        """Return the metric."""
        metric: Metric = self.load()(**self.options)
        return metric
