"""Keeps at most so many rows of each unit: of a table in memory, or over all its parts in bounded memory.

Of a table in parts, one pass reads the column that names units, in order, and holds 16 bytes for each row: the digest of
its key, by which rows of one unit find each other wherever they lie. Units are held by ranges of digests, so that all
rows of a unit are in one range; if rows are more than may be held, a pass holds half of its range, and a further pass the
rest. Rows are then chosen by `Units`, as in memory, and a bit for each row says whether it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.sorted_points import CountedPoints
from syntabula.prepare.kept_parts import Keeping, KeptRows, check_of, check_of_all, digests
from syntabula.privacy.units import Digests, LateUnits, Units
from syntabula.table.parts.part_reading import Snapshot
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema.schema import Schema
from syntabula.table.unit_rows import unit_keys

if TYPE_CHECKING:
    from syntabula.table.files.delimited import DelimitedFile


def limited(
    source: RawTable | DelimitedFile | RawParts, schema: Schema | None, secret: bytes, *, limit_mb: float
) -> tuple[RawTable | DelimitedFile | RawParts, Units | LateUnits | None]:
    """Keep at most `rows_per_unit` rows of each unit.

    Args:
        source: The table; for a text file whose types have to be found, its texts, of which rows are dropped in place.
        schema: The declared columns.
        secret: The secret of this run, by which rows are chosen.
        limit_mb: Largest memory for what is held of a table in parts.

    Returns:
        The table and the units of its rows; the same table and None where the schema names no unit.

    Raises:
        DataError: If a row does not say whom it is about. That depends on the data, and the guarantee does not cover it.
    """
    if schema is None or schema.unit is None or schema.rows_per_unit is None:
        return source, None
    if isinstance(source, RawParts):
        return limited_parts(source, schema, secret, limit_mb)
    if not isinstance(source, RawTable):
        units = units_of(source.texts(schema.unit), schema, secret)
        rows = units.kept(schema.rows_per_unit)
        source.keep(rows)
        return source, units.take(rows)
    units = units_of(source.columns[schema.unit], schema, secret)
    rows = units.kept(schema.rows_per_unit)
    columns = {name: column.take(rows) for name, column in source.columns.items()}
    return replace(source, columns=columns, n_rows=rows.size), units.take(rows)


def units_of(raw: RawColumn, schema: Schema, secret: bytes) -> Units:
    """Return the units of a table's rows from the column that names them."""
    return Units.of(*unit_keys(raw, schema), secret)


BYTES_PER_ROW = 32
"""Of a held row: its digest and its place, and what choosing takes."""

_CHOSEN_AT_ONCE = 2**20
_LEAST_WIDTH = 2**54
"""A range of digests is not halved below this: then one unit has most of the rows."""
_END = 2**64


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """Rows of a stretch of the table whose digests lie in a range.

    Attributes:
        begin: Position in the table of the first row of the stretch.
        places: Positions in the stretch of its rows, rising [rows].
        digests: Digest of each [rows, 2].
    """

    begin: int
    places: NDArray[np.uint32]
    digests: Digests

    def within(self, low: int, high: int) -> _Rows:
        """Return those whose digests lie in a narrower range."""
        inside = _inside(self.digests, low, high)
        if inside.all():
            return self
        return _Rows(self.begin, self.places[inside], self.digests[inside])

    @property
    def positions(self) -> NDArray[np.intp]:
        """Position of each row in the table [rows]."""
        return self.begin + self.places.astype(np.intp)


@dataclass(frozen=True, eq=False, repr=False)
class Chosen:
    """Which rows of a table in parts are kept, and of whom (sensitive).

    Attributes:
        kept: The kept rows of each part, of those at the end that have rows.
        sizes: The numbers of kept rows that units have, and how many units have each.
    """

    kept: tuple[KeptRows, ...]
    sizes: CountedPoints


@dataclass(eq=False, repr=False)
class Choice:
    """The choice of at most so many rows of each unit.

    Attributes:
        parts: The table.
        schema: Names the unit.
        secret: The secret of this run.
        most_held: Largest number of rows of which something is held at once, but for a unit with more.
    """

    parts: RawParts
    schema: Schema
    secret: bytes
    most_held: int
    _ends: list[int] = field(default_factory=list)

    def made(self) -> Chosen:
        """Choose the rows of all units."""
        most = self.schema.rows_per_unit or 1
        sizes, checks, marks = np.zeros(most + 1, np.int64), dict[int, int](), np.zeros(0, np.bool_)
        for positions, own, units in self._units():
            rows = units.kept(most)
            counted = units.take(rows).sizes()
            sizes[counted.values] += counted.counts
            if not marks.size:
                marks = np.zeros(self._ends[-1], dtype=np.bool_)
            marks[positions[rows]] = True
            self._add_checks(checks, own[rows], positions[rows])
        begins = [0, *self._ends[:-1]]
        kept = [
            KeptRows.of(marks[begin:end], checks.get(number, 0))
            for number, (begin, end) in enumerate(zip(begins, self._ends, strict=True))
        ]
        values = np.arange(most + 1)[sizes > 0]
        return Chosen(tuple(kept), CountedPoints(values, sizes[sizes > 0]))

    def units(self) -> Units:
        """Return the units of all kept rows, in order: 24 bytes each."""
        most = self.schema.rows_per_unit or 1
        found, n_units = list[tuple[NDArray[np.intp], Units]](), 0
        for positions, _, units in self._units():
            kept = units.take(rows := units.kept(most))
            # Numbers of other rounds are other units.
            found.append((positions[rows], Units(kept.numbers + n_units, kept.words, kept.ranks)))
            n_units += int(units.numbers.max(initial=-1)) + 1
        order = np.argsort(np.concatenate([positions for positions, _ in found]))
        numbers = np.concatenate([units.numbers for _, units in found])
        words = np.concatenate([units.words for _, units in found])
        ranks = np.concatenate([units.ranks for _, units in found])
        return Units(numbers, words, ranks).take(order)

    def _units(self) -> Iterator[tuple[NDArray[np.intp], Digests, Units]]:
        """Yield positions in the table, digests and units, some whole units at a time."""
        low = 0
        while low < _END:
            held, high = self._held(low)
            n_held = sum(rows.places.size for rows in held)
            steps = max(1, -(-n_held // _CHOSEN_AT_ONCE))
            cuts = [low + (high - low) * step // steps for step in range(steps + 1)]
            for start, stop in pairwise(cuts):
                some = [rows.within(start, stop) for rows in held]
                positions = np.concatenate([np.zeros(0, np.intp), *(rows.positions for rows in some)])
                own = np.concatenate([np.zeros((0, 2), np.uint64), *(rows.digests for rows in some)])
                yield positions, own, Units.of_digests(own)
            low = high

    def _held(self, low: int) -> tuple[list[_Rows], int]:
        """Return the rows whose digests lie in a range, by one pass, and the end of the range."""
        assert self.schema.unit is not None
        high, held, n_held, ends = _END, list[_Rows](), 0, list[int]()
        begin = 0
        for number, table in self.parts.of([self.schema.unit]).numbered_pieces():
            # Parts without a piece have no rows.
            ends += [begin] * (number + 1 - len(ends))
            own = digests(table, self.schema, self.secret, self.parts.parts[0].place)
            everything = _Rows(begin, np.arange(table.n_rows, dtype=np.uint32), own)
            held.append(everything.within(low, high))
            n_held += held[-1].places.size
            begin += table.n_rows
            ends[number] = begin
            while n_held > self.most_held and high - low > _LEAST_WIDTH:
                high = low + (high - low) // 2
                held = [rows.within(low, high) for rows in held]
                n_held = sum(rows.places.size for rows in held)
        self._ends[:] = ends or [0]
        return held, high

    def _add_checks(self, checks: dict[int, int], own: Digests, positions: NDArray[np.intp]) -> None:
        numbers = np.searchsorted(self._ends, positions, side="right")
        begins = np.array([0, *self._ends[:-1]])
        for number in np.unique(numbers).tolist():
            here = numbers == number
            more = check_of(own[here], positions[here] - begins[number])
            checks[number] = check_of_all([checks.get(number, 0), more])


def limited_parts(
    parts: RawParts, schema: Schema, secret: bytes, limit_mb: float
) -> tuple[RawParts, LateUnits]:
    """Keep at most `rows_per_unit` rows of each unit of a table in parts.

    Args:
        parts: The table.
        schema: Names the unit.
        secret: The secret of this run.
        limit_mb: A quarter of it may hold rows of which some are chosen.

    Returns:
        The table with its kept rows alone, and their units.

    Raises:
        DataError: If a row does not say whom it is about. That depends on the data, and the guarantee does not cover it.
    """
    choice = Choice(parts, schema, secret, int(limit_mb * 2**20 / 4 / BYTES_PER_ROW))
    chosen = choice.made()
    # A file that did not change has the same rows in the same order, which other tables have to show.
    checked = None if isinstance(parts.snapshot, Snapshot) else secret
    n_rows = sum(rows.n_rows for rows in chosen.kept)
    kept = parts.wrapped(Keeping(chosen.kept, checked), _n_rows=[n_rows])
    return kept, LateUnits(chosen.sizes, choice.units)


def _inside(own: Digests, low: int, high: int) -> NDArray[np.bool_]:
    # The first half of a digest says where it lies; 2^64 itself is no uint64.
    first = own[:, 0]
    below = np.ones(first.size, np.bool_) if high == _END else first < np.uint64(high)
    found: NDArray[np.bool_] = below & (first >= np.uint64(low))
    return found
