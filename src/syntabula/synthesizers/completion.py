"""Draws rows of a release with the values of some columns given row by row."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import UniformBins
from syntabula.errors import ArgumentError, ConditionWarning, warn_caller
from syntabula.marginals.domain import EncodedTable
from syntabula.models.base import Model
from syntabula.synthesizers.known_parts import GivenParts
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import encode_column
from syntabula.table.raw import RawColumn
from syntabula.table.read import read
from syntabula.table.schema.columns import Categorical, Column, Ordered

_TIMES = 8
"""Draws of a given row, of which one is chosen where its values tell more than their codes."""
_AT_ONCE = 25_000


@dataclass(frozen=True, eq=False)
class Completion:
    """One row for each row of a given table, with its values kept and the other columns drawn.

    Attributes:
        codec: The release's codec.
        model: The release's model.
        columns: The given columns.
        codes: Codes of those that the model knows.
        n_rows: Number of given rows.
        parts: What given values tell beyond their codes; None if nothing.
    """

    codec: Codec
    model: Model
    columns: Mapping[str, RawColumn]
    codes: EncodedTable
    n_rows: int
    parts: GivenParts | None = None

    @classmethod
    def of(cls, codec: Codec, model: Model, source: Any) -> Self:
        """Read a given table.

        Args:
            codec: The release's codec.
            model: The release's model.
            source: What `Marginal.fit` takes, of some columns of the schema.

        Raises:
            SchemaError: If a column is unknown.
            ArgumentError: If cells lie outside the domain; names columns, never values.
            DataError: If the table cannot be read.
        """
        table = read(source, codec.schema)
        codes, objections, unlisted = {}, [], []
        for name, raw in table.columns.items():
            column = codec.schema[name]
            if not column.is_learned:
                continue
            encoded = encode_column(column, raw, codec.bins.get(name))
            codes[name] = encoded.codes
            objections += _objections(name, column, raw, encoded.counts)
            unlisted += _unlisted(name, column, encoded.counts)
        if objections:
            raise ArgumentError(
                f"values are given that this release cannot have: {'; '.join(objections)}. Correct these cells, or leave "
                "their rows or columns out"
            )
        for message in unlisted:
            warn_caller(ConditionWarning(message))
        domain = codec.domain.project([c for c in codec.domain.columns if c in codes])
        of_model = EncodedTable.from_mapping(domain, codes)
        parts = GivenParts.of(codec, model, {name: table.columns[name] for name in codes})
        return cls(codec, model, table.columns, of_model, table.n_rows, parts)

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Draw the rows from one position up to another."""
        rows = self.draw_rows(np.arange(start, stop), rng, first_row=start)
        return rows | {n: cells_in(c, slice(start, stop)) for n, c in self.columns.items()}

    def draw_rows(
        self, rows: NDArray[np.intp], rng: np.random.Generator, *, first_row: int = 0
    ) -> dict[str, RawColumn]:
        """Draw rows for some given ones, by position; given values are those that decoding draws."""
        part = _rows(self.codes, rows)
        # Identifiers alone tell nothing, and a table without rows nothing either.
        given = part if len(part.domain) and rows.size else None
        drawn = self.model.sample(rows.size, rng, given)
        if self.parts is None or given is None:
            return self.codec.decode(drawn, rng, first_row=first_row)
        chosen = self._chosen(drawn, given, rows, rng)
        return self.parts.known.decode(self.parts.finer(chosen, rows), rng, first_row=first_row)

    def _chosen(
        self, drawn: EncodedTable, given: EncodedTable, rows: NDArray[np.intp], rng: np.random.Generator
    ) -> EncodedTable:
        """Return for each given row one of several that are drawn, as likely as it makes the given values.

        Args:
            drawn: A first draw of each.
            given: Their given codes.
            rows: Their positions [n].
            rng: Source of ordinary randomness.
        """
        assert self.parts is not None
        found = [codes.copy() for codes in drawn.codes]
        alike = self.parts.alike(given, rows)
        for start in range(0, rows.size, _AT_ONCE):
            # Rows of the same values choose among the same draws.
            some = np.argsort(alike, kind="stable")[start : start + _AT_ONCE]
            again = np.repeat(some, _TIMES - 1)
            with warnings.catch_warnings():
                # The first draw has said what there is to say of the given rows.
                warnings.simplefilter("ignore", ConditionWarning)
                others = self.model.sample(again.size, rng, _rows(given, again))
            every, place = _joined(_rows(drawn, some), others), np.concatenate([some, again])
            weights = self.parts.known.weights(self.parts.finer(every, rows[place]), rng)
            # Least times of arrival choose by weight, without taking a draw twice (Efraimidis and Spirakis, 2006).
            times = rng.exponential(size=place.size) / np.maximum(weights, 1e-300)
            order = np.lexsort((times, alike[place]))
            _, counts = np.unique(alike[some], return_counts=True)
            ends = np.cumsum(counts)
            position = np.arange(some.size) - np.repeat(ends - counts, counts)
            chosen = order[np.repeat((ends - counts) * _TIMES, counts) + position]
            for codes, of_all in zip(found, every.codes, strict=True):
                codes[some] = of_all[chosen]
        return EncodedTable(drawn.domain, tuple(found))


def _rows(table: EncodedTable, rows: NDArray[np.intp]) -> EncodedTable:
    return EncodedTable(table.domain, tuple(codes[rows] for codes in table.codes))


def _joined(one: EncodedTable, other: EncodedTable) -> EncodedTable:
    pairs = zip(one.codes, other.codes, strict=True)
    return EncodedTable(one.domain, tuple(np.concatenate(pair) for pair in pairs))


def objections(name: str, column: Column, raw: RawColumn) -> list[str]:
    """Say which cells of a column no code of any codec stands for."""
    bins = None
    if isinstance(column, Ordered):
        lower, upper, integer = column.span()
        bins = UniformBins(1).bins(lower, upper, integer=integer)
    return _objections(name, column, raw, encode_column(column, raw, bins).counts)


def _objections(name: str, column: Column, raw: RawColumn, counts: Mapping[str, int]) -> list[str]:
    """Say which cells of a column have no code of their own; an open column has one for all unlisted values."""
    counted = {
        "with a value outside the bounds": counts.get("clipped", 0),
        "that cannot be read": 0 if raw.unreadable is None else int(raw.unreadable.sum()),
        "missing, which none may be": counts.get("missing", 0),
        "not in whole numbers": counts.get("rounded", 0),
    }
    if isinstance(column, Categorical) and not column.open:
        counted["with an unlisted category"] = counts.get("unknown", 0) - counted["that cannot be read"]
    return [
        f"column {name!r} has {n:,} {'cell' if n == 1 else 'cells'} {what}"
        for what, n in counted.items()
        if n > 0
    ]


def _unlisted(name: str, column: Column, counts: Mapping[str, int]) -> list[str]:
    """Say which cells of an open column are none of its categories, such as misspelt ones."""
    n = counts.get("unknown", 0)
    if not n or not isinstance(column, Categorical) or not column.open:
        return []
    cells = "cell is" if n == 1 else "cells are"
    return [
        f"column {name!r}: {n:,} given {cells} none of the {len(column.categories):,} categories that this release "
        f"knows, so the other columns are drawn as for {column.other_label!r}; check how values are written"
    ]


def cells_in(column: RawColumn, rows: slice | NDArray[np.intp]) -> RawColumn:
    """Return the cells of some rows."""
    return replace(column.take(rows), unreadable=None)
