"""Which products of networks in training are rounded to bfloat16: those of large matrices where that is twice as fast.

Weights, their gradients, sums within products, losses, norms and the optimiser are float32 always. Where noise is added
to gradients, all is: the bounds of a record's part hold for float32 (`privacy.training.per_record`).
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

from syntabula._extras import require
from syntabula.models.row_fitting import multiplies_bfloat16
from syntabula.record_models.products import ExactProducts, Products

Precision = Literal["auto", "float32"]
"""Of products in training; see `Training`."""


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

    On a GPU none is, as changes of type take longer there than they save (`Training.products` lets it round to TF32).

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
