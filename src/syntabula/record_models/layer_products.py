"""The products of a network's layers while rows are drawn: rounded to bfloat16 where that is several times faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from syntabula._extras import is_installed, require
from syntabula._threads import training_threads
from syntabula.models.row_fitting import multiplies_bfloat16
from syntabula.record_models.representation import FloatTable

if TYPE_CHECKING:
    from torch import Tensor


class Layers(Protocol):
    """The first, the hidden and the last layer of a network, one after another."""

    def __call__(self, inputs: FloatTable, told: FloatTable) -> FloatTable:
        """Return what the last layer says [outputs, rows].

        Args:
            inputs: [inputs, rows].
            told: Added to what the first layer says [units, 1 or rows].
        """
        ...


def layers_of(weights: Mapping[str, np.ndarray]) -> Layers:
    """Return the layers of a network; in bfloat16 if torch is installed and the processor multiplies that faster.

    The same seed then gives other rows, of the same distribution up to this rounding, than elsewhere.

    Args:
        weights: By name: "in", "layer/0" and so on, and "out" [from, to], and a bias for each but the first.
    """
    if is_installed("torch"):
        torch = require("torch", "neural")
        if multiplies_bfloat16(torch.device("cpu")):
            return RoundedLayers(weights)
    return ExactLayers(weights)


class ExactLayers:
    """Layers in float32, by numpy."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self._first, *self._hidden, self._last = (np.ascontiguousarray(weights[n].T) for n in _names(weights))
        *self._biases, self._last_bias = (bias[:, None] for bias in _biases(weights))

    def __call__(self, inputs: FloatTable, told: FloatTable) -> FloatTable:
        """Return what the last layer says; see `Layers`."""
        hidden = self._first @ inputs
        hidden += told
        for matrix, bias in zip(self._hidden, self._biases, strict=True):
            hidden = matrix @ hidden
            hidden += bias
            np.maximum(hidden, 0.0, out=hidden)
        said: FloatTable = self._last @ hidden
        said += self._last_bias
        return said


class RoundedLayers:
    """Layers whose numbers are rounded to bfloat16, with float32 sums, by torch; the last bias is added in float32."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self._torch = require("torch", "neural")
        self._first, *self._hidden, self._last = (
            self._rounded(weights[n].T).contiguous() for n in _names(weights)
        )
        *biases, self._last_bias = (bias[:, None] for bias in _biases(weights))
        self._biases = [self._rounded(bias) for bias in biases]

    def __call__(self, inputs: FloatTable, told: FloatTable) -> FloatTable:
        """Return what the last layer says; see `Layers`."""
        # Rows are drawn in several threads, each of which multiplies by itself.
        with training_threads(1), self._torch.inference_mode():
            hidden = self._torch.matmul(self._first, self._rounded(inputs)).add_(self._rounded(told))
            for matrix, bias in zip(self._hidden, self._biases, strict=True):
                hidden = self._torch.matmul(matrix, hidden).add_(bias).relu_()
            said: FloatTable = self._torch.matmul(self._last, hidden).float().numpy()
        said += self._last_bias
        return said

    def _rounded(self, values: np.ndarray) -> Tensor:
        found: Tensor = self._torch.from_numpy(np.asarray(values, np.float32)).to(self._torch.bfloat16)
        return found


def _names(weights: Mapping[str, np.ndarray]) -> list[str]:
    return ["in", *(f"layer/{i}" for i in range(_n_hidden(weights))), "out"]


def _biases(weights: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return the biases of the hidden layers and of the last one."""
    return [*(weights[f"bias/{i}"] for i in range(_n_hidden(weights))), weights["bias/out"]]


def _n_hidden(weights: Mapping[str, np.ndarray]) -> int:
    return sum(name.startswith("layer/") for name in weights)
