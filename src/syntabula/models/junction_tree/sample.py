"""Rows drawn from a junction tree, with or without given columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ConditionWarning, warn_caller
from syntabula.marginals.domain import Clique, EncodedTable, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.junction_tree.tree import JunctionTree
from syntabula.models.tables import arranged, axes_outside, round_rows, sum_over

Column = NDArray[Any]


def sample_rows(
    tree: JunctionTree, probabilities: Sequence[FloatArray], n: int, rng: np.random.Generator
) -> EncodedTable:
    """Draw n rows column by column along the tree, by rounding.

    Rows that agree on a clique's columns drawn so far form a group. Within a group of size g each code of
    the next column gets floor(g p) rows, and the remaining rows go to distinct codes drawn in proportion to
    the fractional parts (McKenna, Sheldon, Miklau 2019, synthetic data generation).
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
    # A group with probability 0 can only come from rounding; its codes are then equally likely.
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


_CELLS_AT_ONCE = 4_000_000
_GROUPS_AT_ONCE = 2**16
"""Few enough that a group's number plus a fraction within it fit a float64 with a precision of 1e-11."""


def sample_given(
    tree: JunctionTree, probabilities: Sequence[FloatArray], given: EncodedTable, rng: np.random.Generator
) -> EncodedTable:
    """Draw the columns that are not given, exactly from their conditional distribution, row by row.

    Each distinct combination of given codes is evidence: each clique's table is restricted to the part that agrees with
    it, which is passed inwards along the tree, and rows are then drawn outwards. For a combination with probability
    0, the contradicting part is ignored and a ConditionWarning is issued.

    Returns:
        As many rows as given, over the tree's domain; given columns are unchanged.
    """
    distinct, which = np.unique(
        np.stack([c.astype(np.int64) for c in given.codes]), axis=1, return_inverse=True
    )
    which = which.ravel()
    drawn = {
        c: np.zeros(given.n_rows, dtype=code_dtype(size))
        for c, size in zip(tree.domain.columns, tree.domain.sizes, strict=True)
    }
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(distinct.shape[1] + 1))
    cells = sum(tree.domain.cells([c for c in clique if c not in given.domain]) for clique in tree.cliques)
    chunk = max(1, _CELLS_AT_ONCE // cells)
    contrary = 0
    for start in range(0, distinct.shape[1], chunk):
        stop = min(start + chunk, distinct.shape[1])
        rows = order[bounds[start] : bounds[stop]]
        evidence = {c: distinct[i, start:stop].astype(np.intp) for i, c in enumerate(given.domain.columns)}
        weights, impossible = _collect(tree, probabilities, evidence)
        contrary += int(impossible[which[rows] - start].sum())
        part = _draw_given(tree, probabilities, weights, evidence, which[rows] - start, rng)
        for column, codes in part.items():
            drawn[column][rows] = codes
    if contrary:
        warn_caller(
            ConditionWarning(
                f"the values of {contrary:,} of {given.n_rows:,} given rows are impossible together in this model; "
                "their other columns were drawn with some of the given values ignored"
            )
        )
    return EncodedTable(tree.domain, tuple(drawn[c] for c in tree.domain.columns))


def _collect(
    tree: JunctionTree, probabilities: Sequence[FloatArray], evidence: Mapping[str, NDArray[np.intp]]
) -> tuple[list[FloatArray], NDArray[np.bool_]]:
    """Return each clique's table restricted to the evidence, times the messages of its children.

    Returns:
        For each clique [combinations, codes of its columns that are not given], with a first axis of length 1 if there
        is no evidence in the clique or behind it; and which combinations have probability 0.
    """
    contrary = np.zeros(next(iter(evidence.values())).size, dtype=np.bool_)
    left = [tuple(c for c in clique if c not in evidence) for clique in tree.cliques]
    weights = []
    for clique, table, kept in zip(tree.cliques, probabilities, left, strict=True):
        part = _agreeing(clique, table, evidence)
        if (impossible := _without_mass(part)).any():
            part[impossible] = sum_over(table, axes_outside(clique, kept))
            contrary |= impossible
        weights.append(part)
    informed = {i for i, clique in enumerate(tree.cliques) if len(left[i]) < len(clique)}
    for edge in reversed(tree.edges):
        if edge.child not in informed:
            continue
        informed.add(edge.parent)
        shared = tuple(c for c in left[edge.child] if c in edge.separator)
        whole = sum_over(probabilities[edge.child], axes_outside(tree.cliques[edge.child], edge.separator))
        prior = _agreeing(edge.separator, whole, evidence)
        found = weights[edge.child].sum(axis=tuple(1 + i for i in axes_outside(left[edge.child], shared)))
        shape = np.broadcast_shapes(found.shape, prior.shape)
        message = np.divide(found, prior, out=np.zeros(shape), where=prior > 0)
        # Only ratios matter; a maximum of 1 prevents underflow with evidence in many cliques.
        largest = message.max(axis=tuple(range(1, message.ndim)), keepdims=True)
        message = np.divide(message, largest, out=np.zeros(shape), where=largest > 0)
        sizes = dict(zip(shared, shape[1:], strict=True))
        before = weights[edge.parent]
        after = before * message.reshape([shape[0], *(sizes.get(c, 1) for c in left[edge.parent])])
        if (impossible := _without_mass(after)).any():
            after[impossible] = before[impossible] if len(before) > 1 else before[0]
            contrary |= impossible
        weights[edge.parent] = after
    return weights, contrary


def _agreeing(clique: Clique, table: FloatArray, evidence: Mapping[str, NDArray[np.intp]]) -> FloatArray:
    """Return the part of a table that agrees with each combination [combinations, other columns]; [1, ...] without
    evidence."""
    given = [i for i, c in enumerate(clique) if c in evidence]
    if not given:
        return table[None]
    turned = table.transpose([*given, *(i for i in range(table.ndim) if i not in given)])
    part: FloatArray = turned[tuple(evidence[clique[i]] for i in given)].astype(np.float64)
    return part


def _without_mass(weights: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(~weights.reshape(len(weights), -1).any(axis=1))


def _draw_given(
    tree: JunctionTree,
    probabilities: Sequence[FloatArray],
    weights: Sequence[FloatArray],
    evidence: Mapping[str, NDArray[np.intp]],
    rows: NDArray[np.intp],
    rng: np.random.Generator,
) -> dict[str, Column]:
    """Draw rows, from the roots outwards; row r has the evidence combination rows[r]."""
    drawn: dict[str, Column] = {c: codes[rows] for c, codes in evidence.items()}
    for position in tree.order:
        clique = tree.cliques[position]
        left = tuple(c for c in clique if c not in evidence)
        parents, new = (tuple(c for c in left if (c in drawn) == known) for known in (True, False))
        if not new:
            continue
        axes = [0, *(1 + left.index(c) for c in (*parents, *new))]
        groups = rows if len(weights[position]) > 1 else np.zeros_like(rows)
        for parent in parents:
            groups = groups * tree.domain.size(parent) + drawn[parent]
        table = weights[position].transpose(axes).reshape(-1, tree.domain.cells(new))
        # If the evidence contradicts the columns drawn so far, the columns follow their own distribution.
        own = sum_over(probabilities[position], axes_outside(clique, new))
        cells = _cells(table, own.reshape(-1), groups, rng)
        for column, codes in zip(new, np.unravel_index(cells, tree.domain.shape(new)), strict=True):
            drawn[column] = codes
    return drawn


def _cells(
    table: FloatArray, otherwise: FloatArray, groups: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw for each row a cell from its group's row of a table [groups, cells]."""
    size = table.shape[1]
    cells = np.zeros(groups.size, dtype=np.intp)
    present, which = np.unique(groups, return_inverse=True)
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(present.size + 1))
    at_once = max(1, min(_GROUPS_AT_ONCE, _CELLS_AT_ONCE // size))
    for start in range(0, present.size, at_once):
        stop = min(start + at_once, present.size)
        part = table[present[start:stop]].astype(np.float64)
        part[_without_mass(part)] = otherwise
        cumulative = np.cumsum(part, axis=1)
        cumulative /= cumulative[:, -1:]
        # The g-th cumulative distribution rises from g to g + 1, so that one search serves all rows.
        steps = (cumulative + np.arange(stop - start)[:, None]).ravel()
        rows = order[bounds[start] : bounds[stop]]
        group = which[rows] - start
        places = np.searchsorted(steps, group + rng.random(rows.size), side="right")
        cells[rows] = np.clip(places - group * size, 0, size - 1)
    return cells
