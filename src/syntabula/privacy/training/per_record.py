"""The sum of the gradients of all records, each cut to a length, without a gradient for each record and parameter.

The gradient of one record is, in the weights W of z = a W', the product of its a and the derivative d of its loss by z;
in a table of embeddings d at the rows that it looked up; in what is added or multiplied, d itself or d times the input.
So one backward pass to the outputs of such functions gives the parts of all gradients. Their lengths come first, as
||d a'|| = ||d|| ||a||, and then one product per weight sums them with weights min(1, clip / length) (Goodfellow, 2015;
Bu, Wang, Zha and Karypis, 2023). A weight that a record uses at several places has the sum of its parts, whose length is
that of the sum, not of the parts.

Functions of torch are watched while the loss is computed, so that networks are written as always. Where a parameter is
used in a way that is not known here, this is an error and never a part that is left out of a length.

**What the promise needs.** Each record adds a vector of at most `clip`, that no other record has changed.

- Lengths are rounded up. The products that sum over records take 128 at a time in float32, ten of them are added in
  float32, and the rest is in float64. Rounding moves a sum of B records by some B^(1/2) 2^-18 of the clip where all
  gradients point one way and the signs of rounding errors are independent (Higham and Mary, 2019), and by less where
  they do not.
- The parts of a record come from products of whole batches, which may take another order of sums for another number
  of records. Each part then moves by some 2^-22 of itself, and all by some B^(1/2) 2^-22 of the clip.
- A 512th of the clip is counted for both (`privacy.training.grid`), several times as much as this for the 65,536
  records that a step may take on average. If all these errors had one sign, which nothing makes them, it would cover
  256 records.
- A loss of a record must not depend on others. No function can tell, so `require_separate` tries it on records that
  are made up: it changes one, and no other record's loss or length may change. Normalising over a batch fails there.
- A gradient that is no number adds nothing.
- Products are in float32, whatever the program around lets torch round them to (`syntabula._float32`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from syntabula._extras import require
from syntabula._float32 import exact_products
from syntabula.errors import ArgumentError

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from syntabula.privacy.training.gradient_parts import Part, Weights

Losses = Callable[["Tensor", "Generator"], "Tensor"]
"""Takes codes [batch, columns] and what random draws come from; returns the loss of each record [batch]."""

_MOST_NUMBERS = 1 << 24
"""Numbers of the gradients of some records that are held at once, where nothing shorter gives their lengths."""


def clipped_sum(
    losses: Losses, parameters: Mapping[str, Tensor], records: Tensor, random: Generator, *, clip: float
) -> dict[str, Tensor]:
    """Return the sum over records of their gradients, each cut to an L2 length of at most `clip`.

    Args:
        losses: The loss of each record.
        parameters: All that is trained, by name; the loss is differentiated by these.
        records: Codes [batch, columns].
        random: What random draws come from.
        clip: Above 0.

    Returns:
        By name, float64, of the shape of each parameter.

    Raises:
        ArgumentError: If a parameter is used in a way whose gradients of single records are not known, or the losses
            are not one number per record.
    """
    torch = require("torch", "neural")
    if not len(records):
        return {name: torch.zeros_like(p, dtype=torch.float64) for name, p in parameters.items()}
    with exact_products():
        gradients = _gradients(losses, parameters, records, random)
        lengths = _lengths(gradients, records)
        weights = (clip / lengths.clamp_min(1e-300)).clamp_max(1.0)
        kept = _weights(torch.where(torch.isfinite(lengths), weights, 0.0))
        return {name: _summed(p, gradients[name], kept) for name, p in parameters.items()}


def require_separate(
    losses: Losses, parameters: Mapping[str, Tensor], records: Tensor, random: Generator
) -> None:
    """Try a loss on records that are made up, before any are read.

    Args:
        losses: As for `clipped_sum`, as are the others.
        parameters: All that is trained.
        records: Made-up codes [batch, columns], at least three records, of which the first two differ.
        random: What random draws come from.

    Raises:
        ArgumentError: If the loss of a record depends on other records, is no finite number or has no such gradient,
            or the sum of the gradients found here is not that of the losses.
    """
    torch = require("torch", "neural")
    state = random.get_state()

    def found(table: Tensor) -> tuple[dict[str, list[Part]], Tensor, Tensor]:
        random.set_state(state)
        gradients = _gradients(losses, parameters, table, random)
        random.set_state(state)
        with torch.no_grad():
            return gradients, losses(table, random), _lengths(gradients, table)

    gradients, values, lengths = found(records)
    if not (torch.isfinite(values).all() and torch.isfinite(lengths).all()):
        # Beside an infinite number no difference would be seen.
        raise ArgumentError(
            "the loss, or its gradient, is no finite number for records that were made up; repair the network or its "
            "loss"
        )
    changed = records.clone()
    changed[0] = records[1]
    _, other_values, other_lengths = found(changed)
    for one, other in ((values, other_values), (lengths, other_lengths)):
        # Sums of the other records are the same ones, in the same order.
        if not torch.allclose(one[1:], other[1:], rtol=1e-5, atol=1e-6 * float(one.abs().max())):
            raise ArgumentError(
                "the loss of a record depends on other records of its batch, so that no single record's part in a "
                "gradient is bounded; use no statistic of a batch, such as batch normalisation, and draw from the given "
                "generator alone, which a layer of dropout does not"
            )
    random.set_state(state)
    _require_whole(gradients, losses, parameters, records, random)


def _require_whole(
    gradients: Mapping[str, Sequence[Part]],
    losses: Losses,
    parameters: Mapping[str, Tensor],
    records: Tensor,
    random: Generator,
) -> None:
    """Refuse a loss whose gradient is not the sum of the parts that were found."""
    torch = require("torch", "neural")
    before = [p.requires_grad for p in parameters.values()]
    try:
        with torch.enable_grad():
            for p in parameters.values():
                p.requires_grad_()
            total = losses(records, random).sum()
        whole = torch.autograd.grad(total, list(parameters.values()), allow_unused=True)
    finally:
        for p, needed in zip(parameters.values(), before, strict=True):
            p.requires_grad_(needed)
    ones = _weights(torch.ones(len(records), dtype=torch.float64, device=records.device))
    for (name, p), exact in zip(parameters.items(), whole, strict=True):
        wanted = torch.zeros_like(p) if exact is None else exact
        difference = _summed(p, gradients[name], ones) - wanted
        if float(difference.abs().max()) > 1e-3 * (1e-3 + float(wanted.abs().max())):
            raise ArgumentError(
                f"the gradient of parameter {name!r} is not the sum of what single records add: its loss changes values "
                "in place, or takes a derivative of its own"
            )


def _weights(values: Tensor) -> Weights:
    # Needs torch, which is imported by the time that there are parameters, as what follows does.
    from syntabula.privacy.training.gradient_parts import Weights

    return Weights(values)


def _summed(p: Tensor, parts: Sequence[Part], weights: Weights) -> Tensor:
    torch = require("torch", "neural")
    if not parts:
        zeros: Tensor = torch.zeros_like(p, dtype=torch.float64)
        return zeros
    total = parts[0].weighted(weights)
    for part in parts[1:]:
        total = total + part.weighted(weights)
    return total


def _gradients(
    losses: Losses, parameters: Mapping[str, Tensor], records: Tensor, random: Generator
) -> dict[str, list[Part]]:
    """Return the parts of each parameter's gradients."""
    from syntabula.privacy.training.watched import watched_parts

    return watched_parts(lambda: losses(records, random), parameters, len(records))


def _lengths(gradients: Mapping[str, Sequence[Part]], records: Tensor) -> Tensor:
    """Return the length of each record's gradient [batch], float64, rounded up."""
    torch = require("torch", "neural")
    total: Tensor = torch.zeros(len(records), dtype=torch.float64, device=records.device)
    for parts in gradients.values():
        alone = parts[0].squares() if len(parts) == 1 else None
        if parts:
            total += _squares_of_sums(parts, len(records)) if alone is None else alone
    found: Tensor = total.sqrt() * (1 + 2.0**-40)
    return found


def _squares_of_sums(parts: Sequence[Part], n_records: int) -> Tensor:
    """Return the squared length of each record's sum of parts, from the gradients of some records at a time."""
    torch = require("torch", "neural")
    numbers = math.prod(parts[0].each(slice(0, 1)).shape)
    size = max(1, _MOST_NUMBERS // max(numbers, 1))
    found = []
    for start in range(0, n_records, size):
        some = slice(start, start + size)
        each = [part.each(some) for part in parts]
        found.append(torch.stack(each).sum(0).square().flatten(1).sum(1) * (1 + 2.0**-20))
    squares: Tensor = torch.cat(found)
    return squares
