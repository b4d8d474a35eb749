"""How much more of the budget a question needs, so that noise does not hide a part of the records."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from syntabula.prepare.preprocessing import LEAST_FAILURE
from syntabula.privacy.events import LaplaceEvent

if TYPE_CHECKING:
    from syntabula.privacy.pricing import NoisyVector


def noise_hides(told: float, counted: NoisyVector) -> Fraction:
    """Return how many times the share that counted the records tells a part of them from noise.

    Args:
        told: Part of the records.
        counted: Their noisy number, which is released.
    """
    # The noise of a share, in parts of what it should tell; noise falls with the share, or with its root.
    power = 1 if isinstance(counted.event, LaplaceEvent) else 2
    hidden = counted.above_noise(LEAST_FAILURE) / (told * max(float(counted.values[0]), 1.0))
    return Fraction(hidden**power)
