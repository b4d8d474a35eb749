"""How fine the values of a column are, under differential privacy: decimals, or the step of points in time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syntabula.prepare.bounds import LEAST_FAILURE
from syntabula.privacy.doors.columns import ColumnCurator


def extract_level(levels: ColumnCurator, n_levels: int, *, share: Fraction, step: str) -> int:
    """Find the coarsest level that suits all but so few values that noise hides them.

    Each record needs one level, so that the counts of levels are a histogram of sensitivity one. Where noise
    could hide half of the records, half of them are enough to ask for a level: one too coarse turns numbers
    from 0 to 1 into zeros and ones, and one too fine is a small loss.

    Args:
        levels: For each value the coarsest level that represents it, 0 (coarsest) to n_levels - 1.
        n_levels: Number of levels.
        share: Part of the whole budget.
        step: What the ledger calls this spend.

    Returns:
        A level. Values that need a finer one are rounded to it, each on its own.
    """
    answer = levels.histogram(range(n_levels + 1), share=share, step=step)
    finer = np.cumsum(answer.values[::-1])[::-1]
    height = answer.above_noise(LEAST_FAILURE) * np.sqrt(np.arange(n_levels, 0, -1))
    needed = np.flatnonzero(finer > np.minimum(height, finer[0] / 2))
    return int(needed[-1]) if needed.size else 0
