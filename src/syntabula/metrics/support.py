"""Whether synthetic records lie where real ones do, and vice versa: alpha-precision and beta-recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syntabula._arguments import count, normalise
from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.features import Points, nearest, points
from syntabula.metrics.score import Score

_LEVELS = np.linspace(0.0, 1.0, 30)


@dataclass(frozen=True, kw_only=True)
class AlphaPrecision:
    """How closely the fraction of synthetic records in the smallest ball with a fraction alpha of the real ones
    follows alpha.

    Alaa, van Breugel, Saveliev and van der Schaar, "How Faithful is your Synthetic Data?" (2022), Section 3:
    1 minus twice the area between the curve and the diagonal; 1 is best. Records that are far away and
    records that crowd the middle both lower it. If distances tie, the diagonal is the fraction of real
    records in the ball. The ball is around the mean of the real records, with numbers scaled and categories
    as corners of a simplex (`features.points`), whereas the authors learn an embedding first.

    Attributes:
        max_rows: Rows of each table that are used.

    Raises:
        ArgumentError: If `max_rows` is below 2.
    """

    max_rows: int = 10_000

    def __post_init__(self) -> None:
        normalise(self, max_rows=count(2))

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "alpha-precision"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the sample."""
        sample = tables.sampled(self.max_rows, rng)
        real, synthetic = points(tables, sample.real), points(tables, sample.synthetic)
        return Score(
            metric=self.key,
            value=alpha_precision(real, synthetic),
            direction="higher",
            facts={"rows of the real table": len(real), "rows of the synthetic table": len(synthetic)},
        )


@dataclass(frozen=True, kw_only=True)
class BetaRecall:
    """How closely the fraction of real records that synthetic ones cover follows beta.

    Alaa, van Breugel, Saveliev and van der Schaar, "How Faithful is your Synthetic Data?" (2022), Section 3.
    A real record is covered if a synthetic one is as near as its nearest other real record, and if that
    synthetic one is among the fraction beta nearest to their centre. The score is 1 minus twice the area
    between curve and diagonal. A copy of the table has 1, so this is not evidence of privacy.

    Attributes:
        max_rows: Rows of each table that are used. The tables are compared at equal length, as the value
            increases with the number of synthetic records.

    Raises:
        ArgumentError: If `max_rows` is below 2.
    """

    max_rows: int = 10_000

    def __post_init__(self) -> None:
        normalise(self, max_rows=count(2))

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "beta-recall"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the sample."""
        n = min(self.max_rows, tables.real.n_rows, tables.synthetic.n_rows)
        if n < 2:
            return Score.mean(self.key, {}, direction="higher", needed="there are fewer than 2 rows")
        sample = tables.sampled(n, rng)
        value = beta_recall(points(tables, sample.real), points(tables, sample.synthetic))
        return Score(metric=self.key, value=value, direction="higher", facts={"rows": n})


def alpha_precision(real: Points, synthetic: Points) -> float:
    """Return the integrated alpha-precision of points [rows, dimensions each]."""
    centre = real.mean(axis=0, dtype=np.float64)
    outwards, synthetic_outwards = _from(real, centre), _from(synthetic, centre)
    radii = np.quantile(outwards, _LEVELS)
    expected, found = (
        np.array([(distances <= radius).mean() for radius in radii])
        for distances in (outwards, synthetic_outwards)
    )
    return _follows(found, expected)


def beta_recall(real: Points, synthetic: Points) -> float:
    """Return the integrated beta-recall of points [rows, dimensions each]; at least two rows."""
    # The nearest real point of a real point is itself.
    reach = nearest(real, real, 2)[0][:, 1]
    distance, rows = nearest(real, synthetic)
    outwards = _from(synthetic[rows[:, 0]], synthetic.mean(axis=0, dtype=np.float64))
    radii = np.quantile(outwards, _LEVELS)
    near = distance[:, 0] <= reach
    within = [outwards <= radius for radius in radii]
    return _follows(np.array([(near & inside).mean() for inside in within]), np.mean(within, axis=1))


def _from(rows: Points, centre: Floats) -> Floats:
    """Return the distance of each row from a point [rows]."""
    distance: Floats = np.linalg.norm(rows - centre, axis=1)
    return distance


def _follows(curve: Floats, diagonal: Floats) -> float:
    """Return 1 minus the area between a curve and the diagonal, over the area below the diagonal.

    The diagonal is the fraction of records at each level: the level itself, unless distances tie, as in
    tables of categories.
    """
    return float(1 - np.abs(curve - diagonal).sum() / diagonal.sum())
