"""Methods that train a model on records, where marginal ones measure counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from syntabula.errors import BudgetError
from syntabula.prepare.preprocessing import Preprocessing, RareCategories
from syntabula.record_models.base import RecordModel
from syntabula.record_models.learner import RecordLearner
from syntabula.record_models.loop import Training
from syntabula.synthesizers.plan import budget_of
from syntabula.synthesizers.synthesizer import Synthesizer

if TYPE_CHECKING:
    from syntabula.synthesizers.learner import Learner

_RARE = RareCategories(theta=0.0005, least_categories=1000)


@dataclass(frozen=True, kw_only=True)
class FromRecords(Synthesizer):
    """Learn from the records themselves. Numbers have fine codes, and only very large columns merge rare ones.

    Raises:
        BudgetError: If epsilon or delta is outside its range, or finite where the method has no private form.
        ArgumentError: If another argument is not allowed.
    """

    preprocessing: Preprocessing = field(default_factory=lambda: Preprocessing(discretizer="fine"))
    rare: RareCategories | None = _RARE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.why_not_private and budget_of(self).currency != "none":
            raise BudgetError(self.why_not_private)


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
        return RecordLearner(model=self.model, training=self.training, seed=self.seed or 0)
