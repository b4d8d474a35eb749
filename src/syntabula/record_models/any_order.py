"""The network of `Autoregressive`: the distribution of each column given any set of others, in torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.record_models.products import ExactProducts, Products
from syntabula.record_models.representation import ColumnLookup

if TYPE_CHECKING:
    from torch import Generator, Tensor

_Logits = Callable[["Tensor"], "Tensor"]
_OF_COLUMNS = ("logits", "smooth", "bias/logits")
_MOST_HEAD_UNITS, _LEAST_HEAD_UNITS, _ALL_HEAD_UNITS = 64, 8, 4096


def head_units(columns: int) -> int:
    """Return the numbers that each column's distribution is made of: fewer where columns are very many."""
    return min(_MOST_HEAD_UNITS, max(_LEAST_HEAD_UNITS, _ALL_HEAD_UNITS // columns))


def shapes_of(
    sizes: Sequence[int], ordered: Sequence[bool], *, embedding: int, waves: int, units: int, layers: int
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights by their names.

    Args:
        sizes: Number of codes of each column.
        ordered: Whether the codes of each follow an order.
        embedding: Numbers that are learned for each code.
        waves: Cosines that describe a code of an ordered column.
        units: Width of the layers.
        layers: Number of them.
    """
    d, n_ordered, head = len(sizes), sum(ordered), head_units(len(sizes))
    shapes: dict[str, tuple[int, ...]] = {
        "embedding": (sum(sizes) + d, embedding),
        "from_embedding": (d * embedding, units),
        "from_waves": (n_ordered * waves, units),
        "bias/0": (units,),
    }
    for layer in range(1, layers):
        shapes |= {f"layer/{layer}": (units, units), f"bias/{layer}": (units,)}
    return shapes | {
        "heads": (units, d * head),
        "bias/heads": (d * head,),
        "logits": (head, sum(sizes)),
        "smooth": (n_ordered, head, waves),
        "bias/logits": (sum(sizes),),
    }


class AnyOrderNetwork:
    """Embeddings of the known columns, layers with a shortcut each, and a head for each column.

    An unknown column has an embedding of its own in the place of its code's. The logits of an ordered column have a
    part that is smooth in the rank of the codes, so that neighbours share what is learned of them.

    Args:
        lookups: Of each column.
        parameters: Weights as in `shapes_of`.
        dropout: Part of what the first layer says that is left out at random while it is trained.
    """

    def __init__(
        self, lookups: Sequence[ColumnLookup], parameters: Mapping[str, Tensor], *, dropout: float = 0.0
    ) -> None:
        torch = require("torch", "neural")
        self.parameters, self._dropout = parameters, dropout
        self.products: Products = ExactProducts()
        device = parameters["embedding"].device
        self._sizes = [lookup.size for lookup in lookups]
        starts = np.cumsum([0, *[size + 1 for size in self._sizes[:-1]]])
        self._starts = torch.as_tensor(starts, device=device)
        self._unknown = torch.as_tensor(self._sizes, device=device)
        self._ordered = [j for j, lookup in enumerate(lookups) if lookup.waves is not None]
        # A last row of zeros, for an unknown code.
        self._waves = [
            torch.as_tensor(np.pad(lookup.waves, ((0, 1), (0, 0))), device=device)
            for lookup in lookups
            if lookup.waves is not None
        ]

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return a bound on minus the log-likelihood of each record [batch].

        A number of columns and then a set of so many are drawn evenly, and taken as known; the mean loss of the
        others, times the number of columns, is without bias that of drawing all columns one by one in random order.

        Args:
            records: Positions of codes [batch, columns].
            random: Draws the sets.
        """
        torch = require("torch", "neural")
        records = records.long()
        n, d = records.shape
        n_known = torch.randint(d, (n, 1), generator=random, device=records.device)
        places = torch.rand((n, d), generator=random, device=records.device).argsort(1).argsort(1)
        known = places < n_known
        kept = None
        if self._dropout and torch.is_grad_enabled():
            shape = (n, self.parameters["bias/0"].shape[0])
            drawn = torch.rand(shape, generator=random, device=records.device)
            kept = drawn.ge_(self._dropout).div_(1 - self._dropout)
        heads = self._heads(torch.where(known, records, self._unknown), kept)
        losses = torch.zeros(n, device=records.device)
        logits, asked = self._logits(), ~known
        # Taken apart at once: a part that is taken alone has a gradient as large as the whole, of zeros but for it.
        for column, head in enumerate(heads.unbind(1)):
            losses = self._added(losses, head, records[:, column], asked[:, column], logits[column])
        found: Tensor = losses * (d / (d - n_known[:, 0]))
        return found

    def _added(self, losses: Tensor, heads: Tensor, codes: Tensor, asked: Tensor, logits: _Logits) -> Tensor:
        """Return losses [batch] and those of a column for the records where it is asked for."""
        torch = require("torch", "neural")
        rows = torch.nonzero(asked)[:, 0]
        # Much faster than brackets, above all in the gradient.
        found = logits(heads.index_select(0, rows))
        part = torch.nn.functional.cross_entropy(found, codes.index_select(0, rows), reduction="none")
        added: Tensor = losses.index_add(0, rows, part)
        return added

    def _heads(self, codes: Tensor, kept: Tensor | None = None) -> Tensor:
        """Return what the distributions are made of [batch, columns, numbers], from codes or their absence.

        Args:
            codes: Positions of codes [batch, columns]; their number where a column is unknown.
            kept: Factors of what the first layer says [batch, units]; None for none.
        """
        torch, weights, products = require("torch", "neural"), self.parameters, self.products
        silu: Callable[[Tensor], Tensor] = torch.nn.functional.silu
        n = len(codes)
        embedded = weights["embedding"][codes + self._starts].reshape(n, -1)
        hidden = products(embedded, weights["from_embedding"])
        if self._ordered:
            waves = [
                table.index_select(0, codes[:, j])
                for j, table in zip(self._ordered, self._waves, strict=True)
            ]
            hidden = hidden + products(torch.cat(waves, 1), weights["from_waves"])
        hidden, layer = silu(hidden + weights["bias/0"]), 1
        if kept is not None:
            hidden = hidden * kept
        while f"layer/{layer}" in weights:
            hidden = hidden + silu(products(hidden, weights[f"layer/{layer}"], weights[f"bias/{layer}"]))
            layer += 1
        heads = silu(products(hidden, weights["heads"], weights["bias/heads"]))
        return heads.reshape(n, len(self._sizes), -1)

    def _logits(self) -> list[_Logits]:
        """Return what makes logits [batch, codes] of each column's numbers."""
        torch, weights = require("torch", "neural"), self.parameters
        matrices, biases = (
            list(torch.split(weights[name], self._sizes, -1)) for name in ("logits", "bias/logits")
        )
        for column, smooth, waves in zip(self._ordered, weights["smooth"].unbind(), self._waves, strict=True):
            matrices[column] = matrices[column] + smooth @ waves[:-1].T
        return [partial(_affine, matrix=m, bias=b) for m, b in zip(matrices, biases, strict=True)]


def _affine(head: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
    return head @ matrix + bias


class SeparateNetwork(AnyOrderNetwork):
    """The same network where noise is added to gradients, whose loss for each record is computed on its own.

    Each column has its own matrices, all records stay in their places, and a record whose code has no count of its own
    is not asked for it. `separate` and `joined` change the weights from one form to the other.
    """

    def _added(self, losses: Tensor, heads: Tensor, codes: Tensor, asked: Tensor, logits: _Logits) -> Tensor:
        torch = require("torch", "neural")
        found = logits(heads)
        last = found.shape[1] - 1
        part = torch.nn.functional.cross_entropy(found, codes.clamp_max(last), reduction="none")
        added: Tensor = losses + part * (asked & (codes <= last))
        return added

    def _logits(self) -> list[_Logits]:
        return [partial(self._logits_of, column=column) for column in range(len(self._sizes))]

    def _logits_of(self, head: Tensor, column: int) -> Tensor:
        weights = self.parameters
        logits = head @ weights[f"logits/{column}"]
        if column in self._ordered:
            place = self._ordered.index(column)
            logits = logits + head @ weights[f"smooth/{place}"] @ self._waves[place][:-1].T
        found: Tensor = logits + weights[f"bias/logits/{column}"]
        return found


def separate(weights: Mapping[str, Tensor], sizes: Sequence[int]) -> dict[str, Tensor]:
    """Return weights as `SeparateNetwork` has them, for columns of these sizes."""
    found = {name: w for name, w in weights.items() if name not in _OF_COLUMNS and w.numel()}
    found |= {f"smooth/{j}": part.clone() for j, part in enumerate(weights["smooth"])}
    ends = np.cumsum(sizes).tolist()
    for j, (start, stop) in enumerate(zip([0, *ends], ends, strict=False)):
        found[f"logits/{j}"] = weights["logits"][:, start:stop].clone()
        found[f"bias/logits/{j}"] = weights["bias/logits"][start:stop].clone()
    return found


def joined(weights: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Return weights of a `SeparateNetwork` in the shapes of `shapes_of`."""

    def parts(name: str) -> list[np.ndarray]:
        return [weights[f"{name}/{j}"] for j in range(len(weights)) if f"{name}/{j}" in weights]

    kept = {name: shape for name, shape in shapes.items() if name not in _OF_COLUMNS}
    found = {name: weights.get(name, np.zeros(shape, np.float32)) for name, shape in kept.items()}
    smooth = np.array(parts("smooth"), dtype=np.float32).reshape(shapes["smooth"])
    biases = np.concatenate(parts("bias/logits"))
    return found | {"logits": np.concatenate(parts("logits"), 1), "smooth": smooth, "bias/logits": biases}


def first_weights(
    lookups: Sequence[ColumnLookup],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    device: Any,
    random: Generator,
) -> dict[str, Tensor]:
    """Return random weights with which each column has its one-way marginal, whatever is known."""
    torch = require("torch", "neural")
    weights: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        inputs = shape[-1] if name == "embedding" else shape[0]
        scale = 1 / math.sqrt(max(inputs, 1)) if len(shape) == 2 else 0.0
        weights[name] = torch.randn(shape, generator=random, device=device) * scale
    weights["logits"] *= 0.1
    start = 0
    for lookup in lookups:
        if lookup.waves is not None:
            # What is told of an ordered code is its rank, before anything is learned.
            weights["embedding"][start : start + lookup.size] *= 0.3
        start += lookup.size + 1
    shares = np.concatenate([lookup.log_shares for lookup in lookups])
    weights["bias/logits"] = torch.tensor(shares, device=device)
    return weights
