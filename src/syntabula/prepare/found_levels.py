"""Find the coarsest level that represents the values of a column: decimals of numbers, the resolution of times."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syntabula.prepare.preprocessing import LEAST_FAILURE
from syntabula.privacy.doors.columns import ColumnCurator


def extract_level(levels: ColumnCurator, n_levels: int, *, share: Fraction, step: str) -> int:
    """Find the coarsest level that represents all values, except so few that noise hides them.

    Each record needs one level, so the counts of levels are a histogram of sensitivity one. A level is needed if more
    records than noise explains need it or a finer one, or need it alone: most columns have as many decimals throughout,
    and one count has less noise than the sum of all finer ones. If noise could hide half of the records, half of them
    suffice to require a level: a level that is too coarse turns numbers from 0 to 1 into zeros and ones, while one that
    is too fine loses little.

    Args:
        levels: For each value the coarsest level that represents it, 0 (coarsest) to n_levels - 1.
        n_levels: Number of levels.
        share: Fraction of the whole budget.
        step: Name of this spend in the ledger.

    Returns:
        A level. Each value that needs a finer one is rounded to it.
    """
    answer = levels.histogram(range(n_levels + 1), share=share, step=step)
    finer = np.cumsum(answer.values[::-1])[::-1]
    height = answer.above_noise(LEAST_FAILURE) * np.sqrt(np.arange(n_levels, 0, -1))
    alone = answer.values > answer.above_noise(LEAST_FAILURE / n_levels)
    needed = np.flatnonzero(alone | (finer > np.minimum(height, finer[0] / 2)))
    return int(needed[-1]) if needed.size else 0
