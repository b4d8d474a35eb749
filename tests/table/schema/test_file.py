"""Schema files keep every schema exactly and refuse all else with our own error."""

from __future__ import annotations

import contextlib
import datetime as dt
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntabula.errors import SchemaError
from syntabula.table.schema.columns import Boolean, Categorical, Date, Datetime, Identifier, Numeric
from syntabula.table.schema.schema import Schema

SCHEMA = Schema(
    {
        "age": Numeric(17, 90, integer=True),
        "large": Numeric(2**53 + 1, 2**64 - 1, integer=True, bins=7),
        "income": Numeric(0.0, 1e20, nullable=True),
        "price": Numeric(-0.5, 99.95, decimals=2, provenance="private"),
        "amount": Numeric(0, 50_000, step=100, atoms=[0, 50_000]),
        "rate": Numeric(0, 1, step=0.05, atoms=[]),
        "due": Date(dt.date(2020, 1, 1), dt.date(2024, 12, 31), atoms=[dt.date(2024, 12, 31)]),
        "work": Categorical(("yes", "1", "", "null", "é\n\x00 #:'\""), nullable=True, provenance="observed"),
        "level": Categorical((3, 1, 2), open=True, other_label=-1),
        "share": Categorical((1.0, 0.1)),
        "flag": Categorical((True,)),
        "member": Boolean(),
        "active": Boolean(spelling="1/0"),
        "born": Date(dt.date(1900, 1, 1), dt.date(2020, 12, 31), bins=10),
        "seen": Datetime(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1, 12, 30), resolution="minute"),
        "zoned": Datetime(
            dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2021, 1, 1, tzinfo=dt.UTC), timezone="UTC"
        ),
        "id": Identifier(prefix="p-", width=6),
        "no\nname: {": Boolean(),
    },
    label="all kinds",
)

HEAD = "version: 1\ncolumns:\n"
labels = st.one_of(
    st.lists(st.text(max_size=8), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8, unique=True),
)

keys = st.sampled_from(["version", "columns", "kind", "lower", "a"])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
documents = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
)


class TestRoundTrip:
    @pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
    def test_every_kind_survives_a_file(self, tmp_path, suffix):
        path = tmp_path / f"schema{suffix}"
        SCHEMA.to_yaml(path)
        again = Schema.from_yaml(path)
        assert again == SCHEMA
        assert list(again) == list(SCHEMA)
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
        assert [type(v) for v in again["share"].categories] == [float, float]

    def test_the_dictionary_is_plain_json(self):
        assert Schema.from_json(json.loads(json.dumps(SCHEMA.to_json()))) == SCHEMA

    @pytest.mark.thorough
    @given(labels, st.text(st.characters(codec="utf-8"), min_size=1, max_size=10))
    def test_any_name_and_category_survives(self, tmp_path_factory, categories, name):
        schema = Schema({name: Categorical(tuple(categories))})
        path = tmp_path_factory.mktemp("schema") / "schema.yaml"
        schema.to_yaml(path)
        assert Schema.from_yaml(path) == schema

    @pytest.mark.thorough
    def test_many_categories_survive(self, tmp_path):
        schema = Schema({"code": Categorical(tuple(f"code-{i}" for i in range(100_000)))})
        schema.to_yaml(tmp_path / "schema.yaml")
        assert Schema.from_yaml(tmp_path / "schema.yaml") == schema

    def test_an_observed_schema_is_for_its_owner_alone(self, tmp_path):
        SCHEMA.to_yaml(tmp_path / "schema.yaml")
        assert (tmp_path / "schema.yaml").stat().st_mode & 0o077 == 0

    def test_days_are_read_as_first_moments(self, tmp_path):
        path = tmp_path / "schema.yaml"
        path.write_text(HEAD + "  t: {kind: datetime, lower: 2020-01-01, upper: '2020-01-02'}\n")
        assert Schema.from_yaml(path)["t"].upper == dt.datetime(2020, 1, 2)

    def test_yes_and_no_are_words_and_true_and_false_are_not(self, tmp_path):
        path = tmp_path / "s.yaml"
        path.write_text(
            "version: 1\ncolumns:\n"
            "  smoker: {kind: categorical, categories: [yes, no, on, trueish]}\n"
            "  member: {kind: categorical, categories: [true, false], nullable: True}\n"
        )

        schema = Schema.from_yaml(path)

        assert schema["smoker"] == Categorical(("yes", "no", "on", "trueish"))
        assert schema["member"] == Categorical((True, False), nullable=True)

    def test_a_misspelt_kind_gets_the_nearest_one(self):
        with pytest.raises(SchemaError, match=r"column 'x': kind must be .*; did you mean 'numeric'"):
            Schema.from_json({"version": 1, "columns": {"x": {"kind": "number"}}})


class TestRefusals:
    def test_mistakes_are_told_with_the_column(self, tmp_path):
        cases = [
            ("  age: {kind: numerc, lower: 1, upper: 2}", "'age'.*kind must be one of numeric"),
            ("  age: {kind: numeric, lower: 1}", r"'age'.*upper"),
            ("  age: {kind: numeric, lower: one, upper: 2}", "'age': lower must be a number, not text"),
            (
                "  age: {kind: numeric, lower: .nan, upper: 2}",
                "line 3: 'lower' of 'age' is infinite or not a number",
            ),
            ("  age: {kind: numeric, lower: 3, upper: 2}", "'age'.*swap"),
            ("  age: {kind: numeric, lower: 1, uper: 2}", "'age'.*did you mean 'upper'"),
            ("  age: {kind: categorical, categories: []}", "'age'.*categories"),
            (
                "  age: {kind: categorical, categories: [[a]]}",
                "'age': category number 1 must be text, .*, not a list",
            ),
            ("  age: {kind: boolean, provenance: guessed}", "'age'"),
            ("  age: {kind: boolean, spelling: ja/nein}", "'age'.*spelling must be one of true/false"),
            ("  age: 3", "'age' must be a mapping"),
            ("  1: {kind: boolean}", "quotes"),
            ("  a: {kind: boolean}\n  a: {kind: boolean}", "'a' is given twice"),
            ("  a: &x {kind: boolean}\n  b: *x", "anchors"),
            ("  a: !!python/object:os.system {kind: boolean}", "tags"),
            ("  a: " + "[" * 20 + "]" * 20, "nested"),
            (
                "  a: {kind: date, lower: 2020-13-45, upper: 2021-01-01}",
                "'a': lower does not exist in the calendar",
            ),
            ("  a: {kind: [boolean]}", "kind"),
            (
                "  a: {kind: numeric, lower: 0, upper: " + "9" * 5000 + "}",
                "line 3: 'upper' of 'a' has too many digits",
            ),
            ("  ? [a]\n  : {kind: boolean}", "line 3: a name must be text"),
            ("  a: {", "line"),
            ("  a: {kind: boolean}\nweights: unit", "'weights', which is not offered: .*rows_per_unit: 1"),
            ("  a: {kind: boolean}\nper_unit: [a]", "'per_unit', which is not offered: .*one row per unit"),
        ]
        for body, message in cases:
            path = tmp_path / "schema.yaml"
            path.write_text(HEAD + body + "\n")
            with pytest.raises(SchemaError, match=message):
                Schema.from_yaml(path)

    def test_files_that_hold_no_schema_are_refused(self, tmp_path):
        cases = [
            "",
            "3",
            "[]",
            "version: 2\ncolumns: {}",
            "version: 1",
            "version: 1\nextra: 2",
            "\x00",
            "version: true\ncolumns: {a: {kind: boolean}}",
        ]
        for text in cases:
            path = tmp_path / "schema.yaml"
            path.write_text(text)
            with pytest.raises(SchemaError):
                Schema.from_yaml(path)

    def test_json_that_holds_no_schema_is_refused(self, tmp_path):
        for text in ["", "[" * 100_000, '{"version": 1, "version": 1}', "{]", '{"version": NaN}']:
            path = tmp_path / "schema.json"
            path.write_text(text)
            with pytest.raises(SchemaError):
                Schema.from_yaml(path)

    def test_large_absent_and_other_files_are_refused(self, tmp_path):
        large = tmp_path / "large.yaml"
        large.write_text("#" * 10_000_001)
        for path, message in [
            (large, "larger"),
            (tmp_path / "absent.yaml", "cannot be read"),
            ("a.toml", "end in"),
        ]:
            with pytest.raises(SchemaError, match=message):
                Schema.from_yaml(path)

    def test_deep_nesting_does_not_exhaust_the_stack(self, tmp_path):
        path = tmp_path / "schema.yaml"
        path.write_text("[" * 1_000_000)
        with pytest.raises(SchemaError, match="nested"):
            Schema.from_yaml(path)

    @pytest.mark.thorough
    @settings(max_examples=200)
    @given(documents)
    def test_any_document_is_a_schema_or_our_error(self, document):
        with contextlib.suppress(SchemaError):
            assert isinstance(Schema.from_json(document), Schema)
