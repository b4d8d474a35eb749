"""Small operations on tables whose axes are named by columns."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray


def axes_outside(clique: Clique, kept: Clique) -> tuple[int, ...]:
    """Return the axes of a clique's table that are not kept."""
    return tuple(i for i, c in enumerate(clique) if c not in kept)


def log_sum(table: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """Sum a table of logarithms over some axes, in the log domain; finite input only."""
    if not axes:
        return table
    highest = table.max(axis=axes, keepdims=True)
    summed: FloatArray = np.log(np.exp(table - highest).sum(axis=axes)) + highest.squeeze(axes)
    return summed


def aligned(table: FloatArray, columns: Clique, clique: Clique) -> FloatArray:
    """View a table over some columns, in the clique's order, as one that broadcasts over the clique."""
    sizes = dict(zip(columns, table.shape, strict=True))
    return table.reshape([sizes.get(c, 1) for c in clique])


def arranged(table: FloatArray, columns: Clique, wanted: Clique) -> FloatArray:
    """Return a table with its axes in the wanted order of the same columns."""
    return table.transpose([columns.index(c) for c in wanted])
