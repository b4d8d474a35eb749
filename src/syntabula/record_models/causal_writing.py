"""Writes records with a `CausalNetwork` by numpy, token by token: a loaded release needs no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.any_order_sampling import drawn_from, silu
from syntabula.record_models.causal import ROOT_OF_ZERO
from syntabula.record_models.representation import FloatTable, Places
from syntabula.record_models.spelling import Spelling

_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class Allowed:
    """A condition on one column, as the tokens that can still lead to a code that satisfies it.

    Attributes:
        most: Largest weight of a code that each letter can lead to [nodes, letters].
        constant: Weight of the only code of a column that has no tokens.
    """

    most: FloatTable
    constant: float

    @classmethod
    def of(cls, spelling: Spelling, weights: FloatArray) -> Allowed:
        """Return the condition that gives each code a weight from 0 to 1 [codes]."""
        most = np.zeros(spelling.follows.shape, dtype=np.float32)
        is_token = np.arange(spelling.nodes.shape[1]) < spelling.lengths[:, None]
        each = np.broadcast_to(weights.astype(np.float32)[:, None], is_token.shape)
        np.maximum.at(most, (spelling.nodes[is_token], spelling.written[is_token]), each[is_token])
        return cls(most, float(weights[0]))


class Pages:
    """Some records that are written side by side, and what the network keeps of them: keys and values.

    Args:
        spellings: Of each column.
        weights: Of the network, by name.
        heads: Of attention.
        n: Number of records.
        columns: Those that will be written.
    """

    def __init__(
        self,
        spellings: Sequence[Spelling],
        weights: Mapping[str, np.ndarray],
        *,
        heads: int,
        n: int,
        columns: Sequence[int],
    ) -> None:
        self._spellings, self._weights, self._heads = spellings, weights, heads
        self._place_starts = np.cumsum([0, *[s.places for s in spellings]])
        self._token_starts = np.cumsum([0, *[s.tokens for s in spellings]])
        units = weights["said"].shape[1]
        most = sum(spellings[c].nodes.shape[1] for c in columns)
        n_layers = sum(name.startswith("wide/") for name in weights)
        shape = (n_layers, n, heads, most, units // heads)
        self._keys, self._values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self._lengths = np.zeros(n, dtype=np.intp)
        self._last = np.full(n, len(weights["said"]) - 1)
        self._n = n

    def copy(self, column: int, codes: Places) -> None:
        """Write given codes of a column [records]; nothing where it is their number, which stands for unknown."""
        spelling = self._spellings[column]
        records = np.flatnonzero(codes < len(spelling.lengths))
        for step in range(spelling.nodes.shape[1]):
            records = records[spelling.lengths[codes[records]] > step]
            if not records.size:
                return
            nodes = spelling.nodes[codes[records], step]
            self._read(records, column, nodes)
            self._tell(records, column, nodes, spelling.written[codes[records], step])

    def write(self, column: int, rng: np.random.Generator) -> Places:
        """Draw a code of a column for each record, given all that is written there, and write it."""
        return self._write(column, rng, None)[0]

    def write_allowed(
        self, column: int, allowed: Allowed, rng: np.random.Generator
    ) -> tuple[Places, FloatArray, FloatArray]:
        """Draw codes that satisfy a condition, and write them.

        Returns:
            Codes [records]; the chance that the first token satisfied the condition [records], which is the same for
            all if nothing was written before; the product of those of the others, each given what its code's
            beginning had promised. Kept with the product of both chances, the rows are exact.
        """
        return self._write(column, rng, allowed)

    def _write(
        self, column: int, rng: np.random.Generator, allowed: Allowed | None
    ) -> tuple[Places, FloatArray, FloatArray]:
        spelling = self._spellings[column]
        found, first, others = np.zeros(self._n, dtype=np.intp), np.ones(self._n), np.ones(self._n)
        if not len(spelling.node_places):
            return found, first if allowed is None else first * allowed.constant, others
        records, nodes = np.arange(self._n), np.zeros(self._n, dtype=np.intp)
        promised, kept = np.ones(self._n), first
        while records.size:
            chances = self._chances(records, column, nodes)
            if allowed is not None:
                chances *= allowed.most[nodes]
                reached = chances.sum(1, dtype=np.float64)
                kept[records] *= np.minimum(reached / promised[records], 1.0)
                impossible = reached <= 0
                chances[impossible] = np.isfinite(spelling.log_shares[nodes[impossible]])
            letters = drawn_from(chances, rng)
            if allowed is not None:
                promised[records], kept = np.maximum(allowed.most[nodes, letters], _TINY), others
            self._tell(records, column, nodes, letters)
            nodes = spelling.follows[nodes, letters]
            ended = nodes < 0
            found[records[ended]] = -1 - nodes[ended]
            records, nodes = records[~ended], nodes[~ended]
        return found, first, others

    def _chances(self, records: Places, column: int, nodes: Places) -> FloatTable:
        """Return the chance of each letter at nodes of a column [records, letters]."""
        spelling, start = self._spellings[column], self._token_starts[column]
        logits = (
            self._read(records, column, nodes) @ self._weights["logits"][:, start : start + spelling.tokens]
        )
        logits = logits.reshape(-1, spelling.places, spelling.letters)
        logits = logits[np.arange(len(nodes)), spelling.node_places[nodes]] + spelling.log_shares[nodes]
        logits -= logits.max(1, keepdims=True)
        chances: FloatTable = np.exp(logits, out=logits)
        chances /= chances.sum(1, keepdims=True)
        return chances

    def _tell(self, records: Places, column: int, nodes: Places, letters: Places) -> None:
        """Write a letter in each record."""
        spelling = self._spellings[column]
        token = spelling.node_places[nodes] * spelling.letters + letters
        self._last[records] = self._token_starts[column] + token

    def _read(self, records: Places, column: int, nodes: Places) -> FloatTable:
        """Return what is known in each record where a token is asked for [records, units], and keep it."""
        weights = self._weights
        asked = self._place_starts[column] + self._spellings[column].node_places[nodes]
        hidden = weights["said"][self._last[records]] + weights["asked"][asked]
        at = self._lengths[records]
        self._lengths[records] += 1
        n, longest = len(records), int(at.max(initial=0)) + 1
        # A slice is no copy.
        chosen: Any = slice(None) if n == self._n else records
        hides = np.arange(longest) > at[:, None]
        for layer in range(len(self._keys)):
            told = (_scaled(hidden) @ weights[f"attention/{layer}"]).reshape(n, 3, self._heads, -1)
            self._keys[layer, records, :, at], self._values[layer, records, :, at] = told[:, 1], told[:, 2]
            keys, values = self._keys[layer, chosen, :, :longest], self._values[layer, chosen, :, :longest]
            likeness = (keys @ told[:, 0, :, :, None])[..., 0] / np.float32(np.sqrt(keys.shape[-1]))
            likeness[np.broadcast_to(hides[:, None], likeness.shape)] = -np.inf
            likeness = np.exp(likeness - likeness.max(-1, keepdims=True))
            likeness /= likeness.sum(-1, keepdims=True)
            attended = (likeness[:, :, None] @ values).reshape(n, -1)
            hidden = hidden + attended @ weights[f"attended/{layer}"]
            wide = silu(_scaled(hidden) @ weights[f"wide/{layer}"] + weights[f"bias/{layer}"])
            hidden = hidden + wide @ weights[f"narrow/{layer}"]
        return _scaled(hidden)


def _scaled(hidden: FloatTable) -> FloatTable:
    squares = np.einsum("ij,ij->i", hidden, hidden) / np.float32(hidden.shape[1])
    scaled: FloatTable = hidden / np.sqrt(squares + np.float32(ROOT_OF_ZERO))[:, None]
    return scaled
