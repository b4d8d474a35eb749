"""Soft rows whose distributions a network makes: the model of GEM and MargNet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from syntabula._arguments import count, flag, normalise, one_of, positive
from syntabula._extras import require
from syntabula.marginals.domain import Domain
from syntabula.models.network_pass import Codes, Numbers, Pass
from syntabula.models.row_fitting import Loss, SoftRows, multiplies_bfloat16
from syntabula.models.soft_rows import (
    Arrays,
    SoftRowsModel,
)

if TYPE_CHECKING:
    from torch import Tensor


Input = Literal["codes", "gaussian"]
"""What a row starts from: one random code per column (MargNet), or normal numbers (GEM)."""

_BLOCKS = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class NeuralRows(SoftRowsModel):
    """A mixture of products that a network makes out of fixed noise, trained towards noisy marginals.

    Liu, Vietri, Wu (2021), "Iterative Methods for Private Synthetic Data: Unifying Framework and New Methods"
    (GEM); Chen, Gong, Wang, "Beyond One-Size-Fits-All: Neural Networks for Differentially Private Tabular Data
    Synthesis" (MargNet), algorithm 3. The loss of MargNet is the sum of w ||M(rows) - measured||^2 over the
    measurements, in parts of the whole, with w = 1 / sigma and d times that for those which are new since the
    last fit (equation 6). A second fit to the same measurements has none that are new.

    Departures: a fit ends as soon as noise explains what is left, or nothing improves any more, where MargNet
    takes all of its steps; measurements of the same columns are joined first; measurements are not cut off at 0
    before they are fitted, as the public code does, since that would add mass to empty cells; batch
    normalisation uses the statistics of all rows when they are sampled also, so that they are what was fitted;
    products are rounded to bfloat16 where the machine gains by it.

    Saved are the soft rows and the weights. A model that was loaded answers and samples without torch.

    Attributes:
        units: Width of the two blocks.
        loss: "squared" as in MargNet; "largest", the absolute error of the worst cells; or "halved", the same
            until none is half as far off as the farthest was when the fit began, as in GEM.
        start: What the rows start from: "codes", one code per column (MargNet), or "gaussian" numbers (GEM).
        fixed_input: Whether that is drawn once, or anew at each step (MargNet, appendix D.4: once is as good).
        emphasis: How much more the newest marginals weigh; None for the number of columns.
    """

    kind: ClassVar[str] = "neural"

    units: int = 256
    loss: Loss = "squared"
    start: Input = "codes"
    fixed_input: bool = True
    emphasis: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(
            self,
            units=count(),
            emphasis=positive.or_none,
            fixed_input=flag,
            loss=one_of("squared", "largest", "halved"),
            start=one_of("codes", "gaussian"),
        )

    @property
    def _loss(self) -> Loss:
        return self.loss

    @property
    def _emphasis(self) -> float:
        return len(self.domain) if self.emphasis is None else self.emphasis

    def _first_arrays(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return first_arrays(self.domain, rows=self.n_rows, units=self.units, start=self.start, rng=rng)

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], str]]:
        width = sum(self.domain.sizes)
        shapes = {
            name: (shape, "float32") for name, shape in shapes_of(self.domain, units=self.units).items()
        }
        if self.start == "gaussian":
            return shapes | {"input": ((self.n_rows, width), "float32")}
        return shapes | {"input": ((self.n_rows, len(self.domain)), "int64")}

    def _check_arrays(self, arrays: Arrays) -> None:
        super()._check_arrays(arrays)
        if (
            self.start == "codes"
            and not ((arrays["input"] >= 0) & (arrays["input"] < sum(self.domain.sizes))).all()
        ):
            raise ValueError("a code of the input is outside the domain")

    def _soft_rows(self, arrays: Arrays, device: Any, rng: np.random.Generator) -> SoftRows:
        def draw() -> np.ndarray:
            return draw_input(self.domain, self.n_rows, self.start, rng)

        return network_of(self.domain, arrays, device=device, draw=None if self.fixed_input else draw)

    def _arrays_of(self, rows: SoftRows) -> dict[str, np.ndarray]:
        assert isinstance(rows, Network)
        return arrays_of(rows)

    def _row_operations(self) -> int:
        width, blocks = sum(self.domain.sizes), self.units * (self.units + 2 * sum(self.domain.sizes))
        from_input = (len(self.domain) if self.start == "codes" else width) * (2 * self.units + width)
        return blocks + from_input

    def _working_numbers(self) -> int:
        return training_numbers(self.domain, rows=self.n_rows, units=self.units)


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


def first_arrays(
    domain: Domain, *, rows: int, units: int, start: Input, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return the input and the weights of an untrained network, all random.

    Weights lie evenly within one over the root of the number of a layer's inputs.
    """
    shapes = shapes_of(domain, units=units)
    arrays: dict[str, np.ndarray] = {"input": draw_input(domain, rows, start, rng)}
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


def arrays_of(network: Network) -> dict[str, np.ndarray]:
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
