"""The network of `LanguageModel`: a causal transformer that reads the tokens of a record, in torch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.record_models.spelling import Spelling

if TYPE_CHECKING:
    from torch import Generator, Tensor

ROOT_OF_ZERO = 1e-6
"""Added to a mean of squares before its root is divided by."""


def shapes_of(
    places: Sequence[int], tokens: Sequence[int], *, units: int, layers: int
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights by their names.

    Args:
        places: Number of places of each column.
        tokens: Number of different tokens of each.
        units: Width of the layers.
        layers: Number of them.
    """
    shapes: dict[str, tuple[int, ...]] = {"said": (sum(tokens) + 1, units), "asked": (sum(places), units)}
    for layer in range(layers):
        shapes |= {
            f"attention/{layer}": (units, 3 * units),
            f"attended/{layer}": (units, units),
            f"wide/{layer}": (units, 4 * units),
            f"bias/{layer}": (4 * units,),
            f"narrow/{layer}": (4 * units, units),
        }
    return shapes | {"logits": (units, sum(tokens))}


def first_weights(
    shapes: Mapping[str, tuple[int, ...]], *, device: Any, random: Generator
) -> dict[str, Tensor]:
    """Return random weights with which each column has nearly its one-way marginal, whatever is known."""
    torch = require("torch", "neural")
    layers = sum(name.startswith("wide/") for name in shapes)
    # What layers add to what they were told starts small, as it adds up.
    scales = {"said": 0.5, "asked": 0.5, "bias": 0.0, "logits": 0.1}
    weights = {}
    for name, shape in shapes.items():
        kind = name.split("/")[0]
        scale = scales.get(kind, 1.0)
        if kind not in ("said", "asked", "bias"):
            scale /= math.sqrt(shape[0])
        if kind in ("attended", "narrow"):
            scale /= math.sqrt(2 * layers)
        weights[name] = torch.randn(shape, generator=random, device=device) * scale
    return weights


class CausalNetwork:
    """Reads the clauses of a record one after the other, and says which token comes next.

    A position is told the token before it and the place of the column that is asked for. Of a clause "age is 39," the
    words "age is" are thus no tokens of their own: the order of the columns is drawn evenly, and need not be learned.
    Nothing is told of where in the record a clause stands, as nothing follows from it. A letter's logit is added to the
    logarithm of its part of the records that come by the same beginning; a letter that cannot follow has none.

    Args:
        spellings: Of each column.
        parameters: Weights as in `shapes_of`.
        heads: Of attention.
    """

    def __init__(
        self, spellings: Sequence[Spelling], parameters: Mapping[str, Tensor], *, heads: int
    ) -> None:
        torch = require("torch", "neural")
        self.parameters, self._heads = parameters, heads
        self._layers = sum(name.startswith("wide/") for name in parameters)
        self._spellings = spellings
        device = parameters["said"].device
        most = max(s.nodes.shape[1] for s in spellings)

        def joined(tables: Sequence[np.ndarray]) -> Tensor:
            wide = [np.pad(table, ((0, 0), (0, most - table.shape[1]))) for table in tables]
            table: Tensor = torch.as_tensor(np.concatenate(wide), device=device)
            return table

        at = [s.node_places[s.nodes] if s.nodes.size else s.nodes for s in spellings]
        place_starts = np.cumsum([0, *[s.places for s in spellings[:-1]]])
        token_starts = np.cumsum([0, *[s.tokens for s in spellings[:-1]]])
        self._starts = torch.as_tensor(
            np.cumsum([0, *[len(s.lengths) for s in spellings[:-1]]]), device=device
        )
        self._lengths = torch.as_tensor(np.concatenate([s.lengths for s in spellings]), device=device)
        self._nodes = joined([s.nodes for s in spellings])
        self._written = joined([s.written for s in spellings])
        self._asked = joined([p + start for p, start in zip(at, place_starts, strict=True)])
        tokens = [
            p * s.letters + s.written + start for p, s, start in zip(at, spellings, token_starts, strict=True)
        ]
        self._said = joined(tokens)
        self._log_shares = [torch.as_tensor(s.log_shares, device=device) for s in spellings]
        self._node_places = [torch.as_tensor(s.node_places, device=device) for s in spellings]

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return minus the log-likelihood of each record, its columns in an order of its own [batch].

        Args:
            records: Positions of codes [batch, columns].
            random: Draws the orders.
        """
        torch, weights = require("torch", "neural"), self.parameters
        n, d = records.shape
        device = records.device
        order = torch.rand((n, d), generator=random, device=device).argsort(1)
        codes = (records.long() + self._starts).gather(1, order)
        is_token = torch.arange(self._nodes.shape[1], device=device) < self._lengths[codes][:, :, None]
        is_token = is_token.flatten(1)
        places = is_token.cumsum(1)[is_token] - 1
        rows = is_token.nonzero()[:, 0]
        columns = order.repeat_interleave(self._nodes.shape[1], dim=1)[is_token]
        nodes, written, asked, said = (
            table[codes].flatten(1)[is_token]
            for table in (self._nodes, self._written, self._asked, self._said)
        )
        before = torch.where(places > 0, said.roll(1), len(weights["said"]) - 1)
        # Faster than by brackets, above all in the gradient.
        hidden = weights["said"].index_select(0, before) + weights["asked"].index_select(0, asked)
        # So that a table of constants, which has no tokens, has a gradient.
        losses: Tensor = torch.zeros(n, device=device) + 0.0 * weights["said"][-1].sum()
        if not len(places):
            return losses
        longest = int(places.max()) + 1
        hidden = self._read(hidden, rows * longest + places, n, longest)
        by_column = columns.argsort(stable=True)
        counts = torch.bincount(columns, minlength=d).tolist()
        # Taken apart at once: a part that is taken alone has a gradient as large as the whole, of zeros but for it.
        parts = torch.split(hidden.index_select(0, by_column), counts)
        matrices = torch.split(weights["logits"], [s.tokens for s in self._spellings], 1)
        pairs = zip(parts, matrices, torch.split(by_column, counts), strict=True)
        for column, (part, matrix, which) in enumerate(pairs):
            if not len(which):
                continue
            found = self._log_chances(part @ matrix, nodes[which], column)
            losses = losses.index_add(0, rows[which], -found.gather(1, written[which][:, None])[:, 0])
        return losses

    def _read(self, hidden: Tensor, slots: Tensor, n: int, longest: int) -> Tensor:
        """Return what is known at each position of the record up to there [positions, units].

        Args:
            hidden: What each position is told [positions, units].
            slots: Where each stands among the [n * longest] of records that are filled up to the longest one.
            n: Number of records.
            longest: Positions of the longest one.
        """
        torch, weights = require("torch", "neural"), self.parameters
        functional, units = torch.nn.functional, hidden.shape[1]
        for layer in range(self._layers):
            told = _scaled(hidden) @ weights[f"attention/{layer}"]
            filled = told.new_zeros((n * longest, 3 * units)).index_copy(0, slots, told)
            parts = filled.view(n, longest, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
            attended = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
            attended = attended.transpose(1, 2).reshape(n * longest, units).index_select(0, slots)
            hidden = hidden + attended @ weights[f"attended/{layer}"]
            wide = functional.silu(_scaled(hidden) @ weights[f"wide/{layer}"] + weights[f"bias/{layer}"])
            hidden = hidden + wide @ weights[f"narrow/{layer}"]
        return _scaled(hidden)

    def _log_chances(self, logits: Tensor, nodes: Tensor, column: int) -> Tensor:
        """Return the logarithm of each letter's chance [positions, letters] at nodes [positions] of a column.

        Args:
            logits: Of all tokens of the column [positions, tokens].
            nodes: Where each position stands [positions].
            column: Position of the column.
        """
        torch, s = require("torch", "neural"), self._spellings[column]
        logits = logits.view(-1, s.places, s.letters)
        each = torch.arange(len(nodes), device=nodes.device)
        chosen = logits[each, self._node_places[column][nodes]] + self._log_shares[column][nodes]
        found: Tensor = chosen.log_softmax(1)
        return found


def _scaled(hidden: Tensor) -> Tensor:
    """Return vectors of mean square one."""
    torch = require("torch", "neural")
    found: Tensor = hidden * torch.rsqrt(hidden.square().mean(-1, keepdim=True) + ROOT_OF_ZERO)
    return found
