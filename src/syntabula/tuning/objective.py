"""What a search minimises: weighted scores of a synthetic table against validation rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from syntabula._arguments import Rule, flag, normalise, not_negative
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.evaluate import choose_metrics, score_tables
from syntabula.metrics.metric import Metric, MetricInfo
from syntabula.metrics.utility.affinity import Affinity

FIDELITY = "wasserstein-sliced"
QUERIES = "query-error-3"
EVALUATORS = ("linear", "tree", "forest", "xgboost")
"""Models of the default affinity: those of SynMeter's that train in a second or so."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A weighted sum of scores, each as its distance from the best value; lower is better.

    Du and Li, SynMeter (2024), Section 6: fidelity, machine-learning affinity and query error on validation rows, with
    weights of 1. As there, distances and queries compare the synthetic table with the validation rows, and models
    trained on the synthetic and on the real training rows are tested on them. By default the Wasserstein distance
    is the sliced one, and four quick models judge the affinity; `Objective.synmeter()` has the paper's.

    Attributes:
        weights: Weight of each metric, by its key.
        metrics: Metrics with options of their own, by key; others are as `evaluate` has them.
        is_relative: Whether each distance is divided by that of the method as given, so that a tenth less of one counts
            as much as a tenth less of another. Otherwise affinity, which is often ten times the others, decides alone.

    Raises:
        ArgumentError: If a weight is negative or not a number, all are 0, a metric is unknown, or one has no best value.
    """

    weights: Mapping[str, float] = field(
        default_factory=lambda: {FIDELITY: 1.0, "affinity": 1.0, QUERIES: 1.0}
    )
    metrics: Mapping[str, Metric] = field(
        default_factory=lambda: {"affinity": Affinity(evaluators=EVALUATORS)}
    )
    is_relative: bool = False

    def __post_init__(self) -> None:
        normalise(self, weights=_WEIGHTS, is_relative=flag)
        weights = {key: not_negative(f"the weight of {key!r}", w) for key, w in self.weights.items()}
        object.__setattr__(self, "weights", weights)
        if not any(self.weights.values()):
            raise ArgumentError("weights need a metric with a weight above 0")
        for info, _ in self._chosen(has_target=True):
            if info.best is None:
                raise ArgumentError(
                    f"the metric {info.key!r} has no best value, so it cannot be part of an objective; leave it out"
                )

    @classmethod
    def synmeter(cls) -> Objective:
        """Return the paper's own: optimal transport, and all its evaluators but CatBoost, as its code has it."""
        from syntabula.metrics.utility.evaluators import EVALUATORS as every

        judges = tuple(key for key in every if key != "catboost")
        weights = {"wasserstein": 1.0, "affinity": 1.0, QUERIES: 1.0}
        return cls(weights=weights, metrics={"affinity": Affinity(evaluators=judges)})

    def check(self, *, has_target: bool) -> Objective:
        """Return the objective without affinity if there is no target and affinity was not asked for.

        Raises:
            ArgumentError: If a metric needs a target.
        """
        if not has_target and self == Objective(is_relative=self.is_relative):
            return Objective(weights={FIDELITY: 1.0, QUERIES: 1.0}, metrics={}, is_relative=self.is_relative)
        self._chosen(has_target=has_target)
        return self

    @property
    def predicts(self) -> bool:
        """Whether a metric of it predicts a target."""
        return any("target" in info.needs for info, _ in self._chosen(has_target=True))

    def scores(self, tables: Comparison, seed: int) -> dict[str, float]:
        """Return the score of each metric of a comparison whose holdout are the validation rows."""
        chosen = self._chosen(has_target=tables.target is not None)
        unseen = tables.against_holdout()
        found: dict[str, float] = {}
        for info, metric in chosen:
            compared = tables if "holdout" in info.needs else unseen
            result = score_tables(compared, [(info, metric)], seed=seed)[0]
            if result.fault:
                raise ArgumentError(result.fault)
            found[result.score.metric] = result.score.value
        return found

    def value(self, scores: Mapping[str, float], given: Mapping[str, float]) -> float:
        """Return the objective: the sum of weights times distances from the best value; NaN if a score has no value.

        Args:
            scores: Score of each metric.
            given: Those of the method as given; a relative objective leaves a distance as it is where theirs is 0.
        """
        weights = {key: weight for key, weight in self.weights.items() if weight}
        units = {key: self._distance(key, given) if self.is_relative else 1.0 for key in weights}
        return math.fsum(w * self._distance(key, scores) / (units[key] or 1.0) for key, w in weights.items())

    def _distance(self, key: str, scores: Mapping[str, float]) -> float:
        return abs(scores[key] - self._best[key])

    def in_words(self) -> str:
        """Return the weights in words."""
        words = " + ".join(f"{'' if w == 1 else f'{w:g} '}{key}" for key, w in self.weights.items() if w)
        return f"{words}, each as a part of that of the method as given" if self.is_relative else words

    @cached_property
    def _best(self) -> dict[str, float]:
        return {metric.key: float(info.best or 0.0) for info, metric in self._chosen(has_target=True)}

    def _chosen(self, *, has_target: bool) -> list[tuple[MetricInfo, Metric]]:
        wanted: list[Any] = [self.metrics.get(key, key) for key, weight in self.weights.items() if weight]
        return choose_metrics(wanted, has_target=has_target, has_holdout=True)


def _weights(given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise TypeError
    return {str(key): weight for key, weight in given.items()}


_WEIGHTS = Rule("a mapping of keys of metrics to weights", _weights)
