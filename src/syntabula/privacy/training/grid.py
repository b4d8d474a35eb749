"""The grid that sums of clipped gradients are rounded to, and how far one record moves a rounded sum.

Noise on floats would show in their last bits what they were before (Mironov, 2012), so a sum is rounded to whole steps
of a grid, and noise is drawn in whole steps. With K steps in the clip and d parameters, one record moves a sum

- by K steps in L2, as its gradient is cut to that;
- by what arithmetic adds. The gradients of the other records may differ in their last bits where a batch has another
  shape, and the sum of all is rounded: together at most K / 512 (`privacy.training.per_record` says why);
- by sqrt(d) steps, as each cell of either sum is rounded by at most half a step.

K is 4096 sqrt(d), so that the last is K / 4096: noise grows by 0.22 % in all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syntabula.privacy.events import TrainingEvent
from syntabula.privacy.gdp import gaussian_sigma

_STEPS_PER_ROOT = 4096
ARITHMETIC = Fraction(1, 512)
"""Part of the clip that the arithmetic of a batch may add to what one record moves."""

_MOST_STEPS = 2.0**62
_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Grid:
    """Whole steps for vectors of which one record moves the sum by at most `clip` in L2.

    Attributes:
        clip: Longest vector of a record, above 0.
        cells: Length of the vectors, at least 1.
    """

    clip: float
    cells: int

    @property
    def steps(self) -> int:
        """Number K of steps in the clip."""
        return _STEPS_PER_ROOT * self._root

    @property
    def unit(self) -> float:
        """Length of a step, in the unit of the clip."""
        return self.clip / self.steps

    @property
    def sensitivity_squared(self) -> Fraction:
        """Square of what one record moves a rounded sum by, in steps and in L2."""
        return (self.steps * (1 + ARITHMETIC) + self._root) ** 2

    def rounded(self, total: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the nearest whole steps of a sum [cells]; what is beyond any sum of records stays at the end."""
        steps = np.empty(total.shape, np.int64)
        # Some at a time and in place, as fresh memory and what leaves the cache cost more than the arithmetic.
        room = np.empty(min(total.size, _AT_ONCE))
        for start in range(0, total.size, _AT_ONCE):
            some = total[start : start + _AT_ONCE]
            held = np.divide(some, self.unit, out=room[: some.size])
            if not -_MOST_STEPS <= held.min() <= held.max() <= _MOST_STEPS:  # also where one is no number
                np.clip(held, -_MOST_STEPS, _MOST_STEPS, out=held)
                held[np.isnan(held)] = 0
            steps[start : start + some.size] = np.rint(held, out=held)
        return steps

    @property
    def _root(self) -> int:
        """The least whole number that is at least sqrt(cells)."""
        return math.isqrt(self.cells - 1) + 1


@lru_cache(maxsize=64)
def noise_scale(event: TrainingEvent) -> float:
    """Return the scale of discrete Gaussian noise, in steps of the grid, that has the event's noise multiplier.

    Its cost for one draw on the whole vector, without sampling, is 1 / noise_multiplier^2 in mu^2.
    """
    cost = 1 / Fraction(event.noise_multiplier) ** 2
    return gaussian_sigma(cost, Grid(event.clip, event.cells).sensitivity_squared, "mu_squared")
