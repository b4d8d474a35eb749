"""The private side of models with hidden numbers: training by noisy gradients, and the return to one-way marginals."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from syntabula._arguments import count, normalise
from syntabula._planning import FitCost, Progress
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.privacy.training.records import RECORDS_AT_ONCE, RecordCurator
from syntabula.record_models.encoding import FEW_CODES, Encoder, Encoding, plain_encoding
from syntabula.record_models.latent import LatentRows
from syntabula.record_models.loop import Trainable, Training
from syntabula.record_models.noisy_loop import (
    NoisyTraining,
    PaidTraining,
    seconds_per_noisy_step,
    train_with_noise,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyLatentRows(LatentRows, ABC):
    """Rows given hidden numbers, whose network can be trained with a budget.

    With a budget all columns are drawn as categories, of at most `levels` codes, and return to their one-way marginals
    in the end: what a number is within a mode would take more to learn than noise leaves.

    Attributes:
        levels: With a budget, codes of a column that are told apart, at most 30; more are merged, and drawn by their
            one-way marginal.
    """

    levels: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(self, levels=count(2, FEW_CODES))

    @classmethod
    def _read(cls, facts: Mapping[str, Any]) -> tuple[Self, list[int], list[int]]:
        # Older files do not say how many levels there were, as none were needed.
        return super()._read({"levels": cls.levels, **facts})

    @abstractmethod
    def _noisy_network(self, encoder: Encoder, random: Any) -> Trainable:
        """Return the untrained network to which noisy gradients are given.

        Args:
            encoder: Of records, all columns as categories.
            random: Draws the first weights.
        """

    def _kept_after_noise(
        self, weights: Mapping[str, np.ndarray], encoding: Encoding
    ) -> Mapping[str, np.ndarray]:
        """Return the weights that draw rows, of all that noisy gradients trained."""
        shapes = self._kept_shapes(encoding.widths)
        return {name: weights.get(name, np.zeros(shape, np.float32)) for name, shape in shapes.items()}

    @property
    def starts_at_marginals(self) -> bool:
        """Whether a network that noise trains draws the one-way marginals from the start: yes."""
        return True

    @property
    def noisy_levels(self) -> int:
        """Most codes of a column that a training with noise tells apart."""
        return self.levels

    def noisy_training_cost(
        self, domain: Domain, n_rows: int, training: Training, noisy: NoisyTraining, steps: int
    ) -> FitCost:
        """Say what so many steps with noise take, from a timed step on made-up records."""
        sizes = tuple(min(size, self.levels) for size in domain.sizes)
        merged = Domain(domain.columns, sizes)
        batch = noisy.batch_of(n_rows)
        model = replace(self, _noisy=True)
        encoding = plain_encoding(merged, {c: np.ones(merged.size(c)) for c in merged})
        shapes = model._trained_shapes(encoding.widths)
        n_weights = sum(math.prod(shape) for shape in shapes.values())
        seconds = steps * seconds_per_noisy_step(
            lambda device, random: model._noisy_network(Encoder(encoding, {}, device), random),
            sizes,
            training,
            noisy,
            batch,
            n_weights=n_weights,
        )
        # Weights, mean and two moments in float32; sums, noise and what it is drawn from in 64 bits.
        numbers = 18 * n_weights + n_rows * len(domain)
        numbers += (
            min(batch, RECORDS_AT_ONCE) * 16 * (sum(shape[-1] for shape in shapes.values()) + sum(sizes))
        )
        return FitCost(numbers * 4 / 2**20, seconds)

    def trained_with_noise(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        door: RecordCurator,
        paid: PaidTraining,
        progress: Progress,
    ) -> Self:
        """Return a model trained by noisy gradients, whose columns have their one-way marginals."""
        model, encoding = replace(self, _noisy=True), plain_encoding(domain, one_way)
        weights = train_with_noise(
            lambda device, random: model._noisy_network(Encoder(encoding, {}, device), random),
            [lookup.frequent_places for lookup in encoding.lookups],
            door,
            paid,
            progress,
        )
        kept = dict(model._kept_after_noise(weights, encoding))
        found = replace(
            model,
            _domain=domain,
            _total=paid.total,
            _one_way=dict(one_way),
            _encoding=encoding,
            _weights=kept,
        )
        log_shares = [lookup.log_shares for lookup in encoding.lookups]
        # Rows without conditions are raked.
        moved = encoding.blocks.biases_towards(found._mixed_outputs(), log_shares)
        kept["bias/outputs"] = kept["bias/outputs"] + moved
        return replace(found, _weights=kept)
