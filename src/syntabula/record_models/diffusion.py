"""Two processes that turn values into noise step by step, and the way back: normal for numbers, multinomial for codes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.representation import FloatTable

_OFFSET = 0.008
_MOST_NOISE = 0.999
_SHORTENING = 1.2

Codes = NDArray[np.intp]


def cosine_schedule(n_levels: int) -> FloatArray:
    """Return how much of a value is left at each level of noise [levels + 1]: 1 at level 0, next to nothing at the last.

    Nichol and Dhariwal (2021), "Improved Denoising Diffusion Probabilistic Models": squares of cosines; no level takes
    more than .999 of what is left.
    """
    angles = (np.linspace(0, 1, n_levels + 1) + _OFFSET) / (1 + _OFFSET) * math.pi / 2
    wanted = np.cos(angles) ** 2
    noise = np.minimum(1 - wanted[1:] / wanted[:-1], _MOST_NOISE)
    return np.concatenate([[1.0], np.cumprod(1 - noise)])


def strided_levels(n_levels: int, steps: int) -> list[int]:
    """Return the levels that a draw goes through, from the last one to 0, in at most so many steps.

    Steps are a little shorter where little noise is left.
    """
    if steps >= n_levels:
        return [*range(n_levels, -1, -1)]
    left = np.linspace(1, 0, steps + 1) ** _SHORTENING
    return sorted({int(level) for level in np.round(n_levels * left)}, reverse=True)


@dataclass(frozen=True)
class Stride:
    """A step back from one level of noise to any earlier one.

    Attributes:
        later: What is left of a value at the level where the step begins.
        earlier: What is left at the level where it ends.
    """

    later: float
    earlier: float

    @property
    def since(self) -> float:
        """What is left at the later level of what was there at the earlier one."""
        return self.later / self.earlier

    def chances(self, now: int, first: int, size: int) -> FloatArray:
        """Return the distribution of a code at the earlier level [codes].

        A code stays with some probability and is drawn anew, evenly, else; so three of its values, at level 0, at the
        earlier and at the later level, form a Markov chain, and Bayes' rule gives the one in the middle.

        Args:
            now: The code at the later level.
            first: The code at level 0.
            size: Number of codes.
        """
        codes = np.arange(size)
        to_now = self.since * (codes == now) + (1 - self.since) / size
        from_first = self.earlier * (codes == first) + (1 - self.earlier) / size
        joint = to_now * from_first
        found: FloatArray = joint / joint.sum()
        return found

    def draw_codes(self, now: Codes, first: Codes, size: int, rng: np.random.Generator) -> Codes:
        """Draw codes at the earlier level from `chances`, for each pair of codes.

        The product of two sums in `chances` has four parts: the code stayed twice, only after or only before the
        earlier level, or never.
        """
        stays, stayed = self.since, self.earlier
        both = np.where(now == first, stays * stayed, 0.0)
        never_after, never_before = (1 - stays) * stayed / size, stays * (1 - stayed) / size
        heights = both + (never_after + never_before + (1 - stays) * (1 - stayed) / size)
        drawn = rng.random(now.shape) * heights
        earlier = np.where(drawn < both + never_after, first, now)
        anew = drawn >= both + (never_after + never_before)
        # After the last step back nothing is drawn anew.
        earlier[anew] = rng.integers(size, size=int(anew.sum()))
        return earlier

    def mean_and_deviation(self, now: FloatTable, first: FloatTable) -> tuple[FloatTable, float]:
        """Return mean and standard deviation of numbers at the earlier level, as Bayes' rule gives them.

        Args:
            now: Numbers at the later level.
            first: Numbers at level 0.
        """
        noise = math.sqrt(self.since) * (1 - self.earlier) / (1 - self.later)
        value = math.sqrt(self.earlier) * (1 - self.since) / (1 - self.later)
        deviation = math.sqrt((1 - self.earlier) * (1 - self.since) / (1 - self.later))
        mean: FloatTable = np.float32(value) * first + np.float32(noise) * now
        return mean, deviation

    @property
    def angle(self) -> float:
        """How far a number turns on a quarter of a circle, on which its value lies at 0 and its noise at pi / 2."""
        return math.acos(min(math.sqrt(self.later), 1.0)) - math.acos(min(math.sqrt(self.earlier), 1.0))
