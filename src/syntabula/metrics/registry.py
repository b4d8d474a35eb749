"""Which metrics there are: ours, and those of plug-ins."""

from __future__ import annotations

from syntabula._register import entries, find, load
from syntabula.metrics.built_in import BUILT_IN
from syntabula.metrics.metric import Metric as Metric
from syntabula.metrics.metric import MetricInfo as MetricInfo


def list_metrics() -> list[MetricInfo]:
    """Return all metrics, ours first; nothing heavy is imported but what plug-ins import."""
    return [*BUILT_IN, *_plugged()]


def describe_metric(key: str) -> MetricInfo:
    """Return what is known of a metric; raises ArgumentError, with near misses, if there is none."""
    return find("metric", key, list_metrics())


def _plugged() -> list[MetricInfo]:
    """Return the metrics of other packages; each entry point names a MetricInfo."""
    found = [load("metric", entry.key) for entry in entries("metric")]
    return [info for info in found if isinstance(info, MetricInfo)]
