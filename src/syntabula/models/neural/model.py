"""Soft rows whose distributions a network makes: the model of GEM and MargNet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from syntabula._arguments import count, flag, normalise, one_of, positive
from syntabula.models.neural.network import (
    Input,
    Network,
    arrays_of,
    draw_input,
    first_arrays,
    network_of,
    shapes_of,
    training_numbers,
)
from syntabula.models.row_fitting import Loss, SoftRows
from syntabula.models.soft_rows import (
    Arrays,
    SoftRowsModel,
)


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
