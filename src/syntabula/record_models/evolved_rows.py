"""Synthetic records that evolved by what noisy answers said of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from syntabula.marginals.encoded import EncodedTable
from syntabula.models.row_set import RowSet


@dataclass(frozen=True, kw_only=True, eq=False)
class EvolvedRows(RowSet):
    """A set of synthetic records, that `record_models.evolution` or `record_models.noisy_critic` makes."""

    kind: ClassVar[str] = "evolved_rows"

    @classmethod
    def of(cls, rows: EncodedTable, total: float) -> Self:
        """Return the set of some rows, which stand for an estimated number of records."""
        codes = np.stack(rows.codes, axis=1)
        return replace(cls(), _domain=rows.domain, _total=total, _rows=codes)
