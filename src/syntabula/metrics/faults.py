"""Metrics of plug-ins that break: said in a sentence, so that the other scores come out."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import SupportsFloat

import numpy as np

from syntabula._memory import ran_out
from syntabula.errors import SyntabulaError
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.metric import Metric, MetricInfo
from syntabula.metrics.score import Baseline, Score


@dataclass(frozen=True, kw_only=True)
class Unmade:
    """Stands for a metric whose class could not be called; computing it raises what the class raised.

    Attributes:
        key: Key of the metric.
        error: What the class raised.
    """

    key: str
    error: Exception = field(repr=False)

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Raise what the class raised."""
        raise self.error


def make(info: MetricInfo) -> Metric:
    """Return a metric; that of a plug-in whose class raises an error is one that raises it when it is computed."""
    try:
        return info.make()
    except Exception as error:
        if not _is_theirs(info, error):
            raise
        return Unmade(key=info.key, error=error)


def compute(info: MetricInfo, metric: Metric, tables: Comparison, rng: np.random.Generator) -> Score | str:
    """Return a score, or a sentence that says how the plug-in broke; errors of our own metrics are raised."""
    try:
        score = metric(tables, rng)
    except Exception as error:
        if not _is_theirs(info, error):
            raise
        return f"{_named(info)} broke with {_what(error)}; repair the plug-in, or leave the metric out"
    if not info.home.startswith("syntabula.") and (wrong := _wrong(info, metric, score)):
        return f"{_named(info)} returned {wrong}; repair the plug-in, or leave the metric out"
    return score


def _wrong(info: MetricInfo, metric: Metric, score: object) -> str:
    """Return what is wrong with what a plug-in returned; empty if nothing is."""
    if not isinstance(score, Score):
        return f"an object of type {type(score).__name__} instead of a Score"
    value: object = score.value
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        return f"a Score whose value is an object of type {type(value).__name__} instead of a number"
    if math.isnan(float(value)) and not score.note:
        return "no number, and no `note` that says why"
    if score.metric != metric.key:
        return "the Score of another metric; write Score(metric=self.key, ...)"
    if score.direction != info.direction:
        return f"a Score of another direction than its class states, which is {info.direction!r}"
    return ""


def without_value(info: MetricInfo, metric: Metric, fault: str) -> Score:
    """Return the score of a metric that broke, which has no value."""
    return Score(metric=metric.key, value=math.nan, direction=info.direction, note=fault)


def of_baselines(broken: Iterable[tuple[Baseline, str]]) -> str:
    """Return one sentence about baselines for which a metric broke; empty if there are none."""
    listed = [*broken]
    return f"there is no {' and '.join(name for name, _ in listed)}: {listed[0][1]}" if listed else ""


def _is_theirs(info: MetricInfo, error: Exception) -> bool:
    """Return whether an error is a plug-in's own: not one of our metrics, and not for lack of memory."""
    return not info.home.startswith("syntabula.") and not ran_out(error)


def _named(info: MetricInfo) -> str:
    return f"the metric {info.key!r} of the plug-in {info.home!r}"


def _what(error: Exception) -> str:
    """Name an error by its type and line; only our errors are quoted, as others may show a cell of the table."""
    if isinstance(error, SyntabulaError):
        return f"{type(error).__name__} ({error})"
    frames = traceback.extract_tb(error.__traceback__)
    return (
        f"{type(error).__name__} at line {frames[-1].lineno} of {frames[-1].name}"
        if frames
        else type(error).__name__
    )
