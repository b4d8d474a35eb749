"""Days and times that a data frame holds as texts, because its library does not look for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from syntabula.marginals.sorted_points import CountedPoints
from syntabula.table.database import connection, in_order, interruptible, read_query
from syntabula.table.files.cell_kinds import CELL_KINDS, kinds_by_column
from syntabula.table.files.cell_types import found_value
from syntabula.table.raw import PhysicalType, RawColumn, RawTable, RepeatedTexts

_ISO_TIME = "%Y-%m-%dT%H:%M:%S"


class TextTimes:
    """Columns of texts in memory, each distinct text of which is looked at once."""

    def __init__(self, table: RawTable, names: Sequence[str]) -> None:
        self._table = table
        self._texts = {name: _repeated(table.columns[name]) for name in names}
        self._kinds = _kinds(self._texts, table)

    def cell_kinds(self, name: str) -> CountedPoints:
        """Return positions in `CELL_KINDS`, and how many non-empty cells of a column have each; sensitive."""
        return self._kinds[name]

    def typed(self, physical: Mapping[str, PhysicalType]) -> RawTable:
        """Return the table with columns read as these types of days and times, and the rest as it is.

        Cells that cannot be read as their type are missing. The stored types remain, as what is drawn is written as
        texts again.
        """
        read = {name: self._read(name, found) for name, found in physical.items()}
        return replace(self._table, columns=self._table.columns | read)

    def _read(self, name: str, physical: PhysicalType) -> RawColumn:
        if physical.kind == "datetime" and physical.format is None and physical.timezone is None:
            physical = replace(physical, format=_ISO_TIME)
        texts, whole = self._texts[name], self._table.columns[name]
        with connection() as database:
            in_order(database)
            database.register("texts", {"c": texts.distinct})
            query = f"SELECT {found_value('c::VARCHAR', physical)} FROM texts"
            read = interruptible(database, lambda: read_query(database, query, [name]))[0][name]
        cells = replace(read, physical=physical).take(texts.places.astype(np.intp))
        return replace(cells, missing=cells.missing | whole.missing, unreadable=whole.unreadable)

    def __repr__(self) -> str:
        return f"TextTimes({len(self._texts)} columns)"


def _repeated(column: RawColumn) -> RepeatedTexts:
    cells = column.cells
    return cells if isinstance(cells, RepeatedTexts) else RepeatedTexts.of(cells.tolist(), column.missing)


def _kinds(texts: Mapping[str, RepeatedTexts], table: RawTable) -> dict[str, CountedPoints]:
    """Return the kinds of the cells of all columns by one query, which costs more than few texts."""
    counts = [
        np.bincount(found.places[~table.columns[name].missing], minlength=found.distinct.size)
        for name, found in texts.items()
    ]
    kinds = np.zeros((len(texts), len(CELL_KINDS)), dtype=np.int64)
    columns = {
        "i": np.repeat(np.arange(len(texts)), [found.distinct.size for found in texts.values()]),
        "c": np.concatenate([found.distinct for found in texts.values()]),
        "n": np.concatenate(counts),
    }
    with connection() as database:
        in_order(database)
        database.register("texts", columns)
        for column, kind, number in interruptible(database, lambda: kinds_by_column(database, "texts")):
            kinds[column, kind] += number
    places = np.arange(len(CELL_KINDS))
    return {name: CountedPoints(places[of > 0], of[of > 0]) for name, of in zip(texts, kinds, strict=True)}
