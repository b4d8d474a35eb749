"""The losses of `DenoisingNetwork` and their slopes by what it says, in few passes over memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

_LEAST_SUM = 1e-25
"""Of a column's parts, where the largest of all columns is 1: below, float32 may lose parts that matter."""


class CodeColumns:
    """Columns of codes, whose logits lie side by side.

    Args:
        sizes: Number of codes of each column.
        device: Of torch.
    """

    def __init__(self, sizes: Sequence[int], device: Any) -> None:
        self.sizes = [*sizes]
        columns = torch.arange(len(self.sizes), device=device)
        column_of_logit = columns.repeat_interleave(
            torch.as_tensor(self.sizes, dtype=torch.long, device=device)
        )
        self._ones = (columns[:, None] == column_of_logit).float()

    def largest(self, logits: Tensor) -> Tensor:
        """Return the largest logit of each column [..., columns], from those of all [..., logits]."""
        return torch.stack([part.amax(-1) for part in torch.split(logits, self.sizes, -1)], -1)

    def sums(self, numbers: Tensor) -> Tensor:
        """Return the sum of each column's numbers [..., columns], from those of all [..., logits]."""
        # Products with ones are far faster than sums of parts, and in this order than in the other.
        sums = (self._ones @ numbers.flatten(0, -2).T).T
        return sums.reshape(*numbers.shape[:-1], -1)

    def spread(self, numbers: Tensor) -> Tensor:
        """Return each column's own number [..., columns] at all of its logits [..., logits]."""
        return (numbers.flatten(0, -2) @ self._ones).reshape(*numbers.shape[:-1], -1)


@dataclass(frozen=True, eq=False)
class Asked:
    """What a network is asked of some rows, of which it says [..., numbers and then logits].

    Attributes:
        wanted: Numbers that it is to say [..., numbers].
        counted_numbers: Which numbers count [..., numbers].
        codes: Places of the codes that it is to say among the logits [..., columns].
        counted_codes: Which codes count [..., columns].
        noisy: Places of the noisy codes that it was told [..., columns].
        of_itself: What each of these tells of itself, which is added to its logit [..., columns].
    """

    wanted: Tensor
    counted_numbers: Tensor
    codes: Tensor
    counted_codes: Tensor
    noisy: Tensor
    of_itself: Tensor


class DenoisingLoss(torch.autograd.Function):
    """Returns the loss of each row, summed over columns: squared errors of numbers, minus log-probabilities of codes."""

    @staticmethod
    def forward(ctx: Any, said: Tensor, asked: Asked, columns: CodeColumns) -> Tensor:
        """Return losses [...] of what is said [..., numbers and logits]."""
        n_numbers = asked.wanted.shape[-1]
        away = (said[..., :n_numbers] - asked.wanted).mul_(asked.counted_numbers)
        losses = away.square().sum(-1)
        ctx.asked, ctx.columns = asked, columns
        if not columns.sizes:
            ctx.save_for_backward(away)
            return losses
        logits = said[..., n_numbers:].scatter_add(-1, asked.noisy, asked.of_itself)
        chances = logits.gather(-1, asked.codes)
        largest = logits.amax(-1, keepdim=True)
        parts = (logits - largest).exp_()
        sums = columns.sums(parts)
        drowned = sums.amin(-1) < _LEAST_SUM
        if drowned.any():
            # There each column has its own largest logit taken off.
            own = columns.largest(logits[drowned])
            parts[drowned] = (logits[drowned] - columns.spread(own)).exp_()
            sums[drowned] = columns.sums(parts[drowned])
            largest = largest.expand_as(sums).clone()
            largest[drowned] = own
        chances.sub_(largest).sub_(sums.log()).mul_(asked.counted_codes)
        ctx.save_for_backward(away, parts, sums)
        return losses.sub_(chances.sum(-1))

    @staticmethod
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor, None, None]:
        """Return the slopes by what is said."""
        asked, columns, (away, *of_codes) = ctx.asked, ctx.columns, ctx.saved_tensors
        n_numbers, slopes = away.shape[-1], slopes[..., None]
        found = away.new_empty((*away.shape[:-1], n_numbers + sum(columns.sizes)))
        torch.mul(away, 2 * slopes, out=found[..., :n_numbers])
        if of_codes:
            parts, sums = of_codes
            weights, logits = slopes * asked.counted_codes, found[..., n_numbers:]
            torch.mul(parts, columns.spread(weights / sums), out=logits)
            logits.scatter_add_(-1, asked.codes, weights.neg())
        return found, None, None
