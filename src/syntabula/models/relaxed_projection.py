"""Soft rows that are optimised directly: the model of RAP and RAP++."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from syntabula._arguments import normalise, one_of
from syntabula._extras import require
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.threshold import CrossedThresholds, LinearThreshold, with_threshold_columns
from syntabula.models.product_mixture import ProductMixture
from syntabula.models.row_fitting import GoalGroup, SoftRows, multiplies_bfloat16
from syntabula.models.soft_rows import Arrays, SoftRowsModel
from syntabula.models.soft_thresholds import STEEPEST, SoftThresholds, crossed_parts

if TYPE_CHECKING:
    from torch import Tensor


_EXACT = 1e-6
"""Smallest relative step that still counts as a step."""


class Simplices:
    """The probability simplex of each column, for numbers [codes, rows].

    The distribution nearest to some numbers (Martins, Astudillo 2016, sparsemax) is the numbers less a common
    amount, clipped at 0. Its sum is decreasing and convex in the amount, so Newton's method finds the amount
    exactly in a few passes: the first step may lead anywhere below it, and all others rise towards it. The start
    is the amount of the last call, which is close if numbers change by small steps.

    Args:
        sizes: Number of codes of each column.
        rows: Number of rows.
        device: Torch device.
    """

    def __init__(self, sizes: Sequence[int], rows: int, device: Any) -> None:
        torch = require("torch", "neural")
        self._sizes = tuple(sizes)
        self._column = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)).to(device)
        self._amount = torch.zeros((len(sizes), rows), device=device)

    def project(self, numbers: Tensor) -> None:
        """Replace numbers [codes, rows], float32, by the nearest distributions."""
        torch = require("torch", "neural")
        with torch.no_grad():
            above, held = torch.empty_like(numbers), torch.empty_like(numbers)
            amount, total, count = (
                self._amount,
                torch.empty_like(self._amount),
                torch.empty_like(self._amount),
            )
            moving = True
            while moving:
                self._rise(numbers, amount, above)
                torch.sign(above, out=held)
                total.zero_().index_add_(0, self._column, above)
                count.zero_().index_add_(0, self._column, held)
                # If the amount is above all numbers, the sum is 0 and a step of one leads down.
                step = total.sub_(1).div_(count.clamp_(min=1))
                amount.add_(step)
                moving = float(step.abs_().max()) > _EXACT * max(1.0, float(amount.abs().max()))
            self._rise(numbers, amount, above)
            numbers.copy_(above)

    def softmax(self, numbers: Tensor) -> Tensor:
        """Return distributions in proportion to the exponentials of numbers [codes, rows]."""
        torch = require("torch", "neural")
        found: Tensor = torch.cat([part.softmax(dim=0) for part in torch.split(numbers, self._sizes)])
        return found

    def _rise(self, numbers: Tensor, amount: Tensor, above: Tensor) -> None:
        """Write the excess of numbers over their column's amount into `above`."""
        torch = require("torch", "neural")
        torch.index_select(amount, 0, self._column, out=above)
        torch.sub(numbers, above, out=above).relu_()


Projection = Literal["softmax", "sparsemax"]
"""How free numbers become distributions: softmax (RAP), or projection onto the simplex (RAP++)."""

_TEMPERATURES = tuple(2.0**k for k in range(1, 12))
"""Steepness of thresholds (tab_bench: 2 at first, then doubled ten times)."""


class FreeRows:
    """One free number per row and code, and thresholds over the resulting distributions.

    The first axis of the numbers is the code, so that sums over a column's codes run along the rows.

    Args:
        sizes: Number of codes of each column.
        numbers: [rows, sum of sizes].
        projection: How the numbers become distributions.
        thresholds: Thresholds of the rows, each an additional column with two codes.
        device: Torch device.

    Attributes:
        steepness: Steepness of the sigmoid that replaces a threshold's step.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        numbers: np.ndarray,
        *,
        projection: Projection,
        thresholds: SoftThresholds,
        device: Any,
    ) -> None:
        torch = require("torch", "neural")
        self.steepness = STEEPEST
        self._numbers = torch.tensor(np.ascontiguousarray(numbers.T), dtype=torch.float32, device=device)
        self._simplices = Simplices(sizes, len(numbers), device)
        self._projection = projection
        self._thresholds = thresholds.on(device)
        self._fast = multiplies_bfloat16(device)
        self.settle()

    @property
    def parameters(self) -> list[Tensor]:
        """The tensor that fitting changes [codes, rows]."""
        return [self._numbers]

    @property
    def numbers(self) -> np.ndarray:
        """The numbers [rows, codes], float32."""
        found: np.ndarray = np.ascontiguousarray(self._numbers.detach().cpu().numpy().T)
        return found

    @property
    def fast(self) -> bool:
        """Whether gradients are multiplied in bfloat16."""
        return self._fast

    def table(self) -> Tensor:
        """Return the distributions of all columns side by side [rows, codes], thresholds last; float32."""
        codes = self._numbers
        if self._projection == "softmax":
            codes = self._simplices.softmax(codes)
        self._table: Any = self._thresholds.beside(codes, self.steepness)
        table: Tensor = self._table.T
        return table

    def backward(self, gradient: Tensor) -> None:
        """Set the gradient of the numbers from that of the last table [rows, codes]."""
        self._numbers.grad = None
        if self._table is self._numbers:
            self._numbers.grad = gradient.T
        else:
            self._table.backward(gradient.T)

    def settle(self) -> None:
        """Replace the numbers by the nearest distributions, if the projection is sparsemax.

        The step itself ignores the projection, so a code with probability 0 can return.
        """
        if self._projection == "sparsemax":
            self._simplices.project(self._numbers)


@dataclass(frozen=True, kw_only=True, eq=False)
class RelaxedProjection(SoftRowsModel):
    """A mixture of products whose distributions are free numbers, moved towards noisy marginals.

    Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva (2021), "Differentially Private Query Release Through
    Adaptive Projection" (RAP), ICML; Vietri et al. (2022), "Private Synthetic Data for Multitask Learning and
    Marginal Queries" (RAP++), NeurIPS. Rows start at random. Squared differences, in fractions of all records,
    are weighted by 1 / the standard deviation of their noise; in the papers all noise and all weights are equal.
    The number of steps and the learning rate are ours (tab_bench, table 13: 100 to 420 steps of 0.005), and a
    fit ends as soon as noise explains the remaining error.

    Marginals that involve linear thresholds of ordered columns can be fitted too (RAP++'s random features): a
    step has no gradient, so it is a sigmoid whose steepness doubles ten times within a fit.

    Attributes:
        projection: "softmax" of each column's numbers (RAP), or "sparsemax": after each step the numbers are
            replaced by the nearest distributions (RAP++).
    """

    kind: ClassVar[str] = "relaxed_projection"

    n_rows: int = 1000
    iterations: int = 2000
    learning_rate: float = tunable(0.05, Range(low=0.01, high=0.2, log=True))
    projection: Projection = "softmax"
    _thresholds: Mapping[str, LinearThreshold] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(self, projection=one_of("softmax", "sparsemax"))

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain, without thresholds."""
        return replace(super().over(domain), _thresholds={})

    def with_thresholds(self, thresholds: Mapping[str, LinearThreshold]) -> Self:
        """Return the same model, able to fit and answer marginals that involve some thresholds.

        Args:
            thresholds: Thresholds over columns of the domain, by the name of their column in such
                marginals. A release does not store them.

        Raises:
            SchemaError: If a threshold is over an unknown column, or has the name of one.
        """
        with_threshold_columns(self.domain, thresholds)
        for threshold in thresholds.values():
            self.domain.canonical(threshold.columns)
        return replace(self, _thresholds=dict(thresholds))

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, starting from this one's rows.

        Args:
            measurements: At least one; a clique may be measured more than once, and may name thresholds.

        Raises:
            ArgumentError: If there is none, or values do not have the shape of their clique.
            SchemaError: If a clique names an unknown column.
            ResourceError: If a fit would need too much memory; nothing was allocated.
        """
        # Thresholds without measurements are left out of the fit.
        # Those measured with the same column are adjacent, so that one product answers them.
        named = {c: m.clique for m in measurements for c in m.clique if c in self._thresholds}
        asked = {name: self._thresholds[name] for name in sorted(named, key=lambda n: named[n][::-1])}
        fitted = super(RelaxedProjection, replace(self, _thresholds=asked)).fit(measurements)
        return replace(fitted, _thresholds=self._thresholds)

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique, which may name thresholds: one axis per column, in its order."""
        if not self._thresholds:
            return super().marginals(cliques)
        rows = self.rows
        thresholds = SoftThresholds.over(self.domain, self._thresholds)
        wider = np.concatenate([rows.probabilities, thresholds.probabilities(rows.probabilities)], axis=1)
        found = ProductMixture(self._measurable, wider).marginals(cliques, limit_mb=self.max_memory_mb)
        return [self._total * table for table in found]

    def crossed_counts(self, thresholds: CrossedThresholds) -> FloatArray:
        """Return how many records are expected to pass each threshold, by the codes of its other column."""
        return self._total * crossed_parts(self.domain, thresholds, self.rows.probabilities)

    @property
    def _measurable(self) -> Domain:
        return with_threshold_columns(self.domain, self._thresholds)

    def _first_arrays(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        numbers = rng.standard_normal((self.n_rows, sum(self.domain.sizes)), dtype=np.float32)
        return {"numbers": numbers}

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], str]]:
        return {"numbers": ((self.n_rows, sum(self.domain.sizes)), "float32")}

    def _soft_rows(self, arrays: Arrays, device: Any, rng: np.random.Generator) -> SoftRows:
        return FreeRows(
            self.domain.sizes,
            arrays["numbers"],
            projection=self.projection,
            thresholds=SoftThresholds.over(self.domain, self._thresholds),
            device=device,
        )

    def _move(self, rows: SoftRows, groups: Sequence[GoalGroup]) -> None:
        assert isinstance(rows, FreeRows)
        if not self._thresholds:
            super()._move(rows, groups)
            return
        part = replace(self, iterations=max(1, self.iterations // len(_TEMPERATURES)))
        for rows.steepness in _TEMPERATURES:
            super(RelaxedProjection, part)._move(rows, groups)

    def _arrays_of(self, rows: SoftRows) -> dict[str, np.ndarray]:
        assert isinstance(rows, FreeRows)
        return {"numbers": rows.numbers}

    def _row_operations(self) -> int:
        return 40 * sum(self.domain.sizes)  # a projection takes a dozen passes over a row

    def _working_numbers(self) -> int:
        # Numbers, gradient and two moments; distributions with what their gradient needs, and soft rows.
        return self.n_rows * (10 * sum(self.domain.sizes) + 12 * len(self._thresholds))
