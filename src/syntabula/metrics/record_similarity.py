"""Record similarity of Discretization: how far a synthetic record is from its real counterpart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise, one_of
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Comparison, Floats, View
from syntabula.metrics.features import nearest, points
from syntabula.metrics.score import Part, Score

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
