"""Which metrics there are: a static table for our own, an entry-point group for those of others."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module, metadata
from typing import Any, Literal, Protocol

import numpy as np

from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Direction, Score

ENTRY_POINTS = "syntabula.metrics"

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
class MetricInfo:
    """A metric that can be named in `evaluate`.

    Attributes:
        key: Its name.
        group: What it judges.
        summary: What it is, in one sentence without a full stop.
        direction: Whether lower or higher is better.
        best: Its value for a perfect table; None where that depends on the data.
        paper: Where it comes from.
        home: Module and class, "module:Class".
        options: Arguments of the class.
        needs: What `evaluate` must be given for it.
        quick: Whether it belongs to those that are computed if none is named.
        baselines: Whether its value for HALF, HISTOGRAM and SELF is its scale, computed as cheaply as its own.
    """

    key: str
    group: Group
    summary: str
    direction: Direction
    best: float | None
    paper: str
    home: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    needs: tuple[Need, ...] = ()
    quick: bool = True
    baselines: bool = True

    def make(self) -> Metric:
        """Return the metric."""
        module, _, name = self.home.partition(":")
        metric: Metric = getattr(import_module(module), name)(**self.options)
        return metric


_BUILT_IN: tuple[MetricInfo, ...] = ()


def list_metrics() -> list[MetricInfo]:
    """Return all metrics, ours first; nothing heavy is imported."""
    return [*_BUILT_IN, *_plugged()]


def describe_metric(key: str) -> MetricInfo:
    """Return what is known of a metric; raises ArgumentError, with near misses, if there is none."""
    known = {info.key: info for info in list_metrics()}
    if not isinstance(key, str) or key.lower() not in known:
        near = difflib.get_close_matches(str(key).lower(), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(f"there is no metric {key!r}; metrics are {', '.join(known)}{hint}")
    return known[key.lower()]


def _plugged() -> list[MetricInfo]:
    """Return the metrics of other packages; each entry point names a MetricInfo."""
    found = [point.load() for point in metadata.entry_points(group=ENTRY_POINTS)]
    return [info for info in found if isinstance(info, MetricInfo)]
