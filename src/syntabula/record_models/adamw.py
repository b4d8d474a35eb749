"""AdamW, which moves the weights of all networks that are trained on records, its learning rate, and their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from syntabula._arguments import real
from syntabula._extras import require

if TYPE_CHECKING:
    from torch import Tensor

WEIGHT_DECAY = 1e-4
_WARM_UP = 0.03
_LEAST_LENGTH = 1e-6
"""Is added to lengths of gradients, which may be 0."""

rate_of_steps = real(
    "a number from 1e-7 to 1, as each step moves a weight by about as much; the defaults lie between 5e-4 and 0.2",
    lambda number: 1e-7 <= number <= 1,
)
"""Learning rates. Lower ones leave float32 weights of about 1 where they are, and no network survives higher ones."""


class AdamW:
    """Loshchilov and Hutter (2019), "Decoupled weight decay regularization", in place.

    It is torch's own, without the class around it, which takes more than a second to import.

    Args:
        weights: What is moved; all that it reads of them is their values and gradients.
        betas: How much is kept at each step of the mean gradient, and of that of the squares.

    Attributes:
        taken: Number of steps that each weight was moved.
        first: Running mean of each weight's gradient.
        second: That of its squares.
    """

    def __init__(self, weights: Sequence[Tensor], betas: tuple[float, float] = (0.9, 0.999)) -> None:
        torch = require("torch", "neural")
        self._weights, self._betas = weights, betas
        self.taken = [torch.zeros((), device=w.device) for w in weights]
        self.first, self.second = (
            [torch.zeros_like(w, requires_grad=False) for w in weights] for _ in range(2)
        )

    def step(self, rate: float) -> None:
        """Move the weights that have a gradient, at a learning rate."""
        moved = [place for place, w in enumerate(self._weights) if w.grad is not None]
        torch = require("torch", "neural")
        with torch.no_grad():
            taken = [self.taken[place] for place in moved]
            torch._foreach_add_(taken, 1)
            torch._fused_adamw_(
                [self._weights[place] for place in moved],
                [self._weights[place].grad for place in moved],
                *([moments[place] for place in moved] for moments in (self.first, self.second)),
                [],
                taken,
                amsgrad=False,
                beta1=self._betas[0],
                beta2=self._betas[1],
                lr=rate,
                weight_decay=WEIGHT_DECAY,
                eps=1e-8,
                maximize=False,
            )

    def shorten_gradients(self, longest: float) -> None:
        """Shorten all gradients together to an L2 length of at most so much; it is above 0."""
        torch = require("torch", "neural")
        with torch.no_grad():
            gradients = [w.grad for w in self._weights if w.grad is not None]
            length = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
            torch._foreach_mul_(gradients, (longest / (length + _LEAST_LENGTH)).clamp_max(1.0))

    def forget_gradients(self) -> None:
        """Let go of the gradients of the step before."""
        for weight in self._weights:
            weight.grad = None


def warmth(done: float, step: int) -> float:
    """Return the part of the learning rate at a step: it grows at first, then falls along half a cosine to zero."""
    return min(1.0, max(done / _WARM_UP, (step + 1) / 50)) * (1 + math.cos(math.pi * done)) / 2


def move_mean(mean: Sequence[Tensor], weights: Sequence[Tensor], average: float, step: int) -> None:
    """Move a running mean of weights towards them, in place; the first steps are forgotten faster."""
    torch = require("torch", "neural")
    with torch.no_grad():
        torch._foreach_lerp_(mean, weights, 1 - min(average, (1 + step) / (10 + step)))
