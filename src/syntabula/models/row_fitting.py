"""Fits soft rows to noisy marginals by gradient descent, on a torch device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from syntabula._extras import require
from syntabula.errors import ArgumentError

if TYPE_CHECKING:
    from torch import Tensor


Loss = Literal["squared", "largest", "halved"]
"""The loss: all weighted squared differences, or the largest absolute ones, or these until they are halved."""

_CHECK_EVERY = 10
"""Steps between checks whether noise explains the differences."""

_PATIENCE = 50
"""Steps between comparisons of the loss: single steps of Adam are too uneven to compare."""

_AMONG_LARGEST = 0.5

_FORGET = 0.5


class SoftRows(Protocol):
    """Maps trainable parameters to one distribution per row and column."""

    @property
    def parameters(self) -> list[Tensor]:
        """All tensors that fitting changes in place."""
        ...

    @property
    def fast(self) -> bool:
        """Whether gradients are multiplied in bfloat16, which is several times faster on some processors."""
        ...

    def table(self) -> Tensor:
        """Return the distributions of all columns side by side [rows, codes], float32."""
        ...

    def backward(self, gradient: Tensor) -> None:
        """Set every parameter's gradient from that of the last table [rows, codes]."""
        ...

    def settle(self) -> None:
        """Project the parameters back to their allowed set; called after each step."""
        ...


class GoalGroup(Protocol):
    """A group of goals that few operations compare with the rows."""

    @property
    def precision(self) -> Tensor:
        """1 / the standard deviation of each cell; 0 where nothing was measured."""
        ...

    @property
    def weight(self) -> Tensor:
        """Weight of each cell's squared difference."""
        ...

    def difference(self, table: Tensor) -> Tensor:
        """Return the difference of rows [rows, codes] from the targets, one number for each cell."""
        ...

    def is_explained(self, difference: Tensor) -> bool:
        """Return whether noise explains the differences of each goal."""
        ...

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Add to the table's gradient the contribution of the differences' gradient, times the number of rows.

        Args:
            gradient: [rows, codes]; changed in place.
            table: The rows, in the type used for products.
            slope: Gradient of each difference, in the same type.
        """
        ...


def fit_rows(
    rows: SoftRows,
    groups: Sequence[GoalGroup],
    *,
    loss: Loss = "squared",
    iterations: int,
    learning_rate: float,
    tolerance: float,
    stop_at_noise: bool,
    ends: Callable[[int], bool] | None = None,
) -> int:
    """Fit rows by Adam (Kingma and Ba 2015), with new state at each call; return the number of steps taken.

    Args:
        rows: Changed in place.
        groups: The goals.
        loss: "squared": the sum of weighted squared differences. "largest": the mean absolute difference of
            the cells whose error is at least half the recent largest (Liu, Vietri, Wu 2021, GEM, section
            4). "halved": the same, until every error is below half the largest at the start.
        iterations: Most steps.
        learning_rate: Adam's learning rate.
        tolerance: Stop when 50 steps improve the smallest loss by less than this fraction.
        stop_at_noise: Stop when noise explains the error of every goal, or under the squared loss that of all together:
            further steps follow the noise.
        ends: Called before each step with the number of those taken; returns whether it is time to stop.
    """
    torch = require("torch", "neural")
    parameters = [p.requires_grad_() for p in rows.parameters]
    optimiser = _Adam(parameters, learning_rate)
    slopes_of = _Squared(groups) if loss == "squared" else _Largest(groups)
    before, bar, taken = math.inf, 0.0, 0
    while taken < iterations and not (ends is not None and ends(taken)):
        table: Any = rows.table()
        with torch.no_grad():
            differences = [group.difference(table) for group in groups]
            is_asked = stop_at_noise and taken % _CHECK_EVERY == 0
            if is_asked and _are_explained(groups, differences, together=loss == "squared"):
                break
            if loss == "halved":
                farthest = _farthest(groups, differences)
                bar = bar or farthest / 2
                if farthest < bar:
                    break
            slopes = slopes_of(differences)
            if taken % _PATIENCE == _PATIENCE - 1:
                if slopes_of.smallest() > (1 - tolerance) * before:
                    break
                before = slopes_of.smallest()
            gradient = _gradient(groups, table, slopes, torch.bfloat16 if rows.fast else torch.float32)
        rows.backward(gradient)
        optimiser.step()
        rows.settle()
        taken += 1
    for parameter in parameters:
        parameter.requires_grad_(False)
    return taken


def _farthest(groups: Sequence[GoalGroup], differences: Sequence[Tensor]) -> float:
    """Return the largest error of a measured cell."""
    pairs = zip(groups, differences, strict=True)
    return max(float((d.abs() * (group.precision > 0)).max()) for group, d in pairs)


def _gradient(groups: Sequence[GoalGroup], table: Tensor, slopes: Sequence[Tensor], dtype: Any) -> Tensor:
    """Return the gradient of the table [rows, codes] from that of the differences.

    Written by hand, as its products may be rounded while those of the differences may not.
    """
    torch = require("torch", "neural")
    gradient, rounded = torch.zeros_like(table), table.to(dtype)
    for group, slope in zip(groups, slopes, strict=True):
        group.add_gradient(gradient, rounded, slope.to(dtype))
    mean: Tensor = gradient.div_(len(table))
    return mean


def _are_explained(groups: Sequence[GoalGroup], differences: Sequence[Tensor], *, together: bool) -> bool:
    """Return whether noise explains the differences of each goal, or if asked the sum of all of them."""
    pairs = [*zip(groups, differences, strict=True)]
    if all(group.is_explained(difference) for group, difference in pairs):
        return True
    if not together:
        return False
    errors = sum(float((difference * group.precision).square().sum()) for group, difference in pairs)
    # Each cell's noise has a variance of one there.
    return errors <= sum(int((g.precision > 0).expand_as(d).sum()) for g, d in pairs)


class _Adam:
    """Adam with its usual constants, in place; torch's own class takes more than a second to import."""

    def __init__(self, parameters: Sequence[Tensor], learning_rate: float) -> None:
        torch = require("torch", "neural")
        self._parameters = parameters
        self._rate = learning_rate
        self._first = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        self._second = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        self._taken = [torch.zeros((), device=p.device) for p in parameters]

    def step(self) -> None:
        """Update all parameters from their gradients."""
        with require("torch", "neural").no_grad():
            require("torch.optim.adam", "neural").adam(
                self._parameters,
                [p.grad for p in self._parameters],
                self._first,
                self._second,
                [],
                self._taken,
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self._rate,
                weight_decay=0.0,
                eps=1e-8,
                maximize=False,
            )


class _Squared:
    """The gradient of the weighted squared differences, and the smallest loss so far."""

    def __init__(self, groups: Sequence[GoalGroup]) -> None:
        self._weights = [2.0 * group.weight for group in groups]
        self._smallest: Tensor | None = None

    def __call__(self, differences: Sequence[Tensor]) -> list[Tensor]:
        slopes = [weight * d for weight, d in zip(self._weights, differences, strict=True)]
        value = differences[0].new_zeros(())
        for slope, difference in zip(slopes, differences, strict=True):
            value += slope.flatten() @ difference.flatten() / 2
        self._smallest = value if self._smallest is None else value.minimum(self._smallest)
        return slopes

    def smallest(self) -> float:
        assert self._smallest is not None  # asked after a step
        return float(self._smallest)


class _Largest:
    """The gradient of the mean of the largest absolute differences of measured cells."""

    def __init__(self, groups: Sequence[GoalGroup]) -> None:
        self._measured = [group.precision > 0 for group in groups]
        self._of_late = 0.0
        self._smallest = math.inf

    def __call__(self, differences: Sequence[Tensor]) -> list[Tensor]:
        errors = [d * m for d, m in zip(differences, self._measured, strict=True)]
        farthest = max(float(e.abs().max()) for e in errors)
        self._of_late = _FORGET * self._of_late + (1 - _FORGET) * farthest if self._of_late else farthest
        self._smallest = min(self._smallest, farthest)
        chosen = [(e.abs() >= _AMONG_LARGEST * self._of_late) & (e != 0) for e in errors]
        count = max(1, sum(int(c.sum()) for c in chosen))
        return [e.sign() * c / count for e, c in zip(errors, chosen, strict=True)]

    def smallest(self) -> float:
        return self._smallest


def pick_device(name: str) -> Any:
    """Return the torch device with a name; "auto" is the first CUDA device, or else the processor.

    Raises:
        ArgumentError: If there is no such device.
        MissingExtraError: If torch is not installed.
    """
    torch = require("torch", "neural")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        # A device such as "meta" has tensors without numbers.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError):
        raise ArgumentError(
            f'torch has no device {name!r} on this machine that can compute; use "auto", or "cpu"'
        ) from None
    return device


def multiplies_bfloat16(device: Any) -> bool:
    """Return whether the device multiplies bfloat16 numbers faster than float32 ones."""
    torch = require("torch", "neural")
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
