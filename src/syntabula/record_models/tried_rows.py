"""Chooses one of some rows that were tried for each given row."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.measurement import FloatArray


def chosen_rows(chances: FloatArray, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return the position of a row for each given row [given rows, tried], and how many of these had no chance."""
    heights = np.cumsum(chances, axis=1)
    lost = heights[:, -1] <= 0
    heights[lost] = np.arange(1, chances.shape[1] + 1)
    below = (1.0 - rng.random(len(heights)))[:, None] * heights[:, -1:]
    places = (heights < below).sum(1) + np.arange(len(heights)) * chances.shape[1]
    return places, int(lost.sum())
