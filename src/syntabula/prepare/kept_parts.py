"""Parts of a table of which some rows are left out: those beyond the most that a schema keeps of one unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import DataError, SchemaError
from syntabula.privacy.units import Digests, digests_of, mixed
from syntabula.table.parts.part_reading import Part
from syntabula.table.raw import RawTable
from syntabula.table.schema.schema import Schema
from syntabula.table.unit_rows import unit_keys

Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class KeptRows:
    """Which rows of a part are kept (sensitive).

    Attributes:
        bits: A bit for each row, in the order of the part, eight to a byte.
        n_read: Number of rows of the part.
        n_rows: Number of kept ones.
        check: Sum of words that stand for the unit of each kept row and its position.
    """

    bits: NDArray[np.uint8]
    n_read: int
    n_rows: int
    check: int

    @classmethod
    def of(cls, marks: Marks, check: int) -> KeptRows:
        """Return the rows under a mask [rows]."""
        return cls(np.packbits(marks), marks.size, int(marks.sum()), check)

    def between(self, start: int, stop: int) -> Marks:
        """Return whether each row from a position to another is kept; none beyond the end is."""
        first = start // 8
        marks = np.unpackbits(self.bits[first : -(-stop // 8)])[start - 8 * first :].astype(np.bool_)
        return np.pad(marks, (0, max(stop - start - marks.size, 0)))[: stop - start]


@dataclass(frozen=True)
class KeptPart:
    """A part with its kept rows alone.

    Attributes:
        part: The records.
        kept: Those that are kept.
        secret: The secret by which units are known, if it has to be checked that each pass finds the same rows at the
            same places; None where files that did not change show it.
    """

    part: Part
    kept: KeptRows
    secret: bytes | None

    @property
    def place(self) -> str:
        """What a message calls it."""
        return self.part.place

    @property
    def n_rows(self) -> int:
        """Number of kept records (sensitive)."""
        return self.kept.n_rows

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the kept records; see `Part.tables`.

        Raises:
            DataError: At the end, if there are other rows, or rows of other units, than when they were chosen.
        """
        assert schema is not None
        assert schema.unit is not None
        asked = columns
        if columns is not None and self.secret is not None and schema.unit not in columns:
            asked = [*columns, schema.unit]
        position, check = 0, 0
        for table in self.part.tables(schema, asked):
            marks = self.kept.between(position, position + table.n_rows)
            rows = np.flatnonzero(marks)
            kept = {name: column.take(rows) for name, column in table.columns.items()}
            if self.secret is not None:
                own = digests(RawTable(kept, rows.size, table.origin), schema, self.secret, self.place)
                check += check_of(own, position + rows)
            position += table.n_rows
            read = {n: c for n, c in kept.items() if columns is None or n in columns or n != schema.unit}
            yield replace(table, columns=read, n_rows=rows.size)
        if position != self.kept.n_read or (self.secret is not None and check % 2**64 != self.kept.check):
            raise DataError(
                "the table changed while it was read: a later pass found other rows, or the same in another order; fit "
                "a table that nothing writes to and whose order is fixed, such as files that hold it. This failure "
                "depends on the data and is not covered by the privacy guarantee"
            )


@dataclass(frozen=True, eq=False, repr=False)
class Keeping:
    """Wraps the parts of a table.

    Attributes:
        kept: The kept rows of each part; parts beyond have none.
        secret: See `KeptPart`.
    """

    kept: tuple[KeptRows, ...]
    secret: bytes | None

    def __call__(self, part: Part, number: int) -> KeptPart:
        """Return a part with its kept rows alone."""
        kept = self.kept[number] if number < len(self.kept) else KeptRows.of(np.zeros(0, np.bool_), 0)
        return KeptPart(part, kept, self.secret)


def digests(table: RawTable, schema: Schema, secret: bytes, place: str) -> Digests:
    """Return 128 bits of a hash of each row's unit [rows, 2].

    Raises:
        DataError: If a row does not say whom it is about.
        SchemaError: If the column that names units is missing.
    """
    assert schema.unit is not None
    if schema.unit not in table.columns:
        raise SchemaError(f"{place}: the table has no column {schema.unit!r}, which names the unit; add it")
    numbers, keys = unit_keys(table.columns[schema.unit], schema)
    found: Digests = digests_of(keys, secret)[numbers]
    return found


def check_of(own: Digests, positions: NDArray[np.intp]) -> int:
    """Return a sum, modulo 2^64, of words that stand for the unit and the position in its part of each row."""
    return int(mixed(own[:, 1] ^ mixed(positions.astype(np.uint64))).sum(dtype=np.uint64))


def check_of_all(checks: Iterable[int]) -> int:
    """Return the sum of checks of disjoint rows of a part."""
    return sum(checks) % 2**64
