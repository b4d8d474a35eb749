"""Undeclared texts of a table in parts that are all numbers in a form that no library reads, such as 1.234,50 or 12 %."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from syntabula.errors import CoercionWarning, warn_caller
from syntabula.table.frames.text_numbers import WrittenNumbers, number_or_mark, signed_numbers
from syntabula.table.parts.column_folds import folded_columns
from syntabula.table.parts.labels import LabelFold
from syntabula.table.parts.part_reading import Part, PartOf
from syntabula.table.parts.raw_parts import RawParts, StoredType
from syntabula.table.raw import RawTable
from syntabula.table.schema.schema import Schema

_KINDS: Mapping[str, type[np.generic]] = {"integer": np.int64, "float": np.float64}
MOST_TEXTS_HELD = 2**20
"""Different numbers of a column whose texts are held while their form is found (about 300 MB)."""


@dataclass(frozen=True)
class WrittenPart(PartOf):
    """A part some of whose texts are read as numbers.

    Attributes:
        written: How each of these columns writes them.
    """

    written: Mapping[str, WrittenNumbers]

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records piece by piece; see `Part.tables`."""
        for table in self.part.tables(schema, columns):
            read = {
                name: self.written[name].read(column, table.origin)
                for name, column in table.columns.items()
                if name in self.written
            }
            yield replace(table, columns=table.columns | read)


def with_signed_numbers_in_parts(parts: RawParts) -> RawParts:
    """Return a table in parts with undeclared texts read as numbers, as `with_signed_numbers_read` does it in memory.

    One pass counts the distinct texts of columns of texts; it depends on records, so it is for tables without a budget.
    """
    names = [name for name, stored in parts.stored.items() if stored.physical.kind == "text"]
    fold = LabelFold(MOST_TEXTS_HELD, shape=number_or_mark)
    states = folded_columns(parts, {name: (name, fold) for name in names})
    written: dict[str, WrittenNumbers] = {}
    for name in names:
        if not fold.holds(states[name]):
            _tell_of_many(name)
            continue
        counts = fold.counts(states[name])
        numbers = signed_numbers([*counts], np.array([*counts.values()], np.int64), parts.origin)
        if numbers is not None:
            written[name] = numbers
    if not written:
        return parts
    stored = {name: _stored(found, written.get(name)) for name, found in parts.stored.items()}
    return parts.wrapped(partial(_part, written=written), stored=stored)


def _tell_of_many(name: str) -> None:
    warn_caller(
        CoercionWarning(
            f"column {name!r} has more than {MOST_TEXTS_HELD:,} different texts with digits alone or signs around them, "
            "which stay texts; declare it numeric, with the `format` in which they are written, to learn them as numbers"
        )
    )


def _stored(found: StoredType, written: WrittenNumbers | None) -> StoredType:
    if written is None:
        return found
    physical = written.physical_in_style
    return replace(
        found,
        physical=physical,
        kind=np.dtype(_KINDS[physical.kind]),
        written=found.written or found.physical,
    )


def _part(part: Part, _: int, *, written: Mapping[str, WrittenNumbers]) -> WrittenPart:
    return WrittenPart(part, written)
