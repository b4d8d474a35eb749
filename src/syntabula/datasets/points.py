"""Points of the plane in clusters or classes, as in examples of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import one_of
from syntabula.datasets.frames import Cells, check_n_rows, check_seed, make_frame

Pattern = Literal["clusters", "moons", "circles", "apart"]
LOWER, UPPER = -10.0, 10.0
ROWS = 200
"""Number of points by default."""

Points = NDArray[np.float64]
Classes = NDArray[np.int64]

_CENTRES = np.array([[0.0, 0.0], [0.0, 5.0], [2.0, 4.0], [8.0, 8.0]])
_SHARES = (0.1, 0.4, 0.1, 0.4)


def _clusters(rng: np.random.Generator, n: int) -> tuple[Points, Classes]:
    classes = rng.choice(len(_SHARES), n, p=_SHARES)
    return _CENTRES[classes] + 0.5 * rng.standard_normal((n, 2)), classes


def _moons(rng: np.random.Generator, n: int) -> tuple[Points, Classes]:
    classes, angle = rng.integers(0, 2, n), rng.uniform(0, np.pi, n)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.array([1.0, 0.5]) - upper
    return np.where(classes[:, None] == 0, upper, lower) + 0.3 * rng.standard_normal((n, 2)), classes


def _circles(rng: np.random.Generator, n: int) -> tuple[Points, Classes]:
    classes, angle = rng.integers(0, 2, n), rng.uniform(0, 2 * np.pi, n)
    radius = np.where(classes == 0, 1.0, 0.5)[:, None]
    return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.2 * rng.standard_normal(
        (n, 2)
    ), classes


def _apart(rng: np.random.Generator, n: int) -> tuple[Points, Classes]:
    classes = rng.integers(0, 2, n)
    return (2.0 * classes - 1)[:, None] + 0.7 * rng.standard_normal((n, 2)), classes


# Each pattern with the interval to which both coordinates are clipped: four deviations beyond the outermost centre.
_PATTERNS: dict[
    Pattern, tuple[Callable[[np.random.Generator, int], tuple[Points, Classes]], float, float]
] = {
    "clusters": (_clusters, -2.0, 10.0),
    "moons": (_moons, -2.2, 3.2),
    "circles": (_circles, -1.8, 1.8),
    "apart": (_apart, -3.8, 3.8),
}


def classes_of(kind: Pattern) -> tuple[str, ...]:
    """Return the classes of a pattern."""
    return tuple(str(i) for i in range(len(_SHARES) if kind == "clusters" else 2))


def points(kind: Pattern, n_rows: int = ROWS, seed: int = 0) -> Any:
    """Draw points of the plane, as scikit-learn's examples of discretisation have them.

    Ganev et al., "The Importance of Being Discrete", bin such points privately in their Figures 16 (clusters) and 17
    (classes). They state no sizes, deviations or intervals; these are those of scikit-learn's examples where it has
    them. `clusters` has four normal clusters of which two hold four fifths of the points; `moons` two half circles that
    reach into each other; `circles` one within another; `apart` two normal classes that a line nearly separates.

    Args:
        kind: Which pattern.
        n_rows: Number of points.
        seed: Seed of the draw.

    Returns:
        A frame with floats `x` and `y` from -10 to 10 and the text `class`.

    Raises:
        ArgumentError: If an argument is out of range.
        MissingExtraError: If no dataframe library is installed.
    """
    draw, low, high = _PATTERNS[one_of(*get_args(Pattern))("kind", kind)]
    drawn, classes = draw(np.random.default_rng(check_seed(seed)), check_n_rows(n_rows))
    scaled = LOWER + (np.clip(drawn, low, high) - low) / (high - low) * (UPPER - LOWER)
    x, y = np.clip(scaled, LOWER, UPPER).T
    return make_frame({"x": Cells(x), "y": Cells(y), "class": Cells(classes.astype(str).astype(object))})
