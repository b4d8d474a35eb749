"""Fitting: move soft rows towards noisy marginals by gradient descent, on a device of torch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from syntabula._extras import require
from syntabula.errors import ArgumentError

if TYPE_CHECKING:
    from torch import Tensor


Loss = Literal["squared", "largest", "halved"]
"""What is made small: all weighted squared differences, or the absolute ones that are largest, or these to half."""

_CHECK_EVERY = 10
"""Steps between two looks at whether noise explains the differences."""

_PATIENCE = 50
"""Steps over which the loss is compared: Adam's steps are too uneven to compare one with the next."""

_AMONG_LARGEST = 0.5

_FORGET = 0.5


class SoftRows(Protocol):
    """Makes one distribution per row and column out of parameters that can be moved."""

    @property
    def parameters(self) -> list[Tensor]:
        """All that fitting changes, in place."""
        ...

    @property
    def fast(self) -> bool:
        """Whether gradients are multiplied in bfloat16, which some processors do several times faster."""
        ...

    def table(self) -> Tensor:
        """Return the distributions of all columns side by side [rows, codes], float32."""
        ...

    def backward(self, gradient: Tensor) -> None:
        """Give every parameter its derivative, from that by the last table [rows, codes]."""
        ...

    def settle(self) -> None:
        """Bring the parameters back to where they may be; called after each step."""
        ...


class GoalGroup(Protocol):
    """Some goals that few operations compare with the rows."""

    @property
    def precision(self) -> Tensor:
        """One over the standard deviation of each cell; 0 where nothing was measured."""
        ...

    @property
    def weight(self) -> Tensor:
        """What a squared difference of each cell counts."""
        ...

    def difference(self, table: Tensor) -> Tensor:
        """Return how far rows [rows, codes] are from what is wanted, one number for each cell."""
        ...

    def is_explained(self, difference: Tensor) -> bool:
        """Return whether noise explains the differences of each goal."""
        ...

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Add to a gradient by the table what a gradient by the differences gives, times the number of rows.

        Args:
            gradient: [rows, codes]; changed in place.
            table: The rows, in the type in which products are taken.
            slope: The derivative by each of the differences, in the same type.
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
) -> int:
    """Move rows by Adam (Kingma and Ba 2015), made anew at each call; return the number of steps taken.

    Args:
        rows: Changed in place.
        groups: What to reach.
        loss: "squared": the sum of weighted squared differences. "largest": the mean absolute difference of
            those cells that are at least half as far off as the farthest one was of late (Liu, Vietri, Wu
            2021, GEM, section 4). "halved": the same, until none is half as far off as the farthest was at
            the start.
        iterations: At most so many steps.
        learning_rate: Of Adam.
        tolerance: Stop when 50 steps improve the smallest loss by less than this part.
        stop_at_noise: Stop when no goal is farther off than noise explains.
    """
    torch = require("torch", "neural")
    parameters = [p.requires_grad_() for p in rows.parameters]
    optimiser = _Adam(parameters, learning_rate)
    slopes_of = _Squared(groups) if loss == "squared" else _Largest(groups)
    before, bar, taken = math.inf, 0.0, 0
    while taken < iterations:
        table: Any = rows.table()
        with torch.no_grad():
            differences = [group.difference(table) for group in groups]
            if stop_at_noise and taken % _CHECK_EVERY == 0:
                pairs = zip(groups, differences, strict=True)
                if all(group.is_explained(difference) for group, difference in pairs):
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
    """Return how far off the farthest measured cell is."""
    pairs = zip(groups, differences, strict=True)
    return max(float((d.abs() * (group.precision > 0)).max()) for group, d in pairs)


def _gradient(groups: Sequence[GoalGroup], table: Tensor, slopes: Sequence[Tensor], dtype: Any) -> Tensor:
    """Return the derivative by the table [rows, codes] from that by the differences.

    Written out, as its products may be rounded where those of the differences may not.
    """
    torch = require("torch", "neural")
    gradient, rounded = torch.zeros_like(table), table.to(dtype)
    for group, slope in zip(groups, slopes, strict=True):
        group.add_gradient(gradient, rounded, slope.to(dtype))
    mean: Tensor = gradient.div_(len(table))
    return mean


class _Adam:
    """Adam with its usual constants, in place; the optimiser's class takes more than a second to import."""

    def __init__(self, parameters: Sequence[Tensor], learning_rate: float) -> None:
        torch = require("torch", "neural")
        self._parameters = parameters
        self._rate = learning_rate
        self._first = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        self._second = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        self._taken = [torch.zeros((), device=p.device) for p in parameters]

    def step(self) -> None:
        """Move all parameters against their gradients."""
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
    """The derivative of the weighted squared differences, and the smallest loss so far."""

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
    """The derivative of the mean of the largest absolute differences of measured cells."""

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


@contextmanager
def training_threads(n: int) -> Iterator[None]:
    """Let torch use so many threads of the processor, and as many as before afterwards.

    Sums are split between threads, so another number of them gives another rounding, and another model.
    """
    torch = require("torch", "neural")
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def pick_device(name: str) -> Any:
    """Return the device of a name; "auto" is the first CUDA device, or else the processor.

    Raises:
        ArgumentError: If there is no such device.
        MissingExtraError: If torch is not installed.
    """
    torch = require("torch", "neural")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise ArgumentError(f"torch has no device {name!r} on this machine") from None
    return device


def multiplies_bfloat16(device: Any) -> bool:
    """Return whether the device multiplies bfloat16 numbers faster than float32 ones."""
    torch = require("torch", "neural")
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
