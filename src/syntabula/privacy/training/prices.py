"""What training on samples of the records costs, its chance to fail, and the noise that a cost buys.

**The part of delta to set aside.** The cost mu of training leaves out delta' (`privacy.training.sampled`), and only
delta - delta' is left for the conversion of mu. Where steps have much noise, their curve is close to that of a Gaussian,
so a small delta' is best. Where they have little and sampling is rare, a record that is taken is seen well: the curve
has a long tail, and mu is far too large unless delta' covers that tail. Each part is sound: (1) of
`privacy.training.sampled` holds for it, delta' is charged as a chance to fail, and the two add up to delta. So any part
that is fixed before the first draw, by public numbers alone, is. A few parts are tried with the same noise, and the one
whose mu is the least of the mu that its rest of delta allows is taken: it needs the least noise.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import BudgetError
from syntabula.privacy.budget import Currency
from syntabula.privacy.conversion import float_below, mu_from_epsilon, root_below
from syntabula.privacy.events import TrainingEvent
from syntabula.privacy.exact_samplers import LARGEST_SCALE
from syntabula.privacy.training.grid import Grid, noise_scale
from syntabula.privacy.training.sampled import training_mu

_CLOSE = 1e-7
_SHORT = 1e-6
"""Noise for training is bought for so much less than its price, relative, that the last digits, in which Fourier
transforms of two machines differ, do not matter to a ledger."""

_PARTS = tuple(Fraction(part) for part in ("1/100", "3/100", "1/10", "3/10", "1/2"))
"""Parts of delta that are tried; between two of them the best would save a few thousandths of epsilon."""

_NEAR = 1e-2
"""Relative precision of the noise with which they are compared."""

_NO_TRAINING = {
    "rho": "a sampled record has no cost in zero-concentrated differential privacy that is worth having: its loss has a "
    "long tail, and no rho below that of all records in each step bounds it; keep the budget in Gaussian privacy, "
    "Budget(epsilon, delta)",
    "epsilon": "training on records adds Gaussian noise to gradients, which has no cost in pure differential privacy; "
    "use a budget with a delta, Budget(epsilon, delta)",
}


def training_event(
    cost: Fraction,
    currency: Currency,
    *,
    rate: float,
    steps: int,
    clip: float,
    cells: int,
    failure: Fraction | float,
) -> TrainingEvent:
    """Return the training with the least noise that a cost buys.

    Args:
        cost: Above 0, in the currency.
        currency: Only mu^2 pays for training.
        rate: Probability with which a step takes a record, above 0 and at most 1.
        steps: Number of steps, at least 1.
        clip: Largest L2 length of a record's gradient, above 0.
        cells: Length of the gradients.
        failure: Chance to fail that it may take.

    Raises:
        BudgetError: If the currency has no such noise, failure is not between 0 and 1, or the cost is too small.
    """
    require_training(currency)
    part = Fraction(failure)
    if not 0 < part < 1:
        raise BudgetError(
            "training on records needs a part of delta, as what a threshold does; set one aside by "
            "Budget.with_failure_delta, and leave some of it by the step that trains"
        )
    delta = float_below(part)
    # Read once with any noise, so that a rate or a number of steps outside its range is named as such.
    asked = TrainingEvent(1.0, rate, steps, clip, cells, delta)
    multiplier = training_noise(cost, asked.rate, asked.steps, delta)
    event = TrainingEvent(multiplier, rate, steps, clip, cells, delta)
    if noise_scale(event) > LARGEST_SCALE:
        raise _drowned()
    return event


def training_cost(event: TrainingEvent) -> Fraction:
    """Return mu^2 of all steps together; `privacy.training.sampled` has the proof."""
    return Fraction(training_mu(event.noise_multiplier, event.rate, event.steps, event.delta)) ** 2


def training_failure(event: TrainingEvent) -> Fraction:
    """Return the chance to fail, which is what the cost leaves out."""
    return Fraction(event.delta)


def training_covers(event: TrainingEvent, moved: NDArray[np.float64], scale: float) -> bool:
    """Return whether noise of a scale allows one record to change a sum by this much [cells], in steps of the grid."""
    return bool(
        np.square(moved.astype(np.float64)).sum() <= Grid(event.clip, event.cells).sensitivity_squared
        and scale == noise_scale(event)
    )


def require_training(currency: Currency) -> None:
    """Raise BudgetError, with the reason, if training on records has no cost in a currency."""
    if currency in _NO_TRAINING:
        raise BudgetError(_NO_TRAINING[currency])


def refuse_training(currency: Currency) -> NoReturn:
    """Raise BudgetError with the reason why training has no cost in zCDP or pure differential privacy."""
    raise BudgetError(_NO_TRAINING[currency])


@lru_cache(maxsize=256)
def training_delta_part(epsilon: float, delta: float, rate: float, steps: int) -> Fraction:
    """Return the part of delta to set aside for a training that spends nearly a whole budget in Gaussian privacy.

    Args:
        epsilon: Of the budget, above 0.
        delta: Of the budget, between 0 and 1, both excluded.
        rate: Probability with which a step takes a record, above 0 and at most 1.
        steps: Number of steps, at least 1.

    Raises:
        BudgetError: If the budget is so small, or the steps are so many, that no part leaves a useful noise.
    """
    allowed = {part: mu_from_epsilon(epsilon, float_below((1 - part) * Fraction(delta))) for part in _PARTS}
    # The largest part has a noise where any other has one.
    largest = _PARTS[-1]
    noise = training_noise(
        Fraction(allowed[largest]) ** 2, rate, steps, float(largest) * delta, precision=_NEAR
    )
    costs = {part: _mu_or_infinite(noise, rate, steps, float(part) * delta) for part in _PARTS}
    return min(_PARTS, key=lambda part: costs[part] / allowed[part])


def training_noise(
    cost: Fraction, rate: float, steps: int, delta: float, *, precision: float = _CLOSE
) -> float:
    """Return the least noise multiplier whose mu^2 is at most `cost`; no less than it, and as near as asked.

    Args:
        cost: mu^2 that may be spent, above 0.
        rate: Probability with which a step takes a record, above 0 and at most 1.
        steps: Number of steps, at least 1.
        delta: Chance to fail, between 0 and 1, both excluded.
        precision: Largest part of the noise by which it may be too large, beside some millionths.

    Raises:
        BudgetError: If the cost is so small that no useful noise is found.
    """
    mu = root_below(cost) * (1 - _SHORT)
    # mu is about rate sqrt(steps) / z where z is large, and falls as z grows.
    low, high = 0.0, max(rate * math.sqrt(steps) / mu, 0.3)
    while (spent := _mu_or_infinite(high, rate, steps, delta)) > mu:
        low, high = high, high * max(1.05, min(2.0, spent / mu))
        if high > 1e9:
            raise _drowned()
    bought = spent
    if not low:
        low = high
        while (spent := _mu_or_infinite(low, rate, steps, delta)) <= mu:
            low, high, bought = low * 0.7, low, spent
    while bought < mu * (1 - 3 * precision) and high - low > precision * high:
        # A little above the secant, so that the bound from above comes near too.
        spent_low = _mu_or_infinite(low, rate, steps, delta)
        if math.isfinite(spent_low):
            part = math.log(spent_low / mu) / math.log(spent_low / bought)
            middle = low * (high / low) ** min(max(part + _CLOSE, 0.02), 1.0)
            middle = middle if low < middle < high else 0.5 * (low + high)
        else:
            middle = 0.5 * (low + high)
        spent = _mu_or_infinite(middle, rate, steps, delta)
        if spent > mu:
            low = middle
        else:
            high, bought = middle, spent
    return high


def _drowned() -> BudgetError:
    return BudgetError(
        "the budget is too small for this training: its noise would drown any gradient; raise epsilon or delta, or take "
        "fewer steps"
    )


def _mu_or_infinite(noise_multiplier: float, rate: float, steps: int, delta: float) -> float:
    try:
        return training_mu(noise_multiplier, rate, steps, delta)
    except BudgetError:
        return math.inf
