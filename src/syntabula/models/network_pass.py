"""Forward and backward pass of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from syntabula._extras import require

if TYPE_CHECKING:
    from torch import Tensor

_SMALL = 1e-5
"""The usual constant added to a variance before dividing by it."""


@dataclass(frozen=True, eq=False)
class Codes:
    """Rows of codes, one per column, whose one-hot products are sums of a few rows of weights.

    Attributes:
        positions: Positions of the codes among the codes of all columns [rows, columns], int64.
        rows: The rows that have each code, code by code [rows * columns].
        starts: Where each code's rows begin in `rows` [codes].
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
        """Return the gradient of the weights from that of the product [rows, outputs]."""
        torch = require("torch", "neural")
        found: Tensor = torch.nn.functional.embedding_bag(self.rows, outputs, self.starts, mode="sum")
        return found


@dataclass(frozen=True, eq=False)
class Numbers:
    """Rows of numbers [rows, numbers], in the type used for products."""

    numbers: Tensor

    def product(self, weights: Tensor) -> Tensor:
        """Return the product with weights [numbers, outputs]."""
        return self.numbers @ weights.to(self.numbers.dtype)

    def gradient(self, outputs: Tensor) -> Tensor:
        """Return the gradient of the weights from that of the product [rows, outputs]."""
        return self.numbers.T @ outputs


class Layers(Protocol):
    """What a pass needs from a network; `Network` documents each attribute."""

    @property
    def sizes(self) -> tuple[int, ...]: ...  # noqa: D102

    @property
    def from_input(self) -> Tensor: ...  # noqa: D102

    @property
    def from_blocks(self) -> tuple[Tensor, ...]: ...  # noqa: D102

    @property
    def scales(self) -> tuple[Tensor, ...]: ...  # noqa: D102

    @property
    def bias(self) -> Tensor: ...  # noqa: D102

    @property
    def fast(self) -> bool: ...  # noqa: D102

    @property
    def parameters(self) -> list[Tensor]: ...  # noqa: D102

    def draw(self) -> Codes | Numbers: ...  # noqa: D102


class Pass:
    """Computes a network's distributions for successive inputs, and the gradient of the last ones.

    The passes are written by hand: torch's autograd would keep and copy all intermediate values, and index the
    weights of the input row by row. Intermediate values use the same memory in every pass, since allocating
    it costs more time than writing to it.
    """

    def __init__(self, network: Layers) -> None:
        torch: Any = require("torch", "neural")
        self._network = network
        self._type = torch.bfloat16 if network.fast else torch.float32
        self._units, self._depth = network.scales[0].shape[1], len(network.scales)
        self._gradients = [torch.empty_like(p, requires_grad=False) for p in network.parameters]
        self._numbers = list[Any]()

    def forward(self) -> Tensor:
        """Return the distributions of all columns side by side [rows, codes], float32."""
        torch: Any = require("torch", "neural")
        network, units, depth = self._network, self._units, self._depth
        self._source = network.draw()
        self._weights = [w.to(self._type) for w in network.from_blocks]
        inputs = self._source.product(network.from_input)
        if not self._numbers:
            self._make_room(inputs)
        for layer, (scale, shift) in enumerate(network.scales):
            numbers = self._numbers[layer]
            self._sum(inputs[:, layer * units : (layer + 1) * units], layer, numbers)
            numbers -= numbers.mean(dim=0)
            spread = torch.mul(numbers, numbers, out=self._work).mean(dim=0).add_(_SMALL).rsqrt_()
            numbers *= spread
            self._spread[layer] = spread
            torch.addcmul(shift, numbers, scale, out=self._work)
            self._block(layer).copy_(self._work.relu_())
        logits = self._logits
        self._sum(inputs[:, depth * units :], depth, logits.T)
        logits += network.bias[:, None]
        # With codes along the first axis, sums over a column's codes run along the rows.
        self._table = torch.cat([part.softmax(dim=0) for part in logits.split(network.sizes)])
        table: Tensor = self._table.T
        return table

    def gradients(self, by_table: Tensor) -> list[Tensor]:
        """Return the gradients of all parameters of a network, in their order; the next call overwrites them."""
        torch: Any = require("torch", "neural")
        units, depth, network = self._units, self._depth, self._network
        from_input, *others = self._gradients
        by_weights, by_scales, by_bias = others[:depth], others[depth:-1], others[-1]
        by_logits = torch.mul(by_table.T, self._table, out=self._logits)
        for part, shares in zip(
            by_logits.split(network.sizes), self._table.split(network.sizes), strict=True
        ):
            part.addcmul_(shares, part.sum(dim=0), value=-1.0)
        torch.sum(by_logits, dim=1, out=by_bias)
        # Gradients of the input's contribution to every layer, side by side; the logits are last.
        by_inputs = self._by_inputs
        by_rows = by_logits.T.contiguous()
        by_inputs[:, depth * units :] = by_rows
        rounded = by_rows.to(self._type)
        by_weights[-1].copy_(self._blocks.T @ rounded)
        by_blocks = self._by_blocks.copy_(rounded @ self._weights[-1].T)
        for layer in reversed(range(depth)):
            standard, (scale, _) = self._numbers[layer], network.scales[layer]
            own = slice((depth - 1 - layer) * units, (depth - layer) * units)
            # The output of a rectifier is positive or 0, and its sign is the derivative.
            slope = self._work.copy_(self._blocks[:, own]).sign_().mul_(by_blocks[:, own])
            by_scale, by_shift = by_scales[layer]
            torch.sum(slope, dim=0, out=by_shift)
            by_input = by_inputs[:, layer * units : (layer + 1) * units]
            torch.sum(torch.mul(slope, standard, out=self._product), dim=0, out=by_scale)
            slope -= by_shift / len(slope)
            slope.addcmul_(standard, by_scale, value=-1 / len(slope))
            by_input.copy_(slope.mul_(scale * self._spread[layer]))
            if layer:
                rounded = slope.to(self._type)
                by_weights[layer - 1].copy_(self._before(layer).T @ rounded)
                by_blocks[:, own.stop :] += rounded @ self._weights[layer - 1].T
        from_input.copy_(self._source.gradient(by_inputs))
        return self._gradients

    def _make_room(self, inputs: Any) -> None:
        """Allocate memory for the intermediate values.

        The newest block comes first, so that a layer's input is the end of each row.
        """
        rows, outputs = inputs.shape
        units, depth = self._units, self._depth
        self._blocks = inputs.new_empty((rows, depth * units), dtype=self._type)
        self._numbers = [
            inputs.new_empty((rows, units), dtype=self._gradients[0].dtype) for _ in range(depth)
        ]
        self._work, self._product = (self._numbers[0].new_empty((rows, units)) for _ in range(2))
        self._logits = self._work.new_empty((outputs - depth * units, rows))
        self._by_inputs = inputs.new_empty((rows, outputs))
        self._by_blocks = self._work.new_empty((rows, depth * units))
        self._spread: list[Any] = [None] * depth

    def _sum(self, inputs: Tensor, layer: int, out: Tensor) -> None:
        """Write a layer's output from the input and the blocks before."""
        torch: Any = require("torch", "neural")
        if not layer:
            out.copy_(inputs)
        elif inputs.dtype == self._type:
            out.copy_(torch.addmm(inputs, self._before(layer), self._weights[layer - 1]))
        else:
            out.copy_(self._before(layer) @ self._weights[layer - 1])
            out += inputs

    def _block(self, layer: int) -> Tensor:
        """Return the memory of a block's output."""
        first = (self._depth - 1 - layer) * self._units
        block: Tensor = self._blocks[:, first : first + self._units]
        return block

    def _before(self, layer: int) -> Tensor:
        """Return the output of all blocks before a layer, the newest first."""
        before: Tensor = self._blocks[:, (self._depth - layer) * self._units :]
        return before
