"""Scores of synthetic tables: fidelity, queries, utility and privacy, as pure functions of tables.

Examples:
    >>> import pandas
    >>> from syntabula import metrics
    >>> real = pandas.DataFrame({"x": [0.5, 1.5], "c": ["a", None]})
    >>> tables = metrics.compare(real, real)
    >>> tables.numeric
    ('x',)
"""

from __future__ import annotations

from syntabula.metrics.comparison import Comparison, View
from syntabula.metrics.reading import compare
from syntabula.metrics.registry import Metric, MetricInfo, describe_metric, list_metrics
from syntabula.metrics.score import Score

__all__ = [
    "Comparison",
    "Metric",
    "MetricInfo",
    "Score",
    "View",
    "compare",
    "describe_metric",
    "list_metrics",
]
