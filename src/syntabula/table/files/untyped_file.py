"""A delimited file read as texts: single cells have kinds, its columns have none yet.

What a cell is follows from that cell alone, so that a column's type can be found from the kinds of its cells
under differential privacy (`found_types`), and no cell decides about the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from syntabula._memory import memory_for
from syntabula.table.database import connection, in_order, interruptible, read_relation
from syntabula.table.files.csv_reading import PATTERNS, load_texts
from syntabula.table.files.declared_cells import NUMBER, matches, parsed_as, read_written, stripped
from syntabula.table.files.files import check_readable
from syntabula.table.files.formats import file_format
from syntabula.table.raw import Container, Origin, PhysicalType, RawColumn, RawTable
from syntabula.table.schema.schema import Schema

CELL_KINDS = ("true or false", "whole", "long whole", "real", "day", "local time", "zoned time", "text")
"""What a cell can be; the first of these that it is. Long whole numbers have 16 digits or more, within 64 bits."""

_SHORT = "-?(0|[1-9][0-9]{0,14})"
_TEXT = PhysicalType("text", "VARCHAR")


class UntypedFile:
    """The cells of a delimited file, as they are written.

    Attributes:
        names: Names of the columns, in order.
        container: Format of the file.
        n_rows: Number of rows (sensitive).
    """

    def __init__(self, database: Any, names: list[str], container: Container) -> None:
        self._database = database
        self.names = tuple(names)
        self.container = container
        self.n_rows = int(database.execute("SELECT count(*) FROM written").fetchall()[0][0])

    @property
    def physical(self) -> dict[str, PhysicalType]:
        """Stored type of each column: text."""
        return dict.fromkeys(self.names, _TEXT)

    def cell_kinds(self, name: str) -> NDArray[np.int64]:
        """Return the position in `CELL_KINDS` of each cell of a column that holds something; sensitive."""
        text = stripped(f"c{self.names.index(name)}")
        # Each distinct text is looked at once.
        texts = f"SELECT {text} AS c, count(*) AS n FROM written GROUP BY c HAVING c IS NOT NULL"
        query = f"SELECT {_kind_of('c')} AS kind, sum(n) AS n FROM ({texts}) GROUP BY kind ORDER BY kind"
        with memory_for("find the types of the table's columns"):
            counts = interruptible(self._database, lambda: self._database.execute(query).fetchall())
        kinds, numbers = np.array(counts, dtype=np.int64).reshape(-1, 2).T
        return np.repeat(kinds, numbers)

    def typed(self, physical: Mapping[str, PhysicalType], schema: Schema | None = None) -> RawTable:
        """Return the table with columns of these types, and let go of the texts; to be called once, at the end.

        Cells that a type does not read are missing. Where numbers are whole, fractions are rounded, and numbers
        beyond 64 bits are not read.

        Args:
            physical: Type of each column that is not declared.
            schema: Declares the other columns, which are read as `declared_cells` says.
        """
        in_order(self._database)
        with memory_for("read the table"):
            read = interruptible(self._database, lambda: self._read(physical, schema))
        self._database.execute("DROP TABLE written")
        columns = {name: read[name] for name in self.names}
        # No types are stored: what comes out follows from the domains, declared or found.
        return RawTable(columns, self.n_rows, Origin(self.container, {}))

    def _read(self, physical: Mapping[str, PhysicalType], schema: Schema | None) -> dict[str, RawColumn]:
        read: dict[str, RawColumn] = {}
        if physical:
            texts = {name: f"c{i}" for i, name in enumerate(self.names) if name in physical}
            values = ", ".join(f"{_value(text, physical[name])} AS {text}" for name, text in texts.items())
            read |= read_relation(self._database.sql(f"SELECT {values} FROM written"), [*texts])[0]
        if schema is not None:
            read |= read_written(self._database, self.names, schema)[0]
        return read

    def __repr__(self) -> str:
        return f"UntypedFile({len(self.names)} columns)"


@contextmanager
def untyped_file(path: str | os.PathLike[str], schema: Schema | None = None) -> Iterator[UntypedFile]:
    """Read a delimited file and hold it in memory until the end of the context.

    Args:
        path: File to read.
        schema: Declares some of its columns, or None.

    Raises:
        DataError: If the file cannot be read; names file and line, never a cell's value.
        ResourceError: If there is too little memory for it.
    """
    kind = file_format(path)
    place = os.path.abspath(os.fspath(path))
    check_readable(place)
    with connection() as database:
        delimiter = "\t" if kind.container == "tsv" else None
        with memory_for(f"read {place!r}"):
            names = load_texts(database, place, kind.compression, delimiter, schema)
        yield UntypedFile(database, names, kind.container)


def is_untyped(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Say whether a table to be read is the path of a delimited file."""
    if not isinstance(source, str | os.PathLike):
        return False
    return file_format(source).container in ("csv", "tsv")


def _kind_of(cell: str) -> str:
    """Return the SQL of the position of a text in `CELL_KINDS`."""

    def reads(name: str) -> str:
        return f"{matches(cell, PATTERNS[name])} AND TRY_CAST({cell} AS {name}) IS NOT NULL"

    tests = (
        matches(cell, PATTERNS["BOOLEAN"]),
        matches(cell, _SHORT),
        reads("BIGINT"),
        matches(cell, PATTERNS["DOUBLE"]),
        reads("DATE"),
        reads("TIMESTAMP"),
        reads("TIMESTAMPTZ"),
    )
    cases = " ".join(f"WHEN {test} THEN {kind}" for kind, test in enumerate(tests))
    return f"(CASE {cases} ELSE {len(tests)} END)::TINYINT"


def _value(column: str, physical: PhysicalType) -> str:
    """Return the SQL of a cell's value; null where the type does not read it."""
    if physical.kind == "text":
        return column
    cell = stripped(column)
    if physical.kind == "integer":
        return f"CASE WHEN {matches(cell, NUMBER)} THEN TRY_CAST({cell} AS BIGINT) END"
    return parsed_as(cell, physical)
