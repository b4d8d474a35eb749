"""The learner of DP-MERF: releases a mean embedding of the table, and trains a generator towards it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syntabula._planning import PlannedStep, Progress
from syntabula.errors import TrainingError
from syntabula.marginals.domain import Domain
from syntabula.models.base import Model, check_storable
from syntabula.privacy.doors import Doors
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.record_models.adamw import rate_of_steps
from syntabula.record_models.astray import check_not_astray, unless_astray
from syntabula.record_models.dependence_kept import warn_if_no_features_kept
from syntabula.record_models.mean_embedding import TRAIN_GENERATOR, MeanEmbedding
from syntabula.record_models.one_way import ONE_WAY_SHARE, OneWayStart
from syntabula.record_models.representation import one_way_counts
from syntabula.record_models.too_short import raised

_ONE_WAY = "measure one-way marginals"
_EMBED = "sum the features of all records"


@dataclass(frozen=True, kw_only=True)
class EmbeddingLearner:
    """Measures one-way marginals, releases the sum of random features of the records, and trains a model towards both.

    Attributes:
        model: What is trained.
        seed: Of the features and of training. No privacy rests on it.

    Raises:
        ArgumentError: If no file could hold the model, or its learning rate is one at which nothing is learned.
    """

    model: MeanEmbedding
    seed: int = 0

    def __post_init__(self) -> None:
        check_storable(self.model)
        # Not the model's own check: a stored one, trained at any rate, can be loaded.
        rate_of_steps("learning_rate", self.model.learning_rate)

    @property
    def name(self) -> str:
        """The kind of the model."""
        return self.model.kind

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost."""
        cells = sum(domain.sizes)
        return [
            PlannedStep(name=_ONE_WAY, share=ONE_WAY_SHARE, cells=cells, noisy_cells=cells),
            PlannedStep(
                name=_EMBED,
                share=1 - ONE_WAY_SHARE,
                noisy_cells=max(self.model.features, 2 * len(domain)),
                cost=self.model.training_cost(domain),
            ),
        ]

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Release one-way marginals and feature sums, and return the trained model."""
        progress(_ONE_WAY, 0.0)
        start = OneWayStart.of(doors, share=share * ONE_WAY_SHARE, step=_ONE_WAY)
        start = start.merged(self.model.levels)
        merged = start.measured
        features = self.model.drawn_features(start.doors.domain, one_way_counts(merged), self.seed)
        progress(_EMBED, 0.05)
        sums = start.doors.features.sum(features, share=share * (1 - ONE_WAY_SHARE), step=_EMBED)
        progress(TRAIN_GENERATOR, 0.1)

        def training(name: str, done: float) -> None:
            progress(name, 0.1 + 0.9 * done)

        model: Model | None = None
        try:
            model = self.model.trained(
                merged, features, sums.values, sigma=sums.sigma, seed=self.seed, progress=training
            )
        except TrainingError:
            if not sums.sigma:
                raise
        progress(TRAIN_GENERATOR, 1.0)
        if sums.sigma:
            model = unless_astray(model, start, self.model.learning_rate)
        else:
            assert model is not None
            rate, steps = self.model.learning_rate, self.model.steps
            check_not_astray(model, start, rate)
            longer = raised(self.model.seconds, steps_given=True)
            counts = one_way_counts(merged)
            warn_if_no_features_kept(model, features, sums.values, counts, rate, steps, longer)
        return start.restored(model), None
