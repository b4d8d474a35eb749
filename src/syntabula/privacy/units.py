"""Units: whom each row of a table is about, and which rows of each are kept.

Where a schema names a unit, such as a person, neighbouring tables differ by all rows of one unit. Before anything else
looks at a table, at most k rows of each unit are kept (`Units.kept`). The choice is a keyed hash of the unit's key and of
the row's place among the rows of this unit alone.

**The map is 1-stable over units.** Whether a row is kept, and everything else that is said of it here (its unit's word,
its rank, its slot), is a function of the key of its unit and of how many rows of this unit stand before and after it: of
nothing in other units, of no cell of a row but the key, and of no number of rows or units. So if two tables differ by all
rows of one unit, what is kept of them differs by at most k rows, all of this unit, and what is kept of every other unit
is the same. That holds for any choice that looks at one unit alone, so no noise is needed, and wherever the rows of a
unit lie: a table in parts counts places over all of them. A hash is as good as a random choice, as no value decides.

**The hash has a secret key of 256 bits**, drawn anew for each run by the source of noise (`unit_key_of`). Nobody who
writes rows into a table can tell which of them will be kept. A table in parts knows units by 128 bits of the hash, not by
their keys; to find two keys with the same bits, one needs the secret. By chance, two of n units share them with
probability n^2 / 2^129, below 2e-21 for 10^9 units. A resumed run may keep other rows than the one before it; that is a
run on another table with the same neighbours, for which `privacy.resume` holds.

**What a row can do, k rows can do k times.** A statistic that one row moves by at most s, in whatever norm, is moved by
at most k s by the rows of one unit, one after the other, since each step lies between neighbours that differ by one row.
It is tight for counts: all k rows may lie in one cell. By that `privacy.rules` turns the sensitivities that a query has
for one row into those for a unit, when it buys the noise of an event. Two doors do better, since they need not use all
rows of a unit at once: training takes one row of a unit in a step (`Units.slots`), and a unit's rows teach one teacher.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.sorted_points import CountedPoints

_AT_MOST = ", at most "


@dataclass(frozen=True)
class Unit:
    """Whom a guarantee protects.

    Attributes:
        column: The column whose values name units; None if each record is one.
        rows: Rows of one unit, at most.
    """

    column: str | None = None
    rows: int = 1

    @property
    def relation(self) -> str:
        """Which tables are neighbours."""
        if self.column is None:
            return "add or remove one record"
        return f"add or remove all rows with one {self.column!r}, at most {self.rows}"

    @property
    def short(self) -> str:
        """What a unit is, in a few words."""
        return "one record" if self.column is None else f"all rows with one {self.column!r}"

    @property
    def words(self) -> str:
        """What a unit is."""
        if self.column is None:
            return "one record (one row of the table)"
        return f"all rows with one {self.column!r}, at most {self.rows}"

    @property
    def fact(self) -> str:
        """How a journal states it; empty if each record is one."""
        return "" if self.column is None else f"{self.column}{_AT_MOST}{self.rows} rows"


def column_stated(fact: str) -> str:
    """Return the column in what `Unit.fact` states; empty if each record is a unit."""
    return fact.rpartition(_AT_MOST)[0]


RECORD = Unit()

Words = NDArray[np.uint64]

Digests = NDArray[np.uint64]
"""128 bits of the hash of each of some keys [n, 2]."""

_DIGEST_BYTES = 16


@runtime_checkable
class UnitKeySource(Protocol):
    """What a source of noise needs for tables with units."""

    def unit_key(self) -> bytes:
        """Return 32 secret bytes for a run; those of a seeded source follow from its seed."""
        ...


def unit_key_of(noise: object) -> bytes:
    """Return the secret of a run by which rows of units are chosen.

    Raises:
        ArgumentError: If the source of noise draws none.
    """
    if not isinstance(noise, UnitKeySource):
        raise ArgumentError("noise has no `unit_key` for tables with units; use a source that draws one")
    return noise.unit_key()


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """Whom each row of a table is about, for use inside `privacy` and where tables are prepared for it.

    Attributes:
        numbers: Number of each row's unit [rows]; rows of one unit share it. It says nothing else.
        words: 64 bits of a hash of each row's unit [rows].
        ranks: Place of each row among those of its unit, in an order by hash, from 0 [rows].
    """

    numbers: NDArray[np.intp]
    words: Words
    ranks: NDArray[np.intp]

    @classmethod
    def of(cls, numbers: NDArray[np.intp], keys: Sequence[str], secret: bytes) -> Units:
        """Return the units of a table's rows.

        Args:
            numbers: Position among the keys of each row's key [rows].
            keys: Each key once.
            secret: The secret of this run.
        """
        return cls._ranked(numbers, digests_of(keys, secret)[numbers, 0])

    @classmethod
    def of_digests(cls, digests: Digests) -> Units:
        """Return the units of rows, in the order of the table, by the digest of each row's key [rows, 2].

        The rows are all rows of some units; of a table in memory, `of` gives the same words and ranks.
        """
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        new = (np.diff(digests[order], axis=0) != 0).any(axis=1)
        numbers = np.empty(order.size, dtype=np.intp)
        numbers[order] = np.concatenate([np.zeros(min(order.size, 1), np.intp), np.cumsum(new)])
        return cls._ranked(numbers, digests[:, 0])

    @classmethod
    def _ranked(cls, numbers: NDArray[np.intp], words: Words) -> Units:
        in_units = np.argsort(numbers, kind="stable")
        # The place of a row counts the rows of its own unit that stand before it.
        places = np.empty(numbers.size, dtype=np.intp)
        places[in_units] = _places_in_runs(numbers[in_units])
        # No two rows of a unit have the same: `mixed` maps different words to different ones.
        order = np.lexsort((mixed(words ^ mixed(places.astype(np.uint64))), numbers))
        ranks = np.empty(numbers.size, dtype=np.intp)
        ranks[order] = _places_in_runs(numbers[order])
        return cls(numbers, words, ranks)

    def kept(self, most: int) -> NDArray[np.intp]:
        """Return the positions, rising, of at most this many rows of each unit."""
        return np.flatnonzero(self.ranks < most)

    def take(self, rows: NDArray[Any]) -> Units:
        """Return the units of some rows, given by position or as a mask."""
        return Units(self.numbers[rows], self.words[rows], self.ranks[rows])

    def slots(self, most: int) -> NDArray[np.intp]:
        """Return a number below `most` for each row [rows]; no two of at most this many rows of a unit share one.

        Units begin at slots that their hashes choose, so each slot holds about as many rows as any other.
        """
        begins = (mixed(self.words) % np.uint64(most)).astype(np.intp)
        return (begins + self.ranks) % most

    def sizes(self) -> CountedPoints:
        """Return the numbers of rows that units have, and how many units have each."""
        rows = np.bincount(self.numbers)
        return CountedPoints.of(rows[rows > 0].astype(np.int64))

    def __repr__(self) -> str:  # shows no number of rows or units
        return "Units()"


@dataclass(frozen=True, eq=False, repr=False)
class LateUnits:
    """Whom the records of a table in parts are about; read when records are asked for, as most methods ask for none.

    Attributes:
        counted: The numbers of rows that units have, and how many units have each.
        read: Reads whom the records are about.
    """

    counted: CountedPoints
    read: Callable[[], Units]

    @property
    def words(self) -> Words:
        """64 bits of a hash of each record's unit [records]."""
        return self._units.words

    def slots(self, most: int) -> NDArray[np.intp]:
        """Return a number below `most` for each record [records]; see `Units.slots`."""
        return self._units.slots(most)

    def sizes(self) -> CountedPoints:
        """Return how many units have each number of rows; see `Units.sizes`."""
        return self.counted

    @cached_property
    def _units(self) -> Units:
        return self.read()

    def __repr__(self) -> str:  # shows no number of rows or units
        return "LateUnits()"


RecordUnits = Units | LateUnits
"""Whom the records of a table are about, as doors to records ask for it."""


def digests_of(keys: Sequence[str], secret: bytes) -> Digests:
    """Return 128 bits of the keyed BLAKE2 hash of each text [n, 2]."""
    empty = hashlib.blake2b(key=secret, digest_size=_DIGEST_BYTES)
    found = []
    for key in keys:
        digest = empty.copy()
        digest.update(key.encode())
        found.append(digest.digest())
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64).reshape(-1, 2)


def mixed(words: Words) -> Words:
    """Return words whose bits all depend on all bits of the given ones (Steele, Lea, Flood 2014, SplitMix)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _places_in_runs(numbers: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the place of each number among the equal ones in a row before it, from 0."""
    places = np.arange(numbers.size)
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    return places - np.repeat(begins, np.diff(np.append(begins, numbers.size)))
