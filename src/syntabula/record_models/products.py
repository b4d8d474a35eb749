"""The products of networks in training: in float32, or rounded to bfloat16 where that is twice as fast.

Weights, their gradients, sums within products, losses, norms and the optimiser are float32 always. Where noise is added
to gradients, all is: the bounds of a record's part hold for float32 (`privacy.training.per_record`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from syntabula._extras import require
from syntabula.models.row_fitting import multiplies_bfloat16

if TYPE_CHECKING:
    from torch import Tensor

Precision = Literal["auto", "float32"]
"""Of products in training; see `Training`."""


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


@runtime_checkable
class Rounding(Protocol):
    """A network whose products in training may be rounded: they are made by what this attribute holds."""

    products: Products


def let_round(network: object, precision: Precision, device: Any) -> None:
    """Let a network that can round its products in training do so, if `products_for` says so."""
    if isinstance(network, Rounding):
        network.products = products_for(precision, device)


def products_for(precision: Precision, device: Any) -> Products:
    """Return rounded products where a processor multiplies bfloat16 in hardware, and exact ones elsewhere.

    On a GPU all stays float32.

    Args:
        precision: "float32" for no rounding.
        device: Of torch, or its name.
    """
    exact, device = ExactProducts(), require("torch", "neural").device(device)
    if precision != "auto" or device.type != "cpu" or not multiplies_bfloat16(device):
        return exact
    # Needs torch, which is imported by the time that there is a device.
    from syntabula.record_models.rounded_products import RoundedProducts

    return RoundedProducts(exact)
