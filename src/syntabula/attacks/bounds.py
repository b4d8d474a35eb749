"""Statistics of an attack's guesses: AUC, true positive rates and lower bounds on epsilon."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, real
from syntabula._extras import require

Floats = NDArray[np.float64]

CONFIDENCE = real("a probability, above 0 and below 1", lambda confidence: 0 < confidence < 1)
_delta = real("a number of at least 0 and below 1", lambda delta: 0 <= delta < 1)
_epsilon = real("a number of at least 0", lambda epsilon: epsilon >= 0)


def area_under_curve(members: Floats, others: Floats) -> float:
    """Return the probability that a member's score exceeds a non-member's, ties counting half (Mann-Whitney).

    Args:
        members: Scores of runs with the target; larger means that the attack guesses its presence.
        others: Scores of runs without it.
    """
    ordered = np.sort(others)
    below = np.searchsorted(ordered, members, side="left")
    not_above = np.searchsorted(ordered, members, side="right")
    return float((below + not_above).mean() / 2 / others.size)


def area_error(area: float, n_members: int, n_others: int) -> float:
    """Return the standard error of an AUC (Hanley and McNeil, 1982), given the numbers of scores.

    Few scores may be in perfect order by chance, where the formula is 0. So the area that it is given is at least
    1 / (2 (n + 1)) away from 0 and 1, with n the smaller number of scores.
    """
    least = 0.5 / (min(n_members, n_others) + 1)
    area = min(max(area, least), 1 - least)
    both_members, both_others = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area)
    variance += (n_members - 1) * (both_members - area**2) + (n_others - 1) * (both_others - area**2)
    return math.sqrt(max(0.0, variance) / (n_members * n_others))


def true_positive_rate(members: Floats, others: Floats, false_positive_rate: float) -> float:
    """Return the largest true positive rate of a threshold with at most the given false positive rate."""
    thresholds = np.concatenate([np.unique(np.concatenate([members, others])), [np.inf]])
    accused = 1 - np.searchsorted(np.sort(others), thresholds, side="left") / others.size
    found = 1 - np.searchsorted(np.sort(members), thresholds, side="left") / members.size
    return float(found[accused <= false_positive_rate].max())


def epsilon_lower_bound(
    false_positives: int,
    n_without: int,
    false_negatives: int,
    n_with: int,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> float:
    """Return a lower bound on epsilon from both errors of one test that was fixed before its runs were examined.

    With the Clopper-Pearson upper limits a of the false positive rate and c of the false negative rate, each
    exceeded with probability at most (1 - confidence) / 2, every (epsilon, delta)-private mechanism has
    epsilon >= max(ln((1 - delta - c) / a), ln((1 - delta - a) / c)) (Kairouz, Oh, Viswanath 2015; Nasr et
    al. 2021). So the bound exceeds the true epsilon with probability at most 1 - confidence.

    Args:
        false_positives: Runs without the target that the test classified as with it.
        n_without: Runs without the target.
        false_negatives: Runs with the target that the test classified as without it.
        n_with: Runs with the target.
        delta: Delta of the mechanism.
        confidence: Probability that the bound holds.

    Returns:
        The bound; 0 if nothing is shown.

    Raises:
        ArgumentError: If counts are not between 0 and the number of runs, or delta or confidence is out of range.
        MissingExtraError: If scipy is not installed.
    """
    n_without, n_with = count()("n_without", n_without), count()("n_with", n_with)
    false_positives = count(0, n_without)("false_positives", false_positives)
    false_negatives = count(0, n_with)("false_negatives", false_negatives)
    delta, confidence = _delta("delta", delta), CONFIDENCE("confidence", confidence)
    error = (1 - confidence) / 2
    a = _upper_rate(false_positives, n_without, error)
    c = _upper_rate(false_negatives, n_with, error)
    ratios = ((1 - delta - c) / a, (1 - delta - a) / c)
    return max(0.0, *(math.log(ratio) for ratio in ratios if ratio > 0), 0.0)


def auc_ceiling(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest AUC that any attack can reach against an (epsilon, delta)-private mechanism.

    The area under the trade-off curve of Kairouz, Oh and Viswanath (2015): true positive rate at most
    min(delta + e^epsilon x, 1 - e^-epsilon (1 - delta - x), 1) at false positive rate x, which integrates to
    1 - (1 - delta)^2 / (1 + e^epsilon).
    """
    epsilon, delta = _epsilon("epsilon", epsilon), _delta("delta", delta)
    return 1.0 if epsilon > 700 else 1 - (1 - delta) ** 2 / (1 + math.exp(epsilon))


def best_threshold(members: Floats, others: Floats, *, delta: float, confidence: float) -> float:
    """Return the threshold with the largest `epsilon_lower_bound`, or if all are 0 that with the fewest errors.

    A run is classified as with the target if its score is at least the threshold. A threshold must not be
    evaluated on the runs that it was chosen on.
    """
    thresholds = np.unique(np.concatenate([members, others]))
    middles = np.concatenate([thresholds[:1], (thresholds[:-1] + thresholds[1:]) / 2])
    false_positives = others.size - np.searchsorted(np.sort(others), middles, side="left")
    false_negatives = np.searchsorted(np.sort(members), middles, side="left")
    sizes = others.size, members.size

    def worth(i: int) -> tuple[float, float]:
        errors = int(false_positives[i]), int(false_negatives[i])
        bound = epsilon_lower_bound(
            errors[0], sizes[0], errors[1], sizes[1], delta=delta, confidence=confidence
        )
        return bound, -(errors[0] / sizes[0] + errors[1] / sizes[1])

    return float(middles[max(range(middles.size), key=worth)])


def _upper_rate(successes: int, runs: int, error: float) -> float:
    """Clopper-Pearson upper limit of a rate, exceeded with probability at most `error`."""
    if successes >= runs:
        return 1.0
    beta = require("scipy.stats", "evaluate").beta
    return float(beta.ppf(1 - error, successes + 1, runs - successes))
