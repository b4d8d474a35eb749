"""The first step of methods that learn from records: one-way marginals, and the codes that have evidence in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray, Measurement, consistent_total, project_simplex
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import Model
from syntabula.models.recoded import RecodedModel
from syntabula.models.row_set import RowSet
from syntabula.models.support import Support
from syntabula.privacy.doors import Doors
from syntabula.record_models.generated_rows import RakedRows
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

    def raked(self, model: Model) -> Model:
        """Return the same of a model whose drawn rows are to have the marginals, where these are noisy."""
        # The rows of such a set have been drawn by their marginals.
        if isinstance(model, RowSet) or not any(np.any(m.sigma) for m in self.measured):
            return self.restored(model)
        total = max(consistent_total(self.measured), 1.0)
        counts = {c: project_simplex(v, total) for c, v in one_way_counts(self.measured).items()}
        return self.restored(RakedRows(model, counts))


def merged_levels(domain: Domain, counts: Mapping[str, FloatArray], levels: int) -> Recoding:
    """Merge the codes of columns that have more than so many, by released one-way marginals."""
    maps: dict[str, NDArray[np.intp]] = {}
    shares: dict[str, FloatArray] = {}
    for column, size in zip(domain.columns, domain.sizes, strict=True):
        if size > levels:
            maps[column] = level_groups(counts[column], levels, ordered=column in domain.ordered)
            shares[column] = _held(counts[column])
    return Recoding(domain, maps, shares)


def level_groups(counts: FloatArray, levels: int, *, ordered: bool) -> NDArray[np.intp]:
    """Put the codes of a column in at most so many groups, and return the number of each one's group [codes].

    Codes of an ordered column are put together in runs of about as many records, of others all but the most frequent.
    """
    if counts.size <= levels:
        return np.arange(counts.size)
    held = _held(counts)
    if ordered:
        middles = (np.cumsum(held) - held / 2) / held.sum()
        groups = np.minimum((middles * levels).astype(np.intp), levels - 1)
    else:
        groups = np.full(counts.size, levels - 1)
        groups[np.argsort(-held, kind="stable")[: levels - 1]] = np.arange(levels - 1)
    return np.unique(groups, return_inverse=True)[1].astype(np.intp)


def _held(counts: FloatArray) -> FloatArray:
    held = np.maximum(counts, 0.0)
    return held if held.sum() > 0 else np.ones(counts.size)
