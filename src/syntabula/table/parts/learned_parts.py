"""A table in parts whose schema has rules: each batch becomes what is learned of it, where it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from syntabula.marginals.parts import Fold, State
from syntabula.table.parts.part_reading import Part, PartOf
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import RawTable
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.schema.schema import Schema

_BROKEN, _CLIPPED = "broken", "clipped"


@dataclass(frozen=True)
class LearnedPart(PartOf):
    """What is learned of a part; rules concern one row each, so parts do not matter.

    Attributes:
        rules: The rules.
    """

    rules: RowRules

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records with the columns that are learned; see `Part.tables`."""
        del schema
        needed = None if columns is None else self._needed(columns)
        for table in self.part.tables(self.rules.schema, needed):
            if needed is None:
                self.rules.schema.check_names(table.columns)
            else:
                table = RawTable({n: table.columns[n] for n in needed}, table.n_rows, table.origin)
            yield self.rules.learned_table(table)[0]

    def _needed(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that some learned ones depend on; undeclared ones depend on themselves alone."""
        distances, needed, open_names = self.rules.compiled.distances, set[str](), [*columns]
        while open_names:
            name = open_names.pop()
            if name not in needed:
                needed.add(name)
                open_names += distances[name].columns if name in distances else ()
        declared = self.rules.schema
        return [*(n for n in declared if n in needed), *(n for n in columns if n not in declared)]


def learned_parts(parts: RawParts, rules: RowRules) -> RawParts:
    """Return what is learned of a table in parts."""
    order = tuple(name for name in parts.order if name not in rules.compiled.derived)
    return parts.wrapped(partial(_learned, rules=rules), schema=rules.learned_schema, order=order)


def _learned(part: Part, _: int, *, rules: RowRules) -> LearnedPart:
    return LearnedPart(part, rules)


@dataclass(frozen=True)
class RulesFold(Fold[RawTable]):
    """Counts the rows that break each rule, and the values of columns in an order that are clipped.

    Attributes:
        rules: The rules.
    """

    rules: RowRules

    def start(self) -> State:
        """Return the state of no records."""
        return {
            _BROKEN: np.zeros(len(self._names()), np.int64),
            _CLIPPED: np.zeros(len(self.rules.compiled.distances), np.int64),
        }

    def add(self, state: State, part: RawTable) -> None:
        """Add the records of a part."""
        broken = self.rules.broken_by(part.columns, part.n_rows)
        counts = [int(broken[name].sum()) if name in broken else 0 for name in self._names()]
        state[_BROKEN] += np.array(counts, np.int64)
        _, clipped = self.rules.learned_table(part)
        state[_CLIPPED] += np.array([clipped.get(n, 0) for n in self.rules.compiled.distances], np.int64)

    def broken(self, state: State) -> list[str]:
        """Return the rules that some rows break."""
        return [name for name, count in zip(self._names(), state[_BROKEN], strict=True) if count]

    def clipped(self, state: State) -> dict[str, int]:
        """Return for each column in an order how many of its values were clipped, if any."""
        pairs = zip(self.rules.compiled.distances, state[_CLIPPED].tolist(), strict=True)
        return {name: count for name, count in pairs if count}

    def _names(self) -> list[str]:
        return self.rules.checked
