"""Which rows of a part are kept, as bits, and that a part with other rows is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntabula.errors import DataError, SchemaError
from syntabula.prepare.kept_parts import Keeping, KeptPart, KeptRows, digests
from syntabula.table.raw import Origin, PhysicalType, RawColumn, RawTable
from syntabula.table.schema.columns import Identifier, Numeric
from syntabula.table.schema.schema import Schema

SCHEMA = Schema({"who": Identifier(), "age": Numeric(0, 9, integer=True)}, unit="who", rows_per_unit=1)
SECRET = bytes(32)


class Rows:
    """A part of ages of persons, in pieces of two rows."""

    place = "'rows'"

    def __init__(self, who: str) -> None:
        self.who = who

    def tables(self, schema, columns):
        for start in range(0, len(self.who), 2):
            who = self.who[start : start + 2]
            missing = np.zeros(len(who), np.bool_)
            made = {
                "who": RawColumn(np.array([*who], dtype=object), missing, PhysicalType("text", "VARCHAR")),
                "age": RawColumn(
                    np.arange(start, start + len(who)), missing, PhysicalType("integer", "int64")
                ),
            }
            chosen = {n: c for n, c in made.items() if columns is None or n in columns}
            yield RawTable(chosen, len(who), Origin("parquet", {}))


class TestKeptRows:
    @given(st.lists(st.booleans(), max_size=40), st.integers(0, 50), st.integers(0, 20))
    def test_tell_of_any_stretch_which_rows_are_kept(self, marks, start, length):
        kept = KeptRows.of(np.array(marks, dtype=np.bool_), 0)

        right = [*marks, *[False] * 80][start : start + length]
        assert kept.between(start, start + length).tolist() == right
        assert kept.n_rows == sum(marks)


class TestKeptParts:
    def kept(self, who: str, n_read: int = 5, secret: bytes | None = None) -> KeptPart:
        marks = np.array([True, False, False, True, True])[:n_read]
        return KeptPart(Rows(who), KeptRows.of(marks, 0), secret)

    def test_have_the_kept_rows_and_the_columns_that_are_asked(self):
        tables = [*self.kept("aabbc").tables(SCHEMA, ["age"])]

        assert [t.columns["age"].values.tolist() for t in tables] == [[0], [3], [4]]
        assert all([*t.columns] == ["age"] for t in tables)

    def test_of_other_numbers_of_rows_are_refused(self):
        for who in ["aabb", "aabbcc"]:
            with pytest.raises(DataError, match="changed while it was read"):
                _ = [*self.kept(who).tables(SCHEMA, None)]

    def test_of_other_units_are_refused_where_that_is_checked(self):
        with pytest.raises(DataError, match="changed while it was read"):
            _ = [*self.kept("aabbc", secret=SECRET).tables(SCHEMA, ["age"])]

    def test_beyond_those_that_have_rows_have_none(self):
        part = Keeping((), None)(Rows(""), 3)

        assert [*part.tables(SCHEMA, None)] == []
        assert part.n_rows == 0

    def test_without_the_key_are_refused(self):
        table = next(Rows("ab").tables(SCHEMA, ["age"]))

        with pytest.raises(SchemaError, match="'rows': the table has no column 'who'"):
            digests(table, SCHEMA, SECRET, "'rows'")
