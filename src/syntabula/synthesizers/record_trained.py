"""Methods that train a model on records, where marginal ones measure counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from syntabula._spaces import Choice, Range, tunable_part
from syntabula.errors import BudgetError
from syntabula.prepare.preprocessing import BinCount, Preprocessing, RareCategories
from syntabula.privacy.budget import Budget
from syntabula.privacy.training.prices import training_delta_part
from syntabula.record_models.base import RecordModel
from syntabula.record_models.learner import RecordLearner
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.synthesizers.idle import Idle
from syntabula.synthesizers.synthesizer import Synthesizer

if TYPE_CHECKING:
    from syntabula.synthesizers.settings import Learner

_BOTH = ("steps", "learning_rate", "average")
_RARE = RareCategories(theta=0.0005, least_categories=1000)


@dataclass(frozen=True, kw_only=True)
class FromRecords(Synthesizer):
    """Learn from the records themselves. Numbers have fine codes, and only very large columns merge rare ones.

    Raises:
        BudgetError: If epsilon or delta is outside its range, or the budget is finite where the method has no private
            form, or of a kind that training has no noise for.
        ArgumentError: If another argument is not allowed.
    """

    # Fine codes are not searched.
    bins: BinCount = "auto"
    preprocessing: Preprocessing = tunable_part(lambda: Preprocessing(discretizer="fine"), discretizer=None)
    rare: RareCategories | None = _RARE

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.allowed_budget

    @property
    def allowed_budget(self) -> Budget:
        """The budget; raises BudgetError if it is finite and the method has no private form."""
        budget = self.whole_budget
        if self.why_not_private and budget.currency != "none":
            raise BudgetError(self.why_not_private)
        return budget


@dataclass(frozen=True, kw_only=True)
class RecordTrained(FromRecords):
    """Train a model on the records, step by step; see `FromRecords`.

    Attributes:
        model: What is trained.
        training: How.
    """

    parts: ClassVar[tuple[str, ...]] = ("model", "training")

    model: RecordModel
    training: Training = field(default_factory=Training)

    @property
    def learner(self) -> Learner:
        """The model and how it is trained."""
        return RecordLearner(
            model=self.model, training=self.training, budget=self.allowed_budget, seed=self.seed or 0
        )


@dataclass(frozen=True, kw_only=True)
class NoisyTrained(RecordTrained):
    """Train a model on the records, with a budget by noisy gradients; see `RecordTrained`.

    Attributes:
        model: What is trained.
        training: How without a budget; device and threads with one.
        noisy: How with a budget.
    """

    parts: ClassVar[tuple[str, ...]] = ("model", "training", "noisy")
    # Steps with noise take other lengths than those without, and records by chance in place of a batch.
    tried_with_budget: ClassVar[Mapping[str, Range | Choice | None]] = {
        "learning_rate": Range(low=2e-3, high=5e-2, log=True),
        "batch": None,
    }

    model_unused_with_budget: ClassVar[tuple[str, ...]] = ()
    """Options of the model that do nothing where noise trains it."""
    model_unused_without: ClassVar[tuple[str, ...]] = ()
    """Options of the model that do nothing without noise."""

    noisy: NoisyTraining = field(default_factory=NoisyTraining)

    @property
    def learner(self) -> Learner:
        """The model and how it is trained."""
        return RecordLearner(
            model=self.model,
            training=self.training,
            noisy=self.noisy,
            budget=self.allowed_budget,
            seed=self.seed or 0,
            is_resumed=self.resume,
        )

    @property
    def idle(self) -> tuple[Idle, ...]:
        """With a budget how to train without one, and the other way round."""
        exact: tuple[str, ...] = ("batch", "held_out", "patience")
        noisy: tuple[str, ...] = ("rate", "clip")
        if self.allowed_budget.currency == "none":
            part, names, unused = "noisy", noisy, self.model_unused_without
            when, instead = "without a budget", "steps, batch and learning_rate"
            unless = {"training": exact, "model": self.model_unused_with_budget}
        else:
            part, names, unused = "training", exact, self.model_unused_with_budget
            when, instead = "with a finite budget", "steps, rate, clip and learning_rate"
            unless = {"noisy": noisy, "model": self.model_unused_without}
        of_model = "other options of the model"
        return (
            Idle(part=part, names=(*names, *_BOTH), when=when, instead=instead, unless=unless),
            Idle(part="model", names=unused, when=when, instead=of_model, unless=unless),
        )

    @property
    def failure_share(self) -> Fraction:
        """Part of delta that is set aside for the cost of training, chosen by public options alone."""
        budget = self.allowed_budget
        if budget.currency != "mu_squared":
            return Fraction(0)
        steps = self.noisy.steps_for(budget.epsilon)
        return training_delta_part(budget.epsilon, budget.delta, self.noisy.rate, steps)
