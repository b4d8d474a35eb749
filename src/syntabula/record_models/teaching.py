"""The learner of PATE-GAN: teachers vote on generated rows, a student learns their votes, a generator follows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise, positive, refusal, share
from syntabula._memory import memory_for
from syntabula._planning import FitCost, PlannedStep, Progress, times_are_asked
from syntabula._spaces import Range, tunable
from syntabula._threads import one_thread_for_products
from syntabula.errors import TrainingError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.nearness import Agreement, Vectors, full_agreement, squared_agreement
from syntabula.models.base import Model, check_storable
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.pricing import NoisyVector
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.privacy.training.teachers import Council
from syntabula.record_models.astray import is_astray, warn_astray
from syntabula.record_models.base import RecordModel
from syntabula.record_models.generated_rows import (
    code_shares,
    drawn_again,
    independent_rows,
    odds,
    raked,
    rows_at,
)
from syntabula.record_models.learner import ONE_WAY
from syntabula.record_models.loop import Training
from syntabula.record_models.one_way import ONE_WAY_SHARE, OneWayStart
from syntabula.record_models.population import EvolvedRows
from syntabula.record_models.representation import ColumnLookup, column_lookups, one_way_counts
from syntabula.record_models.too_short import steps_within, warn_if_few
from syntabula.record_models.training_memory import SMALLER, to_lower

_MOST_LABELS = 32
_ROWS_AT_ONCE = 4096
_MOST_SPREAD = 0.04
"""Largest variance of what part of the teachers call a row real; noise can look like more."""

_UNEXPLAINED = 0.1
"""Part of the teachers' variance that is taken not to follow the agreement of rows."""


def agreement_of(lookups: Mapping[str, ColumnLookup]) -> Agreement:
    """Return how teachers and student compare rows: by cosines of ranks, and by labels.

    The numbers of a column have mean 0, and variance 1 in all, under its marginal. Of many labels, the 31 most frequent
    have a number each, and the others one together.
    """
    return Agreement([_numbers(lookup) for lookup in lookups.values()])


def _numbers(lookup: ColumnLookup) -> FloatArray:
    shares = np.exp(lookup.log_shares.astype(np.float64))
    shares /= shares.sum()
    if lookup.waves is not None:
        waves = lookup.waves.astype(np.float64)
        numbers = waves / np.sqrt(np.arange(1, waves.shape[1] + 1))
    else:
        ranks = np.argsort(np.argsort(-shares, kind="stable"))
        numbers = np.eye(min(lookup.size, _MOST_LABELS))[np.minimum(ranks, _MOST_LABELS - 1)]
    numbers = numbers - shares @ numbers
    spread = float(shares @ np.square(numbers).sum(1))
    numbers /= np.sqrt(spread) if spread > 1e-12 else np.inf
    # A label without records is nothing but usual; the place of an ordered code is that of the nearest with records.
    return np.vstack([numbers, np.zeros_like(numbers[:1])])[lookup.places]


class Student:
    """Says which part of the teachers would call a row real, where they call half of all rows real.

    Kernel ridge regression on the noisy votes; the kernel is how far rows agree. The paper's student is a network that
    is told yes or no for each row. Here it is told the noisy number of votes, which says more, and the noise on it is
    known, so that what is to be trusted in them need not be tuned: the variance of the votes less that of the noise
    is how far teachers differ.

    Args:
        agreement: How rows are compared.
        rows: Those that were voted on.
        votes: Noisy number of teachers that call each real.
        teachers: How many there are.
    """

    def __init__(self, agreement: Agreement, rows: EncodedTable, votes: NoisyVector, teachers: int) -> None:
        self._agreement, self._seen = agreement, agreement.vectors(rows)
        parts = votes.values / teachers
        away = parts - parts.mean()
        noise = (votes.sigma / teachers) ** 2
        # Where there is much noise, how far teachers differ is known from the votes to this part of the noise at best.
        least = min(noise / np.sqrt(len(parts)), _MOST_SPREAD)
        spread = min(max(float(np.mean(away**2)) - noise, least, 1e-9), _MOST_SPREAD)
        kernel = self._kernel(self._seen)
        apart = max(float(np.mean(np.diag(kernel)) - kernel.mean()), 1e-9)
        kernel[np.diag_indices_from(kernel)] += apart * (noise / spread + _UNEXPLAINED)
        self._weights: FloatArray = np.linalg.solve(kernel, away)

    def likely(self, rows: EncodedTable) -> FloatArray:
        """Return what the student thinks of rows: 1/2 for usual ones, more for real ones [rows]."""
        found = np.empty(rows.n_rows)
        for start in range(0, rows.n_rows, _ROWS_AT_ONCE):
            stop = start + _ROWS_AT_ONCE
            piece = EncodedTable(rows.domain, tuple(codes[start:stop] for codes in rows.codes))
            found[start:stop] = self._kernel(self._agreement.vectors(piece)) @ self._weights
        return 0.5 + found

    def _kernel(self, vectors: Vectors) -> NDArray[np.float64]:
        return squared_agreement(vectors, self._seen).astype(np.float64) / full_agreement()


_RECORDS_PER_TEACHER = 10
_LEAST_TEACHERS, _MOST_TEACHERS = 50, 5000
_LEAST_LABELS = 32
_FEWEST_RECORDS = 50
"""A smaller table has the rows that the student weighed in place of a generator."""
_WAVES = 4

# Measured on one processor.
_SECONDS_PER_COMPARISON = 1e-8
_SECONDS_PER_SOLVED = 5e-11


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """How teachers teach a student, and the student a generator.

    Attributes:
        teachers: How many there are; None for one for ten records, by the released one-way marginals, from 50 to 5,000.
        rounds: How often the teachers vote. After each time the generator is trained anew.
        labels: Most rows that they vote on in a round. They vote on fewer, at least 32, where the noise on a row's votes
            would otherwise exceed half of the teachers.
        rows: Rows that are generated in each round, which the teachers tell records from.
        strength: Power of the odds by which the generator follows the student.
        one_way_share: Fraction of the budget for the one-way marginals; the rounds share the rest equally.

    Raises:
        ArgumentError: If an argument is outside its range.
    """

    teachers: int | None = None
    rounds: int = 6
    labels: int = 2000
    rows: int = 20_000
    strength: float = tunable(2.0, Range(low=0.5, high=8.0, log=True))
    one_way_share: Fraction = ONE_WAY_SHARE

    def __post_init__(self) -> None:
        normalise(
            self,
            teachers=count().or_none,
            rounds=count(),
            labels=count(),
            rows=count(),
            strength=positive,
            one_way_share=share,
        )

    @property
    def round_share(self) -> Fraction:
        """Fraction of the budget for the votes of a round."""
        return (1 - self.one_way_share) / self.rounds

    def teachers_for(self, total: float) -> int:
        """Return the number of teachers for a released number of records."""
        if self.teachers is not None:
            return self.teachers
        return min(max(round(total / _RECORDS_PER_TEACHER), _LEAST_TEACHERS), _MOST_TEACHERS)

    def labels_for(self, council: Council, share: Fraction) -> int:
        """Return how many rows a council votes on for a share of the budget, whatever its records are."""
        labels = min(self.labels, self.rows)
        while labels > _LEAST_LABELS and council.sigma(labels, share) > council.teachers / 2:
            labels = max(labels // 2, _LEAST_LABELS)
        return labels


@dataclass(frozen=True, kw_only=True)
class TeachingLearner:
    """Measures one-way marginals, and trains a generator by what a council of teachers votes (`synthesizers.pategan`).

    Attributes:
        teaching: How it is taught.
        model: The generator. It is trained on generated rows alone, never on records.
        training: How; its seconds are those of all rounds together, the votes' own aside.
        seed: Of all that is drawn in training. No privacy rests on it.
        is_noisy: Whether there is a budget.
        is_resumed: Whether an interrupted run may have paid for votes.

    Raises:
        ArgumentError: If the model is none that is trained on records, or no file could hold it.
    """

    teaching: Teaching
    model: RecordModel
    training: Training
    seed: int = 0
    is_noisy: bool = True
    is_resumed: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.teaching, Teaching):
            raise refusal("teaching", "a Teaching", self.teaching)
        if not hasattr(self.model, "trained"):
            raise refusal("model", "a model that is trained on records", self.model)
        if not isinstance(self.training, Training):
            raise refusal("training", "a Training", self.training)
        check_storable(self.model)

    @property
    def name(self) -> str:
        """The kind of the generator."""
        return self.model.kind

    @property
    def _round(self) -> Training:
        """How the generator is trained in each round."""
        seconds = self.training.seconds
        return (
            self.training
            if seconds is None
            else replace(self.training, seconds=seconds / self.teaching.rounds)
        )

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost."""
        teaching, cells = self.teaching, sum(domain.sizes)
        if times_are_asked():
            self._tell_of_few_steps(domain, n_rows)
        labels, teachers = min(teaching.labels, teaching.rows), teaching.teachers_for(n_rows)
        trained = self.model.training_cost(domain, max(n_rows, teaching.rows), self._round)
        # Products of rows, the student's kernel, what each row has in common with each teacher, records by teacher.
        of_rows, remedy = 3 * max(labels, 4096), to_lower(self.model)
        if teachers > of_rows:
            remedy = f"lower teachers, which is {teachers:,}"
        elif not remedy and labels > _LEAST_LABELS:
            remedy = f"lower labels, which is {labels:,}"
        numbers = labels * (of_rows + teachers) + n_rows * len(domain)
        cost = FitCost(trained.memory_mb + numbers * 8 / 2**20, trained.seconds)
        compared = labels * (n_rows + 2.0 * teaching.rows) * _SECONDS_PER_COMPARISON
        return [
            PlannedStep(name=ONE_WAY, share=teaching.one_way_share, cells=cells, noisy_cells=cells),
            *(
                PlannedStep(
                    name=_vote(r),
                    share=teaching.round_share,
                    noisy_cells=labels,
                    cost=cost,
                    remedy=remedy,
                    work_seconds=compared + labels**3 * _SECONDS_PER_SOLVED,
                )
                for r in range(teaching.rounds)
            ),
        ]

    def try_parts(self, domain: Callable[[], Domain], budget: Budget, *, memory_mb: float) -> None:
        """Warn of a limit of time that leaves next to no steps of the generators, though all votes are paid for."""
        del budget, memory_mb  # this learner has the one, and what is made up takes little of the other
        if self.training.seconds is not None and not self.is_resumed:
            self._tell_of_few_steps(domain(), 1)

    def _tell_of_few_steps(self, domain: Domain, n_rows: int) -> None:
        """Warn of such a limit, as a table of so many rows meets it."""
        seconds, rounds = self.training.seconds, self.teaching.rounds
        if seconds is None or not self.is_noisy or not len(domain):
            return
        with memory_for("try a step of training", SMALLER):
            unlimited = replace(self.training, seconds=None)
            whole = rounds * self.model.training_cost(domain, self.teaching.rows, unlimited).seconds
        wanted = rounds * self.training.steps_for(self.teaching.rows)
        warn_if_few(steps_within(wanted, seconds, whole), wanted, seconds, whole, planned_rows=n_rows)

    @one_thread_for_products()
    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Measure the one-way marginals, let the teachers vote round by round, and return the last generator.

        Of a table of hardly any records the rows that the student weighed are returned.
        """
        teaching = self.teaching
        progress(ONE_WAY, 0.0)
        start = OneWayStart.of(doors, share=share * teaching.one_way_share, step=ONE_WAY)
        doors, domain, one_way = start.doors, start.doors.domain, one_way_counts(start.measured)
        total = max(round(float(np.mean([counts.sum() for counts in one_way.values()]))), 1)
        lookups = dict(zip(domain, column_lookups(domain, one_way, waves=_WAVES), strict=True))
        agreement, shares = agreement_of(lookups), code_shares(domain, lookups)

        council = doors.teachers.council(agreement, teaching.teachers_for(total))
        paid = share * teaching.round_share
        labels = teaching.labels_for(council, paid)
        rows = independent_rows(shares, domain, teaching.rows, self.seed)
        model: Model = self.model
        diverged, is_paid, weighed = False, True, not self.model.starts_at_marginals
        for r in range(teaching.rounds):
            progress(_vote(r), r / teaching.rounds)
            # The rows are in random order.
            asked = rows_at(rows, np.arange(labels))
            votes = council.vote(asked, rows, share=paid, step=_vote(r))
            is_paid = votes.sigma > 0
            student = Student(agreement, asked, votes, council.teachers)
            weights = raked(odds(student.likely(rows), teaching.strength), rows, shares)
            is_last = r == teaching.rounds - 1
            # The last generator says how many records there are; of a few it would draw the same again and again.
            follows = not is_last or total >= _FEWEST_RECORDS
            n = total if is_last and follows else teaching.rows
            followed = drawn_again(rows, weights, n, self.seed + r)
            if not follows:
                model, diverged = EvolvedRows.of(followed, total), False
                progress(_vote(r), 1.0)
                break
            made = self._generator(domain, one_way, followed, self._within(progress, r), r)
            diverged = made is None or is_astray(made, shares, weighed=weighed)
            # The rows hold all that was paid for so far.
            model = EvolvedRows.of(followed, total) if made is None or diverged else made
            if not is_last:
                rows = model.sample(teaching.rows, np.random.default_rng([self.seed, r]))
        if diverged:
            instead = "rows are those that the student weighed"
            warn_astray(self.training.learning_rate, instead, is_paid=is_paid)
        return start.raked(model), None

    def _generator(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        rows: EncodedTable,
        progress: Progress,
        r: int,
    ) -> Model | None:
        """Return a generator of rows like those of a round; None if its training came to no numbers."""
        try:
            return self.model.trained(domain, one_way, rows, self._round, progress, seed=self.seed + r)
        except TrainingError:
            return None

    def _within(self, progress: Progress, r: int) -> Progress:
        """Return what tells the progress of a round as a part of all rounds.

        The loss, which is one of rows, is left out: under a budget it would be taken for one of records.
        """
        rounds = self.teaching.rounds

        def told(step: str, done: float) -> None:
            _, at_most, seconds = step.partition("at most")
            left = f": {at_most}{seconds}" if at_most else ""
            progress(f"round {r + 1} of {rounds}, train on rows{left}", (r + done) / rounds)

        return told


def _vote(r: int) -> str:
    """Return the name of a round's spend."""
    return f"teachers vote, round {r + 1}"
