"""A schema names its columns, and checks tables by names and types alone."""

from __future__ import annotations

import copy
import datetime as dt
import pickle

import numpy as np
import pytest

from syntabula.errors import SchemaError
from syntabula.table.raw import PhysicalType, RawColumn, RawTable
from syntabula.table.schema.columns import Boolean, Categorical, Datetime, Identifier, Numeric
from syntabula.table.schema.schema import Schema, completed

SCHEMA = Schema(
    {
        "age": Numeric(17, 90, integer=True),
        "work": Categorical(("a", "b"), provenance="observed"),
        "member": Boolean(provenance="private"),
    },
    label="people",
)


def stored(**kinds):
    """Make an empty table with columns stored in the given kinds."""
    empty, none = np.zeros(0), np.zeros(0, dtype=bool)
    columns = {name: RawColumn(empty, none, PhysicalType(kind, kind)) for name, kind in kinds.items()}
    return RawTable(columns, 0, None)


class TestMapping:
    def test_columns_keep_their_order(self):
        assert list(SCHEMA) == ["age", "work", "member"]
        assert len(SCHEMA) == 3
        assert "age" in SCHEMA
        assert SCHEMA["member"] == Boolean(provenance="private")

    def test_an_unknown_name_brings_a_suggestion(self):
        with pytest.raises(SchemaError, match="did you mean 'age'"):
            SCHEMA["aeg"]
        with pytest.raises(SchemaError, match="did you mean 'work'"):
            SCHEMA["WORK"]

    def test_columns_cannot_be_changed_in_place(self):
        with pytest.raises(TypeError):
            SCHEMA.columns["age"] = Boolean()

    def test_with_column_replaces_in_place_or_appends(self):
        assert list(SCHEMA.with_column("age", Boolean())) == ["age", "work", "member"]
        longer = SCHEMA.with_column("new", Boolean())
        assert list(longer) == ["age", "work", "member", "new"]
        assert longer.label == "people"

    def test_copies_and_pickles_are_equal(self):
        assert copy.deepcopy(SCHEMA) == SCHEMA
        assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA

    def test_the_order_of_columns_counts(self):
        turned = Schema(dict(reversed(SCHEMA.columns.items())), label="people")
        assert turned != SCHEMA
        assert hash(Schema(SCHEMA.columns, label="people")) == hash(SCHEMA)

    def test_the_printed_form_has_no_domain(self):
        assert repr(SCHEMA) == "Schema(age: numeric, work: categorical, member: boolean)"

    def test_provenance_lists_every_column_once(self):
        assert SCHEMA.provenance == {"public": ("age",), "private": ("member",), "observed": ("work",)}
        assert SCHEMA.observed_columns == ("work",)

    def test_what_is_no_schema_is_refused(self):
        for columns in [{}, None, {"": Boolean()}, {1: Boolean()}, {"a": "boolean"}, {"\ud800": Boolean()}]:
            with pytest.raises(SchemaError):
                Schema(columns)

    def test_odd_names_are_allowed(self):
        names = ["a\nb", "'\"", "select", "Ä", "x" * 10_000, "A", "a"]
        assert list(Schema({n: Boolean() for n in names})) == names

    def test_a_column_without_a_name_is_explained(self):
        with pytest.raises(SchemaError, match=r"row numbers that pandas writes.*index=False"):
            Schema({"": Boolean()})


class TestOthers:
    def test_that_others_are_to_be_found_is_part_of_a_schema(self):
        partial = Schema(SCHEMA.columns, label="people", others="find")

        assert partial != SCHEMA
        assert pickle.loads(pickle.dumps(partial)) == partial
        assert partial.with_column("new", Boolean()).others == "find"
        assert repr(partial) == "Schema(age: numeric, work: categorical, member: boolean, others found)"
        assert Schema.from_json(partial.to_json()) == partial
        assert "others" not in SCHEMA.to_json()

    def test_anything_else_is_refused(self):
        for others in ["observe", True, ["find"], ""]:
            with pytest.raises(SchemaError, match="others must be 'find'"):
                Schema(SCHEMA.columns, others=others)

    def test_a_schema_is_completed_in_the_order_of_the_table(self):
        whole = completed(SCHEMA, ["member", "new", "age", "work"], {"new": Boolean()})

        assert list(whole) == ["member", "new", "age", "work"]
        assert whole.others is None
        assert whole.label == "people"


class TestCheckTable:
    def test_a_fitting_table_passes(self):
        SCHEMA.check_table(stored(age="float", work="text", member="boolean"))

    def test_an_absent_column_is_named_with_a_suggestion(self):
        with pytest.raises(SchemaError, match=r"no column 'work'.*did you mean 'Work'"):
            SCHEMA.check_table(stored(age="integer", Work="text", member="boolean"))

    def test_an_undeclared_column_is_named(self):
        with pytest.raises(SchemaError, match=r"'extra'.*drop it"):
            SCHEMA.check_table(stored(age="integer", work="text", member="boolean", extra="text"))

    def test_an_undeclared_column_is_let_through_if_others_are_to_be_found(self):
        partial = Schema(SCHEMA.columns, others="find")

        partial.check_table(stored(age="integer", work="text", member="boolean", extra="other"))
        with pytest.raises(SchemaError, match=r"others: find"):
            SCHEMA.check_names(["age", "work", "member", "extra"])
        with pytest.raises(SchemaError, match=r"no column 'work'.*did you mean 'wrok'"):
            partial.check_names(["age", "wrok", "member"])
        with pytest.raises(SchemaError, match="'age' is stored as text"):
            partial.check_table(stored(age="text", work="text", member="boolean"))

    def test_every_column_of_the_wrong_kind_is_named_with_the_remedy(self):
        with pytest.raises(
            SchemaError, match=r"'age' is stored as text.*change its kind.*'member' is stored"
        ):
            SCHEMA.check_table(stored(age="text", work="text", member="float"))

    def test_zones_must_be_declared_as_stored(self):
        column = Datetime(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1))
        table = stored(t="datetime")
        Schema({"t": column}).check_table(table)
        with pytest.raises(SchemaError, match="'t' is stored without a time zone"):
            Schema({"t": Datetime(column.lower, column.upper, timezone="UTC")}).check_table(table)


COLUMNS = {
    "person": Identifier(prefix="p"),
    "age": Numeric(0, 99, integer=True),
    "name": Identifier(nullable=True),
}


class TestUnit:
    def test_a_unit_comes_back_from_files_and_copies(self, tmp_path):
        schema = Schema(COLUMNS, unit="person", rows_per_unit=5, others="find")
        for suffix in ("yaml", "json"):
            schema.to_yaml(tmp_path / f"s.{suffix}")
            assert Schema.from_yaml(tmp_path / f"s.{suffix}") == schema
        assert Schema.from_json(schema.to_json()) == schema
        assert pickle.loads(pickle.dumps(schema)) == schema == copy.deepcopy(schema)
        assert "unit: person" in (tmp_path / "s.yaml").read_text()

    def test_a_schema_without_a_unit_is_written_as_before(self):
        assert not {"unit", "rows_per_unit"} & set(SCHEMA.to_json())

    def test_it_tells_schemas_apart(self):
        schemas = {Schema(COLUMNS), *(Schema(COLUMNS, unit="person", rows_per_unit=k) for k in (1, 2))}

        assert len(schemas) == 3

    def test_it_stays_when_columns_change(self):
        schema = Schema(COLUMNS, unit="person", rows_per_unit=5, others="find")
        whole = completed(schema, [*COLUMNS, "x"], {"x": Boolean()})

        assert (whole.unit, whole.rows_per_unit, whole.others) == ("person", 5, None)
        assert schema.with_column("x", Boolean()).rows_per_unit == 5
        assert repr(whole).endswith("at most 5 rows of one person)")

    def test_a_unit_that_makes_no_sense_is_refused_with_the_remedy(self):
        for entries, words in [
            ({"unit": "persn", "rows_per_unit": 3}, "does not declare; did you mean 'person'"),
            ({"unit": "zzz", "rows_per_unit": 3}, "declare this column as {kind: identifier}"),
            ({"unit": "age", "rows_per_unit": 3}, "declared numeric; declare it as {kind: identifier}"),
            ({"unit": "name", "rows_per_unit": 3}, "is nullable; each row must say whom it is about"),
            ({"unit": "person"}, "rows_per_unit is missing"),
            ({"rows_per_unit": 3}, "rows_per_unit needs a unit"),
            ({"unit": 7, "rows_per_unit": 3}, "unit must be the name of a column; got 7"),
            ({"unit": "person", "rows_per_unit": 0}, "rows_per_unit must be an integer from 1 to 10000"),
            ({"unit": "person", "rows_per_unit": 2.5}, "rows_per_unit must be an integer"),
            ({"unit": "person", "rows_per_unit": True}, "rows_per_unit must be an integer"),
            ({"unit": "person", "rows_per_unit": "3"}, "rows_per_unit must be an integer"),
        ]:
            with pytest.raises(SchemaError) as caught:
                Schema(COLUMNS, **entries)
            with pytest.raises(SchemaError) as read:
                Schema.from_json(Schema(COLUMNS).to_json() | entries)

            assert words in str(caught.value)
            assert words in str(read.value)
