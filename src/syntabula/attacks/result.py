"""The result of an attack."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from syntabula._extras import require
from syntabula._figures import with_spread
from syntabula.attacks.base import Attack
from syntabula.attacks.bounds import (
    Floats,
    area_error,
    area_under_curve,
    auc_ceiling,
    best_threshold,
    epsilon_lower_bound,
    true_positive_rate,
)
from syntabula.metrics.score import Score

LOW_RATES = (0.001, 0.01, 0.1)
"""False positive rates at which true positive rates are reported."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackResult:
    """How well an attack told tables made with the target from those made without.

    It is computed from a sensitive table, so it is not private.

    Attributes:
        attack: Key of the attack.
        n_shadows: Number of shadow models, half of them with the target.
        n_judged: Number of shadow models that the figures below are computed from; the rest trained the attack.
        auc: Probability that a table with the target scores above one without; 0.5 is chance.
        success: Fraction of correct guesses at the threshold that was chosen on the rest.
        tpr_at_fpr: Largest true positive rate at each false positive rate.
        epsilon_lower: Lower bound on epsilon that holds with probability `confidence`; 0 shows nothing.
        confidence: See `epsilon_lower`.
        delta: Delta that the bound assumes.
        epsilon: Epsilon that the synthesizer claims, or None if it claims none.
        seconds_per_shadow: Median time to fit, sample and analyse one shadow model, in its worker.
        with_target: Scores of the evaluated tables with the target.
        without_target: Scores of the evaluated tables without it.
        unit: Column whose values name units, if the target was all rows of a unit; None if it was a record.
    """

    attack: str
    n_shadows: int
    n_judged: int
    auc: float
    success: float
    tpr_at_fpr: Mapping[float, float]
    epsilon_lower: float
    confidence: float
    delta: float
    epsilon: float | None
    seconds_per_shadow: float
    with_target: Floats = field(repr=False)
    without_target: Floats = field(repr=False)
    unit: str | None = None

    @property
    def auc_error(self) -> float:
        """Standard error of the AUC over shadow models."""
        return area_error(self.auc, self.with_target.size, self.without_target.size)

    @property
    def ceiling(self) -> float | None:
        """Largest AUC that any attack can reach if the claim holds; None without a claim, or with one of infinity."""
        if self.epsilon is None or math.isinf(self.epsilon):
            return None
        return auc_ceiling(self.epsilon, self.delta)

    @property
    def reach(self) -> float:
        """Largest lower bound on epsilon that this many shadow models can show, when all guesses are correct."""
        sizes = self.without_target.size, self.with_target.size
        return epsilon_lower_bound(0, sizes[0], 0, sizes[1], delta=self.delta, confidence=self.confidence)

    @property
    def refutes_claim(self) -> bool:
        """Whether the attack shows, with probability `confidence`, that the synthesizer is less private
        than it claims."""
        return self.epsilon is not None and self.epsilon_lower > self.epsilon

    def score(self) -> Score:
        """Return the AUC as a score among other metrics."""
        facts = {
            "shadows": self.n_shadows,
            "auc_error": self.auc_error,
            "success": self.success,
            "epsilon_lower": self.epsilon_lower,
            "confidence": self.confidence,
        }
        return Score(metric=f"attack-{self.attack}", value=self.auc, direction="lower", facts=facts)

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able facts; an infinite claim becomes null."""
        claimed = self.epsilon if self.epsilon is not None and math.isfinite(self.epsilon) else None
        return {
            "attack": self.attack,
            "unit": self.unit,
            "shadows": self.n_shadows,
            "judged": self.n_judged,
            "auc": self.auc,
            "auc_error": self.auc_error,
            "success": self.success,
            "tpr_at_fpr": {f"{rate:g}": value for rate, value in self.tpr_at_fpr.items()},
            "epsilon_lower": self.epsilon_lower,
            "epsilon_reach": self.reach,
            "confidence": self.confidence,
            "delta": self.delta,
            "epsilon": claimed,
            "auc_ceiling": self.ceiling,
            "refutes_claim": self.refutes_claim,
            "seconds_per_shadow": self.seconds_per_shadow,
        }

    def __str__(self) -> str:
        most = "" if self.ceiling is None else f" (at most {self.ceiling:.3f} if the claim holds)"
        verdict = " THE CLAIM IS REFUTED." if self.refutes_claim else ""
        target = "" if self.unit is None else f" The target is all rows with one {self.unit!r}."
        return (
            f"AUC {with_spread(self.auc, self.auc_error, '+-')}{most}, {self.success:.0%} of guesses correct "
            "(chance: 50%); "
            f"epsilon is at least {self.epsilon_lower:.2f} with {self.confidence:.1%} confidence "
            f"({self.n_shadows} shadow models can show at most {self.reach:.2f}).{verdict}{target}"
        )


def judge(
    attack: Attack,
    features: Floats,
    with_target: Any,
    *,
    epsilon: float | None,
    delta: float,
    confidence: float,
    seed: int,
    seconds_per_shadow: float,
    unit: str | None = None,
) -> AttackResult:
    """Train an attack on the first half of the shadow models with and without the target, and evaluate it
    on the second.

    Args:
        attack: The attack.
        features: Its features [shadows, features].
        with_target: True [shadows] where the target was in the original.
        epsilon: The claimed epsilon.
        delta: The claimed delta.
        confidence: Confidence of the lower bound on epsilon.
        seed: Seed of the classifier.
        seconds_per_shadow: The measured time.
        unit: Column that names the unit that the target was, if it was one.
    """
    members, others = np.flatnonzero(with_target), np.flatnonzero(~with_target)
    halves = [(rows[: rows.size // 2], rows[rows.size // 2 :]) for rows in (members, others)]
    train = np.concatenate([half[0] for half in halves])
    scores = _learned(features, with_target, train, seed) if attack.learns else features[:, 0]
    threshold = best_threshold(scores[halves[0][0]], scores[halves[1][0]], delta=delta, confidence=confidence)
    found, accused = scores[halves[0][1]], scores[halves[1][1]]
    misses, alarms = int((found < threshold).sum()), int((accused >= threshold).sum())
    return AttackResult(
        attack=attack.key,
        n_shadows=features.shape[0],
        n_judged=found.size + accused.size,
        auc=area_under_curve(found, accused),
        success=1 - (misses / found.size + alarms / accused.size) / 2,
        tpr_at_fpr={rate: true_positive_rate(found, accused, rate) for rate in LOW_RATES},
        epsilon_lower=epsilon_lower_bound(
            alarms, accused.size, misses, found.size, delta=delta, confidence=confidence
        ),
        confidence=confidence,
        delta=delta,
        epsilon=epsilon,
        seconds_per_shadow=seconds_per_shadow,
        with_target=found,
        without_target=accused,
        unit=unit,
    )


def _learned(features: Floats, with_target: Any, train: Any, seed: int) -> Floats:
    """Return a random forest's probability of the target [shadows], out of bag for those it was trained on."""
    ensemble = require("sklearn.ensemble", "evaluate")
    forest = ensemble.RandomForestClassifier(n_estimators=200, oob_score=True, random_state=seed)
    forest.fit(features[train], with_target[train])
    scores: Floats = forest.predict_proba(features)[:, 1]
    # Out of bag: only trees that were not trained on a table score it, so that the threshold is not overfitted.
    scores[train] = forest.oob_decision_function_[:, 1]
    return scores
