"""Sets of synthetic records: counted like data, and sampled by drawing records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, megabytes, normalise
from syntabula.errors import ConditionWarning, warn_caller
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import Model, bound, check_sample, read_facts, stored_facts, whole_model
from syntabula.models.product_mixture import even_rows
from syntabula.models.restricted import Restricted, Weights

Records = NDArray[np.unsignedinteger]
"""Codes [rows, columns] of a synthetic table; never of a real one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSet(Model):
    """A set of synthetic records of equal weight; subclasses say how they are made.

    Attributes:
        max_rows: Most records of the model; a larger table is represented by their weight.
        max_memory_mb: Memory limit of a fit and of a marginal; checked before anything is allocated.
        seed: Seed of a fit's random choices. Privacy does not depend on them: a fit only sees noisy counts.
    """

    kind: ClassVar[str]

    max_rows: int = 1_000_000
    max_memory_mb: float = 4000.0
    seed: int = 0
    _domain: Domain | None = field(default=None, repr=False)
    _total: float = field(default=1.0, repr=False)
    _rows: Records | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        normalise(self, max_rows=count(), seed=count(0), max_memory_mb=megabytes)

    @property
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        return bound(self._domain)

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self._total

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique: one axis per column, in the clique's order.

        Raises:
            SchemaError: If a clique names an unknown column, or one twice.
            ResourceError: If the counts would need more than `max_memory_mb`.
        """
        if self._rows is None:
            return [np.full(self.domain.shape(c), self._total / self.domain.cells(c)) for c in cliques]
        weight = self._total / len(self._rows)
        return [np.multiply(counts, weight, dtype=np.float64) for counts in self._engine.counts(cliques)]

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n records: all of them equally often, as far as n allows, in random order. With `given`,
        draw each row from the records with its codes, or if there is none, from those that share most of
        them. Given columns are returned as given.

        Raises:
            ArgumentError: If n is not an integer of at least 0, or differs from the number of given rows.
            ResourceError: If so many rows would not fit the memory of any machine.
            SchemaError: If a given column is unknown or has another number of codes.
        """
        check_sample(self.domain, n, given)
        rows = self._rows if self._rows is not None else self._uniform(max(int(n), 1), rng)
        chosen = _evenly(len(rows), int(n), rng) if given is None else self._alike(rows, given, rng)
        columns = [
            given.column(c) if given is not None and c in given.domain else rows[chosen, i]
            for i, c in enumerate(self.domain.columns)
        ]
        return EncodedTable(self.domain, tuple(columns))

    def restricted(self, weights: Weights) -> Restricted:
        """Return the records whose codes have positive weight, drawn in proportion to the product of their
        weights."""
        if self._rows is None:
            return even_rows(self.domain).restricted(weights)
        rows, chances = self._rows, np.ones(len(self._rows))
        for column, weight in weights.items():
            chances *= weight[rows[:, self.domain.index(column)]]
        kept = np.flatnonzero(chances)

        def draw(n: int, rng: np.random.Generator) -> EncodedTable:
            return EncodedTable(self.domain, tuple(rows[kept[draw_codes(chances[kept], n, rng)]].T))

        return Restricted(float(chances.mean()), draw, records=(kept.size, len(rows)))

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return options and domain as facts and records as one array of codes, for a file."""
        return stored_facts(self), {} if self._rows is None else {"rows": self._rows}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the most bytes of each array for these stored facts; raises ReleaseFileError if they are
        malformed."""
        with whole_model():
            domain, _, options = read_facts(cls, facts)
            model = replace(cls(**options), _domain=domain)
            return {"rows": model.max_rows * len(domain) * model._dtype.itemsize}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            domain, total, options = read_facts(cls, facts)
            model = replace(cls(**options), _domain=domain, _total=total)
            if set(arrays) - {"rows"}:
                raise ValueError
            if "rows" not in arrays:
                return model
            rows = np.asarray(arrays["rows"])
            if rows.ndim != 2 or rows.dtype.kind != "u" or rows.shape[1] != len(domain) or not len(rows):
                raise ValueError
            if (rows.max(axis=0) >= np.array(domain.sizes)).any():
                raise ValueError
            return replace(model, _rows=rows.astype(model._dtype))

    @property
    def _dtype(self) -> np.dtype[np.unsignedinteger]:
        """The smallest integer type that holds the codes of every column."""
        return code_dtype(max(self.domain.sizes, default=1))

    @cached_property
    def _engine(self) -> MemoryEngine:
        assert self._rows is not None
        return MemoryEngine(EncodedTable(self.domain, tuple(self._rows.T)), limit_mb=self.max_memory_mb)

    def _uniform(self, n: int, rng: np.random.Generator) -> Records:
        drawn = [rng.integers(0, size, n, dtype=self._dtype) for size in self.domain.sizes]
        return np.stack(drawn, axis=1)

    def _alike(self, rows: Records, given: EncodedTable, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return, for each given row, a record that shares the most codes with it."""
        wanted = np.stack(given.codes, axis=1) if given.codes else np.zeros((given.n_rows, 0), np.uint8)
        held = rows[:, [self.domain.index(c) for c in given.domain.columns]]
        key = _joint_key(np.concatenate([held, wanted]), given.domain.sizes)
        records, asked = key[: len(held)], key[len(held) :]
        order = np.argsort(records, kind="stable")
        first, last = (np.searchsorted(records[order], asked, side=side) for side in ("left", "right"))
        position = first + (rng.random(asked.size) * (last - first)).astype(np.intp)
        chosen: NDArray[np.intp] = order[np.minimum(position, len(order) - 1)]
        lonely = np.flatnonzero(first == last)
        if lonely.size:
            warn_caller(
                ConditionWarning(
                    f"none of this model's {len(rows):,} synthetic records has the values of {lonely.size:,} of "
                    f"{asked.size:,} given rows; records that share the most values are used instead"
                )
            )
            alike = lonely[np.argsort(asked[lonely], kind="stable")]
            # Rows with the same given codes are adjacent.
            for same in np.split(alike, np.flatnonzero(np.diff(asked[alike])) + 1):
                agreeing = np.zeros(len(held), dtype=np.int16)
                for column in range(held.shape[1]):
                    agreeing += held[:, column] == wanted[same[0], column]
                chosen[same] = rng.choice(np.flatnonzero(agreeing == agreeing.max()), same.size)
        return chosen


def draw_codes(counts: FloatArray, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return n codes in random order, each in proportion to its count, rounded up or down."""
    edges = np.cumsum(counts) * (n / counts.sum())
    edges[edges >= edges[-1]] = n
    times = np.diff(np.floor(edges + rng.random() * (edges < n)).astype(np.intp), prepend=0)
    return rng.permutation(np.repeat(np.arange(counts.size), times))


def _evenly(records: int, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return n positions in random order; the numbers of times that records occur differ by at most one."""
    times, rest = divmod(n, records)
    chosen = np.concatenate([np.tile(np.arange(records), times), rng.permutation(records)[:rest]])
    rng.shuffle(chosen)
    return chosen


def _joint_key(codes: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return one key per row, equal for equal rows; keys are renumbered before they could overflow."""
    key, bound = np.zeros(len(codes), dtype=np.int64), 1
    for column, size in enumerate(sizes):
        if bound * size > 2**62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            bound = len(codes)
        key, bound = key * size + codes[:, column], bound * size
    return key
