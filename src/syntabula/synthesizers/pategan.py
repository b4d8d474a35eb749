"""PATE-GAN: teachers on parts of the records vote, a student learns their votes, a generator learns from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from syntabula.record_models.autoregressive import Autoregressive
from syntabula.record_models.base import RecordModel
from syntabula.record_models.loop import Training
from syntabula.record_models.teaching import Teaching, TeachingLearner
from syntabula.synthesizers.record_trained import RecordTrained

if TYPE_CHECKING:
    from syntabula.synthesizers.settings import Learner


@dataclass(frozen=True, kw_only=True)
class PATEGAN(RecordTrained):
    """Learn from the noisy votes of teachers, of which each knows a part of the records, which generated rows look real.

    After Jordon, Yoon, van der Schaar (2019), "PATE-GAN: Generating Synthetic Data with Differential Privacy
    Guarantees", section 4: teachers on disjoint parts tell their records from generated rows, a student learns from
    generated rows and noisy votes alone, and the generator learns from the student.

    Guarantee: each vote costs Gaussian noise of sensitivity 1 that is paid before it is drawn (in pure privacy, Laplace
    noise); the cost depends on no record. Ganev, Annamalai, De Cristofaro (2024), "The Elusive Pursuit of Reproducing
    PATE-GAN", find 19 violations in six public versions: a student that is shown records, parts that are drawn again
    while the account takes them as fixed, votes that are not charged, an encoding and a number of records that
    are taken from the data, a private epsilon that is published. Here teachers never leave
    `privacy.training.teachers`, whose proof holds for each vote alone; all else is made of the released one-way
    marginals and votes.

    It differs from the paper where votes tell little: budgets near 1 pay for a few thousand noisy votes. Teachers
    are many and compare products of columns, where networks would need larger parts; the student is told numbers of
    votes; and the generator draws codes column by column and is trained on its own rows, weighted by the
    student's odds and by the released marginals. The first generated rows have the released marginals and no
    dependence, so that it begins as `Independent` does.

    Time: the training of a generator for each round, as `plan` measures it. Any columns can be given to `sample`,
    exactly, unless the released number of records is below 50: then the weighed rows are kept. Choose it to compare with
    the literature; methods that measure marginals keep more at the same budget.

    Attributes:
        teaching: How teachers teach the student, and the student the generator.
        model: The generator.
        training: How the generator is trained on its own rows. Its `seconds` are those of all rounds together; the votes
            take theirs beside, as `plan` says.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=300)
        >>> method = syntabula.PATEGAN(epsilon=1.0).with_options(rounds=1, rows=500, steps=20)
        >>> release = method.fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "pategan"
    paper: ClassVar[str] = "after Jordon, Yoon, van der Schaar 2019"
    parts: ClassVar[tuple[str, ...]] = ("model", "training", "teaching")

    teaching: Teaching = field(default_factory=Teaching)
    model: RecordModel = field(default_factory=lambda: Autoregressive(units=128))
    training: Training = field(default_factory=lambda: Training(steps=600))

    @property
    def learner(self) -> Learner:
        """Teachers, student and generator."""
        return TeachingLearner(
            teaching=self.teaching,
            model=self.model,
            training=self.training,
            seed=self.seed or 0,
            is_noisy=self.allowed_budget.currency != "none",
            is_resumed=self.resume,
        )
