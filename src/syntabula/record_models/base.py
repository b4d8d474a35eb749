"""What a learner needs of a model that is trained on records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self, TypeGuard

import numpy as np

from syntabula._planning import FitCost, Progress
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import Model
from syntabula.privacy.training.records import RecordCurator
from syntabula.record_models.checkpoints import Checkpoints
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining, PaidTraining

COUNTED_ROWS = 50_000
"""Rows that are drawn, always the same ones, where marginals of such a model are asked for."""


class RecordModel(Model, Protocol):
    """A model that is trained on records; like a `MarginalModel` a frozen dataclass of its options and its state."""

    @property
    def noisy_levels(self) -> int | None:
        """Most codes of a column that a training with noise tells apart; None for all.

        More are merged before, by released one-way marginals, and drawn by these.
        """
        return None

    @property
    def starts_at_marginals(self) -> bool:
        """Whether a network that noise trains draws the one-way marginals from the start, and in the end again."""
        return False

    @property
    def can_stop_early(self) -> bool:
        """Whether its losses on records held out from training say when to stop."""
        return True

    @property
    def follow_marginals(self) -> bool:
        """Whether rows without privacy are drawn again by weights with which columns have their one-way marginals."""
        return False

    @property
    def learns_more_by(self) -> str:
        """Options that make it hold more of what columns tell of each other, if it is made in one go; else empty."""
        return ""

    def training_cost(self, domain: Domain, n_rows: int, training: Training) -> FitCost:
        """Say what training on so many rows over a domain takes, from a timed step on a made-up batch.

        Raises:
            ArgumentError: If there is no such device.
            MissingExtraError: If a library is missing.
        """
        ...

    def with_texts(self, texts: Callable[[], Mapping[str, Sequence[str]]]) -> Self:
        """Return the model to train, told the text of each code of each column; most models need none.

        Args:
            texts: Returns them, by column.
        """
        del texts
        return self

    def with_weekdays(self, weekdays: Callable[[], Mapping[str, FloatArray]]) -> Self:
        """Return the model to train, told the weekdays of columns of days and times; most models need none.

        Args:
            weekdays: Returns the share of each weekday in each code, by column [codes, 7].
        """
        del weekdays
        return self

    def with_checkpoints(self, checkpoints: Checkpoints | None) -> Self:
        """Return the model to train, told where its training is kept; models that are made in one go need no such place.

        Args:
            checkpoints: For `train`; None for nowhere.
        """
        del checkpoints
        return self

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
        """Return a model trained on records.

        Args:
            domain: Columns of the records.
            one_way: One-way marginal of each column, of which the model's lookups are made.
            records: All records.
            training: How to train.
            progress: Told what is done.
            seed: Of all that is drawn.

        Raises:
            TrainingError: If the loss is no number any more.
        """
        ...

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique, one axis per column in its order, as counted on drawn rows."""
        return counted_marginals(self, cliques)


class NoisyRecordModel(RecordModel, Protocol):
    """A model of records that can be trained with a budget, by noisy gradients."""

    def noisy_training_cost(
        self, domain: Domain, n_rows: int, training: Training, noisy: NoisyTraining, steps: int
    ) -> FitCost:
        """Say what so many steps take; raises as `training_cost`."""
        ...

    def trained_with_noise(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        door: RecordCurator,
        paid: PaidTraining,
        progress: Progress,
    ) -> Model:
        """Return a model trained by noisy gradients, or another that follows from one.

        Args:
            domain: Columns of the records.
            one_way: Noisy one-way marginal of each column, none of them below 0 and all with the same sum.
            door: Gives the gradients.
            paid: What is paid for.
            progress: Told what is done.

        Raises:
            BudgetError: If the budget is too small for these steps.
        """
        ...


def counted_marginals(model: Model, cliques: Sequence[Clique]) -> list[FloatArray]:
    """Return counts of each clique among drawn rows, scaled to the records of a model."""
    rows = model.sample(COUNTED_ROWS, np.random.default_rng(0))
    counts = MemoryEngine(rows).counts(cliques)
    return [c * np.float64(model.total / COUNTED_ROWS) for c in counts]


def takes_noise(model: RecordModel) -> TypeGuard[NoisyRecordModel]:
    """Return whether a model can be trained with a budget."""
    return hasattr(model, "trained_with_noise")
