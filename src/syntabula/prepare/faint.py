"""Where the values of a column lie, if none of its counts stands out from noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from syntabula.privacy.pricing import NoisyVector

WIDTHS = (1, 2, 4, 8)
"""Numbers of adjacent powers of two that are looked at together."""


def faint_cells(
    answer: NoisyVector, counts: NDArray[np.float64], repeats: int, zero: int
) -> tuple[int, int] | None:
    """Return the first and the last of the cells that most clearly hold values together.

    Values on both sides of 0 lie in many cells, as those of a normal distribution do: no sixth of them in any one, but
    four fifths in eight. So the same powers on both sides are looked at together, too. Noise alone exceeds the threshold
    anywhere with the probability that the last threshold of single cells has; see `extract_bounds`.

    Args:
        answer: An answer with the noise of one count.
        counts: Mean of so many counts [cells], over minus and plus each power of two.
        repeats: Their number.
        zero: The first cell above 0.

    Returns:
        The cells, or None if noise hides them all the same.
    """
    right, left = counts[zero:], counts[:zero][::-1]
    n_both = min(right.size, left.size)
    sides = ((right, False, True), (left, True, False), (right[:n_both] + left[:n_both], True, True))
    n_tried = sum(max(cells.size - width + 1, 0) for cells, _, _ in sides for width in WIDTHS)
    best = answer.above_noise(1 / (2 * counts.size * n_tried)) / math.sqrt(repeats)
    found = None
    for cells, is_left, is_right in sides:
        for width in WIDTHS:
            together = np.convolve(cells, np.ones(width), mode="valid")
            start = int(together.argmax())
            height = float(together[start]) / math.sqrt(width * (is_left + is_right))
            if height > best:
                best, end = height, start + width
                found = (
                    zero - end if is_left else zero + start,
                    (zero + end if is_right else zero - start) - 1,
                )
    return found
