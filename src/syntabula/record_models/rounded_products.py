"""Products of matrices that are rounded to bfloat16, with float32 sums, and so are those of their gradients.

What is rounded is off by 2^-9 of itself at most, without a bias to one side, which is far less than what the choice of a
batch moves a gradient by. bfloat16 has the exponents of float32, so that no gradient vanishes or needs a scale, and
numbers that are none stay so (Micikevicius et al. 2018, "Mixed Precision Training"; Kalamkar et al. 2019, "A Study of
BFLOAT16 for Deep Learning Training").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from syntabula.record_models.products import Products

_LEAST_OPERATIONS = 1 << 23
"""Multiplications of a product that is rounded: smaller ones take less in float32 than the change of types."""

_LEAST_WIDTH = 64
"""Of a matrix of weights on either side, as each number of a narrow product is read for few multiplications."""


_ROWS = 128
"""Where no gradient follows, rows are filled up to a multiple of so many: there numbers of rows may change from call to
call, and for each that is new a kernel is made, which takes longer than the product."""


class RoundedProducts:
    """Products of large matrices, rounded; see `products.Products`.

    Args:
        exact: Makes the small ones.
    """

    def __init__(self, exact: Products) -> None:
        self._exact = exact

    def __call__(
        self, inputs: Tensor, weights: Tensor, bias: Tensor | None = None, *, rectified: bool = False
    ) -> Tensor:
        """Return one product."""
        if inputs.numel() * weights.shape[1] < _LEAST_OPERATIONS or min(weights.shape) < _LEAST_WIDTH:
            return self._exact(inputs.float(), weights, bias, rectified=rectified)
        if not torch.is_grad_enabled():
            return _found_alone(inputs, weights, bias, rectified)
        found: Tensor = _Rounded.apply(inputs.flatten(0, -2), weights, bias, rectified)  # type: ignore[no-untyped-call]
        return found.reshape(*inputs.shape[:-1], -1)

    def added(self, parts: Sequence[tuple[Tensor, Tensor]], bias: Tensor) -> Tensor:
        """Return one sum of products, as a single product."""
        inputs, weights = zip(*parts, strict=True)
        shape = inputs[0].shape
        widths = [len(w) for w in weights]
        if shape[:-1].numel() * sum(widths) * len(bias) < _LEAST_OPERATIONS or (
            min(sum(widths), len(bias)) < _LEAST_WIDTH
        ):
            return self._exact.added([(x.float(), w) for x, w in parts], bias)
        if not torch.is_grad_enabled():
            return _found_alone(torch.cat(inputs, -1), torch.cat(weights), bias, False)
        flat = [x.flatten(0, -2) for x in inputs]
        found: Tensor = _RoundedSum.apply(widths, bias, *flat, *weights)  # type: ignore[no-untyped-call]
        return found.reshape(*shape[:-1], -1)


class _RoundedSum(torch.autograd.Function):
    """One product of inputs that lie side by side with weights that lie below each other, and its gradient."""

    @staticmethod
    def forward(ctx: Any, widths: list[int], bias: Tensor, *parts: Tensor) -> Tensor:
        inputs, weights = parts[: len(widths)], parts[len(widths) :]
        x = torch.empty((len(inputs[0]), sum(widths)), dtype=torch.bfloat16, device=bias.device)
        w = torch.empty((sum(widths), len(bias)), dtype=torch.bfloat16, device=bias.device)
        for some, of_all in zip(inputs, torch.split(x, widths, 1), strict=True):
            of_all.copy_(some)
        for some, of_all in zip(weights, torch.split(w, widths), strict=True):
            of_all.copy_(some)
        ctx.widths, ctx.kinds = widths, [some.dtype for some in inputs]
        ctx.save_for_backward(x, w)
        return torch.addmm(bias.bfloat16(), x, w)

    @staticmethod
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        x, w = ctx.saved_tensors
        by_bias = slopes.sum(0).float()
        by_weights = torch.split((x.T @ slopes).float(), ctx.widths)
        by_inputs = [
            (slopes @ of_one.T).to(kind) if needed else None
            for of_one, kind, needed in zip(
                torch.split(w, ctx.widths), ctx.kinds, ctx.needs_input_grad[2:], strict=False
            )
        ]
        return None, by_bias, *by_inputs, *by_weights


class _Rounded(torch.autograd.Function):
    """One product and its gradient."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weights: Tensor, bias: Tensor | None, rectified: bool) -> Tensor:
        x, w = inputs.bfloat16(), weights.bfloat16()
        ctx.kind = inputs.dtype
        if not rectified:
            ctx.save_for_backward(x, w, None)
            found = (x @ w).float()
            return found if bias is None else found.add_(bias)
        value = x @ w if bias is None else torch.addmm(bias.bfloat16(), x, w)
        value.relu_()
        ctx.save_for_backward(x, w, value)
        return value

    @staticmethod
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        x, w, value = ctx.saved_tensors
        if value is not None:
            slopes = torch.ops.aten.threshold_backward(slopes, value, 0)
        # Summed in float32 and then rounded, if slopes are: their change of type takes twice as long as their sum.
        by_bias = slopes.sum(0).float() if ctx.needs_input_grad[2] else None
        slopes = slopes.bfloat16()
        by_inputs = (slopes @ w.T).to(ctx.kind) if ctx.needs_input_grad[0] else None
        by_weights = (x.T @ slopes).float() if ctx.needs_input_grad[1] else None
        return by_inputs, by_weights, by_bias, None


def _found_alone(inputs: Tensor, weights: Tensor, bias: Tensor | None, rectified: bool) -> Tensor:
    """Return a product of which no gradient is asked for."""
    flat = inputs.flatten(0, -2)
    rows = torch.zeros(
        (-(-len(flat) // _ROWS) * _ROWS, flat.shape[1]), dtype=torch.bfloat16, device=flat.device
    )
    rows[: len(flat)] = flat
    found = (rows @ weights.bfloat16())[: len(flat)].float()
    if bias is not None:
        found.add_(bias)
    return (found.relu_() if rectified else found).reshape(*inputs.shape[:-1], -1)
