"""The network that makes soft rows out of random input."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from syntabula._extras import require
from syntabula.marginals.domain import Domain
from syntabula.models.devices import multiplies_bfloat16
from syntabula.models.neural.passes import Codes, Numbers, Pass

if TYPE_CHECKING:
    from torch import Tensor

Input = Literal["codes", "gaussian"]
"""What a row starts from: one random code per column (MargNet), or normal numbers (GEM)."""

Arrays = dict[str, np.ndarray]
_BLOCKS = 2


@dataclass(eq=False)
class Network:
    """Two residual blocks and one softmax per column (Liu, Vietri, Wu 2021, GEM; MargNet, section 4.3).

    A block is a linear layer, a batch normalisation and a rectifier, and hands on its input beside its
    output, as in the generator of CTGAN (Xu et al. 2019). The normalisation always uses the statistics of the
    whole input: the rows that are sampled are then the rows that were fitted.

    Every layer sees the input itself. A row of codes needs no matrix product there: it adds up one row of
    weights for each column, for all layers at once.

    Attributes:
        sizes: Number of codes of each column.
        draw: Returns the input of one step.
        from_input: Weights of the input in all layers side by side, [numbers, outputs].
        from_blocks: Weights of the blocks before in each layer but the first, [units before, outputs].
        scales: Scale and shift of each block's normalisation, [2, units].
        bias: Shift of the logits [sum of sizes].
        fast: Whether products of blocks are taken of numbers rounded to bfloat16, with float32 sums.
    """

    sizes: tuple[int, ...]
    draw: Callable[[], Codes | Numbers]
    from_input: Tensor
    from_blocks: tuple[Tensor, ...]
    scales: tuple[Tensor, ...]
    bias: Tensor
    fast: bool
    _pass: Pass | None = field(default=None, init=False, repr=False)
    _table: Tensor | None = field(default=None, init=False, repr=False)

    @property
    def parameters(self) -> list[Tensor]:
        """All that training changes."""
        return [self.from_input, *self.from_blocks, *self.scales, self.bias]

    def table(self) -> Tensor:
        """Return the distributions of all columns side by side [rows, codes], float32."""
        torch = require("torch", "neural")
        if self._table is None:
            with torch.no_grad():
                self._pass = self._pass or Pass(self)
                self._table = self._pass.forward()
        return self._table

    def backward(self, gradient: Tensor) -> None:
        """Give every parameter its derivative, from that by the last table."""
        assert self._pass is not None  # a table was made
        with require("torch", "neural").no_grad():
            found = self._pass.gradients(gradient)
        for parameter, slope in zip(self.parameters, found, strict=True):
            parameter.grad = slope

    def settle(self) -> None:
        """Forget the table, as the weights have changed; all of them are allowed."""
        self._table = None


def shapes_of(domain: Domain, *, units: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a network's weights by their names."""
    width = sum(domain.sizes)
    shapes: dict[str, tuple[int, ...]] = {
        "bias": (width,),
        "from_input": (width, _BLOCKS * units + width),
    }
    before = 0
    for layer, outputs in enumerate([units] * _BLOCKS + [width]):
        if layer:
            shapes[f"from_blocks/{layer}"] = (before, outputs)
        if layer < _BLOCKS:
            shapes[f"scale/{layer}"] = (2, units)
        before += outputs
    return shapes


def first_arrays(domain: Domain, *, rows: int, units: int, start: Input, rng: np.random.Generator) -> Arrays:
    """Return the input and the weights of an untrained network, all random.

    Weights lie evenly within one over the root of the number of a layer's inputs.
    """
    shapes = shapes_of(domain, units=units)
    arrays: Arrays = {"input": draw_input(domain, rows, start, rng)}
    for name, shape in shapes.items():
        kind, _, layer = name.partition("/")
        if kind == "scale":
            arrays[name] = np.stack([np.ones(units), np.zeros(units)]).astype(np.float32)
        elif kind == "bias":
            arrays[name] = np.zeros(shape, dtype=np.float32)
        else:
            bounds = [(sum(domain.sizes) + k * units) ** -0.5 for k in range(_BLOCKS + 1)]
            widths = [units] * _BLOCKS + [sum(domain.sizes)]
            bound = np.array(bounds[int(layer)]) if layer else np.repeat(bounds, widths)
            arrays[name] = bound.astype(np.float32) * (2 * rng.random(shape, dtype=np.float32) - 1)
    return arrays


def draw_input(domain: Domain, rows: int, start: Input, rng: np.random.Generator) -> np.ndarray:
    """Draw an input: int64 [rows, columns] for codes, float32 [rows, sum of sizes] for normal numbers."""
    if start == "gaussian":
        return rng.standard_normal((rows, sum(domain.sizes)), dtype=np.float32)
    starts = np.cumsum([0, *domain.sizes[:-1]])
    return starts + rng.integers(0, domain.sizes, (rows, len(domain)))


def network_of(
    domain: Domain, arrays: Mapping[str, np.ndarray], *, device: Any, draw: Callable[[], np.ndarray] | None
) -> Network:
    """Make a network of stored arrays, which it does not change.

    Args:
        domain: The columns.
        arrays: As `first_arrays` returns them, some replaced by those of `arrays_of`.
        device: Where to put it.
        draw: Draws the input of each step anew; None for the stored one, always.
    """
    torch = require("torch", "neural")

    def tensors(prefix: str) -> tuple[Any, ...]:
        names = sorted(n for n in arrays if n.startswith(prefix))
        return tuple(torch.tensor(arrays[n], device=device) for n in names)

    fast = multiplies_bfloat16(device)

    def source(array: np.ndarray) -> Codes | Numbers:
        if array.dtype == np.int64:
            return Codes.of(torch.tensor(array, device=device), sum(domain.sizes))
        return Numbers(torch.tensor(array, device=device, dtype=torch.bfloat16 if fast else torch.float32))

    fixed = source(arrays["input"])
    return Network(
        sizes=domain.sizes,
        draw=(lambda: fixed) if draw is None else (lambda: source(draw())),
        from_input=torch.tensor(arrays["from_input"], device=device),
        from_blocks=tensors("from_blocks/"),
        scales=tensors("scale/"),
        bias=torch.tensor(arrays["bias"], device=device),
        fast=fast,
    )


def arrays_of(network: Network) -> Arrays:
    """Return the weights of a network, to be stored."""
    arrays = {"bias": network.bias.cpu().numpy(), "from_input": network.from_input.cpu().numpy()}
    for layer, weight in enumerate(network.from_blocks):
        arrays[f"from_blocks/{layer + 1}"] = weight.cpu().numpy()
    for layer, scale in enumerate(network.scales):
        arrays[f"scale/{layer}"] = scale.cpu().numpy()
    return arrays


def training_numbers(domain: Domain, *, rows: int, units: int) -> int:
    """Bound how many float32 numbers a network takes while it is trained."""
    width = sum(domain.sizes)
    weights = sum(math.prod(shape) for shape in shapes_of(domain, units=units).values())
    # Weights, gradient and two moments; input, blocks and logits with what their gradients need, soft rows.
    return 4 * weights + rows * (10 * width + 12 * _BLOCKS * units)
