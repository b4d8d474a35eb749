"""The controlled distributions: one numeric column of a known shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import one_of
from syntabula.datasets.arguments import check_n_rows, check_seed
from syntabula.datasets.frames import Cells, make_frame

Shape = Literal["uniform", "monotone", "normal", "beta", "mixture", "imbalanced"]
LOWER, UPPER = -10.0, 10.0
SIZES = (500, 1_000, 10_000, 100_000)
"""Numbers of records in the paper."""

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def _two_normals(first: float, second: float, share: float) -> Draw:
    def draw(rng: np.random.Generator, n_rows: int) -> NDArray[np.float64]:
        return np.where(rng.random(n_rows) < share, first, second) + rng.standard_normal(n_rows)

    return draw


# Each shape with the interval that is clipped to and stretched to [-10, 10]. The paper says that both are
# done but not from where: here all of a bounded shape, and 4 standard deviations beyond the outermost mean of
# others, so that the interval is public and less than 1 in 15,000 values is moved.
_SHAPES: dict[Shape, tuple[Draw, float, float]] = {
    "uniform": (lambda rng, n: rng.random(n), 0.0, 1.0),
    "monotone": (lambda rng, n: np.sqrt(rng.random(n)), 0.0, 1.0),
    "normal": (lambda rng, n: rng.standard_normal(n), -4.0, 4.0),
    "beta": (lambda rng, n: rng.beta(2.0, 14.0, n), 0.0, 1.0),
    "mixture": (_two_normals(2.0, 9.0, 0.5), -2.0, 13.0),
    "imbalanced": (_two_normals(0.0, 10.0, 0.95), -4.0, 14.0),
}


def controlled(kind: Shape, n_rows: int = 10_000, seed: int = 0) -> Any:
    """Draw one of the controlled distributions of Ganev et al., "The Importance of Being Discrete", Table 2.

    They are uniform U(0, 1), monotone sqrt(U(0, 1)), normal N(0, 1), beta Beta(2, 14), mixture 0.5 N(2, 1)
    + 0.5 N(9, 1) and imbalanced 0.95 N(0, 1) + 0.05 N(10, 1), clipped and rescaled to [-10, 10]. The paper
    scores the last five and only pictures the first. It does not say which interval is clipped to: here it is
    fixed, the support of a bounded shape and 4 standard deviations beyond the outermost mean of the others.

    Args:
        kind: Which distribution.
        n_rows: Number of rows; the paper has 500, 1,000, 10,000 and 100,000.
        seed: Seed of the draw.

    Returns:
        A frame with one column of floats, `value`.

    Raises:
        ArgumentError: If an argument is out of range.
        MissingExtraError: If no dataframe library is installed.
    """
    draw, low, high = _SHAPES[one_of(*get_args(Shape))("kind", kind)]
    drawn = draw(np.random.default_rng(check_seed(seed)), check_n_rows(n_rows))
    scaled = LOWER + (np.clip(drawn, low, high) - low) / (high - low) * (UPPER - LOWER)
    # Rounding may step over the upper bound by a last digit.
    return make_frame({"value": Cells(np.clip(scaled, LOWER, UPPER))})
