"""YAML of which nothing is read as another thing than was typed."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from syntabula.errors import SchemaError
from syntabula.table.schema.plain_yaml import read_yaml, write_yaml

LABELS = ("categories", "other_label")

# What versions of YAML read in different ways.
AMBIGUOUS = {
    "begins with a zero": ["007", "010", "08", "-012", "00", "01.5", "0_1"],
    "another base": ["0x1F", "0X1f", "0o17", "0b11", "-0x10"],
    "time or a number in base 60": ["12:30", "1:30:00", "1:30.5", "190:20:30.15", "00:30", "-1:30"],
    "underscores between digits": ["1_000", "1_000.5", "685_230.15", "1_0e3", ".5_0"],
    "infinite or not a number": [".inf", "-.INF", "+.Inf", ".nan", ".NaN"],
    "a special meaning": ["=", "<<"],
}
# Numbers, truth values and nothing, of which the characters would not be kept.
NOT_KEPT = ["1.10", "2.50", "+1", "-0", ".5", "1.", "1e3", "1E5", "1.0e+3", "1.00000000000000000001", "1e999"]
NOT_KEPT += ["True", "TRUE", "False", "FALSE", "null", "Null", "NULL", "~", ""]
TEXTS = ["yes", "no", "on", "off", "y", "N", "Yes", "tRUE", "NaN", "nan", "inf", "Infinity", "1.2.3", "v1"]
TEXTS += ["2024-01-01", "2024-01-01 10:30", "2001-12-14t21:59:43.10-05:00", "1 000", "١٢", "1/0", "-x"]
KEPT = {"0": 0, "-7": -7, "42": 42, "1.1": 1.1, "-0.5": -0.5, "1.0e-05": 1e-5, "1.0e+16": 1e16}
KEPT |= {"true": True, "false": False}


def listed(written: str) -> str:
    return f"kind: categorical\ncategories:\n- first\n- {written}\n"


class TestLabels:
    def test_that_could_be_a_number_are_refused_with_their_line_and_not_their_text(self):
        for odd, written in [(odd, w) for odd, every in AMBIGUOUS.items() for w in every]:
            with pytest.raises(
                SchemaError, match=f"line 4: item 2 of 'categories' .*{odd}.*; put it in quotes"
            ) as caught:
                read_yaml(listed(written), LABELS)

            assert (
                written
                not in str(caught.value).replace("base 60", "").replace("YAML 1.1", "").split("; ")[0][8:]
            )

    def test_that_would_be_written_otherwise_are_refused(self):
        for written in NOT_KEPT:
            with pytest.raises(
                SchemaError, match=r"line 4: item 2 of 'categories' is .*put it in quotes if it is text"
            ):
                read_yaml(listed(written), LABELS)
            with pytest.raises(SchemaError, match="line 1: 'other_label' of 'job' is"):
                read_yaml(f"job: {{open: true, other_label: {written}}}", LABELS)

    def test_that_are_words_are_the_text_that_is_typed(self):
        for written in TEXTS:
            assert read_yaml(listed(written), LABELS)["categories"][1] == written

    def test_that_are_numbers_and_truth_values_in_their_own_form_are_these(self):
        for written in list(KEPT):
            value = read_yaml(listed(written), LABELS)["categories"][1]

            assert (type(value), value) == (type(KEPT[written]), KEPT[written])

    def test_in_quotes_are_any_text(self):
        for written in [w for every in AMBIGUOUS.values() for w in every] + NOT_KEPT:
            for quoted in (f"'{written}'", f'"{written}"'):
                assert read_yaml(listed(quoted), LABELS)["categories"][1] == written

    @given(st.text("0123456789+-._:eExXoObBaAfFiInNtTrRuUlLsSyYkK~=< ", min_size=1, max_size=8))
    @example("0x1_F")
    @example("1:60")
    def test_are_never_changed_in_silence(self, written):
        if written != written.strip() or ": " in written or written.startswith("- "):
            return
        try:
            value = read_yaml(f"categories:\n- {written}\n", LABELS)["categories"][0]
        except SchemaError:
            return

        if isinstance(value, str):
            assert value == written
        elif not isinstance(value, list | dict):
            # As this library and other readers of YAML write it.
            assert yaml.safe_dump([value]) == f"- {written}\n"


class TestValues:
    def test_that_are_no_labels_may_be_written_as_numbers_are(self):
        for written, value in [
            ("1e3", 1000.0),
            ("1.50", 1.5),
            (".5", 0.5),
            ("+5", 5),
            ("True", True),
            ("null", None),
            ("~", None),
        ]:
            assert read_yaml(f"lower: {written}", LABELS) == {"lower": value}

    def test_that_are_ambiguous_are_refused_everywhere(self):
        for written in [w for every in AMBIGUOUS.values() for w in every]:
            with pytest.raises(SchemaError, match=r"line 2: 'lower' of 'age' .*quotes"):
                read_yaml(f"age:\n  lower: {written}\n", LABELS)

    def test_of_too_many_digits_are_refused(self):
        with pytest.raises(SchemaError, match="'upper' has too many digits"):
            read_yaml("upper: " + "9" * 5000)

    def test_too_large_for_a_float_are_refused_and_not_infinite(self):
        for written in ["1e400", "-1.0e+999", "9" * 400 + ".0"]:
            with pytest.raises(SchemaError, match="line 1: 'upper' is too large for a number"):
                read_yaml(f"upper: {written}")

    def test_of_integers_may_be_beyond_floats(self):
        assert read_yaml("upper: " + "9" * 400) == {"upper": 10**400 - 1}


class TestFeatures:
    def test_that_surprise_are_refused_by_line(self):
        cases = [
            ("a: &x 1\nb: *x", "line 1: anchors and aliases"),
            ("a: 1\nb: *x", "line 2: anchors and aliases"),
            ("a: &x [b, b]\nc: &y [*x, *x]\nd: [*y, *y]", "line 1: anchors and aliases"),
            ("a: !!str 007", "line 1: tags"),
            ("a: ! 007", "line 1: tags"),
            ("a: !!python/object/apply:os.abort []", "line 1: tags"),
            ("a:\n  <<: {b: 1}", "line 2: merge keys"),
            ("<<: {b: 1}", "line 1: merge keys"),
            ("a: 1\nb: 2\na: 3", "line 3: 'a' is given twice"),
            ("1: a\n1: b", "line 2: 1 is given twice"),
            ("? [a]\n: 1", "line 1: a name must be text"),
            ("? {a: 1}\n: 1", "line 1: a name must be text"),
            ("007: a", "line 1: a name begins with a zero"),
            ("a: 1\n---\nb: 1", "line 2 begins a second document"),
            ("[" * 9 + "]" * 9, "line 1: values are nested more than 8 deep"),
            ("a: [1, {", "not valid YAML in line 2"),
            ("a:\n\tb: 1", "not valid YAML in line 2"),
            ("a: \x07", "not valid YAML"),
        ]
        for text, message in cases:
            with pytest.raises(SchemaError, match=message):
                read_yaml(text)

    def test_an_empty_document_is_nothing(self):
        assert read_yaml("") is None
        assert read_yaml("# nothing\n") is None


class TestWriting:
    scalars = st.one_of(
        st.text(st.characters(codec="utf-8"), max_size=10),
        st.text("0123456789+-._:eExob~=<", max_size=8),
        st.integers(-(2**63), 2**64),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
    )

    @given(st.lists(scalars, max_size=5))
    @example(["1e3", "08", "0o17", "1_000", "12:30", "~", "", "=", "<<", "yes", "2024-01-01", ".inf", "0x1F"])
    def test_reads_back_as_it_was_here_and_by_other_readers(self, values):
        text = write_yaml({"categories": values})

        for document in (read_yaml(text, LABELS), yaml.safe_load(text)):
            found = document["categories"]
            assert [(type(v), v) for v in found] == [(type(v), v) for v in values]
