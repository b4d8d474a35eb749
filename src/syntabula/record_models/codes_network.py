"""The base of models whose network learns and draws codes: its training, costs, given columns and storage."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._planning import FitCost, Progress
from syntabula._threads import in_threads
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import check_sample, whole_model
from syntabula.privacy.training.records import RECORDS_AT_ONCE, RecordCurator
from syntabula.record_models.lookup_model import LookupModel, read_weights, weight_arrays, weight_bytes
from syntabula.record_models.loop import Trainable, Training, seconds_per_step, train
from syntabula.record_models.noisy_loop import (
    NoisyTraining,
    PaidTraining,
    seconds_per_noisy_step,
    train_with_noise,
)
from syntabula.record_models.representation import (
    ColumnLookup,
    Places,
    column_lookup,
    column_lookups,
    usual_sizes,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkModel(LookupModel, ABC):
    """A model of which a file holds the weights of a network, and the one-way marginals that its lookups are made of."""

    _weights: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    @abstractmethod
    def _shapes(self, sizes: Sequence[int], ordered: Sequence[bool]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the weights by their names.

        Args:
            sizes: Number of codes of each column that have records.
            ordered: Whether the codes of each follow an order.
        """

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: domain and options as facts, one-way marginals and weights as arrays."""
        facts = {**self._column_facts(), "used": [lookup.size for lookup in self._lookups]}
        return facts, weight_arrays(self._weights) | {"one_way": self._one_way_array()}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            model = cls._of_facts(facts)
            return {"one_way": 8 * sum(model.domain.sizes), **weight_bytes(model._stored_shapes(facts))}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            model = cls._of_facts(facts)
            weights = read_weights(arrays, model._stored_shapes(facts))
            return replace(model._with_one_way(arrays["one_way"], model._used(facts)), _weights=weights)

    def _stored_shapes(self, facts: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        return self._shapes(self._used(facts), [c in self.domain.ordered for c in self.domain])


_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class CodesNetwork(NetworkModel, ABC):
    """A model that is a network over codes. Others say what it is, what its loss is and how it draws rows."""

    _draws_in_threads: ClassVar[bool] = True

    @abstractmethod
    def _network(self, lookups: Sequence[ColumnLookup], device: Any, random: Any) -> Trainable:
        """Return the untrained network."""

    @abstractmethod
    def _completed(self, known: Mapping[str, Places], n: int, rng: np.random.Generator) -> Places:
        """Return n rows with known places of some columns [n, columns]; what is known need not come back."""

    @abstractmethod
    def _numbers_of_record(self, domain: Domain, *, noisy: bool) -> int:
        """Return how many numbers a record of a batch leaves for its gradient, which may be given noise."""

    def _noisy_network(self, lookups: Sequence[ColumnLookup], device: Any, random: Any) -> Trainable:
        """Return the untrained network to which noisy gradients are given."""
        return self._network(lookups, device, random)

    def _after_training(
        self, lookups: Sequence[ColumnLookup], weights: Mapping[str, np.ndarray]
    ) -> Mapping[str, np.ndarray]:
        """Return the weights to keep, of those that exact gradients trained."""
        del lookups
        return weights

    def _after_noise(
        self,
        lookups: Sequence[ColumnLookup],
        weights: Mapping[str, np.ndarray],
        total: float,
        rng: np.random.Generator,
    ) -> Mapping[str, np.ndarray]:
        """Return the weights to keep, of those that noisy gradients trained on so many records, as it was released."""
        del lookups, total, rng
        return weights

    def _places(self, lookup: ColumnLookup) -> Places:
        """Return what stands for each code of a column."""
        return lookup.places

    def _rows_at_once(self, n: int) -> int:
        """Return how many of n rows are drawn together."""
        return min(max(n, 1), _ROWS_AT_ONCE)

    def training_cost(self, domain: Domain, n_rows: int, training: Training) -> FitCost:
        """Say what training takes, from a timed step on a made-up batch."""
        batch = training.batch_of(n_rows)
        ordered, usual = tuple(c in domain.ordered for c in domain), usual_sizes(domain)
        lookups = self._made_up_lookups(usual, ordered)
        each_step = seconds_per_step(
            lambda device, random: self._network(lookups, device, random),
            usual,
            training,
            batch,
            n_weights=self._n_weights(Domain(domain.columns, usual, domain.ordered)),
        )
        seconds = training.seconds_for(n_rows, each_step)
        # Weights, gradient, two moments, mean and best; what a batch leaves for its gradient; the table.
        weights = self._n_weights(domain)
        numbers = 7 * weights + batch * self._numbers_of_record(domain, noisy=False) + n_rows * len(domain)
        return FitCost(numbers * 4 / 2**20, seconds)

    def noisy_training_cost(
        self, domain: Domain, n_rows: int, training: Training, noisy: NoisyTraining, steps: int
    ) -> FitCost:
        """Say what so many steps with noise take, from a timed step on made-up records."""
        ordered = tuple(c in domain.ordered for c in domain)
        batch = noisy.batch_of(n_rows)
        lookups = self._made_up_lookups(domain.sizes, ordered)
        n_weights = self._n_weights(domain)
        seconds = steps * seconds_per_noisy_step(
            lambda device, random: self._noisy_network(lookups, device, random),
            domain.sizes,
            training,
            noisy,
            batch,
            n_weights=n_weights,
        )
        # Weights, mean and two moments in float32; sums, noise and what it is drawn from in 64 bits.
        held = 2 * min(batch, RECORDS_AT_ONCE) * self._numbers_of_record(domain, noisy=True)
        numbers = 18 * n_weights + held + n_rows * len(domain)
        return FitCost(numbers * 4 / 2**20, seconds)

    def trained(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        records: EncodedTable,
        training: Training,
        progress: Progress,
        *,
        seed: int,
    ) -> Self:
        """Return a model trained on records."""
        lookups = column_lookups(domain, one_way, waves=self._n_waves)
        places = [self._places(lookup)[codes] for lookup, codes in zip(lookups, records.codes, strict=True)]
        weights = train(
            lambda device, random: self._network(lookups, device, random),
            np.stack(places, 1).astype(np.int32),
            training,
            progress,
            seed=seed,
            checkpoints=self._checkpoints,
        )
        found = self._after_training(lookups, weights)
        total = float(max(records.n_rows, 1))
        return replace(self, _domain=domain, _total=total, _one_way=dict(one_way), _weights=found)

    def trained_with_noise(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        door: RecordCurator,
        paid: PaidTraining,
        progress: Progress,
    ) -> Self:
        """Return a model trained by noisy gradients."""
        lookups = column_lookups(domain, one_way, waves=self._n_waves)
        weights = train_with_noise(
            lambda device, random: self._noisy_network(lookups, device, random),
            [self._places(lookup) for lookup in lookups],
            door,
            paid,
            progress,
        )
        found = self._after_noise(lookups, weights, paid.total, np.random.default_rng(paid.seed))
        return replace(self, _domain=domain, _total=paid.total, _one_way=dict(one_way), _weights=found)

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows; with `given`, draw the other columns conditionally, whichever are given.

        A given code that no record had tells nothing, or in an ordered column what the nearest code tells.
        """
        check_sample(self.domain, n, given)
        return self._decoded(self._rows_given(self._given_places(given), n, rng), given)

    def _rows_given(self, known: Mapping[str, Places], n: int, rng: np.random.Generator) -> Places:
        """Return n rows with known places of some columns [n, columns], as `_completed`, some at a time."""
        at_once = self._rows_at_once(n)
        starts = range(0, n, at_once)
        seeds = rng.integers(2**63, size=len(starts))

        def drawn(part: tuple[int, np.int64]) -> Places:
            start, seed = part
            stop = min(start + at_once, n)
            of_part = {c: places[start:stop] for c, places in known.items()}
            return self._completed(of_part, stop - start, np.random.default_rng(seed))

        parts = [*zip(starts, seeds, strict=True)]
        rows = in_threads(drawn, parts) if self._draws_in_threads else [drawn(part) for part in parts]
        return np.concatenate([np.zeros((0, len(self.domain)), dtype=np.intp), *rows])

    def _n_weights(self, domain: Domain) -> int:
        shapes = self._shapes(domain.sizes, [c in domain.ordered for c in domain])
        return sum(math.prod(shape) for shape in shapes.values())

    def _made_up_lookups(self, sizes: Sequence[int], ordered: Sequence[bool]) -> list[ColumnLookup]:
        """Return lookups of columns of which each code has as many records."""
        return [
            column_lookup(np.ones(size), waves=self._n_waves if has_order else None)
            for size, has_order in zip(sizes, ordered, strict=True)
        ]
