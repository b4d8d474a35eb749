"""Draws rows from an `AnyOrderNetwork` by numpy: a loaded release needs no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.any_order import head_units
from syntabula.record_models.representation import ColumnLookup, FloatTable, Places

_ROUNDS = (*[(1.0, 64)] * 4, *[(0.5, 256)] * 2)
"""How much of what drawn columns lack is added to biases, and in how many orders: chance matters little at first."""
_ROWS_PER_ORDER, _ORDERS_AT_ONCE = 64, 16
_LONGEST_MOVE = 2.0


class Drawing:
    """The network with all that depends on codes alone worked out.

    Args:
        lookups: Of each column.
        weights: Of the network, by name.
    """

    def __init__(self, lookups: Sequence[ColumnLookup], weights: Mapping[str, np.ndarray]) -> None:
        self._weights, self._lookups = weights, lookups
        self._n_head = head_units(len(lookups))
        embedding, waves = weights["embedding"].shape[1], weights["smooth"].shape[2]
        self._inputs: list[FloatTable] = []
        self._matrices: list[FloatTable] = []
        self._biases: list[FloatTable] = []
        n_ordered = start = 0
        for j, lookup in enumerate(lookups):
            size = lookup.size
            part = slice(j * embedding, (j + 1) * embedding)
            own = weights["embedding"][start + j : start + j + size + 1] @ weights["from_embedding"][part]
            matrix = weights["logits"][:, start : start + size]
            if lookup.waves is not None:
                part = slice(n_ordered * waves, (n_ordered + 1) * waves)
                own[:-1] += lookup.waves @ weights["from_waves"][part]
                matrix = matrix + weights["smooth"][n_ordered] @ lookup.waves.T
                n_ordered += 1
            self._inputs.append(own)
            self._matrices.append(np.ascontiguousarray(matrix))
            self._biases.append(weights["bias/logits"][start : start + size])
            start += size

    def unknown(self, n: int) -> Places:
        """Return n rows of which no code is known [rows, columns]."""
        return np.tile([lookup.size for lookup in self._lookups], (n, 1))

    def first(self, rows: Places) -> FloatTable:
        """Return what rows tell the first layer [rows, units]; `tell` adds to it."""
        hidden = np.tile(self._weights["bias/0"], (len(rows), 1))
        for column in range(len(self._lookups)):
            hidden += self._inputs[column][rows[:, column]]
        return hidden

    def tell(self, hidden: FloatTable, column: int, drawn: Places) -> None:
        """Add codes of a column that was unknown to what the first layer is told, in place."""
        table = self._inputs[column]
        hidden += (table - table[-1])[drawn]

    def chances(self, hidden: FloatTable, column: int) -> FloatTable:
        """Return the distribution of a column in each row [rows, codes with records]."""
        weights = self._weights
        value, layer = silu(hidden), 1
        while f"layer/{layer}" in weights:
            value = value + silu(value @ weights[f"layer/{layer}"] + weights[f"bias/{layer}"])
            layer += 1
        part = slice(column * self._n_head, (column + 1) * self._n_head)
        head = silu(value @ weights["heads"][:, part] + weights["bias/heads"][part])
        logits = head @ self._matrices[column] + self._biases[column]
        logits -= logits.max(1, keepdims=True)
        chances: FloatTable = np.exp(logits, out=logits)
        chances /= chances.sum(1, keepdims=True)
        return chances

    def draw(self, rows: Places, columns: Sequence[int], rng: np.random.Generator) -> None:
        """Draw unknown columns one by one in this order, each given all that is known by then, in place."""
        hidden = self.first(rows)
        for column in columns:
            drawn = drawn_from(self.chances(hidden, column), rng)
            rows[:, column] = drawn
            self.tell(hidden, column, drawn)


def with_marginals(
    lookups: Sequence[ColumnLookup], weights: Mapping[str, np.ndarray], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return weights whose biases are moved until drawn columns have the one-way marginals of the lookups.

    Noise in training moves these away, though they are known well. Each round draws rows in many orders of the
    columns, as each order errs otherwise, and adds to each code's bias the logarithm of what it should be over what it
    is; the last rounds half of it, so that what chance adds averages out.

    Args:
        lookups: Of each column.
        weights: As `Drawing` takes them.
        rng: Draws rows and orders.
    """
    moved = dict(weights)
    for move, n_orders in _ROUNDS:
        reached = _reached(Drawing(lookups, moved), [lookup.size for lookup in lookups], n_orders, rng)
        steps = [
            np.clip(lookup.log_shares - np.log(np.maximum(r, 1e-12)), -_LONGEST_MOVE, _LONGEST_MOVE)
            for lookup, r in zip(lookups, reached, strict=True)
        ]
        moved["bias/logits"] = (moved["bias/logits"] + move * np.concatenate(steps)).astype(np.float32)
    return moved


def _reached(
    drawing: Drawing, sizes: Sequence[int], n_orders: int, rng: np.random.Generator
) -> list[FloatArray]:
    """Return the mean distribution of each column while rows are drawn in many orders of the columns.

    Orders that have the same column next are drawn together, as numpy takes as long for 64 rows as for hundreds.

    Args:
        drawing: Gives the distributions.
        sizes: Number of codes of each column.
        n_orders: Number of orders, in each of which 64 rows are drawn.
        rng: Draws rows and orders.
    """
    n_columns, n_rows = len(sizes), _ROWS_PER_ORDER
    orders = np.empty((n_orders, n_columns), dtype=np.intp)
    points = np.empty((n_orders, n_columns, n_rows))
    for order in range(n_orders):
        orders[order] = rng.permutation(n_columns)
        points[order] = rng.random((n_columns, n_rows))
    hidden = drawing.first(drawing.unknown(n_orders * n_rows)).reshape(n_orders, n_rows, -1)
    reached = [np.zeros(size) for size in sizes]
    for place in range(n_columns):
        for column in range(n_columns):
            next_ones = np.flatnonzero(orders[:, place] == column)
            for start in range(0, next_ones.size, _ORDERS_AT_ONCE):
                some = next_ones[start : start + _ORDERS_AT_ONCE]
                told = hidden[some].reshape(some.size * n_rows, -1)
                chances = drawing.chances(told, column)
                reached[column] += chances.sum(0, dtype=np.float64) / (n_orders * n_rows)
                drawing.tell(told, column, drawn_at(chances, points[some, place].ravel()))
                hidden[some] = told.reshape(some.size, n_rows, -1)
    return reached


def drawn_from(chances: FloatTable | FloatArray, rng: np.random.Generator) -> Places:
    """Draw one position per row of some distributions, which need not add up to one but must to more than zero."""
    return drawn_at(chances, rng.random(len(chances)))


def drawn_at(chances: FloatTable | FloatArray, points: FloatArray) -> Places:
    """Return the position of each row of some distributions that lies at a point drawn evenly from 0 to 1."""
    heights = np.cumsum(chances, axis=1, dtype=np.float64)
    below = (1.0 - points)[:, None] * heights[:, -1:]
    places: Places = (heights < below).sum(1, dtype=np.intp)
    return places


def silu(values: FloatTable) -> FloatTable:
    """Return each value times its logistic function."""
    with np.errstate(over="ignore"):
        halved: FloatTable = values / (1 + np.exp(-values))
    return halved
