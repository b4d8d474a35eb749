"""Rows of a generator, weighted by how real they look and drawn again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.representation import ColumnLookup, Places

_RAKINGS = 10
_LEAST_LIKELY = 0.05


def code_shares(domain: Domain, lookups: Mapping[str, ColumnLookup]) -> dict[str, FloatArray]:
    """Return the probability of each code of each column, by the lookups of its one-way marginal."""
    found = {}
    for column, lookup in lookups.items():
        shares = np.zeros(domain.size(column))
        shares[lookup.codes] = np.exp(lookup.log_shares.astype(np.float64))
        found[column] = shares / shares.sum()
    return found


def independent_rows(shares: Mapping[str, FloatArray], domain: Domain, n: int, seed: int) -> EncodedTable:
    """Draw n rows whose columns tell nothing of each other."""
    rng = np.random.default_rng([seed, n])
    drawn = {c: rng.choice(domain.size(c), n, p=shares[c]).astype(np.uint64) for c in domain}
    return EncodedTable.from_mapping(domain, drawn)


def odds(likely: FloatArray, strength: float) -> FloatArray:
    """Return the odds of rows to be real, to the power of `strength` [rows].

    A generator that is moved to rows by these odds seeks the boundary of its student (Hjelm et al. 2018,
    "Boundary-Seeking Generative Adversarial Networks").

    Args:
        likely: What the student thinks [rows]; clipped to 0.05 .. 0.95.
        strength: Above 0.
    """
    held = np.clip(likely, _LEAST_LIKELY, 1 - _LEAST_LIKELY)
    found: FloatArray = (held / (1 - held)) ** strength
    return found


def raked(weights: FloatArray, rows: EncodedTable, shares: Mapping[str, FloatArray]) -> FloatArray:
    """Return weights with which the columns of rows have some shares, and change little else [rows].

    Iterative proportional fitting (Deming, Stephan 1940), column by column, ten times. A code that no row has is left
    out of its column's shares.

    Args:
        weights: Of each row, above 0.
        rows: At least one.
        shares: Probability of each code of each column.
    """
    columns = [(codes, shares[c]) for c, codes in zip(rows.domain, rows.codes, strict=True)]
    return raked_to(weights, columns, times=_RAKINGS)


def raked_to(
    weights: FloatArray, divisions: Sequence[tuple[NDArray[Any], FloatArray]], *, times: int
) -> FloatArray:
    """Return weights with which the groups of some divisions of rows have some shares: see `raked` [rows].

    Args:
        weights: Of each row, above 0.
        divisions: The group of each row [rows], and the share of each group; the last one holds exactly.
        times: How often all of them are gone through.
    """
    found: FloatArray = weights / weights.sum()
    for _ in range(times):
        for groups, shares in divisions:
            held = np.bincount(groups, found, minlength=shares.size)
            wanted = np.where(held > 0, shares, 0.0)
            found = found * (wanted / np.maximum(held, 1e-300))[groups]
            found /= found.sum()
    return found


def drawn_again(rows: EncodedTable, weights: FloatArray, n: int, seed: int) -> EncodedTable:
    """Return n rows by their weights, each as often as whole numbers allow, in random order."""
    return rows_at(rows, places_again(weights, n, np.random.default_rng([seed, n])))


def places_again(weights: FloatArray, n: int, rng: np.random.Generator) -> Places:
    """Return n places by their weights, each as often as whole numbers allow, in random order."""
    heights = np.cumsum(weights)
    steps = (np.arange(n) + rng.random()) / n * heights[-1]
    return rng.permutation(np.minimum(np.searchsorted(heights, steps, side="right"), weights.size - 1))


def rows_at(rows: EncodedTable, places: Places) -> EncodedTable:
    """Return the rows at some places."""
    return EncodedTable(rows.domain, tuple(codes[places] for codes in rows.codes))
