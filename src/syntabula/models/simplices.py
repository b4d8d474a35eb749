"""Sparsemax and softmax of several columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from syntabula._extras import require

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
