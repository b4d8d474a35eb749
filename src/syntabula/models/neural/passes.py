"""One pass of a network over its input, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from syntabula._extras import require

if TYPE_CHECKING:
    from torch import Tensor

    from syntabula.models.neural.network import Network

_SMALL = 1e-5
"""What is added to a variance before it divides, as usual."""


@dataclass(frozen=True, eq=False)
class Codes:
    """Rows of codes, one per column: products with their indicators are sums of few rows.

    Attributes:
        positions: Positions of codes among those of all columns [rows, columns], int64.
        rows: The rows that have each code, code by code [rows * columns].
        starts: Where each code's begin among them [codes].
    """

    positions: Tensor
    rows: Tensor
    starts: Tensor

    @classmethod
    def of(cls, positions: Tensor, width: int) -> Codes:
        """Sort rows by their codes."""
        torch = require("torch", "neural")
        codes, order = positions.flatten().sort()
        starts = torch.searchsorted(codes, torch.arange(width, device=positions.device))
        return cls(positions, order // positions.shape[1], starts)

    def product(self, weights: Tensor) -> Tensor:
        """Return the sum of the weights [codes, outputs] of each row's codes [rows, outputs]."""
        torch = require("torch", "neural")
        found: Tensor = torch.nn.functional.embedding_bag(self.positions, weights, mode="sum")
        return found

    def gradient(self, outputs: Tensor) -> Tensor:
        """Return the derivative by the weights from that by the product [rows, outputs]."""
        torch = require("torch", "neural")
        found: Tensor = torch.nn.functional.embedding_bag(self.rows, outputs, self.starts, mode="sum")
        return found


@dataclass(frozen=True, eq=False)
class Numbers:
    """Rows of numbers [rows, numbers], in the type in which products are taken."""

    numbers: Tensor

    def product(self, weights: Tensor) -> Tensor:
        """Return the product with weights [numbers, outputs]."""
        return (self.numbers @ weights.to(self.numbers.dtype)).float()

    def gradient(self, outputs: Tensor) -> Tensor:
        """Return the derivative by the weights from that by the product [rows, outputs]."""
        return (self.numbers.T @ outputs.to(self.numbers.dtype)).float()


@cache
def network_pass() -> Any:
    """Return a network as a function of torch with a derivative of its own.

    Torch's would keep and copy every number in between, and visit the weights of the input row by row. The
    class is made here as torch is imported late.
    """
    torch: Any = require("torch", "neural")

    class NetworkPass(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, network: Network, *parameters: Tensor) -> Tensor:
            ctx.made = _Pass(network)
            table: Tensor = ctx.made.table
            return table

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
            return None, *ctx.made.gradients(gradient)

    return NetworkPass


class _Pass:
    """A network's distributions for one input, and what their derivative needs."""

    def __init__(self, network: Network) -> None:
        torch: Any = require("torch", "neural")
        self._network = network
        self._source = network.draw()
        self._type = torch.bfloat16 if network.fast else torch.float32
        self._weights = [w.to(self._type) for w in network.from_blocks]
        inputs = self._source.product(network.from_input)
        self._units, self._depth = units, depth = network.scales[0].shape[1], len(network.scales)

        # The newest block stands first, so that what a layer sees is the end of each row.
        self._blocks = inputs.new_empty((len(inputs), depth * units), dtype=self._type)
        self._standard, self._spread = list[Any](), list[Any]()
        for layer, (scale, shift) in enumerate(network.scales):
            numbers = inputs[:, layer * units : (layer + 1) * units]
            if layer:
                numbers = numbers + self._before(layer) @ self._weights[layer - 1]
            centred = numbers - numbers.mean(dim=0)
            spread = (centred.square().mean(dim=0) + _SMALL).rsqrt_()
            self._standard.append(centred.mul_(spread))
            self._spread.append(spread)
            self._block(layer).copy_(torch.addcmul(shift, centred, scale).relu_())
        logits: Any = inputs[:, depth * units :] + self._blocks @ self._weights[-1]
        logits += network.bias
        self.table = torch.cat([part.softmax(dim=1) for part in logits.split(network.sizes, dim=1)], dim=1)

    def gradients(self, by_table: Tensor) -> list[Tensor]:
        """Return the derivatives by all parameters of a network, in their order."""
        torch: Any = require("torch", "neural")
        units, depth, sizes = self._units, self._depth, self._network.sizes
        # By the input's share of every layer, side by side; the logits are the last.
        by_inputs = by_table.new_empty((len(by_table), depth * units + by_table.shape[1]))
        by_logits = by_inputs[:, depth * units :]
        weighted: Any = by_table * self.table
        sums = torch.cat(
            [p.sum(dim=1, keepdim=True).expand_as(p) for p in weighted.split(sizes, dim=1)], dim=1
        )
        torch.addcmul(weighted, self.table, sums, value=-1.0, out=by_logits)
        rounded = by_logits.to(self._type)
        by_weights = [(self._blocks.T @ rounded).float()]
        by_blocks = (rounded @ self._weights[-1].T).float()
        by_scales = list[Any]()
        for layer in reversed(range(depth)):
            standard, (scale, _) = self._standard[layer], self._network.scales[layer]
            own = slice((depth - 1 - layer) * units, (depth - layer) * units)
            slope = by_blocks[:, own] * (self._blocks[:, own] > 0)
            by_scale, by_shift = (slope * standard).sum(dim=0), slope.sum(dim=0)
            by_scales.insert(0, torch.stack([by_scale, by_shift]))
            slope -= by_shift / len(slope)
            slope -= standard * (by_scale / len(slope))
            slope *= scale * self._spread[layer]
            by_inputs[:, layer * units : (layer + 1) * units] = slope
            if layer:
                rounded = slope.to(self._type)
                by_weights.insert(0, (self._before(layer).T @ rounded).float())
                by_blocks[:, own.stop :] += rounded @ self._weights[layer - 1].T
        return [self._source.gradient(by_inputs), *by_weights, *by_scales, by_logits.sum(dim=0)]

    def _block(self, layer: int) -> Tensor:
        """Return the place of a block's output."""
        first = (self._depth - 1 - layer) * self._units
        return self._blocks[:, first : first + self._units]

    def _before(self, layer: int) -> Tensor:
        """Return the output of all blocks before a layer, the newest first."""
        return self._blocks[:, (self._depth - layer) * self._units :]
