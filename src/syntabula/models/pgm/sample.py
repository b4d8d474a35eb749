"""Rows from a junction tree, with less variance than independent draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique
from syntabula.marginals.encoded import EncodedTable, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.factor import arranged, axes_outside, sum_over
from syntabula.models.pgm.junction_tree import JunctionTree

Column = NDArray[Any]


def sample_rows(
    tree: JunctionTree, probabilities: Sequence[FloatArray], n: int, rng: np.random.Generator
) -> EncodedTable:
    """Draw n rows column by column along the tree, by rounding.

    Rows that agree on the columns already drawn of a clique form a group; within a group of size g each code
    of the next column gets floor(g p) rows, and the rows left over go to distinct codes drawn in proportion
    to the fractional parts (McKenna, Sheldon, Miklau 2019, synthetic data generation).
    """
    drawn: dict[str, Column] = {}
    for position in tree.order:
        clique = tree.cliques[position]
        for column in clique:
            if column in drawn:
                continue
            parents = tuple(c for c in clique if c in drawn)
            joint = sum_over(probabilities[position], axes_outside(clique, (*parents, column)))
            columns = tuple(c for c in clique if c in parents or c == column)
            table = arranged(joint, columns, (*parents, column)).reshape(-1, tree.domain.size(column))
            groups = _groups(tree, parents, drawn, n)
            drawn[column] = _draw(table, groups, n, rng)
    order = rng.permutation(n)
    return EncodedTable(tree.domain, tuple(drawn[c][order] for c in tree.domain.columns))


def _groups(tree: JunctionTree, parents: Clique, drawn: dict[str, Column], n: int) -> Column:
    """Return the cell of the parents' joint table that each row lies in."""
    cells = tree.domain.cells(parents)
    groups: Column = np.zeros(n, dtype=code_dtype(cells))
    for parent in parents:
        groups *= groups.dtype.type(min(tree.domain.size(parent), np.iinfo(groups.dtype).max))
        groups += drawn[parent].astype(groups.dtype)
    return groups


def _draw(table: FloatArray, groups: Column, n: int, rng: np.random.Generator) -> Column:
    """Draw a code for each row from its group's row of the table [groups, codes], by rounding."""
    size = table.shape[1]
    counted = np.bincount(groups, minlength=table.shape[0])
    present = np.flatnonzero(counted)
    weights = table[present].astype(np.float64)
    sums = weights.sum(axis=1, keepdims=True)
    # A group that the model holds impossible can only come from rounding; its codes are then equally likely.
    conditional = np.where(sums > 0, weights, 1.0)
    conditional /= conditional.sum(axis=1, keepdims=True)
    counts = round_rows(conditional * counted[present, None], counted[present], rng)
    codes = np.repeat(np.tile(np.arange(size, dtype=code_dtype(size)), present.size), counts.ravel())
    # Rows come in random order within their group: a random permutation, then a stable sort by group.
    shuffled = rng.permutation(n)
    rows = shuffled[np.argsort(groups[shuffled], kind="stable")]
    result: Column = np.empty(n, dtype=code_dtype(size))
    result[rows] = codes
    return result


def round_rows(
    expected: FloatArray, sums: NDArray[np.integer], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Round each row of expected counts to integers with the given sum.

    Every count is rounded down; what is left of a row goes to distinct cells, drawn without replacement in
    proportion to their fractional parts.

    Args:
        expected: Expected counts [rows, codes], not negative.
        sums: What each row must sum to [rows]; the sum of its expected counts, up to rounding.
        rng: Source of randomness.
    """
    counts = np.floor(expected + 1e-9).astype(np.int64)
    fractions = np.maximum(expected - counts, 0.0)
    left = sums - counts.sum(axis=1)
    # The largest keys log(fraction) + Gumbel are a weighted draw without replacement.
    with np.errstate(divide="ignore"):
        keys = np.log(fractions) + rng.gumbel(size=fractions.shape)
    ranks = np.argsort(np.argsort(-keys, axis=1), axis=1)
    counts += ranks < left[:, None]
    return counts
