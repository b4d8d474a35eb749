"""The network of `Diffusion`: what values were before noise was added, in torch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.products import ExactProducts, Products
from syntabula.record_models.representation import ColumnLookup, FloatTable, normal_scores

if TYPE_CHECKING:
    from torch import Generator, Tensor

INPUTS = 128
_SOME_KNOWN = 1 / 3
"""Part of the records of which some columns are known without noise, so that columns can be given to a draw."""
_LONGEST_WAVE = 10_000
_FARTHEST_RANK = 1e-6
"""Ranks come no nearer to 0 and 1, whose normal quantiles are infinite."""


def shapes_of(n_numbers: int, sizes: Sequence[int], *, units: int, layers: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights by their names.

    Args:
        n_numbers: Columns that are numbers.
        sizes: Number of codes of each other column.
        units: Width of the layers.
        layers: Number of them.
    """
    width = n_numbers + sum(sizes)
    shapes: dict[str, tuple[int, ...]] = {
        "in": (width, INPUTS),
        "known": (n_numbers + len(sizes), INPUTS),
        "bias/in": (INPUTS,),
        "time/0": (INPUTS, INPUTS),
        "bias/time/0": (INPUTS,),
        "time/1": (INPUTS, INPUTS),
    }
    for layer in range(layers):
        shapes |= {f"layer/{layer}": (units if layer else INPUTS, units), f"bias/{layer}": (units,)}
    return shapes | {"out": (units, width), "bias/out": (width,)}


def time_waves(levels: FloatArray) -> FloatTable:
    """Return sines and cosines of numbers of levels, of many wave lengths [levels, inputs]."""
    rates = np.exp(-math.log(_LONGEST_WAVE) * np.arange(INPUTS // 2) / (INPUTS // 2))
    angles = np.outer(levels, rates)
    return np.concatenate([np.cos(angles), np.sin(angles)], 1).astype(np.float32)


class DenoisingNetwork:
    """Layers that are told noisy values and the level of noise, and say what the values were.

    For a number it says sqrt(kept) noise - sqrt(1 - kept) value (Salimans and Ho 2022, "Progressive Distillation for
    Fast Sampling of Diffusion Models"), from which both follow at each level; for a code its distribution. What a noisy
    value tells of itself follows by Bayes' rule and is not learned: a network that says nothing draws each column from
    its one-way marginal. A code without a count of its own is neither told nor asked for.

    Args:
        lookups: Of each column.
        kept: How much of a value is left at each level of noise [levels + 1].
        parameters: Weights as in `shapes_of`.
        draws: Levels of noise that are drawn for each record at each step; its loss is their mean.
    """

    def __init__(
        self,
        lookups: Sequence[ColumnLookup],
        kept: FloatArray,
        parameters: Mapping[str, Tensor],
        *,
        draws: int = 1,
    ) -> None:
        torch = require("torch", "neural")
        from syntabula.record_models.denoising_loss import CodeColumns

        self.parameters, self._draws = parameters, draws
        self.products: Products = ExactProducts()
        device = parameters["in"].device
        self._n_levels = len(kept) - 1
        self._waves = torch.as_tensor(time_waves(np.arange(len(kept), dtype=np.float64)), device=device)
        numbers = [j for j, lookup in enumerate(lookups) if lookup.waves is not None]
        whole = [j for j, lookup in enumerate(lookups) if lookup.waves is None]
        # Numbers come before codes.
        self._n_numbers, self._order = len(numbers), torch.as_tensor([*numbers, *whole], device=device)
        self._all_sizes = torch.as_tensor([x.size for x in lookups], dtype=torch.long, device=device)
        scores = [normal_scores(lookups[j]) for j in numbers]
        # Those of all codes of all numbers, one column after another.
        self._starts, self._widths = (
            torch.as_tensor(np.concatenate([np.zeros(0, np.float32), *steps]), device=device)
            for steps in ([s.starts for s in scores], [s.widths for s in scores])
        )
        ends = np.cumsum([0, *(lookups[j].size for j in numbers)])
        self._first_steps = torch.as_tensor(ends[:-1], dtype=torch.long, device=device)
        sizes = [lookups[j].size for j in whole]
        self._sizes = torch.as_tensor(sizes, dtype=torch.long, device=device)
        self._last_codes = self._sizes - 1
        stays = torch.as_tensor(kept, dtype=torch.float32, device=device)[:, None]
        # Of the chances of a noisy code to have been what it is, and to have been any other.
        of_itself = (stays / (1 - stays) * self._sizes).log1p()
        # By level: what is left of codes and of numbers, how much noise these have, and what codes tell of themselves.
        self._of_levels = torch.cat([stays, stays.sqrt(), (1 - stays).sqrt(), of_itself], 1)
        offsets = np.cumsum([0, *sizes[:-1]])[: len(sizes)]
        self._offsets = torch.as_tensor(offsets, dtype=torch.long, device=device)
        self._code_columns = CodeColumns(sizes, device)

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return the mean loss of the columns of each record [batch], at levels of noise that are drawn evenly.

        Args:
            records: Positions of codes [batch, columns].
            random: Draws levels, noise, columns that are known, and each number's rank within the step of its code.
        """
        torch = require("torch", "neural")
        from syntabula.record_models.denoising_loss import Asked, DenoisingLoss

        n, device = len(records), records.device
        records = records.long()
        levels = self._levels(n, random)
        of_levels = self._of_levels.index_select(0, levels.flatten()).reshape(n, self._draws, -1)
        kept, of_values, of_noise = of_levels[..., :3].split(1, -1)
        known = self._known(n * self._draws, random).reshape(n, self._draws, -1)
        known = known & (records < self._all_sizes)[:, None]
        known_values, known_codes = self._in_order(known)
        places, codes = self._in_order(records[:, None].expand(-1, self._draws, -1))
        counted = codes < self._sizes
        codes = torch.minimum(codes, self._last_codes)
        values = self._values(places, random)
        noise = torch.randn(values.shape, generator=random, device=device)
        stays = (torch.rand(codes.shape, generator=random, device=device) < kept) & counted
        anew = torch.rand(codes.shape, generator=random, device=device) * self._sizes
        others = torch.minimum(anew.long(), self._last_codes)
        codes = codes + self._offsets
        noisy_codes = torch.where(stays | known_codes, codes, others + self._offsets)
        noisy_values = torch.where(known_values, values, of_values * values + of_noise * noise)
        said = self._said(noisy_values, noisy_codes, levels, known)
        asked = Asked(
            wanted=of_values * noise - of_noise * values,
            counted_numbers=~known_values,
            codes=codes,
            counted_codes=counted & ~known_codes,
            noisy=noisy_codes,
            of_itself=of_levels[..., 3:],
        )
        loss: Tensor = DenoisingLoss.apply(said, asked, self._code_columns)  # type: ignore[no-untyped-call]
        found: Tensor = loss.sum(1) * (1 / (self._draws * known.shape[-1]))
        return found

    def _in_order(self, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Return numbers and codes [..., columns of the kind] of something about each column [..., columns]."""
        ordered = columns.index_select(-1, self._order)
        return ordered[..., : self._n_numbers], ordered[..., self._n_numbers :]

    def _levels(self, n: int, random: Generator) -> Tensor:
        """Return levels of noise [batch, draws], spread evenly over all draws of a batch in random order.

        They are as even as single draws, and steadier.
        """
        torch = require("torch", "neural")
        many, device = n * self._draws, self._waves.device
        steps = torch.rand(1, generator=random, device=device) + torch.arange(many, device=device) / many
        order = torch.randperm(many, generator=random, device=device)
        return self._nearest(steps).take(order).reshape(n, self._draws)

    def _nearest(self, steps: Tensor) -> Tensor:
        """Return the levels, but 0, of numbers of which the part behind the point says how far they are."""
        last = self._n_levels
        found: Tensor = (steps % 1 * last).long().clamp_(max=last - 1).add_(1)
        return found

    def _known(self, n: int, random: Generator) -> Tensor:
        """Return which columns of each record are known [batch, columns]: none of most, an even number of the others."""
        torch = require("torch", "neural")
        columns, device = len(self._order), self._waves.device
        drawn = torch.rand(n, generator=random, device=device)
        counts = (drawn / _SOME_KNOWN * (columns - 1)).ceil_().mul_(drawn < _SOME_KNOWN)
        places = torch.rand((n, columns), generator=random, device=device)
        found: Tensor = torch.zeros((n, columns), dtype=torch.bool, device=device)
        some = torch.nonzero(counts)[:, 0]
        order = places.index_select(0, some).argsort(1)
        among = torch.arange(columns, device=device) < counts.index_select(0, some)[:, None]
        return found.index_copy_(0, some, torch.zeros_like(among).scatter_(1, order, among))

    def _values(self, places: Tensor, random: Generator) -> Tensor:
        """Return normal scores drawn within the steps of codes [batch, draws, numbers]."""
        torch = require("torch", "neural")
        # Column by column.
        shape = places.movedim(-1, 0).shape
        within = torch.rand(shape, generator=random, device=places.device).movedim(0, -1)
        steps = places + self._first_steps
        ranks = torch.addcmul(self._starts.take(steps), self._widths.take(steps), within)
        found: Tensor = torch.special.ndtri(ranks.clamp(_FARTHEST_RANK, 1 - _FARTHEST_RANK))
        return found

    def _said(self, values: Tensor, codes: Tensor, levels: Tensor, known: Tensor) -> Tensor:
        """Return what the network says of numbers and then of codes [..., width], but what codes tell of themselves."""
        torch, weights = require("torch", "neural"), self.parameters
        inputs = torch.zeros((*codes.shape[:-1], len(weights["in"])), device=codes.device)
        inputs[..., : self._n_numbers] = values
        inputs[..., self._n_numbers :].scatter_(-1, codes, 1.0)
        waves = self._waves.index_select(0, levels.flatten()).reshape(*levels.shape, -1)
        time = self.products.added([(waves, weights["time/0"])], weights["bias/time/0"])
        time = torch.nn.functional.silu(time)
        told = [(inputs, weights["in"]), (time, weights["time/1"]), (known.float(), weights["known"])]
        hidden = self.products.added(told, weights["bias/in"])
        layer = 0
        while f"layer/{layer}" in weights:
            hidden = self.products(
                hidden, weights[f"layer/{layer}"], weights[f"bias/{layer}"], rectified=True
            )
            layer += 1
        return self.products(hidden, weights["out"], weights["bias/out"])


class SeparateDenoising(DenoisingNetwork):
    """The same network where noise is added to gradients: no record's draws depend on how many records there are."""

    def _levels(self, n: int, random: Generator) -> Tensor:
        """Return levels of noise [batch, draws], spread evenly over the draws of each record."""
        torch = require("torch", "neural")
        device = self._waves.device
        begin = torch.rand((n, 1), generator=random, device=device)
        return self._nearest(begin + torch.arange(self._draws, device=device) / self._draws)


def first_weights(
    lookups: Sequence[ColumnLookup],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    device: Any,
    random: Generator,
) -> dict[str, Tensor]:
    """Return random weights that know nothing but the one-way marginal of each column without order."""
    torch = require("torch", "neural")
    weights: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        scale = 0.0 if len(shape) == 1 else math.sqrt((2 if "layer" in name else 1) / max(shape[0], 1))
        weights[name] = torch.randn(shape, generator=random, device=device) * scale
    codes = [lookup for lookup in lookups if lookup.waves is None]
    # One code of each column is told at a time, of all that the first layer could be told.
    weights["in"] *= math.sqrt(len(weights["in"]) / len(lookups))
    weights["out"] *= 0.1
    if codes:
        shares = np.concatenate([lookup.log_shares for lookup in codes])
        weights["bias/out"][-len(shares) :] = torch.as_tensor(shares, device=device)
    return weights
