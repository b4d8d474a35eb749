"""How near synthetic and real records are to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise, one_of, real
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Comparison, Floats, View
from syntabula.metrics.features import Coordinates, nearest, points
from syntabula.metrics.score import Part, Score
from syntabula.table.unit_rows import shuffled

_PIECE = 100_000
"""Rows of the searched table that are converted at a time, to bound memory."""

_MOST_PRODUCTS = 100_000_000_000
"""Coordinate differences computed in a search: some seconds of one core."""

_LEAST_ROWS = 1000


@dataclass(frozen=True, kw_only=True)
class ClosestRecord:
    """A low percentile of the distance from a synthetic record to the nearest real one (DCR).

    Zhao et al. (CTAB-GAN, 2021), as Du and Li (SynMeter) compute it: the 5th percentile over synthetic records,
    in coordinates where columns run from 0 to 1 and distances are divided by the root of their number. A small
    value shows copies, but a large one does not show privacy: Du and Li, and Yao et al. ("The DCR Delusion",
    2025) find it large for tables on which membership inference succeeds. The baseline HALF, half a real table
    against the other half, is the value of a fresh sample. With a holdout table, the facts include the fraction
    of synthetic records that are nearer to the real table than to the holdout, with equally many rows of each,
    all of those of a unit together: 0.5 if nothing was copied.

    Attributes:
        percentile: Percentile, 0 to 100.
        max_rows: Synthetic rows whose neighbours are searched among all real rows; fewer, but at least 1,000,
            if the real rows times the axes (numbers and categories) exceed 10 million. A percentile of 1,000
            rows is accurate to a few percent.

    Raises:
        ArgumentError: If a number is out of range.
        MissingExtraError: When called, if scikit-learn is not installed.
    """

    percentile: float = 5.0
    max_rows: int = 10_000

    def __post_init__(self) -> None:
        normalise(
            self,
            percentile=real("a number from 0 to 100", lambda percentile: 0 <= percentile <= 100),
            max_rows=count(),
        )

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "dcr"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the rows."""
        axes = Coordinates(tables.bounds, {name: tables.size(name) for name in tables.categorical})
        n_rows = tables.synthetic.n_rows
        most = min(self.max_rows, max(_LEAST_ROWS, _MOST_PRODUCTS // (tables.real.n_rows * axes.n_axes)))
        rows = rng.permutation(n_rows)[:most] if n_rows > most else np.arange(n_rows)
        queries = tables.synthetic.take(rows)
        distances = _distances(queries, axes, tables.real)
        facts: dict[str, int | float | str] = {
            "rows": int(rows.size),
            "median": float(np.median(distances)),
            "copies": float((distances < 1e-6).mean()),
        }
        if tables.holdout is not None:
            # The larger of two tables is nearer by chance, so use equally many rows of each. Rows of one unit are alike,
            # so that single rows of many units would be nearer than all rows of a few: whole units are taken of both.
            size = min(tables.real.n_rows, tables.holdout.n_rows)
            real, other = (
                _distances(queries, axes, view.take(shuffled(view.n_rows, view.units, rng)[:size]))
                for view in (tables.real, tables.holdout)
            )
            facts["nearer to real than to holdout"] = float(((real < other) + (real == other) / 2).mean())
        return Score(
            metric=self.key,
            value=float(np.percentile(distances, self.percentile)),
            direction="higher",
            facts=facts,
            note="a large distance does not show that records are protected; see the attacks",
        )


def _distances(queries: View, axes: Coordinates, view: View) -> Floats:
    """Return the distance of each row to the nearest record of a table [queries]."""
    best = np.full(queries.n_rows, np.inf)
    for first in range(0, view.n_rows, _PIECE):
        piece = view.take(np.arange(first, min(first + _PIECE, view.n_rows)))
        best = np.minimum(best, axes.nearest(queries, piece))
    return best


Match = Literal["nearest", "position"]


@dataclass(frozen=True, kw_only=True)
class RecordSimilarity:
    """1 minus the mean distance of each real record to its synthetic counterpart, averaged over columns.

    Ganev, Annamalai, Mahiou and De Cristofaro, "The Importance of Being Discrete" (2025), Equation 1, for
    records that correspond one to one. If they do not, the counterpart is the nearest synthetic record, so
    that the value measures how well the real records are covered; it is 1 for a copy, and therefore not
    evidence of privacy. Numbers are scaled to 0 .. 1 over both tables, different categories are 1 apart, and
    a missing cell is 1 from any value.

    Attributes:
        match: "nearest" (by Euclidean distance), or "position": the record in the same row.
        max_rows: Rows of each table that are compared by "nearest".

    Raises:
        ArgumentError: If an option is out of range.
    """

    match: Match = "nearest"
    max_rows: int = 10_000

    def __post_init__(self) -> None:
        normalise(self, match=one_of(*get_args(Match)), max_rows=count())

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "record-similarity" if self.match == "nearest" else "record-similarity-by-position"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the sample.

        Raises:
            ArgumentError: If records are matched by position and the tables differ in length.
        """
        if self.match == "position":
            if tables.real.n_rows != tables.synthetic.n_rows:
                raise ArgumentError("records cannot be matched by position: the tables differ in length")
            sample, counterpart = tables, tables.synthetic
        else:
            sample = tables.sampled(self.max_rows, rng)
            _, rows = nearest(points(tables, sample.real), points(tables, sample.synthetic))
            counterpart = sample.synthetic.take(rows[:, 0])
        parts: dict[Part, float] = {
            (name,): 1 - float(_apart(tables, name, sample.real, counterpart).mean())
            for name in tables.columns
        }
        return Score.mean(self.key, parts, direction="higher", facts={"rows": sample.real.n_rows})


def _apart(tables: Comparison, name: str, first: View, second: View) -> Floats | NDArray[np.bool_]:
    """Return the distance of corresponding rows in one column [rows]."""
    if name in tables.categories:
        return np.asarray(first.codes[name] != second.codes[name])
    x, y = tables.scaled(first, name), tables.scaled(second, name)
    one_missing = np.isnan(x) != np.isnan(y)
    return np.where(one_missing, 1.0, np.nan_to_num(np.abs(x - y), nan=0.0))
