"""A part that is read several times, to measure tables that no disk has to hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from syntabula.table.parts.part_reading import Part
from syntabula.table.raw import RawTable
from syntabula.table.schema.schema import Schema


@dataclass(frozen=True)
class RepeatedPart:
    """The records of a part, several times over: every exact count is a multiple of that of the part.

    Attributes:
        part: The part.
        times: How often its records occur.
    """

    part: Part
    times: int

    @property
    def place(self) -> str:
        """What a message calls it."""
        return self.part.place

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records; see `Part.tables`."""
        for _ in range(self.times):
            yield from self.part.tables(schema, columns)
