"""The products of networks in training, and those in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from syntabula._extras import require

if TYPE_CHECKING:
    from torch import Tensor


class Products(Protocol):
    """The products of one network."""

    def __call__(
        self, inputs: Tensor, weights: Tensor, bias: Tensor | None = None, *, rectified: bool = False
    ) -> Tensor:
        """Return inputs [..., in] times weights [in, out], plus a bias [out], and if asked 0 where that is below 0.

        What is rectified may be of another type than float32, and is for the next product.
        """
        ...

    def added(self, parts: Sequence[tuple[Tensor, Tensor]], bias: Tensor) -> Tensor:
        """Return the sum of some inputs [..., in] times their weights [in, out], plus a bias [out].

        It may be of another type than float32, and is for the next product.
        """
        ...


class ExactProducts:
    """In float32."""

    def __call__(
        self, inputs: Tensor, weights: Tensor, bias: Tensor | None = None, *, rectified: bool = False
    ) -> Tensor:
        """Return one product."""
        if bias is not None and inputs.dim() == 2:
            # One function for both, as it is faster where gradients of single records are asked for, too.
            found: Tensor = require("torch", "neural").addmm(bias, inputs, weights)
        else:
            found = inputs @ weights
            found = found if bias is None else found + bias
        return found.relu() if rectified else found

    def added(self, parts: Sequence[tuple[Tensor, Tensor]], bias: Tensor) -> Tensor:
        """Return one sum of products."""
        (inputs, weights), *others = parts
        found = self(inputs, weights, bias)
        for inputs, weights in others:
            found = found + self(inputs, weights)
        return found
