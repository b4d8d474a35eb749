"""A raw table in parts: one pass folds each part where it is read, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from syntabula.errors import CoercionWarning, DataError, warn_caller
from syntabula.marginals.parts import Fold, State
from syntabula.table.parts.part_reading import Checked, Part, Work, folded, read_part
from syntabula.table.raw import Container, Dialect, Origin, PhysicalType, RawTable
from syntabula.table.schema.schema import Schema, is_whole


@dataclass(frozen=True)
class StoredType:
    """How an undeclared column is stored.

    Attributes:
        physical: Its type as a reader of whole tables names it.
        read: Its type as batches have it.
        kind: The type of the numbers that stand for its cells, float64 for decimals; of objects for texts.
        written: The type to write, where texts are read as numbers; None for the same.
        widened: Whether some parts store it as narrower numbers, which are read as these.
    """

    physical: PhysicalType
    read: PhysicalType
    kind: np.dtype[Any]
    written: PhysicalType | None = None
    widened: bool = False


ROWS_AT_ONCE = 65_536
"""Rows of a batch: their texts and numbers take about 60 MB for 20 columns."""


Wrap = Callable[[Part, int], Part]
"""Returns a part with something done to its records, by it and its number; it can be pickled."""


@dataclass(eq=False, repr=False)
class RawParts:
    """A table whose records lie in parts, and which is read anew in each pass.

    Processes that read it stay between passes; as a context manager, the table ends them.

    Attributes:
        container: What kind of table it is.
        schema: Declares all columns, or some; None for none.
        parts: Where the records are; each record is in one part.
        workers: Number of processes that read parts; the parts can be pickled if it is above 1.
        snapshot: Finds whether files, or what else is read, changed between passes; None where nothing can say so.
        columns: The columns that are read; None for all.
        stored: Stored types of the undeclared columns.
        order: Names of all columns as the table has them, where some are undeclared.
        dialect: Form of delimited files, if it is not the usual one.
        wraps: What was done to each part that was opened, in order; see `wrapped`.
    """

    container: Container
    schema: Schema | None
    parts: tuple[Part, ...]
    workers: int = 1
    snapshot: Checked | None = None
    columns: tuple[str, ...] | None = None
    stored: Mapping[str, StoredType] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    dialect: Dialect | None = None
    wraps: tuple[Wrap, ...] = ()
    _n_rows: list[int] = field(default_factory=list)
    _warned: set[str] = field(default_factory=set)
    _pools: list[Executor] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: in the order of the schema, or of the table where some are undeclared."""
        if is_whole(self.schema):
            return tuple(self.schema)
        return tuple(self.order)

    @property
    def origin(self) -> Origin:
        """What the table was read from, with the types of its undeclared columns, which delimited text does not store."""
        if self.container in ("csv", "tsv"):
            return Origin(self.container, {}, self.dialect)
        return Origin(self.container, {n: s.written or s.physical for n, s in self.stored.items()})

    @property
    def n_rows(self) -> int:
        """Number of records (sensitive); takes a pass if there was none and the files do not say it."""
        if not self._n_rows:
            said: list[int | None] = [getattr(part, "n_rows", None) for part in self.parts]
            if None not in said:
                self._n_rows[:] = [sum(n or 0 for n in said)]
            else:
                self.fold(_Nothing())
        return self._n_rows[0]

    @property
    def states_at_once(self) -> int:
        """How many states of one fold are in memory at once: one in each process, one on its way, and their sum."""
        return 1 if self.processes == 1 else self.processes + 2

    @property
    def processes(self) -> int:
        """Number of processes that read."""
        return max(1, min(self.workers, len(self.parts)))

    def __enter__(self) -> Self:
        """Return the table."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes that read."""
        self.end_processes()

    def of(self, columns: Sequence[str]) -> Self:
        """Return the same table of which a pass reads some columns alone."""
        return replace(self, columns=tuple(columns))

    def wrapped(self, wrap: Wrap, **changes: Any) -> Self:
        """Return the same table with each part wrapped, and other facts changed."""
        parts = tuple(wrap(part, number) for number, part in enumerate(self.parts))
        return replace(self, parts=parts, wraps=(*self.wraps, wrap), **changes)

    def fold(self, fold: Fold[RawTable]) -> State:
        """Return the state of all records, in one pass.

        Raises:
            DataError: If a part cannot be read, or the table has changed since an earlier pass.
            SchemaError: If a part lacks a declared column or has others.
            ResourceError: If memory ends, here or in another process.
        """
        self._check_unchanged()
        work = self._folded(fold)
        self._ended(work.n_rows, work.warnings)
        return work.state

    def pieces(self) -> Iterator[RawTable]:
        """Yield the records piece by piece, in this process, in one pass."""
        for _, table in self.numbered_pieces():
            yield table

    def numbered_pieces(self) -> Iterator[tuple[int, RawTable]]:
        """Yield the records as `pieces` does, each piece with the number of its part; parts come in order."""
        self._check_unchanged()
        n_rows, said = 0, list[str]()
        for number, part in self._numbered():
            for table in read_part(part, self.schema, self.columns, said):
                n_rows += table.n_rows
                yield number, table
        self._ended(n_rows, said)

    def _numbered(self) -> Iterator[tuple[int, Part]]:
        yield from enumerate(self.parts)

    def _folded(self, fold: Fold[RawTable]) -> Work:
        if self.processes == 1:
            return folded(self.parts, self.schema, self.columns, fold)
        from syntabula.table.parts.processes import folded_in_processes

        return folded_in_processes(
            self.parts, self.schema, self.columns, fold, processes=self.processes, pools=self._pools
        )

    def end_processes(self) -> None:
        """End the processes that read, until a pass needs them again."""
        while self._pools:
            self._pools.pop().shutdown()

    def _check_unchanged(self) -> None:
        if self.snapshot is not None:
            self.snapshot.check()

    def _ended(self, n_rows: int, said: Sequence[str]) -> None:
        """Compare a pass with earlier ones, and repeat its warnings once."""
        self._check_unchanged()
        if self._n_rows and self._n_rows[0] != n_rows:
            raise DataError(
                "the table changed while it was read: a later pass did not find the records of the first; fit a table "
                "that nothing writes to, such as a copy or a snapshot. This failure depends on the data and is not "
                "covered by the privacy guarantee"
            )
        self._n_rows[:] = [n_rows]
        for sentence in [s for s in dict.fromkeys(said) if s not in self._warned]:
            self._warned.add(sentence)
            warn_caller(CoercionWarning(sentence))

    def __repr__(self) -> str:
        return f"RawParts({len(self.names)} columns)"


class _Nothing(Fold[RawTable]):
    """Asks for nothing but the number of records, which every pass counts."""

    def start(self) -> State:
        return {"": np.zeros(0, np.int64)}

    def add(self, state: State, part: RawTable) -> None:
        pass
