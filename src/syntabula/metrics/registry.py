"""Which metrics there are: ours, and those of plug-ins."""

from __future__ import annotations

from syntabula._entries import Entry
from syntabula._register import entries, find, load
from syntabula.errors import ArgumentError
from syntabula.metrics.built_in import BUILT_IN
from syntabula.metrics.metric import Metric as Metric
from syntabula.metrics.metric import MetricInfo as MetricInfo
from syntabula.metrics.metric import MetricOfClass


def list_metrics() -> list[MetricInfo]:
    """Return all metrics, ours first; nothing heavy is imported but what plug-ins import.

    Raises:
        ArgumentError: If a plug-in cannot be loaded, or does not say what is to be known of its metric.
    """
    ours = {info.key for info in BUILT_IN}
    # The first of a name counts, so that nobody takes the place of one of ours.
    return [*BUILT_IN, *(_plugged(entry) for entry in entries("metric") if entry.key not in ours)]


def describe_metric(key: str) -> MetricInfo:
    """Return what is known of a metric; raises ArgumentError, with near misses, if there is none."""
    return find("metric", key, list_metrics())


def _plugged(entry: Entry) -> MetricInfo:
    """Return what is known of a metric of another package or of this session: its class says it, or a MetricInfo."""
    part = load("metric", entry.key)
    if isinstance(part, MetricInfo):
        return part
    if not isinstance(part, type):
        raise ArgumentError(
            f"the metric {entry.key!r} ({entry.home}) is neither a class nor an object of MetricInfo"
        )
    return MetricOfClass.of(entry, part)
