"""Schema files that a person types: what YAML would read otherwise, and what is no schema."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import syntabula as st
from bad_input.matrix import CANARY_TEXT, case, fit, refuses
from syntabula.errors import SchemaError

HEAD = "version: 1\ncolumns:\n"


def read(folder: Path, text: str | bytes, name: str = "s.yaml") -> st.Schema:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return st.Schema.from_yaml(folder / name)


def refused_label(what: str, written: str, *words: str) -> None:
    @case("schema text", f"a label that is {what}")
    @refuses(SchemaError, "s.yaml", "line 5", "item 2 of 'categories' of 'code'", "quotes", *words)
    def _(folder):
        read(folder, f"{HEAD}  code:\n    kind: categorical\n    categories: [first, {written}]\n")


refused_label("a code with leading zeros", "007", "begins with a zero")
refused_label("a code that no octal number is", "08", "begins with a zero")
refused_label("a hexadecimal number", "0x1F", "another base")
refused_label("an octal number of YAML 1.2", "0o17", "another base")
refused_label("a binary number", "0b11", "another base")
refused_label("a number with digits in groups", "1_000", "underscores")
refused_label("a time of day", "12:30", "time")
refused_label("a duration in base 60", "190:20:30.15", "base 60")
refused_label("a version with a trailing zero", "1.10", "in another form")
refused_label("a number with an exponent", "1e3", "in another form")
refused_label("a number with a plus", "+1", "in another form")
refused_label("minus zero", "-0", "in another form")
refused_label("a fraction without a zero before it", ".5", "in another form")
refused_label("a fraction without digits after the point", "1.", "in another form")
refused_label("a number of more digits than a float has", "1.00000000000000000001", "in another form")
refused_label("an infinite number", ".inf", "infinite")
refused_label("no number", ".nan", "not a number")
refused_label("a truth value with a capital", "True", "lower case")
refused_label("null", "null", "null")
refused_label("a tilde", "~", "null")
refused_label("an equals sign", "=", "special meaning")


def kept_labels(what: str, written: str, labels: Sequence[object]) -> None:
    @case("schema text", f"labels that are {what} lose no row and keep their characters")
    def _(folder):
        text = f"{HEAD}  code: {{kind: categorical, categories: {written}}}\n  x: {{kind: boolean}}\n"
        schema = read(folder, text)
        cells = [str(label).lower() if isinstance(label, bool) else str(label) for label in labels]
        lines = [f"{cell},true" for cell in cells * 40]
        (folder / "t.csv").write_text("\n".join(["code,x", *lines]) + "\n")

        release = fit(folder / "t.csv", schema, budget=st.NO_PRIVACY)
        release.sample_to(folder / "out.csv", 40 * len(cells), seed=1)

        # Without noise each label is there as often as it was; a coercion would have failed the test.
        drawn = pd.read_csv(folder / "out.csv", dtype=str, keep_default_na=False)["code"].value_counts()
        assert drawn.to_dict() == dict.fromkeys(cells, 40)


kept_labels("codes in quotes", "['007', '010', '012']", ["007", "010", "012"])
kept_labels("times in quotes", '["12:30", "13:45"]', ["12:30", "13:45"])
kept_labels("yes and no", "[yes, no, on, off]", ["yes", "no", "on", "off"])
kept_labels("letters for yes and no", "[y, N]", ["y", "N"])
kept_labels("days", "[2024-01-31, 2024-02-29]", ["2024-01-31", "2024-02-29"])
kept_labels("versions", "[1.2.3, 1.10.0]", ["1.2.3", "1.10.0"])
kept_labels("digits of another script", "[١, ٢]", ["١", "٢"])
kept_labels("words that Python takes for numbers", "[nan, inf, None]", ["nan", "inf", "None"])
kept_labels("whole numbers", "[0, 7, -12]", [0, 7, -12])
kept_labels("numbers with a point", "[0.5, 1.25]", [0.5, 1.25])
kept_labels("true and false", "[true, false]", [True, False])


def refused_bound(what: str, lower: str, *words: str) -> None:
    @case("schema text", f"a bound that is {what}")
    @refuses(SchemaError, "s.yaml", "lower", *words)
    def _(folder):
        read(folder, f"{HEAD}  age: {{kind: numeric, lower: {lower}, upper: 2000}}\n")


refused_bound("a number with a leading zero", "010", "line 3", "zero")
refused_bound("a hexadecimal number", "0x10", "line 3", "base")
refused_bound("a number with underscores", "1_000", "line 3", "underscores")
refused_bound("a time", "12:30", "line 3", "time")
refused_bound("minus infinity", "-.inf", "line 3", "finite")
refused_bound("a number beyond floats", "-1e999", "'age'", "finite")
refused_bound("a number of 5,000 digits", "9" * 5000, "line 3", "digits")
refused_bound("text", "'17'", "'age'", "number, not text")
refused_bound("a truth value", "true", "'age'", "number, not a truth value")
refused_bound("nothing", "~", "'age'", "number, not null")
refused_bound("a list", "[1]", "'age'", "number, not a list")
refused_bound("a mapping", "{a: 1}", "'age'", "number, not a mapping")


@case("schema text", "a bound with an exponent is the number")
def _(folder):
    assert read(folder, f"{HEAD}  pay: {{kind: numeric, lower: 0, upper: 1e3}}\n")["pay"].upper == 1000.0


def refused_time(what: str, kind: str, upper: str, *words: str) -> None:
    @case("schema text", f"a {kind} that is {what}")
    @refuses(SchemaError, "s.yaml", "'seen'", "upper", *words)
    def _(folder):
        read(folder, f"{HEAD}  seen: {{kind: {kind}, lower: 2024-01-01, upper: {upper}}}\n")


refused_time("the 30th of February", "date", "2024-02-30", "does not exist", "day or month")
refused_time("the 29th of February of no leap year", "date", "'2023-02-29'", "does not exist")
refused_time("in a month 13", "date", "2024-13-01", "does not exist")
refused_time("not padded", "date", "2024-1-31", "such as 2024-01-31")
refused_time("a time", "date", "2024-01-31T10:00:00", "such as 2024-01-31")
refused_time("a number", "date", "20240131", "such as 2024-01-31")
refused_time("of an hour 25", "datetime", "2024-01-31T25:00:00", "does not exist", "hour")
refused_time("of an offset beyond a day", "datetime", "2024-01-31T10:00:00+99:00", "does not exist", "offset")
refused_time("in words", "datetime", "yesterday", "such as 2024-01-31T10:00:00")


def refused_schema(what: str, text: str | bytes, *words: str, name: str = "s.yaml") -> None:
    @case("schema text", f"a schema {what}")
    @refuses(SchemaError, name, *words)
    def _(folder):
        read(folder, text, name)


BODY = "columns:\n  age: {kind: boolean}\n"
refused_schema("without a version", BODY, "version is missing", "`version: 1`")
refused_schema("of version 0", f"version: 0\n{BODY}", "must be the number 1, not 0")
refused_schema("of version -5", f"version: -5\n{BODY}", "must be the number 1, not -5")
refused_schema("of a later version", f"version: 2\n{BODY}", "must be the number 1, not 2")
refused_schema("whose version is true", f"version: true\n{BODY}", "must be the number 1, not True")
refused_schema("whose version is text", f"version: '1'\n{BODY}", "must be the number 1, not '1'")
refused_schema("whose version has a point", f"version: 1.0\n{BODY}", "must be the number 1, not 1.0")
refused_schema(
    "with an anchor and an alias", f"{HEAD}  a: &x {{kind: boolean}}\n  b: *x\n", "line 3", "anchors"
)
refused_schema(
    "that would grow beyond memory", "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "line 1", "anchors"
)
refused_schema("with a merge key", f"{HEAD}  a: {{<<: {{kind: boolean}}}}\n", "line 3", "merge")
refused_schema("with a tag", f"{HEAD}  a: !!map {{kind: boolean}}\n", "line 3", "tags")
refused_schema(
    "with a column twice", f"{HEAD}  a: {{kind: boolean}}\n  a: {{kind: boolean}}\n", "line 4", "'a'", "twice"
)
refused_schema(
    "with an entry twice", f"{HEAD}  a: {{kind: boolean, kind: date}}\n", "line 3", "'kind'", "twice"
)
refused_schema("of two documents", f"version: 1\n{BODY}---\nversion: 1\n{BODY}", "line 4", "second document")
refused_schema("indented by a tab", "version: 1\ncolumns:\n\tage: {kind: boolean}\n", "line 3")
refused_schema("with a column named by a number", f"{HEAD}  2024: {{kind: boolean}}\n", "2024", "quotes")
refused_schema(
    "with a column named by a code", f"{HEAD}  007: {{kind: boolean}}\n", "line 3", "zero", "quotes"
)
refused_schema("with a column named null", f"{HEAD}  null: {{kind: boolean}}\n", "not text", "quotes")
refused_schema(
    "whose flag is yes",
    f"{HEAD}  a: {{kind: boolean, nullable: yes}}\n",
    "'a'",
    "nullable",
    "true or false",
    "'yes'",
)
refused_schema(
    "whose flag is 1", f"{HEAD}  a: {{kind: boolean, nullable: 1}}\n", "'a'", "nullable", "true or false", "1"
)
refused_schema(
    "whose bins are a float",
    f"{HEAD}  a: {{kind: numeric, lower: 0, upper: 1, bins: 9.0}}\n",
    "'a'",
    "bins",
    "9.0",
)
refused_schema(
    "whose step is misspelt",
    f"{HEAD}  a: {{kind: numeric, lower: 0, upper: 9, steps: 3}}\n",
    "'a'",
    "'steps'",
    "'step'",
)
refused_schema(
    "whose atoms are days in another form",
    f"{HEAD}  a: {{kind: date, lower: 2020-01-01, upper: 2024-12-31, atoms: [31.12.2024]}}\n",
    "'a'",
    "an atom must be a day such as",
)
refused_schema(
    "whose width is a code", f"{HEAD}  a: {{kind: identifier, width: 08}}\n", "line 3", "'width' of 'a'"
)
refused_schema(
    "whose prefix is a number",
    f"{HEAD}  a: {{kind: identifier, prefix: 7}}\n",
    "'a'",
    "prefix must be text",
    "7",
)
refused_schema(
    "whose others are on", f"{HEAD}  a: {{kind: boolean}}\nothers: on\n", "others", "'find'", "'on'"
)
refused_schema("in UTF-16", f"{HEAD}  a: {{kind: boolean}}\n".encode("utf-16"), "UTF-16", "UTF-8")
refused_schema("in UTF-16 without a mark", f"{HEAD}  a: {{kind: boolean}}\n".encode("utf-16-be"), "UTF-16")
refused_schema("in Latin-1", f"{HEAD}  größe: {{kind: boolean}}\n".encode("latin-1"), "line 3", "UTF-8")
refused_schema("with a control character", f"{HEAD}  a\x07: {{kind: boolean}}\n", "character")
refused_schema(
    "of mixed labels",
    f"{HEAD}  a: {{kind: categorical, categories: [{CANARY_TEXT}, 1]}}\n",
    "text, whole numbers",
    "quotes",
)
refused_schema(
    "of labels beyond 64 bits",
    f"{HEAD}  a: {{kind: categorical, categories: [{2**64}, -1]}}\n",
    "64-bit",
    "quotes",
)

JSON_HEAD = '{"version": 1, "columns": {"a": '
refused_schema(
    "in JSON with NaN",
    JSON_HEAD + '{"kind": "numeric", "lower": NaN, "upper": 1}}}',
    "NaN",
    "finite",
    name="s.json",
)
refused_schema(
    "in JSON with an infinite number",
    JSON_HEAD + '{"kind": "numeric", "lower": -Infinity, "upper": 1}}}',
    "-Infinity",
    name="s.json",
)
refused_schema(
    "in JSON with a number beyond floats",
    JSON_HEAD + '{"kind": "numeric", "lower": 0, "upper": 1e999}}}',
    "'a'",
    "finite",
    name="s.json",
)
refused_schema(
    "in JSON with a key twice", '{"version": 1, "version": 1}', "'version'", "twice", name="s.json"
)
refused_schema("in JSON that is cut", JSON_HEAD + '{"kind":\n "boo', "line 2", name="s.json")
refused_schema("in JSON with a comma too many", JSON_HEAD + '{"kind": "boolean"},}}', "line 1", name="s.json")
refused_schema(
    "in JSON without a version", '{"columns": {"a": {"kind": "boolean"}}}', "missing", name="s.json"
)
refused_schema(
    "in JSON in UTF-16", (JSON_HEAD + '{"kind": "boolean"}}}').encode("utf-16"), "UTF-16", name="s.json"
)


@case("schema text", "a schema of numbers of numpy is the same as of Python's")
def _(folder):
    made = st.Schema(
        {
            "age": st.Numeric(np.int64(18), np.float32(90), integer=np.True_, bins=np.uint8(9)),
            "pay": st.Numeric(np.float64(0), np.float16(2), decimals=np.int8(2)),
            "job": st.Categorical(np.array([1, 2, 3]), nullable=np.False_),
            "seen": st.Date(np.datetime64("2024-01-01"), np.datetime64("2024-12-31", "D")),
            "at": st.Datetime(pd.Timestamp("2024-01-01"), np.datetime64("2024-12-31T10:00:00")),
            "who": st.Identifier(prefix=np.str_("p"), width=np.int16(3)),
        }
    )
    made.to_yaml(folder / "s.yaml")

    assert st.Schema.from_yaml(folder / "s.yaml") == made
    assert {type(value) for column in made.columns.values() for value in vars(column).values()} <= {
        *(int, float, bool, str, tuple, type(None)),
        *(type(made["seen"].lower), type(made["at"].lower)),
    }
