"""Scores of synthetic tables: fidelity, queries, utility and privacy, as pure functions of tables.

A metric is called with a comparison of tables and a random generator; `syntabula.evaluate` computes many at once.

Examples:
    >>> import numpy as np
    >>> from syntabula import datasets, metrics
    >>> real, other = datasets.census(n_rows=300, seed=1), datasets.census(n_rows=300, seed=2)
    >>> tables = metrics.compare(real, other)
    >>> score = metrics.TotalVariation(way=2, levels=10)(tables, np.random.default_rng(0))
    >>> score.direction
    'lower'
"""

from __future__ import annotations

from syntabula.metrics.association import Association, CorrelationSimilarity
from syntabula.metrics.closest_record import RecordSimilarity
from syntabula.metrics.comparison import Comparison, View
from syntabula.metrics.discriminator import DiscriminatorSimilarity, PropensityError
from syntabula.metrics.metric import Metric, MetricInfo
from syntabula.metrics.numeric_columns import KolmogorovSmirnov, PercentileSimilarity
from syntabula.metrics.queries import QueryError, QuerySimilarity
from syntabula.metrics.reading import compare
from syntabula.metrics.registry import describe_metric, list_metrics
from syntabula.metrics.score import Score
from syntabula.metrics.support import AlphaPrecision, BetaRecall
from syntabula.metrics.total_variation import TotalVariation
from syntabula.metrics.wasserstein import Wasserstein

__all__ = [
    "AlphaPrecision",
    "Association",
    "BetaRecall",
    "Comparison",
    "CorrelationSimilarity",
    "DiscriminatorSimilarity",
    "KolmogorovSmirnov",
    "Metric",
    "MetricInfo",
    "PercentileSimilarity",
    "PropensityError",
    "QueryError",
    "QuerySimilarity",
    "RecordSimilarity",
    "Score",
    "TotalVariation",
    "View",
    "Wasserstein",
    "compare",
    "describe_metric",
    "list_metrics",
]
