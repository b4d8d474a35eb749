"""Synthesizers with known leakage, none of them private, as baselines for attacks and disclosure.

SELF is that of Du and Li (SynMeter); HALF and HISTOGRAM are their baseline tables, made into synthesizers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.read import read
from syntabula.table.schema.schema import Schema

Rows = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Self:
    """SELF: returns the records it was given, which is the worst that a synthesizer can do."""

    def fit(self, source: Any, schema: Schema | None = None) -> Records:
        """Keep the table."""
        return Records(read(source, schema))


@dataclass(frozen=True, kw_only=True)
class Half:
    """HALF: returns a random half of the records it was given.

    Attributes:
        seed: Seed of the choice.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        normalise(self, seed=count(0))

    def fit(self, source: Any, schema: Schema | None = None) -> Records:
        """Keep half of the table."""
        table = read(source, schema)
        kept = np.random.default_rng(self.seed).permutation(table.n_rows)[: max(1, table.n_rows // 2)]
        return Records(take_rows(table, np.sort(kept)))


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """HISTOGRAM: draws every cell independently from its column."""

    def fit(self, source: Any, schema: Schema | None = None) -> Records:
        """Keep the table, to draw from its columns."""
        return Records(read(source, schema), apart=True)


BASELINES: Mapping[str, Callable[[], Any]] = {"SELF": Self, "HALF": Half, "HISTOGRAM": Histogram}
"""The baselines by name."""


@dataclass(frozen=True)
class Records:
    """The result of a baseline's fit: records to draw from.

    Attributes:
        table: The records.
        apart: Whether the cells of a row are drawn from different records.
    """

    table: RawTable
    apart: bool = False

    def sample_columns(self, n: int, *, seed: int) -> dict[str, RawColumn]:
        """Draw n rows; the numbers of times that records occur differ by at most one."""
        rng = np.random.default_rng(seed)
        n_rows = self.table.n_rows
        if not self.apart:
            rounds = [rng.permutation(n_rows) for _ in range(-(-n // n_rows))]
            return take_rows(self.table, np.concatenate([np.empty(0, np.intp), *rounds])[:n]).columns
        return {
            name: column.take(rng.integers(n_rows, size=n)) for name, column in self.table.columns.items()
        }


def take_rows(table: RawTable, rows: Rows) -> RawTable:
    """Return some rows of a table."""
    columns = {name: column.take(rows) for name, column in table.columns.items()}
    return RawTable(columns, int(rows.size), table.origin)
