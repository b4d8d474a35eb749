"""The first step of methods that learn from records: one-way marginals, and the codes that have evidence in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syntabula.marginals.measurement import Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.marginals.support import Support
from syntabula.models.base import Model
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.doors import Doors


@dataclass(frozen=True, eq=False)
class OneWayStart:
    """What a learner of records goes on from.

    Attributes:
        doors: Doors to the table without the codes that lack evidence, which join the code next to them.
        measured: Noisy one-way marginals over these codes.
        recoding: How codes are joined.
    """

    doors: Doors
    measured: Sequence[Measurement]
    recoding: Recoding

    @classmethod
    def of(cls, doors: Doors, *, share: Fraction, step: str) -> OneWayStart:
        """Measure every column.

        Args:
            doors: Doors to the table.
            share: Fraction of the whole budget.
            step: Name of this spend in the ledger.
        """
        measured = doors.tables.measure([(column,) for column in doors.domain], share=share, step=step)
        support = Support.of(doors.domain, measured)
        if not support.kept:
            return cls(doors, measured, support.recoding)
        reduced = [support.reduced(m) for m in measured]
        return cls(doors.recoded(support.recoding), reduced, support.recoding)

    def restored(self, model: Model) -> Model:
        """Return a model of these codes as a model of all codes; those without evidence have probability 0."""
        return RecodedModel(model, self.recoding) if self.recoding.maps else model
