"""Lower bounds on privacy parameters from runs of a mechanism in two neighbouring worlds."""

from __future__ import annotations

import numpy as np
from scipy import stats


def upper_rate(successes: int, runs: int, error: float) -> float:
    """Clopper-Pearson upper limit of a rate, exceeded with probability at most `error`."""
    return 1.0 if successes >= runs else float(stats.beta.ppf(1 - error, successes + 1, runs - successes))


def epsilon_of_event(hits_here: int, hits_there: int, runs: int, confidence: float) -> float:
    """Lower bound on epsilon from how often one event, fixed beforehand, happened in each world.

    Each rate errs with half of 1 - confidence. Returns 0 where nothing is shown.
    """
    error = (1 - confidence) / 2
    least_here = 1 - upper_rate(runs - hits_here, runs, error)
    most_there = upper_rate(hits_there, runs, error)
    return max(0.0, float(np.log(least_here / most_there))) if least_here > 0 else 0.0


def mu_of_scores(with_target: np.ndarray, without: np.ndarray, confidence: float) -> float:
    """Lower bound on mu of Gaussian privacy (Dong, Roth and Su, 2022) from scores larger with the target.

    The threshold is chosen on the first half of the runs and judged on the second.
    """
    half = with_target.size // 2
    error = (1 - confidence) / 2
    candidates = np.unique(
        np.quantile(np.concatenate([with_target[:half], without[:half]]), np.linspace(0.1, 0.9, 33))
    )
    found = [mu_of_rates(*_misses(with_target[:half], without[:half], t), half, error) for t in candidates]
    threshold = candidates[int(np.argmax(found))]
    judged = with_target.size - half
    return mu_of_rates(*_misses(with_target[half:], without[half:], threshold), judged, error)


def mu_of_rates(false_positives: int, false_negatives: int, runs: int, error: float) -> float:
    """Lower bound on mu from both errors of a test: Phi^-1(1 - FPR) - Phi^-1(FNR) at their upper limits."""
    a, c = upper_rate(false_positives, runs, error), upper_rate(false_negatives, runs, error)
    return max(0.0, float(stats.norm.ppf(1 - a) - stats.norm.ppf(c)))


def _misses(with_target: np.ndarray, without: np.ndarray, threshold: float) -> tuple[int, int]:
    return int((without >= threshold).sum()), int((with_target < threshold).sum())
