"""What it costs to release the best of a random number of trials, each of which is private on its own.

A trial draws options without a look at the table, learns the table with them, and measures by noise how good it is;
all of it together is rho-zCDP. After each trial the search stops with probability 1 / m, so that m trials are made on
average, and the best is released; how many there were is not.

**Theorem** (Papernot and Steinke 2022, "Hyperparameter Tuning with Renyi Differential Privacy", Theorem 2, with eta = 1
and gamma = 1 / m, which is this geometric number; Liu and Talwar 2019 have the pure case). If a trial has Renyi
divergences e(a) of order a, the release has those of

    e(a) + 2 (1 - 1/b) e(b) + 2 ln(m) / b + ln(m) / (a - 1)      for every order b >= 1.

With e(a) = rho a, the two middle terms are 2 (rho (b - 1) + ln(m) / b), which is least at b = sqrt(ln(m) / rho): twice
2 sqrt(rho ln m) - rho. If ln m is below rho, b = 1 is best, which gives twice ln m. The last term adds ln(m) to
ln(1/delta) in the conversion of zCDP (`privacy.conversion`). So the release has the epsilon that rho-zCDP has at
delta / m, plus

    2 min(2 sqrt(rho ln m) - rho, ln m)   (the first where rho <= ln m).

Draws that may fail beyond their cost would fail in any of the trials, so none is allowed.
"""

from __future__ import annotations

import math
import secrets
from fractions import Fraction

import numpy as np

from syntabula.errors import BudgetError
from syntabula.privacy.conversion import epsilon_from_rho, rho_from_epsilon
from syntabula.privacy.rounding import float_above, float_below

_ROUNDING = 2.0**-48
"""Bound on the relative error of a few roundings of terms that are all positive, or subtracted at their full size."""


def epsilon_from_trials(rho: float | Fraction, delta: float, trials: int) -> float:
    """Convert the cost of one trial to the epsilon of the best of them at this delta, rounded up.

    Args:
        rho: Cost of one trial in zCDP, at least 0.
        delta: Between 0 and 1, both excluded.
        trials: Average number of trials, m in the theorem; at least 2.

    Raises:
        BudgetError: If an argument is outside its range.
    """
    if trials < 2:
        raise BudgetError(f"trials is {trials}; the best of several needs 2 or more on average")
    cost = float_above(rho) if isinstance(rho, Fraction) else rho
    alone = epsilon_from_rho(cost, float_below(Fraction(delta) / trials))
    if cost == 0:
        return alone
    logarithm = math.log(trials)
    root = 2 * math.sqrt(cost * logarithm)
    choosing = 2 * (root - cost) if cost <= logarithm else 2 * logarithm
    error = _ROUNDING * (2 * root + 2 * cost + 2 * logarithm + alone)
    return math.nextafter(alone + choosing + error, math.inf)


def rho_from_trials(epsilon: float, delta: float, trials: int) -> float:
    """Convert a guarantee of the best of several trials to the largest zCDP cost of one that keeps it, rounded down.

    Args:
        epsilon: Finite and above 0.
        delta: Between 0 and 1, both excluded.
        trials: Average number of trials, at least 2.

    Returns:
        A rho above 0 with `epsilon_from_trials(rho, delta, trials) <= epsilon`.

    Raises:
        BudgetError: If an argument is outside its range, or epsilon too small for a positive rho.
    """
    low, high = 0.0, rho_from_epsilon(epsilon, delta)
    while (middle := 0.5 * (low + high)) not in (low, high):
        if epsilon_from_trials(middle, delta, trials) <= epsilon:
            low = middle
        else:
            high = middle
    if not low > 0:
        raise BudgetError(
            f"epsilon {epsilon!r} is too small for the best of {trials} trials; make fewer, or raise it"
        )
    return low


def number_of_trials(trials: int, seed: int | None = None) -> int:
    """Draw how many trials are made: after each, the search stops with probability 1 / trials.

    Args:
        trials: Their average number.
        seed: Replaces cryptographic randomness, for experiments; the result is then NOT private.
    """
    if seed is not None:
        return int(np.random.default_rng(seed).geometric(1 / trials))
    made = 1
    while secrets.randbelow(trials):
        made += 1
    return made
