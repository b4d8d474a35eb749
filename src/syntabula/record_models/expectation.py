"""Fits a tree of hidden states to records by expectation and maximisation, a batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.latent_tree import outwards
from syntabula.record_models.representation import ColumnLookup

if TYPE_CHECKING:
    from torch import Generator, Tensor

_COUNTED_OF_CODE, _NEIGHBOURS = 25.0, 100.0
"""Each code counts as at most so many records, and its neighbours are those with so many on each side of it."""

_SPREAD = 0.1
"""Records of a column's one-way marginal that are added to each state, and of states to each state of the parent."""

_UNORDERED = 0.1
"""Weight of neighbours in a column without an order, where all codes are."""

_STARTING_RECORDS = 20_000
_LEAST = 1e-20


class LatentTreeFit:
    """Expected counts of hidden states, and what they make of a tree.

    The parameters are parts of all records: of each column those with a code and a state [codes of all columns,
    states], and those with a state and one of the parent [columns, states, states]. A batch moves them towards its own
    (Cappé and Moulines 2009, "On-line expectation-maximization algorithm for latent data models"); tables of
    probabilities are made of them anew at each step.

    What a code tells of the state is drawn to what its neighbours tell, with the weight of `smoothing` records; in a
    column without an order all codes are neighbours, with a tenth of that. Codes keep their share of the column's
    records.

    Args:
        lookups: Of each column.
        parents: Of each column; -1 for the root.
        states: Hidden states of each column.
        n_records: How many there are.
        smoothing: In records.
        start: Some records [records, columns], of which the first counts are made.
        device: Of torch.
        random: For first counts, which must differ between states.
    """

    def __init__(
        self,
        lookups: Sequence[ColumnLookup],
        parents: Sequence[int],
        *,
        states: int,
        n_records: int,
        smoothing: float,
        start: np.ndarray,
        device: Any,
        random: Generator,
    ) -> None:
        torch = require("torch", "neural")
        self._parents, self._order = parents, outwards(parents)
        self._n_records, self._smoothing = float(max(n_records, 1)), smoothing
        self._ends = np.cumsum([lookup.size for lookup in lookups]).tolist()
        self._columns = [_Column.of(lookup, self._n_records, device) for lookup in lookups]
        first = [
            _first_states(lookup, column, states, random)
            for lookup, column in zip(lookups, self._columns, strict=True)
        ]
        chosen = np.linspace(0, len(start) - 1, min(len(start), _STARTING_RECORDS)).astype(np.intp)
        table = torch.as_tensor(start[chosen], device=device).long()
        moves = torch.zeros((len(lookups), states, states), device=device)
        for column, parent in enumerate(parents):
            states_of = first[column][table[:, column]]
            if parent < 0:
                moves[column, 0] = states_of.sum(0) / max(len(table), 1)
            else:
                moves[column] = first[parent][table[:, parent]].T @ states_of / max(len(table), 1)
        # Equal states would stay equal.
        moves *= 1 + torch.rand(moves.shape, generator=random, device=device) / 2
        moves += _LEAST
        moves /= moves.sum((1, 2), keepdim=True)
        counts = [column.shares[:, None] * table for column, table in zip(self._columns, first, strict=True)]
        self._counts, self._pairs = torch.cat(counts), moves

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """Expected parts of the records, by code and state, and by states of parent and child."""
        return {"counts": self._counts, "pairs": self._pairs}

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return minus the logarithm of each record's probability [batch]."""
        del random
        return -self._upward(records.long(), self._emissions(), self._transitions())[2]

    def moved(self, records: Tensor, rate: float) -> Tensor:
        """Move the expected counts towards those of a batch by so much; return the loss of each record [batch]."""
        torch = require("torch", "neural")
        with torch.no_grad():
            records = records.long()
            emissions, transitions = self._emissions(), self._transitions()
            messages, told, logs = self._upward(records, emissions, transitions)
            beliefs: dict[int, Tensor] = {}
            for column in self._order:
                parent, message = self._parents[column], messages[column]
                pairs = torch.zeros_like(self._pairs[column])
                if parent < 0:
                    belief = message * transitions[column, 0]
                    belief /= belief.sum(1, keepdim=True)
                    pairs[0] = belief.mean(0)
                else:
                    ratio = beliefs[parent] / told[column]
                    pairs = (ratio.T @ message) * transitions[column] / len(records)
                    belief = (ratio @ transitions[column]) * message
                beliefs[column] = belief
                self._pairs[column].lerp_(pairs, rate)
                block = self._block(self._counts, column)
                block.lerp_(
                    torch.zeros_like(block).index_add_(0, records[:, column], belief) / len(records), rate
                )
        return -logs

    def tables(self, counts: Any, pairs: Any) -> tuple[list[np.ndarray], np.ndarray]:
        """Return emissions [codes, states] of each column and transitions made of parameters."""
        torch = require("torch", "neural")
        device = self._counts.device
        self._counts, self._pairs = (torch.as_tensor(array, device=device) for array in (counts, pairs))
        return [e.cpu().numpy() for e in self._emissions()], self._transitions().cpu().numpy()

    def _block(self, table: Tensor, column: int) -> Tensor:
        return table[self._ends[column] - len(self._columns[column].shares) : self._ends[column]]

    def _emissions(self) -> list[Tensor]:
        found = []
        for position, column in enumerate(self._columns):
            counts = self._block(self._counts, position) * self._n_records
            weight = self._smoothing * (1.0 if column.is_ordered else _UNORDERED)
            drawn = counts + weight * column.neighbours(counts) + _SPREAD * column.shares[:, None]
            table = column.shares[:, None] * (drawn / drawn.sum(1, keepdim=True))
            found.append(table / table.sum(0))
        return found

    def _transitions(self) -> Tensor:
        pairs = self._pairs * self._n_records
        shares = pairs.sum(1, keepdim=True) + _LEAST
        pairs = pairs + _SPREAD * shares / shares.sum(2, keepdim=True)
        transitions: Tensor = pairs / pairs.sum(2, keepdim=True)
        return transitions

    def _upward(
        self, records: Tensor, emissions: Sequence[Tensor], transitions: Tensor
    ) -> tuple[dict[int, Tensor], dict[int, Tensor], Tensor]:
        """Return what each column and those below tell of its state and of its parent's, and log-probabilities."""
        torch = require("torch", "neural")
        messages = {c: emissions[c][records[:, c]] for c in self._order}
        told: dict[int, Tensor] = {}
        logs = torch.zeros(len(records), device=records.device)
        for column in reversed(self._order):
            largest = messages[column].amax(1, keepdim=True)
            messages[column] = messages[column] / largest
            logs = logs + largest[:, 0].log()
            parent = self._parents[column]
            if parent >= 0:
                told[column] = (messages[column] @ transitions[column].T).clamp(min=_LEAST)
                messages[parent] = messages[parent] * told[column]
        root = self._order[0]
        return messages, told, logs + (messages[root] @ transitions[root, 0]).log()


@dataclass(frozen=True, eq=False)
class _Column:
    """What smoothing needs of a column: shares of its codes, their weights, and where neighbours begin and end."""

    shares: Tensor
    weights: Tensor
    first: Tensor | None
    last: Tensor | None

    @classmethod
    def of(cls, lookup: ColumnLookup, n_records: float, device: Any) -> _Column:
        torch = require("torch", "neural")
        shares = np.exp(lookup.log_shares.astype(np.float64))
        counted: FloatArray = np.minimum(shares * n_records, _COUNTED_OF_CODE)
        weights = counted / (shares * n_records)
        tensors = [torch.as_tensor(a, dtype=torch.float32, device=device) for a in (shares, weights)]
        if lookup.waves is None:
            return cls(tensors[0], tensors[1], None, None)
        ends = np.cumsum(counted)
        middles = ends - counted / 2
        first = np.searchsorted(ends, middles - _NEIGHBOURS, side="right")
        last = np.searchsorted(ends - counted, middles + _NEIGHBOURS, side="left")
        return cls(tensors[0], tensors[1], *(torch.as_tensor(a, device=device) for a in (first, last)))

    @property
    def is_ordered(self) -> bool:
        return self.first is not None

    def neighbours(self, counts: Tensor) -> Tensor:
        """Return the distribution of states among a code's neighbours [codes, states], or of all codes [1, states]."""
        torch = require("torch", "neural")
        overall: Tensor = counts.sum(0, keepdim=True)
        overall = overall / overall.sum()
        if self.first is None or self.last is None:
            return overall
        # In double precision, as neighbours are a difference of sums over all.
        sums = (counts * self.weights[:, None]).double().cumsum(0)
        sums = torch.cat([torch.zeros_like(sums[:1]), sums])
        near = (sums[self.last] - sums[self.first]).float().clamp(min=0) + 0.1 * overall
        states_of: Tensor = near / near.sum(1, keepdim=True)
        return states_of


def _first_states(lookup: ColumnLookup, column: _Column, states: int, random: Generator) -> Tensor:
    """Return a first distribution of states for each code [codes, states]: parts of an ordered column, else codes."""
    torch = require("torch", "neural")
    device = column.shares.device
    if lookup.waves is None:
        # Each state begins with one code, frequent codes in several, so that what follows from a code is found.
        heights = column.shares.sqrt().cumsum(0)
        places = (torch.arange(states, device=device) + 0.5) / states * heights[-1]
        begun = torch.searchsorted(heights, places).clamp(max=lookup.size - 1)
        drawn = 0.02 * torch.rand((lookup.size, states), generator=random, device=device)
        drawn[begun, torch.arange(states, device=device)] += 1.0
    else:
        middles = column.shares.cumsum(0) - column.shares / 2
        centres = (
            torch.arange(states, device=device)
            + 0.5
            + torch.randn(states, generator=random, device=device) / 2
        )
        drawn = torch.exp(-((middles[:, None] * states - centres) ** 2) / 8)
    drawn = drawn + 1e-4
    states_of: Tensor = drawn / drawn.sum(1, keepdim=True)
    return states_of
