"""Rules are declared in Python, YAML and JSON alike, and a wrong shape is refused in a sentence."""

from __future__ import annotations

import copy
import pickle

import pytest

from syntabula import Categorical, Numeric, Rules, Schema
from syntabula.errors import SchemaError
from syntabula.table.schema.guide import EXAMPLE, schema_guide

COLUMNS = {
    "part_a": Numeric(0, 10, integer=True),
    "part_b": Numeric(0, 10, integer=True, nullable=True),
    "total": Numeric(0, 20, integer=True, nullable=True),
    "kind": Categorical(["x", "y"], nullable=True),
    "capital-gain": Numeric(0, 9, integer=True),
}
RULES = Rules(
    derive={"total": "part_a + part_b"},
    order=[["capital-gain", "part_a"]],
    require=["not (kind = 'x' and \"capital-gain\" > 5)", "kind <> 'y' or part_a > 1"],
    together=[["part_b", "kind"]],
)
SCHEMA = Schema(COLUMNS, rules=RULES)


class TestRoundTrip:
    @pytest.mark.parametrize("suffix", [".yaml", ".json"])
    def test_a_file_keeps_them(self, tmp_path, suffix):
        path = tmp_path / f"schema{suffix}"

        SCHEMA.to_yaml(path)

        assert Schema.from_yaml(path) == SCHEMA
        assert Schema.from_yaml(path).rules == RULES

    @pytest.mark.thorough
    def test_a_file_as_a_person_writes_it_is_read(self, tmp_path):
        path = tmp_path / "schema.yaml"
        path.write_text(
            "version: 1\n"
            "columns:\n"
            "  a: {kind: numeric, lower: 0, upper: 9, integer: true}\n"
            "  b: {kind: numeric, lower: 0, upper: 9, integer: true}\n"
            "  total: {kind: numeric, lower: 0, upper: 18, integer: true}\n"
            "rules:\n"
            "  derive: {total: a + b}\n"
            "  order: [[a, b]]\n"
            "  require:\n"
            "    - not (a = 1 and b = 2)\n"
        )

        rules = Schema.from_yaml(path).rules

        assert rules == Rules(
            derive={"total": "a + b"}, order=[["a", "b"]], require=["not (a = 1 and b = 2)"]
        )

    def test_copies_are_equal_and_hashable(self):
        for made in (
            copy.deepcopy(SCHEMA),
            pickle.loads(pickle.dumps(SCHEMA)),
            Schema.from_json(SCHEMA.to_json()),
        ):
            assert made == SCHEMA
            assert hash(made) == hash(SCHEMA)
        assert Schema(COLUMNS) != SCHEMA

    def test_a_schema_without_rules_says_nothing_of_them(self):
        assert "rules" not in Schema(COLUMNS).to_json()
        assert Schema(COLUMNS, rules=Rules()) == Schema(COLUMNS)

    @pytest.mark.thorough
    def test_the_guide_shows_them(self, tmp_path):
        path = tmp_path / "guide.yaml"
        path.write_text(EXAMPLE)

        assert Schema.from_yaml(path).rules is not None
        for kind in ("derive", "order", "require", "together"):
            assert f"    {kind} (if not given: none)" in schema_guide()


class TestRefusals:
    def test_a_wrong_shape_is_named(self):
        for document, said in [
            ([], "rules must be a mapping with some of the keys derive, order, require, together"),
            ({"derived": {}}, "unknown key 'derived'; did you mean 'derive'?"),
            ({"derive": ["a"]}, "derive must be a mapping from columns to SQL expressions"),
            ({"derive": {"total": 3}}, "derive for column 'total' must be a text with an SQL expression"),
            ({"derive": {"total": " "}}, "derive for column 'total' is an empty text; write an expression"),
            ({"require": "a = 1"}, "require must be a list of SQL conditions"),
            ({"require": [True]}, "require must hold texts with SQL conditions"),
            ({"require": [" "]}, "require holds an empty text; write a condition"),
            ({"order": ["a", "b"]}, "put each list in brackets of its own"),
            ({"order": [["a"]]}, "each list of order must hold the names of at least two columns"),
            ({"together": [["a", "a"]]}, "a list of together names a column twice"),
            ({"require": ["true"] * 1001}, "rules are more than 1,000"),
        ]:
            with pytest.raises(SchemaError) as refused:
                Rules.from_json(document)

            assert said in str(refused.value)

    def test_only_rules_are_rules(self):
        with pytest.raises(SchemaError, match=r"rules must be a syntabula\.Rules, or left out"):
            Schema(COLUMNS, rules={"derive": {}})
