"""Checks of metrics."""

from __future__ import annotations

import math

import numpy as np

from syntabula.datasets.census import census
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.metric import Metric
from syntabula.metrics.reading import compare
from syntabula.testing.learners import check_made


def check_metric(metric: Metric) -> None:
    """Check that a metric is a pure function of tables whose direction is what it says.

    Args:
        metric: With any options.

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    check_made(metric)
    assert isinstance(metric.key, str), "a metric has a key"
    real, other, held_out = (census(n_rows=400, seed=seed) for seed in (1, 2, 3))
    tables = compare(real, other, holdout=held_out, target="employed")
    before = _contents(tables)
    score = metric(tables, np.random.default_rng(0))
    again = metric(tables, np.random.default_rng(0))
    assert score.direction in ("lower", "higher"), "the direction of a score is 'lower' or 'higher'"
    said = getattr(type(metric), "direction", score.direction)
    assert score.direction == said, f"the class says {said!r} is better, and its score {score.direction!r}"
    assert isinstance(score.value, float), "the value of a score is a float"
    assert score.value == again.value or math.isnan(score.value), (
        "the same tables and state give another score"
    )
    assert _contents(tables) == before, "the metric changed the tables"
    copied = metric(tables.itself(), np.random.default_rng(0))
    apart = metric(tables.histogram(np.random.default_rng(4)), np.random.default_rng(0))
    if math.isfinite(copied.value) and math.isfinite(apart.value):
        better = copied.value <= apart.value if score.direction == "lower" else copied.value >= apart.value
        assert better or copied.value == apart.value, (
            "independent columns score better than the real table itself; the direction may be the wrong way round"
        )


def _contents(tables: Comparison) -> list[bytes]:
    views = (tables.real, tables.synthetic)
    return [c.tobytes() for view in views for c in (*view.numbers.values(), *view.codes.values())]
