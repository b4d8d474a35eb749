"""The base of models of one network that can be trained with a budget: its cost, and from training to the model."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from syntabula._planning import FitCost, Progress
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.privacy.doors.records import MOST_RECORDS, RecordCurator
from syntabula.record_models.base import NoisyRecordModel
from syntabula.record_models.loop import Trainable, Training
from syntabula.record_models.network_model import NetworkModel
from syntabula.record_models.noisy_loop import (
    NoisyTraining,
    PaidTraining,
    seconds_per_noisy_step,
    train_with_noise,
)
from syntabula.record_models.representation import ColumnLookup, column_lookup, column_lookups

_RECORDS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyNetworkModel(NetworkModel, NoisyRecordModel, ABC):
    """A model of one network, trained by noisy gradients from where each column has its one-way marginal on."""

    @abstractmethod
    def _separate_network(self, lookups: Sequence[ColumnLookup], device: Any, random: Any) -> Trainable:
        """Return the untrained network, with a loss of each record that depends on no other record."""

    @abstractmethod
    def _numbers_per_record(self, domain: Domain) -> int:
        """Return how many numbers a record of a batch leaves for its gradient."""

    @abstractmethod
    def _released(
        self, lookups: Sequence[ColumnLookup], weights: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> Mapping[str, np.ndarray]:
        """Return the weights to keep, with which columns have their one-way marginals, from those that were trained."""

    def noisy_training_cost(
        self, domain: Domain, n_rows: int, training: Training, noisy: NoisyTraining, steps: int
    ) -> FitCost:
        """Say what so many steps with noise take, from a timed step on made-up records."""
        ordered = tuple(c in domain.ordered for c in domain)
        batch = max(round(min(noisy.rate * n_rows, MOST_RECORDS)), 1)
        seconds = _timed_noisy_step(
            replace(self, _domain=None), domain.sizes, ordered, training, noisy, batch
        )
        weights = sum(math.prod(s) for s in self._shapes(domain.sizes, ordered).values())
        # Weights, mean and two moments in float32; sums, noise and what it is drawn from in 64 bits.
        of_batch = 2 * min(batch, _RECORDS_AT_ONCE) * self._numbers_per_record(domain)
        numbers = 18 * weights + of_batch + n_rows * len(domain)
        return FitCost(numbers * 4 / 2**20, seconds * steps)

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
        trained = train_with_noise(
            lambda device, random: self._separate_network(lookups, device, random),
            [lookup.places for lookup in lookups],
            door,
            paid,
            progress,
        )
        weights = self._released(lookups, trained, np.random.default_rng(paid.seed))
        return replace(self, _domain=domain, _total=paid.total, _one_way=dict(one_way), _weights=weights)


@lru_cache(maxsize=16)
def _timed_noisy_step(
    model: NoisyNetworkModel,
    sizes: tuple[int, ...],
    ordered: tuple[bool, ...],
    training: Training,
    noisy: NoisyTraining,
    batch: int,
) -> float:
    lookups = made_up_lookups(sizes, ordered, waves=model._n_waves)
    return seconds_per_noisy_step(
        lambda device, random: model._separate_network(lookups, device, random), sizes, training, noisy, batch
    )


def made_up_lookups(sizes: Sequence[int], ordered: Sequence[bool], *, waves: int) -> list[ColumnLookup]:
    """Return lookups of columns of these sizes, all codes of which are as frequent, to time a step with."""
    return [
        column_lookup(np.ones(size), waves=waves if is_ordered else None)
        for size, is_ordered in zip(sizes, ordered, strict=True)
    ]
