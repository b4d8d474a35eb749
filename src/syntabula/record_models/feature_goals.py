"""How far soft rows are from a released mean embedding, and the gradient of that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.fourier import FourierFeatures
from syntabula.marginals.measurement import FloatArray

if TYPE_CHECKING:
    from torch import Tensor

Complex = tuple["Tensor", "Tensor"]
"""Real and imaginary parts."""


@dataclass(frozen=True, eq=False)
class FeatureGoals:
    """The mean features of a table as goals of soft rows; a `GoalGroup` (`models.row_fitting`).

    A soft row draws its columns independently, so the mean of a wave over its rows is a product of one complex number
    for each column of the set: exact, where single rows drawn from it would need the square of a noisy mean.

    Attributes:
        codes: Where each column's codes are in a row.
        waves: For each column cos and sin of its codes' angles [columns of a set, shifts, waves, 2, codes], the leading
            ones flattened.
        shape: Columns of a set, shifts, columns, waves.
        shifts: As of `FourierFeatures`.
        wanted: Mean features [shifts, columns, waves, 2].
        precision: 1 / the standard deviation of each; 0 without noise.
        weight: Weight of a squared difference.
    """

    codes: tuple[slice, ...]
    waves: tuple[Tensor, ...]
    shape: tuple[int, int, int, int]
    shifts: tuple[tuple[int, ...], ...]
    wanted: Tensor
    precision: Tensor
    weight: Tensor

    @classmethod
    def of(
        cls,
        features: FourierFeatures,
        means: FloatArray,
        *,
        deviation: float,
        weights: FloatArray,
        device: Any,
    ) -> FeatureGoals:
        """Make goals on a torch device.

        Args:
            features: The waves.
            means: Their mean over all records, as long as twice their number.
            deviation: Standard deviation of the noise on each.
            weights: Weight of a squared difference, for each set of columns.
            device: Where to put them.
        """
        torch = require("torch", "neural")
        ends = np.cumsum(features.domain.sizes)
        waves = [np.stack([np.cos(a), np.sin(a)], axis=-1).reshape(len(a), -1).T for a in features.angles]
        wanted = torch.tensor(means.reshape(*features.shape, 2), dtype=torch.float32, device=device)
        by_set = torch.tensor(weights.reshape(*features.shape[:2], 1, 1), dtype=torch.float32, device=device)
        return cls(
            codes=tuple(slice(e - n, e) for e, n in zip(ends.tolist(), features.domain.sizes, strict=True)),
            waves=tuple(torch.tensor(w.astype(np.float32), device=device) for w in waves),
            shape=(features.angles[0].shape[1], *features.shape),
            shifts=features.shifts,
            wanted=wanted,
            precision=torch.full_like(wanted, 1 / deviation if deviation else 0.0),
            weight=torch.ones_like(wanted) * by_set,
        )

    def difference(self, table: Tensor) -> Tensor:
        """Return mean features less the wanted ones; see `GoalGroup.difference`."""
        torch = require("torch", "neural")
        seen = self._seen(table)
        means = []
        for place in range(len(self.shifts)):
            real, imaginary = _product(self._members(seen, place))
            means.append(torch.stack([real.mean(-1), imaginary.mean(-1)], dim=-1))
        difference: Tensor = torch.stack(means) - self.wanted
        return difference

    def is_explained(self, difference: Tensor) -> bool:
        """Return whether the sum of squared standardised differences is at most two deviations above its mean."""
        n = difference.numel()
        error = float((difference * self.precision).square().sum())
        return bool(self.precision.any()) and error <= n + 2 * math.sqrt(2 * n)

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Give each column of a set the product of the others, conjugated; see `GoalGroup.add_gradient`."""
        seen = self._seen(table.to(gradient.dtype))
        slopes = seen.new_empty(seen.shape)
        for place, shift in enumerate(self.shifts):
            members = self._members(seen, place)
            own_slope = slope[place].to(gradient.dtype)[..., None]
            for i, distance in enumerate(shift):
                others = [(re, -im) for re, im in (*members[:i], *members[i + 1 :])]
                parts = _product([(own_slope[:, :, 0], own_slope[:, :, 1]), *others])
                for kind, part in enumerate(parts):
                    slopes[:, i, place, :, kind] = part.roll(distance, 0)
        for column, (codes, waves) in enumerate(zip(self.codes, self.waves, strict=True)):
            gradient.T[codes] += waves.T @ slopes[column].reshape(waves.shape[0], -1)

    def _seen(self, table: Tensor) -> Tensor:
        """Return the mean wave of each row and column [columns, columns of a set, shifts, waves, 2, rows]."""
        torch = require("torch", "neural")
        turned = table.T.contiguous()
        width, n_shifts, d, n_waves = self.shape
        seen = turned.new_empty((d, width * n_shifts * n_waves * 2, len(table)))
        for column, (codes, waves) in enumerate(zip(self.codes, self.waves, strict=True)):
            torch.mm(waves, turned[codes], out=seen[column])
        shaped: Tensor = seen.reshape(d, width, n_shifts, n_waves, 2, len(table))
        return shaped

    def _members(self, seen: Tensor, place: int) -> list[Complex]:
        """Return the waves of the columns of each set at one shift, each [first columns, waves, rows]."""
        shift = self.shifts[place]
        both = [seen[:, i, place].roll(-distance, 0) for i, distance in enumerate(shift)]
        return [(member[:, :, 0], member[:, :, 1]) for member in both]


def _product(members: Sequence[Complex]) -> Complex:
    """Return the product of complex numbers."""
    real, imaginary = members[0]
    for other_real, other_imaginary in members[1:]:
        real, imaginary = (
            real * other_real - imaginary * other_imaginary,
            real * other_imaginary + imaginary * other_real,
        )
    return real, imaginary
