"""What one use of a parameter adds to the gradient of each record, and the lengths and weighted sums of that.

Lengths are bounded from above: sums of n squares in float32 are off by n units in their last place at most, and are
raised by as much. Weighted sums of matrices are made of products of few records in float32; few of these are added in
float32, and the rest in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

_TERMS_IN_FLOAT32 = 128
"""Terms that a product of matrices sums in float32; more take as long, and are less exact."""

_PRODUCTS_IN_FLOAT32 = 10
"""Products that are added in float32, which at worst moves their sum by less than the sums within them; more are added in
float64. So many take the records of a part of a step, of at most 1,280 (`privacy.training.records`)."""

_UP = 1 + 2.0**-20
"""More than what a sum of squares in float64 of numbers in float32 is off by, relative."""


class Weights:
    """What each record's gradient is multiplied by; 0 leaves a record out, whose gradient may hold what is no number.

    Args:
        values: [batch], float64, at least 0.
    """

    def __init__(self, values: Tensor) -> None:
        self.values = values

    @cached_property
    def _leaves_out(self) -> bool:
        return not bool((self.values > 0).all())

    def without_left_out(self, values: Tensor) -> Tensor:
        """Return values [batch, ...] with zeros for records that are left out."""
        if not self._leaves_out:
            return values
        kept = (self.values > 0).reshape(-1, *[1] * (values.dim() - 1))
        return values.masked_fill(~kept, 0)


class Part(Protocol):
    """What one use of a parameter adds to the gradient of each record."""

    def squares(self) -> Tensor | None:
        """Return a bound of the squared length of what it adds [batch], float64; None if only `each` tells."""
        ...

    def each(self, some: slice) -> Tensor:
        """Return what it adds for some records [some, ...], of the parameter's shape, float64."""
        ...

    def weighted(self, weights: Weights) -> Tensor:
        """Return the sum over records with these weights, float64."""
        ...


class Derivatives:
    """Derivatives of the losses by an output, shared by the weights and the biases that made it.

    Args:
        values: [batch, places, width].
    """

    def __init__(self, values: Tensor) -> None:
        self.values = values
        self._scaled: tuple[Weights, Tensor] | None = None

    @cached_property
    def squares(self) -> Tensor:
        """Squared lengths over all places [batch]."""
        return squared_lengths(self.values)

    def scaled(self, weights: Weights) -> Tensor:
        """Return derivatives times the weights of their records [batch * places, width]."""
        if self._scaled is None or self._scaled[0] is not weights:
            # Rounding a product of one record's numbers depends on no other record.
            scaled = self.values * weights.values.to(self.values.dtype)[:, None, None]
            self._scaled = weights, weights.without_left_out(scaled).flatten(0, 1)
        return self._scaled[1]


class Products:
    """Of a matrix: the sum over places of the derivatives times the inputs, times a mask.

    Args:
        inputs: [batch, places, in].
        outputs: Derivatives by the outputs [batch, places, out].
        outputs_first: Whether the matrix has shape [out, in], as in torch's linear layers; else [in, out].
        mask: What the matrix is multiplied by before it is used, of its shape; None for nothing.
    """

    def __init__(
        self, inputs: Tensor, outputs: Derivatives, *, outputs_first: bool, mask: Tensor | None
    ) -> None:
        self.inputs, self.outputs, self.outputs_first, self.mask = inputs, outputs, outputs_first, mask

    def squares(self) -> Tensor | None:
        """Return the product of two lengths where there is one place, and else that of all pairs of places."""
        a, d = self.inputs, self.outputs.values
        _, places, width = a.shape
        if places == 1 and self.mask is None:
            return squared_lengths(a) * self.outputs.squares
        if places == 1 and self.mask is not None:
            square = self.mask.square().to(a.dtype)
            reached = a[:, 0].square() @ (square.T if self.outputs_first else square)
            # All terms are positive, so that each rounding counts once at most.
            found = (reached * d[:, 0].square()).sum(-1, dtype=torch.float64)
            return found * (1 + width * 2.0**-22) * _UP
        if self.mask is None and places * (width + d.shape[2]) < width * d.shape[2]:
            one, other = a.double(), d.double()
            pairs: Tensor = (one @ one.transpose(1, 2)) * (other @ other.transpose(1, 2))
            return pairs.sum((1, 2)).clamp_min(0) * _UP
        return None

    def each(self, some: slice) -> Tensor:
        """Return the products themselves."""
        a, d = self.inputs[some].double(), self.outputs.values[some].double()
        found = d.transpose(1, 2) @ a if self.outputs_first else a.transpose(1, 2) @ d
        return found if self.mask is None else found * self.mask

    def weighted(self, weights: Weights) -> Tensor:
        """Return one product of matrices."""
        scaled = self.outputs.scaled(weights)
        inputs = weights.without_left_out(self.inputs).flatten(0, 1)
        found = _product(scaled, inputs) if self.outputs_first else _product(inputs, scaled)
        return found if self.mask is None else found * self.mask


class Rows:
    """Of a table whose rows are looked up: the derivatives at each row, summed where one is looked up twice.

    Args:
        n_rows: Of the table.
        codes: [batch, places].
        outputs: Derivatives by what was looked up [batch, places, width].
    """

    def __init__(self, n_rows: int, codes: Tensor, outputs: Derivatives) -> None:
        self.n_rows, self.codes, self.outputs = n_rows, codes, outputs

    def squares(self) -> Tensor:
        """Return the sum over pairs of places that looked up the same row."""
        if self.codes.shape[1] == 1:
            return self.outputs.squares
        d = self.outputs.values.double()
        same = self.codes[:, :, None] == self.codes[:, None, :]
        pairs: Tensor = (d @ d.transpose(1, 2)) * same
        return pairs.sum((1, 2)).clamp_min(0) * _UP

    def each(self, some: slice) -> Tensor:
        """Return a table for each record, with zeros where nothing was looked up."""
        codes, d = self.codes[some], self.outputs.values[some].double()
        found = d.new_zeros((len(codes), self.n_rows, d.shape[2]))
        return found.scatter_add_(1, codes[:, :, None].expand_as(d), d)

    def weighted(self, weights: Weights) -> Tensor:
        """Return a table to which each derivative is added."""
        scaled = self.outputs.scaled(weights).double()
        return scaled.new_zeros((self.n_rows, scaled.shape[1])).index_add_(0, self.codes.flatten(), scaled)


class Sums:
    """Of a bias: the sum of the derivatives over places.

    Args:
        outputs: Derivatives by the sum [batch, places, width].
    """

    def __init__(self, outputs: Derivatives) -> None:
        self.outputs = outputs

    def squares(self) -> Tensor:
        """Return the squared lengths of the sums."""
        if self.outputs.values.shape[1] == 1:
            return self.outputs.squares
        return self.each(slice(None)).square().sum(1) * _UP

    def each(self, some: slice) -> Tensor:
        """Return the sums."""
        return self.outputs.values[some].double().sum(1)

    def weighted(self, weights: Weights) -> Tensor:
        """Return the sum of all scaled derivatives."""
        # Torch sums by cascades, whose error grows with the logarithm of the terms.
        return self.outputs.scaled(weights).sum(0).double()


class Vectors:
    """Of anything else that is added or multiplied: the gradient of each record as it is.

    Args:
        vectors: [batch, ...], of the parameter's shape.
    """

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors

    def squares(self) -> Tensor:
        """Return their squared lengths."""
        return squared_lengths(self.vectors.flatten(1)[:, None])

    def each(self, some: slice) -> Tensor:
        """Return the vectors."""
        return self.vectors[some].double()

    def weighted(self, weights: Weights) -> Tensor:
        """Return their weighted sum."""
        vectors = weights.without_left_out(self.vectors).double().flatten(1)
        return (weights.values @ vectors).reshape(self.vectors.shape[1:])


def squared_lengths(values: Tensor) -> Tensor:
    """Return the squared L2 lengths [batch] of values [batch, places, width], float64, rounded up."""
    flat = values.flatten(1)
    found: Tensor = torch.linalg.vector_norm(flat, dim=1).double().square()
    # Twice what n roundings and those of the root make of it.
    return found * (1 + (flat.shape[1] + 8) * 2.0**-22)


def _product(one: Tensor, other: Tensor) -> Tensor:
    """Return one' other [p, q], float64, of [terms, p] and [terms, q]."""
    total: Tensor | None = None
    for start in range(0, max(len(one), 1), _PRODUCTS_IN_FLOAT32 * _TERMS_IN_FLOAT32):
        some = slice(start, start + _PRODUCTS_IN_FLOAT32 * _TERMS_IN_FLOAT32)
        group = _short_sum(one[some], other[some]).double()
        total = group if total is None else total.add_(group)
    assert total is not None
    return total


def _short_sum(one: Tensor, other: Tensor) -> Tensor:
    """Return the product of few terms, in float32."""
    first, *others = (
        (one[start : start + _TERMS_IN_FLOAT32].T, other[start : start + _TERMS_IN_FLOAT32])
        for start in range(0, max(len(one), 1), _TERMS_IN_FLOAT32)
    )
    total = torch.mm(*first)
    # One buffer for all, as fresh memory costs as much as the product; one call for all at once takes longer.
    product = torch.empty_like(total) if others else total
    for pair in others:
        total += torch.mm(*pair, out=product)
    return total


def joined(parts: list[Part]) -> list[Part]:
    """Put uses of a parameter together that are one use at more places."""
    if len(parts) < 2:
        return parts
    products = [p for p in parts if isinstance(p, Products)]
    if len(products) == len(parts) and len({(p.outputs_first, id(p.mask)) for p in products}) == 1:
        first = products[0]
        return [
            Products(
                torch.cat([p.inputs for p in products], 1),
                _together([p.outputs for p in products]),
                outputs_first=first.outputs_first,
                mask=first.mask,
            )
        ]
    rows = [p for p in parts if isinstance(p, Rows)]
    if len(rows) == len(parts):
        codes = torch.cat([p.codes for p in rows], 1)
        return [Rows(rows[0].n_rows, codes, _together([p.outputs for p in rows]))]
    if not any(isinstance(part, Products | Rows) for part in parts):
        return [Vectors(torch.stack([part.each(slice(None)) for part in parts]).sum(0))]
    return parts


def _together(derivatives: Sequence[Derivatives]) -> Derivatives:
    return Derivatives(torch.cat([d.values for d in derivatives], 1))
