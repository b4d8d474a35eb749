"""Rows of a junction tree with some columns given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.encoded import EncodedTable, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.junction_tree import JunctionTree

Column = NDArray[Any]
_CELLS_AT_ONCE = 4_000_000


def sample_given(
    tree: JunctionTree, probabilities: Sequence[FloatArray], given: EncodedTable, rng: np.random.Generator
) -> EncodedTable:
    """Draw the columns that are not given, exactly from their conditional distribution, row by row.

    Each distinct combination of given codes is evidence: it is passed inwards along the tree, and rows are
    then drawn outwards. A combination that the model holds impossible is drawn as if its contradicting part
    were not given.

    Returns:
        As many rows as given, over the tree's domain; given columns as they are.
    """
    columns = (
        np.stack([c.astype(np.int64) for c in given.codes])
        if given.n_rows
        else np.zeros((len(given.codes), 0))
    )
    distinct, which = np.unique(columns, axis=1, return_inverse=True)
    chunk = max(1, _CELLS_AT_ONCE // max(tree.cells, 1))
    drawn = {
        c: np.zeros(given.n_rows, dtype=code_dtype(size))
        for c, size in zip(tree.domain.columns, tree.domain.sizes, strict=True)
    }
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(distinct.shape[1] + 1))
    for start in range(0, distinct.shape[1], chunk):
        stop = min(start + chunk, distinct.shape[1])
        rows = order[bounds[start] : bounds[stop]]
        evidence = {c: distinct[i, start:stop].astype(np.intp) for i, c in enumerate(given.domain.columns)}
        part = _draw(tree, probabilities, evidence, which[rows] - start, rng)
        for column, codes in part.items():
            drawn[column][rows] = codes
    return EncodedTable(tree.domain, tuple(drawn[c] for c in tree.domain.columns))


def _draw(
    tree: JunctionTree,
    probabilities: Sequence[FloatArray],
    evidence: dict[str, NDArray[np.intp]],
    rows: NDArray[np.intp],
    rng: np.random.Generator,
) -> dict[str, Column]:
    """Draw rows; row r has the evidence combination rows[r]."""
    weights = _collect(tree, probabilities, evidence)
    drawn: dict[str, Column] = {c: codes[rows] for c, codes in evidence.items()}
    for position in tree.order:
        clique = tree.cliques[position]
        new = tuple(c for c in clique if c not in drawn)
        if not new:
            continue
        # Take the part of each row's table that agrees with what is drawn; [rows, codes of the new columns].
        parents = tuple(c for c in clique if c in drawn)
        table = weights[position].transpose(
            [0] + [1 + clique.index(c) for c in parents] + [1 + clique.index(c) for c in new]
        )
        conditional = table[(rows, *(drawn[c].astype(np.intp) for c in parents))].reshape(rows.size, -1)
        conditional = conditional.astype(np.float64)
        sums = conditional.sum(axis=1, keepdims=True)
        conditional = np.where(sums > 0, conditional, 1.0)
        cumulative = np.cumsum(conditional, axis=1)
        uniform = rng.random((rows.size, 1)) * cumulative[:, -1:]
        cells = np.minimum((cumulative <= uniform).sum(axis=1), cumulative.shape[1] - 1)
        for column, codes in zip(new, np.unravel_index(cells, tree.domain.shape(new)), strict=True):
            drawn[column] = codes
    return drawn


def _collect(
    tree: JunctionTree, probabilities: Sequence[FloatArray], evidence: dict[str, NDArray[np.intp]]
) -> list[FloatArray]:
    """Return for each clique its table times what its children say of the evidence; [combinations, ...]."""
    combinations = next(iter(evidence.values())).size
    weights: list[FloatArray] = []
    for clique, table in zip(tree.cliques, probabilities, strict=True):
        weight = np.broadcast_to(table, (combinations, *table.shape)).copy()
        for axis, column in enumerate(clique):
            if column in evidence:
                mask = np.zeros((combinations, tree.domain.size(column)))
                mask[np.arange(combinations), evidence[column]] = 1.0
                weight *= mask.reshape([combinations] + [-1 if i == axis else 1 for i in range(len(clique))])
        weights.append(weight)
    for edge in reversed(tree.edges):
        clique, parent = tree.cliques[edge.child], tree.cliques[edge.parent]
        outside = tuple(i for i, c in enumerate(clique) if c not in edge.separator)
        prior = probabilities[edge.child].sum(axis=outside)
        message = weights[edge.child].sum(axis=tuple(1 + i for i in outside))
        message = np.divide(message, prior, out=np.zeros_like(message), where=prior > 0)
        message = np.where(
            message.reshape(combinations, -1).any(axis=1).reshape(-1, *[1] * prior.ndim), message, 1.0
        )
        sizes = dict(zip(edge.separator, prior.shape, strict=True))
        combined = weights[edge.parent] * message.reshape([combinations] + [sizes.get(c, 1) for c in parent])
        possible = combined.reshape(combinations, -1).any(axis=1).reshape(-1, *[1] * len(parent))
        weights[edge.parent] = np.where(possible, combined, weights[edge.parent])
    return weights
