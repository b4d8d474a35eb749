"""Differences of the two tables by column and pair, compared with those due to chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from syntabula.metrics.association import associations
from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.score import Part, Score
from syntabula.metrics.total_variation import TotalVariation


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The difference of a column or a pair.

    Attributes:
        columns: One column or two.
        distance: Total variation distance: the fraction of rows that would have to change.
        chance: The same between two random halves of the real table.
    """

    columns: Part
    distance: float
    chance: float

    @property
    def excess(self) -> float:
        """Distance beyond chance; below 0 if the tables are more alike than the halves."""
        return self.distance - self.chance


def differences(tables: Comparison, scores: Mapping[int, Score], seed: int) -> dict[int, list[Difference]]:
    """Return the differences of single columns (1) and pairs (2), with the largest excess over chance first.

    Args:
        tables: Both tables.
        scores: The metrics tvd-1 (1) and tvd-2 (2), with their parts.
        seed: Chooses the halves, as it does in `evaluate`.
    """
    rng = np.random.default_rng([seed, 1])
    halves = tables.halves(rng)
    found = {}
    for way, score in scores.items():
        chance = TotalVariation(way=way)(halves, rng).details
        parts = [
            Difference(columns=part, distance=value, chance=chance[part])
            for part, value in score.details.items()
            if len(part) == way
        ]
        found[way] = sorted(parts, key=lambda part: part.excess, reverse=True)
    return found


def as_matrix(pairs: list[Difference], columns: tuple[str, ...]) -> Floats:
    """Return the distances of pairs of some columns [columns, columns], 0 on the diagonal."""
    place = {name: i for i, name in enumerate(columns)}
    matrix = np.zeros((len(columns), len(columns)))
    for pair in pairs:
        if all(name in place for name in pair.columns):
            i, j = (place[name] for name in pair.columns)
            matrix[i, j] = matrix[j, i] = pair.distance
    return matrix


def strongest_ties(tables: Comparison, most: int) -> list[Part]:
    """Return the pairs of columns that depend most on each other in the real table, by `Association`."""
    strengths = {pair: max(map(abs, values)) for pair, values in associations(tables, tables.real).items()}
    return sorted(strengths, key=lambda pair: strengths[pair], reverse=True)[:most]
