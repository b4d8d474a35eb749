"""Which metrics there are: a static table for our own, an entry-point group for those of others."""

from __future__ import annotations

import difflib
from importlib import metadata

from syntabula._arguments import shown
from syntabula.errors import ArgumentError
from syntabula.metrics.built_in import BUILT_IN
from syntabula.metrics.metric import Metric as Metric
from syntabula.metrics.metric import MetricInfo as MetricInfo

ENTRY_POINTS = "syntabula.metrics"


def list_metrics() -> list[MetricInfo]:
    """Return all metrics, ours first; nothing heavy is imported."""
    return [*BUILT_IN, *_plugged()]


def describe_metric(key: str) -> MetricInfo:
    """Return what is known of a metric; raises ArgumentError, with near misses, if there is none."""
    known = {info.key: info for info in list_metrics()}
    if not isinstance(key, str) or key.lower() not in known:
        near = difflib.get_close_matches(str(key).lower(), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(f"there is no metric {shown(key)}; metrics are {', '.join(known)}{hint}")
    return known[key.lower()]


def _plugged() -> list[MetricInfo]:
    """Return the metrics of other packages; each entry point names a MetricInfo."""
    found = [point.load() for point in metadata.entry_points(group=ENTRY_POINTS)]
    return [info for info in found if isinstance(info, MetricInfo)]
