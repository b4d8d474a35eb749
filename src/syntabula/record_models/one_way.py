"""The first step of methods that learn from records: one-way marginals, and the codes that have evidence in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syntabula.marginals.measurement import Measurement, consistent_total, project_simplex
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import Model
from syntabula.models.recoded import RecodedModel
from syntabula.models.row_set import RowSet
from syntabula.models.support import Support
from syntabula.privacy.doors import Doors
from syntabula.record_models.generated_rows import RakedRows
from syntabula.record_models.levels import merged_levels
from syntabula.record_models.representation import one_way_counts

ONE_WAY_SHARE = Fraction(2, 5)
"""Fraction of the budget for the one-way marginals. All that is drawn has them: with a tenth, which leaves more for what
columns tell of each other, pairs of columns are up to a third farther off at epsilon 1, and hardly nearer at 5."""


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

    def merged(self, levels: int) -> OneWayStart:
        """Return a start in which columns have at most so many codes: see `merged_levels`."""
        second = merged_levels(self.doors.domain, one_way_counts(self.measured), levels)
        measured = [second.merge_measurement(m) for m in self.measured]
        return OneWayStart(self.doors.recoded(second), measured, self.recoding.then(second))

    def restored(self, model: Model) -> Model:
        """Return a model of these codes as a model of all codes; those without evidence have probability 0."""
        return RecodedModel(model, self.recoding) if self.recoding.maps else model

    def raked(self, model: Model, *, exactly: bool = False) -> Model:
        """Return the same of a model whose drawn rows are to have the marginals, where these are noisy.

        Args:
            model: A model of these codes.
            exactly: Whether its rows are to have marginals without noise too.
        """
        noisy = any(np.any(m.sigma) for m in self.measured)
        # The rows of such a set have been drawn by their marginals.
        if isinstance(model, RowSet) or not (noisy or exactly):
            return self.restored(model)
        total = max(consistent_total(self.measured), 1.0)
        counts = {c: project_simplex(v, total) for c, v in one_way_counts(self.measured).items()}
        return self.restored(RakedRows(model, counts, exact=not noisy))
