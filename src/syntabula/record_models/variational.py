"""A variational autoencoder of encoded records: the network of TVAE."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise, positive
from syntabula._extras import require
from syntabula._spaces import Choice, Range, tunable
from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.blocks import FloatTable, first_weights
from syntabula.record_models.encoding import Encoder, Encoding, Widths
from syntabula.record_models.latent import Shapes
from syntabula.record_models.latent_with_noise import NoisyLatentRows

if TYPE_CHECKING:
    from torch import Generator, Tensor

_NARROWEST, _WIDEST, _FIRST_DEVIATION = 0.01, 1.0, 0.1
_ENCODER = "encoder/"
_FIRST_OUTPUTS = 0.1
_EMPHASIS, _NOISY_EMPHASIS = 2.0, 10.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Variational(NoisyLatentRows):
    """Hidden numbers that an encoder finds in records, and a decoder turns back into their distributions.

    Xu et al. (2019), TVAE. Both are trained to make records probable, each offset normally distributed about
    its mean with a standard deviation of its own, and to leave the hidden numbers near to normal ones.

    Attributes:
        units: Width of the layers of encoder and decoder.
        layers: Number of them in each.
        emphasis: Factor of the reconstruction, beside that of 1 of the hidden numbers' divergence. With 1 the loss is a
            bound on the likelihood. None for 2, as in public code, with which rows tell a learner more; or with
            a budget 10: the hidden numbers of so few steps tell nothing otherwise.
    """

    kind: ClassVar[str] = "variational"

    units: int = tunable(128, Choice((64, 128, 256, 512)))
    layers: int = tunable(2, Range(low=1, high=4))
    emphasis: float | None = tunable(None, Range(low=0.5, high=4.0, log=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(self, units=count(), layers=count(), emphasis=positive.or_none)

    def _mode_chances(self, fitted: FloatArray) -> FloatArray:
        """Return 1 for the most probable mode of each code [codes, modes].

        Which of two modes that overlap was drawn says nothing of a record. Hidden numbers would carry it all the same, as
        the reconstruction gains by it, and fewer of them would say how columns depend on each other.
        """
        chances: FloatArray = np.eye(fitted.shape[1])[fitted.argmax(1)]
        return chances

    def _outputs(self, n: int, rng: np.random.Generator) -> FloatTable:
        weights = self._weights
        value = rng.standard_normal((n, self._n_hidden), dtype=np.float32)
        for layer in range(self.layers):
            value = np.maximum(value @ weights[f"layer/{layer}"] + weights[f"bias/{layer}"], 0)
        outputs: FloatTable = value @ weights["outputs"] + weights["bias/outputs"]
        n_offsets = len(self._fitted.modes)
        outputs[:, :n_offsets] = np.tanh(outputs[:, :n_offsets])
        return outputs

    @property
    def _deviations(self) -> NDArray[np.floating]:
        found: NDArray[np.floating] = 1 / (1 + np.exp(-self._weights["deviations"].astype(np.float64)))
        return _NARROWEST + (_WIDEST - _NARROWEST) * found

    def _kept_shapes(self, widths: Widths) -> Shapes:
        shapes: dict[str, tuple[int, ...]] = {}
        inputs = self._n_hidden
        for layer in range(self.layers):
            shapes |= {f"layer/{layer}": (inputs, self.units), f"bias/{layer}": (self.units,)}
            inputs = self.units
        outputs = widths.offsets + widths.blocks
        return shapes | {
            "outputs": (inputs, outputs),
            "bias/outputs": (outputs,),
            "deviations": (widths.offsets,),
        }

    def _trained_shapes(self, widths: Widths) -> Shapes:
        shapes = {
            "blocks": (widths.blocks, self.units),
            "offsets": (widths.offsets, self.units),
            "bias/0": (self.units,),
        }
        for layer in range(1, self.layers):
            shapes |= {f"layer/{layer}": (self.units, self.units), f"bias/{layer}": (self.units,)}
        shapes |= {"outputs": (self.units, 2 * self._n_hidden), "bias/outputs": (2 * self._n_hidden,)}
        encoder = {_ENCODER + name: shape for name, shape in shapes.items()}
        return {**encoder, **self._kept_shapes(widths)}

    def _network(self, encoder: Encoder, random: Generator) -> VariationalNetwork:
        shapes = self._trained_shapes(encoder.encoding.widths)
        weights = first_weights(shapes, device=encoder.device, random=random)
        raw = math.log((_FIRST_DEVIATION - _NARROWEST) / (_WIDEST - _FIRST_DEVIATION))
        weights["deviations"] += raw
        return VariationalNetwork(self, encoder, weights)

    def _noisy_network(self, encoder: Encoder, random: Generator) -> VariationalNetwork:
        weights = dict(self._network(encoder, random).parameters)
        # Columns have nearly their marginals at first.
        weights["outputs"] = weights["outputs"] * _FIRST_OUTPUTS
        weights["bias/outputs"] = encoder.log_shares()
        network = VariationalNetwork(self, encoder, weights)
        # Nothing is learned of offsets, which no column has.
        network.parameters = {name: w for name, w in weights.items() if w.numel()}
        return network

    def _kept(
        self, weights: Mapping[str, np.ndarray], encoding: Encoding, n_rows: int, rng: np.random.Generator
    ) -> Mapping[str, np.ndarray]:
        del encoding, n_rows, rng
        return {name: weight for name, weight in weights.items() if not name.startswith(_ENCODER)}


class VariationalNetwork:
    """Encoder and decoder in torch.

    Args:
        model: Whose options it has.
        encoder: Of records.
        parameters: All weights by name.
    """

    def __init__(self, model: Variational, encoder: Encoder, parameters: Mapping[str, Tensor]) -> None:
        self.parameters, self._weights = parameters, parameters
        self._model, self._encoder = model, encoder
        self._emphasis = model.emphasis or (_NOISY_EMPHASIS if model._noisy else _EMPHASIS)

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return minus the bound on each record's log-likelihood [batch], its reconstruction times the emphasis.

        Args:
            records: Positions of codes [batch, columns].
            random: Draws the modes, and the hidden numbers from what the encoder finds.
        """
        torch = require("torch", "neural")
        offsets, places = self._encoder.encoded(records, random)
        means, logs = self._found(offsets, places)
        noise = torch.randn(means.shape, generator=random, device=means.device)
        spreads = (logs / 2).exp()
        outputs = self._decoded(torch.addcmul(means, noise, spreads))
        n = offsets.shape[1]
        deviations = _NARROWEST + (_WIDEST - _NARROWEST) * self._weights["deviations"].sigmoid()
        away = (offsets - outputs[:, :n].tanh()) / deviations
        reconstruction = (away * away).sum(1) / 2 + deviations.log().sum()
        blocks = self._encoder.encoding.blocks
        reconstruction = reconstruction + blocks.cross_entropies(outputs[:, n:], places).sum(1)
        divergence = (means * means + spreads * spreads - logs - 1).sum(1) / 2
        found: Tensor = self._emphasis * reconstruction + divergence
        return found

    def _found(self, offsets: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return means and logarithms of variances of the hidden numbers [batch, hidden]."""
        torch, weights = require("torch", "neural"), self._weights
        # The product of one-hot blocks with their weights.
        value = torch.nn.functional.embedding_bag(places, weights[_ENCODER + "blocks"], mode="sum")
        value = value + torch.addmm(weights[_ENCODER + "bias/0"], offsets, weights[_ENCODER + "offsets"])
        for layer in range(1, self._model.layers):
            name = f"{_ENCODER}layer/{layer}", f"{_ENCODER}bias/{layer}"
            value = torch.addmm(weights[name[1]], value.relu(), weights[name[0]])
        means, logs = torch.addmm(
            weights[_ENCODER + "bias/outputs"], value.relu(), weights[_ENCODER + "outputs"]
        ).chunk(2, 1)
        return means, logs

    def _decoded(self, value: Tensor) -> Tensor:
        torch, weights = require("torch", "neural"), self._weights
        for layer in range(self._model.layers):
            value = torch.addmm(weights[f"bias/{layer}"], value, weights[f"layer/{layer}"]).relu()
        outputs: Tensor = torch.addmm(weights["bias/outputs"], value, weights["outputs"])
        return outputs
