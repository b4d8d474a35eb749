"""Days and times that a data frame holds as texts, because its library does not look for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.sorted_points import CountedPoints
from syntabula.table.database import at_hand, interruptible, read_query
from syntabula.table.files.cell_kinds import CELL_KINDS, column_type, kinds_by_column
from syntabula.table.files.cell_types import found_value
from syntabula.table.frames.object_columns import is_unicode, object_array
from syntabula.table.raw import PhysicalKind, PhysicalType, RawColumn, RawTable, RepeatedTexts
from syntabula.table.schema.schema import Schema, undeclared

_ISO_TIME = "%Y-%m-%dT%H:%M:%S"


class TextTimes:
    """Columns of texts in memory, each distinct text of which is looked at once."""

    def __init__(
        self, table: RawTable, names: Sequence[str], counts: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        """Prepare to look at columns of a table; counts are the cells of each distinct text, if others than its own."""
        self._table = table
        self._texts = {name: repeated_texts(table.columns[name]) for name in names}
        self._counts = counts

    @cached_property
    def _kinds(self) -> dict[str, CountedPoints]:
        counts = self._counts or {
            name: np.bincount(found.places[~self._table.columns[name].missing], minlength=found.distinct.size)
            for name, found in self._texts.items()
        }
        return _kinds(self._texts, counts)

    def cell_kinds(self, name: str) -> CountedPoints:
        """Return positions in `CELL_KINDS`, and how many non-empty cells of a column have each; sensitive."""
        return self._kinds[name]

    def types(
        self, kinds: Collection[PhysicalKind] = ("date", "datetime", "time"), *, decimal_comma: bool = False
    ) -> dict[str, PhysicalType]:
        """Return the types of the columns all of whose cells are values of some kinds in one form; sensitive.

        Args:
            kinds: The kinds of values.
            decimal_comma: See `column_type`.
        """
        found = {}
        for name, counted in self._kinds.items():
            counts = dict.fromkeys(CELL_KINDS, 0.0)
            for place, number in zip(counted.values, counted.counts, strict=True):
                counts[CELL_KINDS[int(place)]] += float(number)
            physical = column_type(counts, 0, decimal_comma=decimal_comma)
            if physical is not None and physical.kind in kinds:
                found[name] = physical
        return found

    def typed(self, physical: Mapping[str, PhysicalType]) -> RawTable:
        """Return the table with columns read as these types, and the rest as it is.

        Cells that cannot be read as their type are missing. The stored types remain, as what is drawn is written as
        texts again.
        """
        read = {name: self._read(name, found) for name, found in physical.items()}
        return replace(self._table, columns=self._table.columns | read)

    def _read(self, name: str, physical: PhysicalType) -> RawColumn:
        if physical.kind == "datetime" and physical.format is None and physical.timezone is None:
            physical = replace(physical, format=_ISO_TIME)
        texts, whole = self._texts[name], self._table.columns[name]
        with at_hand() as database:
            database.register("texts", {"c": texts.distinct})
            query = f"SELECT {found_value('c::VARCHAR', physical)} FROM texts"
            read = interruptible(database, lambda: read_query(database, query, [name]))[0][name]
        cells = replace(read, physical=physical).take(texts.places.astype(np.intp))
        return replace(cells, missing=cells.missing | whole.missing, unreadable=whole.unreadable)

    def __repr__(self) -> str:
        return f"TextTimes({len(self._texts)} columns)"


def with_times_read(table: RawTable, schema: Schema | None = None) -> RawTable:
    """Return a table with those undeclared columns of texts read as days or times that hold nothing else; sensitive.

    A file of text is left as it is: its cells were looked at when it was read.
    """
    undeclared_names = undeclared(table.columns, schema)
    names = [name for name in undeclared_names if table.columns[name].physical.kind == "text"]
    if not names or table.origin.is_text:
        return table
    texts = TextTimes(table, names)
    return texts.typed(texts.types())


def repeated_texts(column: RawColumn) -> RepeatedTexts:
    """Return a column's texts; those that are not valid Unicode, which the database refuses, are empty."""
    cells = column.cells
    found = cells if isinstance(cells, RepeatedTexts) else RepeatedTexts.of(cells.tolist(), column.missing)
    valid = [text if is_unicode(text) else "" for text in found.distinct.tolist()]
    return RepeatedTexts(object_array(valid), found.places)


def _kinds(
    texts: Mapping[str, RepeatedTexts], counts: Mapping[str, NDArray[Any]]
) -> dict[str, CountedPoints]:
    """Return the kinds of the cells of all columns by one query, which costs more than few texts."""
    kinds = np.zeros((len(texts), len(CELL_KINDS)), dtype=np.int64)
    columns = {
        "i": np.repeat(np.arange(len(texts)), [found.distinct.size for found in texts.values()]),
        "c": np.concatenate([found.distinct for found in texts.values()]),
        "n": np.concatenate([counts[name] for name in texts]),
    }
    with at_hand() as database:
        database.register("texts", columns)
        for column, kind, number in interruptible(database, lambda: kinds_by_column(database, "texts")):
            kinds[column, kind] += number
    places = np.arange(len(CELL_KINDS))
    return {name: CountedPoints(places[of > 0], of[of > 0]) for name, of in zip(texts, kinds, strict=True)}
