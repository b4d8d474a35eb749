"""A hidden state for each column, joined in a tree: exact marginals, conditions and rows, by numpy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.any_order_sampling import drawn_from
from syntabula.record_models.representation import Places

_LEAST = 1e-30


@dataclass(frozen=True, eq=False)
class LatentTree:
    """A distribution of rows: hidden states follow those of their parents, and each column follows its own state.

    Every query is one pass from the leaves to the root and perhaps one back, each with a product of matrices per
    column (Pearl 1988, "Probabilistic reasoning in intelligent systems").

    Attributes:
        parents: The parent of each column; -1 for the root.
        transitions: Distribution of each column's state given its parent's [columns, states, states]; all rows of the
            root's are its own distribution.
        emissions: Of each column the probability of a code in a state [codes, states]; each state's add up to one.
    """

    parents: tuple[int, ...]
    transitions: NDArray[np.floating]
    emissions: tuple[NDArray[np.floating], ...]

    @cached_property
    def order(self) -> list[int]:
        """All columns, parents before their children."""
        return outwards(self.parents)

    @cached_property
    def _shares(self) -> dict[int, FloatArray]:
        """The distribution of each column's hidden state [states]."""
        shares: dict[int, FloatArray] = {}
        for column in self.order:
            moves = self.transitions[column].astype(np.float64)
            shares[column] = moves[0] if self.parents[column] < 0 else shares[self.parents[column]] @ moves
        return shares

    @cached_property
    def _moves(self) -> list[FloatArray]:
        return [_steps(moves) for moves in self.transitions]

    @cached_property
    def _codes(self) -> list[FloatArray]:
        return [_steps(emission.T) for emission in self.emissions]

    def joint(self, columns: Sequence[int]) -> FloatArray:
        """Return the probabilities of all combinations of codes of some distinct columns, one axis for each."""
        if not columns:
            return np.ones(())
        held: dict[int, list[tuple[list[int], FloatArray]]] = {column: [] for column in self.order}
        for column in reversed(self.order):
            parts = held[column]
            if column in columns:
                parts.append(([column], self.emissions[column].astype(np.float64)))
            if not parts:
                continue
            axes = [axis for part, _ in parts for axis in part]
            if len(axes) == len(columns):
                table = _all(parts[:-1], self._shares[column]) @ parts[-1][1].T
                shape = [len(self.emissions[axis]) for axis in axes]
                return table.reshape(shape).transpose([axes.index(c) for c in columns])
            told = _all(parts, np.ones(self.transitions.shape[1])) @ self.transitions[column].T
            held[self.parents[column]].append((axes, told))
        raise AssertionError("the root holds all columns")

    def likelihoods(self, evidence: Mapping[int, FloatArray]) -> tuple[dict[int, FloatArray], FloatArray]:
        """Return how likely the evidence on a column and those below is in each state, up to a factor, and its logarithm.

        Args:
            evidence: For some columns the likelihood of what is known of them in each of their states [rows, states].
        """
        found = dict(evidence)
        logs = np.zeros(len(next(iter(evidence.values()))))
        for column in reversed(self.order):
            if column not in found:
                continue
            largest = found[column].max(1, keepdims=True)
            with np.errstate(divide="ignore"):
                logs += np.log(largest[:, 0], dtype=np.float64)
            found[column] = found[column] / np.maximum(largest, _LEAST)
            parent = self.parents[column]
            if parent >= 0:
                told = found[column] @ self.transitions[column].T
                found[parent] = found[parent] * told if parent in found else told
        root = self.order[0]
        with np.errstate(divide="ignore"):
            logs += np.log(found[root] @ self.transitions[root][0], dtype=np.float64)
        return found, logs

    def draw(self, n: int, rng: np.random.Generator, known: Mapping[int, Places] | None = None) -> Places:
        """Draw n rows [n, columns]; columns with known codes keep them, and the others are drawn given these.

        A known code that is the number of the column's codes tells nothing.
        """
        rows = np.zeros((n, len(self.parents)), dtype=np.intp)
        known = known or {}
        told: dict[int, FloatArray] = {}
        if known and n:
            told, _ = self.likelihoods({c: self._likelihood(c, codes) for c, codes in known.items()})
        states: dict[int, Places] = {}
        for column in self.order:
            parent = self.parents[column]
            before = np.zeros(n, dtype=np.intp) if parent < 0 else states[parent]
            if column in told:
                states[column] = drawn_from(self.transitions[column][before] * told[column], rng)
            else:
                states[column] = _searched(self._moves[column], before, rng)
            if column in known:
                rows[:, column] = known[column]
            else:
                rows[:, column] = _searched(self._codes[column], states[column], rng)
        return rows

    def restricted(self, weights: Mapping[int, FloatArray]) -> tuple[float, LatentTree]:
        """Return the probability of conditions and the tree given them.

        Args:
            weights: For some columns the probability [codes] that a code satisfies the condition.
        """
        weighed = {c: self.emissions[c].astype(np.float64) * w[:, None] for c, w in weights.items()}
        told, logs = self.likelihoods({c: table.sum(0)[None] for c, table in weighed.items()})
        transitions, emissions = self.transitions.astype(np.float64), list(self.emissions)
        for column, likelihood in told.items():
            transitions[column] = _normalised(transitions[column] * likelihood, 1)
        for column, table in weighed.items():
            emissions[column] = _normalised(table, 0)
        return float(np.exp(logs[0])), LatentTree(self.parents, transitions, tuple(emissions))

    def _likelihood(self, column: int, codes: Places) -> FloatArray:
        emission = self.emissions[column]
        table = np.maximum(
            np.concatenate([emission, np.ones((1, emission.shape[1]), emission.dtype)]), _LEAST
        )
        likelihood: FloatArray = table[codes]
        return likelihood


def outwards(parents: Sequence[int]) -> list[int]:
    """Return all columns of a tree, parents before their children.

    Raises:
        ValueError: If this is no tree with one root.
    """
    children: dict[int, list[int]] = {}
    for column, parent in enumerate(parents):
        children.setdefault(parent, []).append(column)
    order = list(children.get(-1, []))
    if len(order) != 1:
        raise ValueError("not one root")
    for column in order:
        order.extend(children.get(column, []))
    if len(order) != len(parents):
        raise ValueError("columns that are not joined to the root")
    return order


def _all(parts: Sequence[tuple[list[int], FloatArray]], first: FloatArray) -> FloatArray:
    """Return the products of all combinations of rows of some tables [rows, states], times a vector [states]."""
    product = first[None, :]
    for _, table in parts:
        product = (product[:, None, :] * table[None, :, :]).reshape(-1, table.shape[1])
    return product


def _normalised(table: FloatArray, axis: int) -> FloatArray:
    """Divide by sums; where these are 0, no row ever comes, and any distribution will do."""
    sums = table.sum(axis, keepdims=True)
    shares: FloatArray = np.divide(
        table, sums, out=np.full_like(table, 1 / table.shape[axis]), where=sums > 0
    )
    return shares


def _steps(table: NDArray[np.floating]) -> FloatArray:
    """Return cumulative sums [rows, codes] of distributions, those of row r in (r, r + 1]: one search serves all."""
    heights = np.cumsum(table, axis=1, dtype=np.float64)
    heights /= heights[:, -1:]
    steps: FloatArray = heights + np.arange(len(table))[:, None]
    return steps


def _searched(steps: FloatArray, rows: Places, rng: np.random.Generator) -> Places:
    """Draw one code from the distribution of each of some rows."""
    size = steps.shape[1]
    found = np.searchsorted(steps.ravel(), rows + rng.random(len(rows)), side="right") - rows * size
    places: Places = np.minimum(found, size - 1)
    return places
