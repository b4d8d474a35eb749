"""The learner of methods that train a model on records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syntabula._arguments import refusal
from syntabula._planning import PlannedStep, Progress
from syntabula.marginals.domain import Domain
from syntabula.models.base import Model
from syntabula.models.storage import check_storable
from syntabula.privacy.doors import Doors
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.record_models.base import RecordModel
from syntabula.record_models.loop import TRAIN, Training
from syntabula.record_models.representation import one_way_counts

_ONE_WAY = "measure one-way marginals"
_ONE_WAY_SHARE = Fraction(1, 10)


@dataclass(frozen=True, kw_only=True)
class RecordLearner:
    """Measures one-way marginals, of which a model makes its lookups, and trains it on the records.

    Attributes:
        model: What is trained.
        training: How.
        seed: Of all that is drawn in training. No privacy rests on it.

    Raises:
        ArgumentError: If the model is none that is trained on records, or no file could hold it.
    """

    model: RecordModel
    training: Training
    seed: int = 0

    def __post_init__(self) -> None:
        if not hasattr(self.model, "trained"):
            raise refusal("model", "a model that is trained on records", self.model)
        if not isinstance(self.training, Training):
            raise refusal("training", "a Training", self.training)
        check_storable(self.model)

    @property
    def name(self) -> str:
        """The kind of the model."""
        return self.model.kind

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost."""
        cells = sum(domain.sizes)
        return [
            PlannedStep(name=_ONE_WAY, share=_ONE_WAY_SHARE, cells=cells, noisy_cells=cells),
            PlannedStep(
                name=TRAIN,
                share=1 - _ONE_WAY_SHARE,
                cost=self.model.training_cost(domain, n_rows, self.training),
            ),
        ]

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Measure the one-way marginals and return the trained model."""
        progress(_ONE_WAY, 0.0)
        columns = [(column,) for column in doors.domain]
        measured = doors.tables.measure(columns, share=share * _ONE_WAY_SHARE, step=_ONE_WAY)
        records = doors.records.exact(step=TRAIN)
        one_way = one_way_counts(measured)
        model = self.model.with_texts(doors.texts)
        model = model.trained(doors.domain, one_way, records, self.training, progress, seed=self.seed)
        return model, None
