"""A network that gives the distribution of each column given any others: rows are drawn column by column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from syntabula._arguments import count, normalise, real
from syntabula._spaces import Choice, Range, tunable
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.restricted import Restricted, Weights
from syntabula.record_models.any_order import (
    AnyOrderNetwork,
    SeparateNetwork,
    first_weights,
    head_units,
    joined,
    separate,
    shapes_of,
)
from syntabula.record_models.any_order_sampling import Drawing, drawn_from, with_marginals
from syntabula.record_models.codes_network import CodesNetwork
from syntabula.record_models.conditions_first import Tried, conditions_first, orders_of, rarest_first
from syntabula.record_models.following import FollowingRows
from syntabula.record_models.representation import ColumnLookup, Places

_SUMMED = 4096
_ORDERS, _LEAST_ROWS, _MOST_ROWS = 128, 16, 1024
"""Columns are drawn in a new order for each 128th of the rows, or this many: an order that errs does not show."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Autoregressive(CodesNetwork, FollowingRows):
    """Draws columns one by one in any order, each from its distribution given all that is known by then.

    One network learns all conditional distributions at once: it is told the codes of a random set of a record's
    columns and asked for the others (Uria, Murray, Larochelle 2014, "A deep and tractable density estimator"; on
    tables Tiwald et al. 2025, TabularARGN). So any columns can be given, and the others are drawn given them.

    Saved are the weights and the one-way marginals. A model that was loaded samples without torch.

    Attributes:
        units: Width of the layers.
        layers: Number of them.
        embedding: Numbers that the network learns for each code.
        waves: Cosines of its rank that tell it of a code of an ordered column.
        dropout: Part of the first layer that is left out at random in training, against learning records by heart.
    """

    kind: ClassVar[str] = "autoregressive"
    draws_conditions_first: ClassVar[bool] = True

    units: int = tunable(256, Choice((64, 128, 256, 512)))
    layers: int = tunable(2, Range(low=1, high=4))
    embedding: int = 16
    waves: int = 16
    dropout: float = tunable(0.1, Range(low=0.0, high=0.3))

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(
            self,
            units=count(),
            layers=count(),
            embedding=count(),
            waves=count(),
            dropout=real("a number of at least 0 and below 1", lambda part: 0 <= part < 1),
        )

    @property
    def starts_at_marginals(self) -> bool:
        """Whether a network that noise trains draws the one-way marginals from the start: yes."""
        return True

    @property
    def _n_waves(self) -> int:
        return self.waves

    def restricted(self, weights: Weights) -> Restricted:
        """Return the records that satisfy conditions: columns with conditions are drawn first, the others given them.

        One column is drawn from its exact distribution. Of several, the rarest condition first, each is drawn given the
        condition and the ones before, and a row is kept with the product of the chances that its conditions had.

        The probability is the mean over orders of these columns, as no two orders agree quite. In each it is summed
        exactly where all columns but the last have at most 4,096 combinations of codes that satisfy the conditions, and
        else estimated on tried rows (`conditions_first`).

        Raises:
            ResourceError: If hardly any row could be kept.
        """
        masks = {c: weights[c][self._lookup(c).codes] for c in self.domain if c in weights}
        if not masks:
            return Restricted(1.0, self.sample)
        columns = rarest_first({c: self._lookup(c) for c in masks}, masks)

        def tried(order: Sequence[str], n: int, rng: np.random.Generator) -> Tried:
            return self._tried(order, masks, n, rng)

        def finished(rows: Places, rng: np.random.Generator) -> EncodedTable:
            known = {c: rows[:, self.domain.index(c)] for c in columns}
            return self._decoded(self._completed(known, len(rows), rng))

        return conditions_first(
            tried,
            finished,
            orders_of(columns),
            is_exact=len(columns) == 1,
            summed=lambda order: self._summed(order, masks),
        )

    def _summed(self, columns: Sequence[str], masks: Mapping[str, FloatArray]) -> float | None:
        """Return the exact probability of conditions in an order of columns; None for too many combinations."""
        codes = [np.flatnonzero(masks[name]) for name in columns[:-1]]
        n = math.prod(held.size for held in codes)
        if n > _SUMMED:
            return None
        drawing, weights = self._drawing, np.ones(n)
        hidden = drawing.first(drawing.unknown(n))
        grid = np.meshgrid(*codes, indexing="ij") if codes else []
        for position, name in enumerate(columns):
            column = self.domain.index(name)
            chances = drawing.chances(hidden, column) * masks[name].astype(np.float32)
            if position == len(columns) - 1:
                weights *= chances.sum(1, dtype=np.float64)
            else:
                held = grid[position].ravel()
                weights *= chances[np.arange(n), held]
                drawing.tell(hidden, column, held)
        return min(float(weights.sum()), 1.0)

    def _tried(
        self, columns: Sequence[str], masks: Mapping[str, FloatArray], n: int, rng: np.random.Generator
    ) -> tuple[Places, float, FloatArray]:
        """Draw columns given their conditions; return rows, the first one's chance, and what others had in each row."""
        drawing = self._drawing
        rows, kept, first = drawing.unknown(n), np.ones(n), 1.0
        hidden = drawing.first(rows)
        for position, name in enumerate(columns):
            column = self.domain.index(name)
            chances = drawing.chances(hidden, column) * masks[name].astype(np.float32)
            reached = np.minimum(chances.sum(1, dtype=np.float64), 1.0)
            if position == 0:
                first = float(reached[0])
            else:
                kept *= reached
            chances[reached <= 0] = 1.0
            rows[:, column] = drawn_from(chances, rng)
            drawing.tell(hidden, column, rows[:, column])
        return rows, first, kept if first > 0 else np.zeros(n)

    def _completed(self, known: Mapping[str, Places], n: int, rng: np.random.Generator) -> Places:
        """Return n rows with known places of some columns; the others are drawn in random order."""
        rows = self._drawing.unknown(n)
        for name, places in known.items():
            rows[:, self.domain.index(name)] = places
        left = [j for j, name in enumerate(self.domain) if name not in known]
        self._drawing.draw(rows, rng.permutation(left).tolist(), rng)
        return rows

    @cached_property
    def _drawing(self) -> Drawing:
        return Drawing(self._lookups, self._weights)

    def _shapes(self, sizes: Sequence[int], ordered: Sequence[bool]) -> dict[str, tuple[int, ...]]:
        return shapes_of(
            sizes,
            ordered,
            embedding=self.embedding,
            waves=self.waves,
            units=self.units,
            layers=self.layers,
        )

    def _network(self, lookups: Sequence[ColumnLookup], device: Any, random: Any) -> AnyOrderNetwork:
        shapes = self._shapes([x.size for x in lookups], [x.waves is not None for x in lookups])
        weights = first_weights(lookups, shapes, device=device, random=random)
        return AnyOrderNetwork(lookups, weights, dropout=self.dropout)

    def _noisy_network(self, lookups: Sequence[ColumnLookup], device: Any, random: Any) -> SeparateNetwork:
        weights = dict(self._network(lookups, device, random).parameters)
        # Columns have exactly their marginals at first, and noise leaves nothing out by chance already.
        weights["logits"] = weights["logits"] * 0
        return SeparateNetwork(lookups, separate(weights, [lookup.size for lookup in lookups]))

    def _after_noise(
        self,
        lookups: Sequence[ColumnLookup],
        weights: Mapping[str, np.ndarray],
        total: float,
        rng: np.random.Generator,
    ) -> Mapping[str, np.ndarray]:
        del total
        shapes = self._shapes([x.size for x in lookups], [x.waves is not None for x in lookups])
        return with_marginals(lookups, joined(weights, shapes), rng)

    def _numbers_of_record(self, domain: Domain, *, noisy: bool) -> int:
        heads = 2 * len(domain) * head_units(len(domain))
        return self.units * (2 * self.layers + 2) + heads + 3 * sum(domain.sizes)

    def _rows_at_once(self, n: int) -> int:
        return min(max(n // _ORDERS, _LEAST_ROWS), _MOST_ROWS)
