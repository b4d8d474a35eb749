"""Simulated tables: points of the plane, a function for each kind in the papers, and all of them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, one_of, refusal
from syntabula.datasets.census import census
from syntabula.datasets.frames import Cells, check_n_rows, check_seed, make_frame
from syntabula.datasets.info import DatasetInfo, Kind

Pattern = Literal["clusters", "moons", "circles", "apart"]
LOWER, UPPER = -10.0, 10.0
POINTS = 200
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


def points(kind: Pattern, n_rows: int = POINTS, seed: int = 0) -> Any:
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


Shape = Literal["uniform", "monotone", "normal", "beta", "mixture", "imbalanced"]
SIZES = (500, 1_000, 10_000, 100_000)
"""Numbers of records in the paper."""

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def _two_normals(first: float, second: float, share: float) -> Draw:
    def draw(rng: np.random.Generator, n_rows: int) -> NDArray[np.float64]:
        return np.where(rng.random(n_rows) < share, first, second) + rng.standard_normal(n_rows)

    return draw


# Each shape with the interval to which it is clipped, and which is rescaled to [-10, 10]. The paper does not
# state the interval. Here it is the support of a bounded shape, and 4 standard deviations beyond the outermost
# mean of the others, so that it is public and clips less than 1 in 15,000 values.
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
    + 0.5 N(9, 1) and imbalanced 0.95 N(0, 1) + 0.05 N(10, 1), clipped and rescaled to [-10, 10]. The paper scores the
    last five and only plots the first. It does not state the clipping interval: here it is fixed, the support of a
    bounded shape and 4 standard deviations beyond the outermost mean of the others.

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
    # Rounding may exceed the upper bound by the last digit.
    return make_frame({"value": Cells(np.clip(scaled, LOWER, UPPER))})


ROWS = {10: 16_000, 30: 80_000, 50: 160_000}
CORRELATION = 0.8


def gauss(n_columns: int, n_rows: int | None = None, seed: int = 0) -> Any:
    """Draw normal columns with correlation 0.8 between every pair.

    The correlation and the numbers of columns and rows are those of MargNet (Chen, Gong, Wang; its Table 4 and
    section 6.2). The paper states neither means nor variances; here they are 0 and 1.

    Args:
        n_columns: 10, 30 or 50.
        n_rows: Number of rows; by default that of the paper (16,000, 80,000 or 160,000).
        seed: Seed of the draw.

    Returns:
        A frame with columns x1, x2, ... of floats.

    Raises:
        ArgumentError: If an argument is out of range.
        MissingExtraError: If no dataframe library is installed.
    """
    n_columns = count()("n_columns", n_columns)
    if n_columns not in ROWS:
        raise refusal("n_columns", f"one of {', '.join(map(str, ROWS))}", n_columns)
    rows = ROWS[n_columns] if n_rows is None else check_n_rows(n_rows)
    rng = np.random.default_rng(check_seed(seed))
    # One factor shared by all columns gives every pair the same correlation.
    shared = np.sqrt(CORRELATION) * rng.standard_normal(rows)
    own = np.sqrt(1 - CORRELATION) * rng.standard_normal((n_columns, rows))
    return make_frame({f"x{i}": Cells(shared + column) for i, column in enumerate(own, start=1)})


LICENCE = "none needed: simulated"
PROVIDER = "simulated by this package"
_CENSUS_KINDS: dict[str, Kind] = {
    "person_id": "identifier",
    "region": "categorical",
    "sex": "categorical",
    "age": "numeric",
    "education": "categorical",
    "marital_status": "categorical",
    "household_size": "numeric",
    "employed": "boolean",
    "occupation": "categorical",
    "hours_per_week": "numeric",
    "income": "numeric",
    "commute_minutes": "numeric",
    "interview_date": "date",
    "last_visit": "datetime",
}


def simulated_tables() -> list[DatasetInfo]:
    """Return the facts of all simulated tables."""
    return [
        _info("census", "Simulated census of adults, every kind of column", 30_000, _CENSUS_KINDS, ()),
        *(
            _info(
                f"gauss{n}",
                f"{n} normal columns with correlation 0.8 between every pair",
                rows,
                {f"x{i}": "numeric" for i in range(1, n + 1)},
                ("MargNet, Table 4",),
            )
            for n, rows in ROWS.items()
        ),
        *(
            _info(
                f"controlled_{shape}",
                f"One numeric column of {shape} shape between -10 and 10",
                10_000,
                {"value": "numeric"},
                ("Discretization, Table 2",),
            )
            for shape in get_args(Shape)
        ),
        *(
            replace(
                _info(
                    f"points_{kind}",
                    f"Points of the plane with classes, {kind}",
                    POINTS,
                    {"x": "numeric", "y": "numeric", "class": "categorical"},
                    ("Discretization, Figure 16" if kind == "clusters" else "Discretization, Figure 17",),
                ),
                label="class",
                task="multiclass" if kind == "clusters" else "binary",
            )
            for kind in get_args(Pattern)
        ),
    ]


def draw(name: str, seed: int, n_rows: int | None = None) -> Any:
    """Return a simulated table as a frame.

    Args:
        name: Its name.
        seed: Seed of the draw.
        n_rows: Number of rows; None for that of `simulated_tables`.

    Raises:
        ArgumentError: If there is no table of this kind and shape, or an argument is out of range.
    """
    known = {info.name: info.n_rows for info in simulated_tables()}
    usual = known[one_of(*known)("the simulated table", name)]
    rows = usual if n_rows is None else n_rows
    kind, _, shape = name.partition("_")
    if kind == "controlled":
        return controlled(cast(Shape, shape), rows, seed=seed)
    if kind == "points":
        return points(cast(Pattern, shape), rows, seed=seed)
    return (
        census(rows, seed=seed)
        if name == "census"
        else gauss(int(name.removeprefix("gauss")), rows, seed=seed)
    )


def _info(name: str, title: str, rows: int, columns: dict[str, Kind], papers: tuple[str, ...]) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        title=title,
        origin="simulated",
        n_rows=rows,
        n_columns=len(columns),
        columns=columns,
        provider=PROVIDER,
        licence=LICENCE,
        papers=papers,
    )
