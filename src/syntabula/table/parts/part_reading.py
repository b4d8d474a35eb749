"""Reads and folds the parts of a table in this process, so that no failure shows a cell and no change goes unnoticed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from syntabula._memory import memory_for
from syntabula.errors import CoercionWarning, DataError, SchemaError, SyntabulaError
from syntabula.marginals.parts import Fold, State
from syntabula.table.raw import RawTable
from syntabula.table.schema.schema import Schema

Stamp = tuple[str, int, int]


class Checked(Protocol):
    """What a table was when it was first seen."""

    def check(self) -> None:
        """Raise DataError if it changed."""
        ...


@dataclass(frozen=True)
class Snapshot:
    """Names, sizes and times of files. Two passes over a changing table would be passes over two tables.

    Attributes:
        listing: Lists the paths anew.
        stamps: Path, size in bytes and time of the last change of each, as they were first seen.
    """

    listing: Callable[[], list[str]]
    stamps: tuple[Stamp, ...]

    @classmethod
    def of(cls, listing: Callable[[], list[str]]) -> Snapshot:
        """Return the files as they are now."""
        return cls(listing, _stamps(listing))

    @property
    def paths(self) -> list[str]:
        """Paths of the files, in order."""
        return [path for path, _, _ in self.stamps]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for _, size, _ in self.stamps)

    def check(self) -> None:
        """Raise DataError if a file was added, removed or changed."""
        found = _stamps(self.listing)
        if found == self.stamps:
            return
        different = sorted({path for path, _, _ in set(found) ^ set(self.stamps)})
        shown = ", ".join(map(repr, different[:3])) + (" and others" if len(different) > 3 else "")
        raise DataError(
            f"the table changed while it was read: {shown} {'is' if len(different) == 1 else 'are'} not as at the start; "
            "fit a folder that nothing writes to, such as a copy"
        )


def _stamps(listing: Callable[[], list[str]]) -> tuple[Stamp, ...]:
    stamps = []
    for path in listing():
        try:
            found = os.stat(path)
        except OSError as error:
            raise DataError(f"cannot read {path!r}: {error.strerror}") from None
        stamps.append((path, found.st_size, found.st_mtime_ns))
    return tuple(stamps)


class Part(Protocol):
    """Some records of a table, in one place."""

    @property
    def place(self) -> str:
        """What a message calls it; it holds no cell."""
        ...

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records piece by piece, read as declared.

        Args:
            schema: Declares all columns, or some; None for none.
            columns: The columns to read; others may be left out. None for all.
        """
        ...


@dataclass(frozen=True)
class PartOf:
    """A part that reads another one in its own way.

    Attributes:
        part: The records.
    """

    part: Part

    @property
    def place(self) -> str:
        """What a message calls it."""
        return self.part.place

    @property
    def n_rows(self) -> int | None:
        """Number of records, if the part says it (sensitive)."""
        return getattr(self.part, "n_rows", None)


@dataclass(frozen=True, eq=False, repr=False)
class Work:
    """What one pass over some parts gave.

    Attributes:
        state: The state of the fold.
        n_rows: Number of records (sensitive).
        warnings: What reading warned of; names of columns and no cell.
    """

    state: State
    n_rows: int
    warnings: list[str]


def folded(
    parts: Sequence[Part], schema: Schema | None, columns: Sequence[str] | None, fold: Fold[RawTable]
) -> Work:
    """Fold some parts in this process, one after the other."""
    state, n_rows, said = fold.start(), 0, list[str]()
    for part in parts:
        for table in read_part(part, schema, columns, said):
            n_rows += table.n_rows
            with failures_of(part):
                fold.add(state, table)
    return Work(state, n_rows, said)


def read_part(
    part: Part, schema: Schema | None, columns: Sequence[str] | None, said: list[str]
) -> Iterator[RawTable]:
    """Yield the records of a part; what is warned of is added to `said`, since it is the same in many parts."""
    tables = part.tables(schema, columns)
    while True:
        with failures_of(part), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CoercionWarning)
            table = next(tables, None)
            if table is not None and columns is None and schema is not None:
                schema.check_names(table.columns)
        said += [str(w.message) for w in caught if issubclass(w.category, CoercionWarning)]
        if table is None:
            return
        yield table


@contextmanager
def failures_of(part: Part) -> Iterator[None]:
    """Turn every failure within the block into an error that names the part and shows no cell."""
    try:
        with memory_for(f"read {part.place}"):
            yield
    except SchemaError as error:
        raise SchemaError(f"{part.place}: {error}") from None
    except SyntabulaError:
        raise
    except Exception as error:
        # The message of a library may show a cell.
        raise DataError(
            f"{part.place} cannot be read ({type(error).__name__}): it is truncated, damaged or in another format; "
            "check it"
        ) from None
