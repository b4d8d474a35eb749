"""The learner of methods that train a model on records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from syntabula._arguments import refusal
from syntabula._memory import memory_for, ran_out
from syntabula._planning import FitCost, PlannedStep, Progress, times_are_asked
from syntabula._threads import one_thread_for_products
from syntabula.errors import ArgumentError, BudgetError, SyntabulaError
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import consistent_total, project_simplex
from syntabula.models.base import Model, check_storable
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.privacy.training.prices import require_training
from syntabula.record_models.astray import unless_astray, warn_if_collapsed
from syntabula.record_models.base import NoisyRecordModel, RecordModel, takes_noise
from syntabula.record_models.dependence_kept import warn_if_nothing_learned
from syntabula.record_models.loop import TRAIN, Training
from syntabula.record_models.noisy_loop import NoisyTraining, PaidTraining
from syntabula.record_models.one_way import ONE_WAY_SHARE, OneWayStart
from syntabula.record_models.representation import one_way_counts
from syntabula.record_models.too_short import raised, steps_within, warn_if_few
from syntabula.record_models.training_memory import SMALLER, to_lower

ONE_WAY = "measure one-way marginals"


@dataclass(frozen=True, kw_only=True)
class RecordLearner:
    """Measures one-way marginals, of which a model makes its lookups, and trains it on the records.

    With a budget the marginals are noisy, and the model is trained by noisy gradients.

    Attributes:
        model: What is trained.
        training: How without a budget.
        noisy: How with one.
        budget: Says whether there is noise, and how many steps it suggests.
        seed: Of all that is drawn in training. No privacy rests on it.
        is_resumed: Whether an interrupted run may have paid for the steps.

    Raises:
        ArgumentError: If the model is none that is trained on records, no file could hold it, or records are held out
            that could not say when to stop.
        BudgetError: If the budget is of a kind that training has no noise for, or the model has no form with noise.
    """

    model: RecordModel
    training: Training
    noisy: NoisyTraining = field(default_factory=NoisyTraining)
    budget: Budget = field(default_factory=Budget.none)
    seed: int = 0
    is_resumed: bool = False

    def __post_init__(self) -> None:
        if not hasattr(self.model, "trained"):
            raise refusal("model", "a model that is trained on records", self.model)
        if not isinstance(self.training, Training):
            raise refusal("training", "a Training", self.training)
        if not isinstance(self.noisy, NoisyTraining):
            raise refusal("noisy", "a NoisyTraining", self.noisy)
        check_storable(self.model)
        if self.training.held_out and not self.model.can_stop_early:
            raise ArgumentError(
                f"held_out must be 0: the model {self.model.kind!r} says of no record how probable it is, so that "
                f"records held out from training could not say when to stop; got {self.training.held_out:g}"
            )
        if self.is_private:
            require_training(self.budget.currency)
            if not takes_noise(self.model):
                raise BudgetError(
                    f"the model {self.model.kind!r} has no form that is trained with noise; use an infinite epsilon "
                    "where the table needs no privacy"
                )

    @property
    def is_private(self) -> bool:
        """Whether there is a budget."""
        return self.budget.currency != "none"

    @property
    def steps(self) -> int:
        """The most steps with a budget."""
        return self.noisy.steps_for(self.budget.epsilon)

    @property
    def name(self) -> str:
        """The kind of the model."""
        return self.model.kind

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost."""
        cells = sum(domain.sizes)
        # With a budget the number of records that a step takes is paid for, and they are taken a few at a time.
        batch = 1 if self.is_private else self.training.batch
        remedy = to_lower(self.model, batch)
        with memory_for("try a step of training", SMALLER):
            cost = self._cost(domain, n_rows)
        if times_are_asked():
            self._tell_of_few_steps(n_rows, cost)
        if self.is_private:
            cost = replace(cost, seconds=min(cost.seconds, self._most_seconds))
        return [
            PlannedStep(name=ONE_WAY, share=ONE_WAY_SHARE, cells=cells, noisy_cells=cells),
            PlannedStep(name=TRAIN, share=1 - ONE_WAY_SHARE, cost=cost, remedy=remedy),
        ]

    def _cost(self, domain: Domain, n_rows: int) -> FitCost:
        try:
            if not (self.is_private and takes_noise(self.model)):
                return self.model.training_cost(domain, n_rows, self.training)
            return self.model.noisy_training_cost(domain, n_rows, self.training, self.noisy, self.steps)
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            # A network that breaks on any records says so better on those of its trial.
            if not (isinstance(error, SyntabulaError) or ran_out(error)):
                self._try_out()
            raise

    def try_parts(self, domain: Callable[[], Domain], budget: Budget, *, memory_mb: float) -> None:
        """Try a plug-in's network on what is made up; raises ArgumentError if it breaks or its loss is not allowed.

        A limit of time that leaves next to no steps even of the smallest table is warned of before anything is paid.
        """
        # A network is told no names, this learner has the budget, and what is made up takes little memory.
        del budget, memory_mb
        self._try_out()
        limited = self.is_private and self.training.seconds is not None and not self.is_resumed
        if limited and len(columns := domain()):
            with memory_for("try a step of training", SMALLER):
                cost = self._cost(columns, 1)
            self._tell_of_few_steps(1, cost)

    def _try_out(self) -> None:
        """Try a plug-in's network."""
        if hasattr(self.model, "try_out"):
            self.model.try_out(noisy=self.is_private)

    def _tell_of_few_steps(self, n_rows: int, cost: FitCost) -> None:
        """Warn of a limit of time that leaves next to no steps of a training with a budget."""
        if self.is_private and self.training.seconds is not None:
            steps = self._steps_within(cost)
            warn_if_few(steps, self.steps, self.training.seconds, cost.seconds, planned_rows=n_rows)

    def _steps_within(self, cost: FitCost) -> int:
        return steps_within(self.steps, self._most_seconds, cost.seconds)

    @one_thread_for_products()
    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Measure the one-way marginals and return the trained model."""
        progress(ONE_WAY, 0.0)
        start = OneWayStart.of(doors, share=share * ONE_WAY_SHARE, step=ONE_WAY)
        if self.is_private and self.model.noisy_levels is not None:
            start = start.merged(self.model.noisy_levels)
        model = self._trained(start, share * (1 - ONE_WAY_SHARE), progress)
        if self.is_private:
            weighed = not self.model.starts_at_marginals
            model = unless_astray(model, start, self.noisy.learning_rate, weighed=weighed)
        return start.raked(model, exactly=self.model.follow_marginals), None

    def _trained(self, start: OneWayStart, share: Fraction, progress: Progress) -> Model:
        doors, measured = start.doors, start.measured
        if self.is_private and takes_noise(self.model):
            total = consistent_total(measured)
            paid = PaidTraining(
                training=self.training,
                noisy=self.noisy,
                steps=self._steps_in_time(self.model, doors, total),
                total=total,
                share=share,
                seed=self.seed,
            )
            noisy = {c: project_simplex(v, total) for c, v in one_way_counts(measured).items()}
            # What follows from weights that went astray may be no numbers.
            with np.errstate(all="ignore"):
                return self.model.trained_with_noise(doors.domain, noisy, doors.records, paid, progress)
        records = doors.records.exact(step=TRAIN)
        one_way = one_way_counts(measured)
        model = self.model.with_texts(doors.texts).with_weekdays(doors.weekdays).with_checkpoints(records)
        trained = model.trained(doors.domain, one_way, records.table, self.training, progress, seed=self.seed)
        trained = trained.with_checkpoints(None)
        rate, steps = self.training.learning_rate, self.training.steps
        longer = raised(self.training.seconds, steps_given=steps is not None)
        # Of an adversarial network nothing but its rows says what it learned.
        if self.model.can_stop_early or not warn_if_collapsed(trained, start, rate, longer):
            remedy = self.model.learns_more_by
            warn_if_nothing_learned(trained, records.table, one_way, rate, steps, longer, remedy=remedy)
        return trained

    @property
    def _most_seconds(self) -> float:
        return math.inf if self.training.seconds is None else self.training.seconds

    def _steps_in_time(self, model: NoisyRecordModel, doors: Doors, total: float) -> int:
        """Return as many steps as the limit of time lets, by a trial on made-up records.

        All steps are paid for before the first, so that time cannot end them. A resumed run takes those that were paid
        for, however fast its machine is. The trial depends on the released total alone.
        """
        if self.training.seconds is None:
            return self.steps
        if (paid_for := doors.records.resumed_steps) is not None:
            return paid_for
        n_rows = max(round(total), 1)
        cost = model.noisy_training_cost(doors.domain, n_rows, self.training, self.noisy, self.steps)
        steps = self._steps_within(cost)
        warn_if_few(steps, self.steps, self.training.seconds, cost.seconds)
        return steps
