"""Logits of many categorical columns side by side: their losses, soft draws and draws, worked out together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require

if TYPE_CHECKING:
    from torch import Generator, Tensor

FloatTable = NDArray[np.float32]

_SHORTEST_WAIT = np.float32(3e-8)
_ROUNDS, _LONGEST_MOVE, _LEAST_SHARE = 10, 2.0, 1e-12


class Blocks:
    """One block of logits for each column. Blocks of one size lie side by side, and one operation serves them all.

    Each column has its own exact log-sum-exp, so that no other column's logits can drown it.

    Args:
        sizes: Number of codes of each column.

    Attributes:
        sizes: The same.
        width: Number of all logits.
        starts: Where the block of each column begins [columns].
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes, self.width = tuple(sizes), sum(sizes)
        order = np.argsort(self.sizes, kind="stable")
        ends = np.cumsum(np.array(self.sizes, dtype=np.intp)[order])
        self.starts = np.zeros(len(self.sizes), dtype=np.intp)
        self.starts[order] = ends - np.array(self.sizes, dtype=np.intp)[order]
        self._groups: list[tuple[slice, int, NDArray[np.intp]]] = []
        for size in sorted(set(self.sizes)):
            columns = order[np.array(self.sizes)[order] == size]
            first = int(self.starts[columns[0]])
            self._groups.append((slice(first, first + size * len(columns)), size, columns))
        self._back = np.argsort(order)

    def log_sums(self, logits: Tensor) -> Tensor:
        """Return the logarithm of the sum of each column's exponentials [batch, columns]."""
        torch = require("torch", "neural")
        parts = [part.logsumexp(2) for part in self._grouped(logits)]
        back = torch.as_tensor(self._back, device=logits.device)
        found: Tensor = torch.cat(parts, 1).index_select(1, back)
        return found

    def cross_entropies(self, logits: Tensor, places: Tensor) -> Tensor:
        """Return minus the log-probability of each column's code [batch, columns].

        Args:
            logits: [batch, width].
            places: Where in a row of logits the code of each column stands [batch, columns].
        """
        return self.log_sums(logits) - logits.gather(1, places)

    def soft_draws(self, logits: Tensor, temperature: float, random: Generator) -> Tensor:
        """Return a draw of each column that can be differentiated [batch, width]: its block sums to one.

        Jang, Gu, Poole (2017), "Categorical Reparameterization with Gumbel-Softmax".
        """
        torch = require("torch", "neural")
        waits = torch.empty_like(logits).exponential_(generator=random)
        heights = (logits - waits.log_()) / temperature
        found: Tensor = torch.cat([part.softmax(2).flatten(1) for part in self._grouped(heights)], 1)
        return found

    def _grouped(self, logits: Tensor) -> list[Tensor]:
        """Return the blocks of one size after those of another [batch, columns, size]."""
        # At once: a slice that is taken alone has a gradient as large as the whole.
        widths = [part.stop - part.start for part, _, _ in self._groups]
        parts = require("torch", "neural").split(logits, widths, 1)
        return [
            part.reshape(len(logits), -1, size)
            for part, (_, size, _) in zip(parts, self._groups, strict=True)
        ]

    def draws(self, logits: FloatTable, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw a code of each column in each row of logits [rows, columns]."""
        waits = rng.standard_exponential(logits.shape, dtype=np.float32)
        # The smallest of them are rounded to 0.
        heights = logits - np.log(np.maximum(waits, _SHORTEST_WAIT, out=waits), out=waits)
        drawn = np.empty((len(logits), len(self.sizes)), dtype=np.intp)
        for part, size, columns in self._groups:
            drawn[:, columns] = heights[:, part].reshape(len(logits), len(columns), size).argmax(2)
        return drawn

    def shares(self, logits: FloatTable, column: int) -> FloatTable:
        """Return the probabilities of a column's codes in each row of logits [rows, codes]."""
        return _softmax(logits[:, self.starts[column] : self.starts[column] + self.sizes[column]])

    def biases_towards(self, logits: FloatTable, log_shares: Sequence[FloatTable]) -> FloatTable:
        """Return what to add to all rows of logits, so that the mean of their distributions is near to some shares.

        Each round adds to each code the logarithm of what its share should be over what it is.

        Args:
            logits: [rows, width].
            log_shares: Logarithm of each code's share, by column.

        Returns:
            [width].
        """
        found = np.zeros(self.width, dtype=np.float32)
        for column, wanted in enumerate(log_shares):
            part = slice(self.starts[column], self.starts[column] + self.sizes[column])
            for _ in range(_ROUNDS):
                reached = _softmax(logits[:, part] + found[part]).mean(0, dtype=np.float64)
                moved = wanted - np.log(np.maximum(reached, _LEAST_SHARE))
                found[part] += np.clip(moved, -_LONGEST_MOVE, _LONGEST_MOVE)
        return found


def first_weights(
    shapes: Mapping[str, tuple[int, ...]], *, device: Any, random: Generator
) -> dict[str, Tensor]:
    """Return random weights: those of a layer even within 1 / sqrt(inputs) of 0, and biases of 0."""
    torch = require("torch", "neural")
    weights: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        drawn = 2 * torch.rand(shape, generator=random, device=device) - 1
        weights[name] = drawn / max(shape[0], 1) ** 0.5 if len(shape) == 2 else torch.zeros_like(drawn)
    return weights


def _softmax(logits: FloatTable) -> FloatTable:
    found: FloatTable = np.exp(logits - logits.max(1, keepdims=True))
    found /= found.sum(1, keepdims=True)
    return found
