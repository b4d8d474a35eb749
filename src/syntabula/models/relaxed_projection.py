"""Soft rows that are moved directly: the model of RAP and RAP++."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from syntabula._extras import require
from syntabula.models.devices import multiplies_bfloat16
from syntabula.models.row_fitting import SoftRows
from syntabula.models.soft_rows import Arrays, SoftRowsModel, require_one_of

if TYPE_CHECKING:
    from torch import Tensor

Projection = Literal["softmax", "sparsemax"]
"""How free numbers become distributions: RAP's softmax, or RAP++'s nearest point of the simplex."""


@dataclass(frozen=True, eq=False)
class FreeRows:
    """One free number per row and code.

    Attributes:
        sizes: Number of codes of each column.
        numbers: float32 [rows, sum of sizes].
        projection: Makes distributions of them.
        fast: Whether gradients are multiplied in bfloat16.
    """

    sizes: tuple[int, ...]
    numbers: Tensor
    projection: Projection
    fast: bool

    @property
    def parameters(self) -> list[Tensor]:
        """All that fitting changes."""
        return [self.numbers]

    def blocks(self) -> list[Tensor]:
        """Return the distributions [rows, codes] of each column, float32."""
        torch = require("torch", "neural")
        parts = torch.split(self.numbers, self.sizes, dim=1)
        if self.projection == "softmax":
            return [part.softmax(dim=1) for part in parts]
        return [sparsemax(part) for part in parts]


def sparsemax(numbers: Tensor) -> Tensor:
    """Return the distribution nearest to each row of numbers (Martins, Astudillo 2016); many parts are 0."""
    torch = require("torch", "neural")
    with torch.no_grad():
        falling = numbers.sort(dim=1, descending=True).values
        places = torch.arange(1, numbers.shape[1] + 1, device=numbers.device)
        kept = (1 + places * falling > falling.cumsum(dim=1)).sum(dim=1, keepdim=True)
        support = numbers >= falling.gather(1, kept - 1)
    # Within its support the nearest distribution is the numbers less a common amount.
    surplus = ((numbers * support).sum(dim=1, keepdim=True) - 1) / support.sum(dim=1, keepdim=True)
    nearest: Tensor = ((numbers - surplus) * support).relu()
    return nearest


@dataclass(frozen=True, kw_only=True, eq=False)
class RelaxedProjection(SoftRowsModel):
    """A mixture of products whose distributions are free numbers, moved towards noisy marginals.

    Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva (2021), "Differentially Private Query Release Through
    Adaptive Projection" (RAP), ICML; Vietri et al. (2022), "Private Synthetic Data for Multitask Learning and
    Marginal Queries" (RAP++), NeurIPS. Rows start at random. Squared differences, in parts of the whole, weigh
    by one over the standard deviation of their noise; in the papers, where all noise is alike, they weigh alike.

    Attributes:
        projection: "softmax" of each column's numbers (RAP), or "sparsemax", the nearest distribution (RAP++).
    """

    n_rows: int = 1000
    iterations: int = 2000
    learning_rate: float = 0.05
    projection: Projection = "softmax"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of("projection", self.projection, ("softmax", "sparsemax"))

    def _first_arrays(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        numbers = rng.standard_normal((self.n_rows, sum(self.domain.sizes)), dtype=np.float32)
        return {"numbers": numbers}

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], str]]:
        return {"numbers": ((self.n_rows, sum(self.domain.sizes)), "float32")}

    def _soft_rows(self, arrays: Arrays, device: Any, rng: np.random.Generator) -> SoftRows:
        torch = require("torch", "neural")
        return FreeRows(
            sizes=self.domain.sizes,
            numbers=torch.tensor(arrays["numbers"], device=device),
            projection=self.projection,
            fast=multiplies_bfloat16(device),
        )

    def _arrays_of(self, rows: SoftRows) -> dict[str, np.ndarray]:
        assert isinstance(rows, FreeRows)
        return {"numbers": rows.numbers.cpu().numpy()}

    def _working_numbers(self) -> int:
        # Numbers, gradient and two moments; distributions with what their gradient needs, and soft rows.
        return 10 * self.n_rows * sum(self.domain.sizes)
