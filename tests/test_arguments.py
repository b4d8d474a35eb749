"""Rules of arguments: what they return, and how they refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from syntabula._arguments import (
    count,
    even,
    flag,
    names,
    near,
    normalise,
    not_negative,
    one_of,
    path,
    positive,
    shown,
)
from syntabula._arguments import share as budget_share
from syntabula.errors import ArgumentError

NO_NUMBERS = [True, False, np.True_, math.nan, np.nan, Decimal("NaN"), Decimal("sNaN"), "3", b"3", None, 3j]
NO_NUMBERS += [[3], (3,), {}, object(), np.array([3]), np.array(3), np.str_("3"), np.datetime64("2024-01-01")]


def same(value: object, expected: object) -> bool:
    return type(value) is type(expected) and value == expected


class TestNumbers:
    def test_integers_of_numpy_become_pythons_own(self):
        for three in [3, np.int8(3), np.uint64(3)]:
            assert same(count(1, 3)("n", three), 3)
            assert same(even(2)("n", np.int16(4)), 4)

    def test_real_numbers_of_any_type_become_floats_and_shares_exact(self):
        for half in [0.5, np.float16(0.5), np.float32(0.5), Fraction(1, 2), Decimal("0.5")]:
            assert same(positive("x", half), 0.5)
            assert same(budget_share("x", half), Fraction(1, 2))

    def test_a_decimal_share_keeps_all_its_digits(self):
        assert budget_share("x", Decimal("0.1")) == Fraction(1, 10)

    def test_what_is_no_number_is_refused_by_name(self):
        for value in NO_NUMBERS:
            for rule in [count(0), even(0), positive, not_negative, budget_share]:
                with pytest.raises(ArgumentError, match=r"^size must be .*; got ."):
                    rule("size", value)

    def test_a_count_is_an_integer_within_its_limits(self):
        for value in [3.0, Fraction(3), Decimal(3), -1, 10**400]:
            with pytest.raises(ArgumentError, match="size must be an integer from 0 to 9; got"):
                count(0, 9)("size", value)

    def test_a_positive_number_is_finite(self):
        for value in [0, -1.0, math.inf, Fraction(10**400), Decimal("1e400")]:
            with pytest.raises(ArgumentError, match="size must be a finite number above 0; got"):
                positive("size", value)

    def test_a_share_is_a_part(self):
        for value in [0, 1, -0.5, math.inf, Fraction(3, 2)]:
            with pytest.raises(
                ArgumentError, match="size must be a fraction of the budget, above 0 and below 1"
            ):
                budget_share("size", value)


class TestOthers:
    def test_only_truth_values_are_flags(self):
        for value in [0, "yes", None, [], np.array([True])]:
            with pytest.raises(ArgumentError, match="safe must be True or False; got"):
                flag("safe", value)

            assert same(flag("safe", np.True_), True)

    def test_one_of_a_few_keeps_texts_and_truth_values_apart(self):
        rule = one_of("auto", True, None)

        assert rule("mode", np.str_("auto")) == "auto"
        assert rule("mode", np.True_) is True
        assert rule("mode", None) is None
        for value in (1, "True", "Auto", False, np.array([1, 2])):
            with pytest.raises(ArgumentError, match="mode must be one of 'auto', True, None; got"):
                rule("mode", value)

    def test_paths_are_texts_or_paths_and_nothing_else(self):
        assert path("file", "a.csv") == "a.csv"
        assert path("file", Path("a.csv")) == Path("a.csv")
        for value in (5, b"a.csv", "", "a\0b", None, True, ["a.csv"]):
            with pytest.raises(ArgumentError, match="file must be the path of a file; got"):
                path("file", value)

    def test_a_single_name_is_no_list_of_names(self):
        assert names("columns", ["a", "b"]) == ("a", "b")
        for value in ("ab", [1], None, {"a": 1}, b"ab"):
            with pytest.raises(ArgumentError, match="columns must be a list of names; got"):
                names("columns", value)

    def test_what_else_is_allowed_is_said(self):
        with pytest.raises(ArgumentError, match="n must be an integer of at least 1, or None; got 0"):
            count().or_none("n", 0)
        with pytest.raises(ArgumentError, match="n must be an integer of at least 1, or 'auto'; got 'Auto'"):
            count().or_word("auto")("n", "Auto")


class TestFields:
    def test_are_kept_as_their_rules_return_them(self):
        @dataclass(frozen=True)
        class Options:
            size: int
            part: float

            def __post_init__(self) -> None:
                normalise(self, size=count(), part=budget_share)

        made = Options(np.int64(3), Decimal("0.25"))

        assert same(made.size, 3)
        assert same(made.part, Fraction(1, 4))


class TestWhatWasGiven:
    def test_is_shown_briefly(self):
        assert shown(np.float64(0.5)) == "0.5"
        assert shown(None) == "None"
        assert shown("x" * 1000) == "'" + "x" * 59 + "..."
        assert shown(10**5000) == "an integer of thousands of digits"

    def test_shows_no_cell_of_a_table(self):
        table = pd.DataFrame({"name": ["zebra-canary-7731"]})

        for value in (
            table,
            table["name"],
            table["name"].to_numpy(),
            table["name"].tolist(),
            table.to_dict(),
        ):
            assert "zebra" not in shown(value)
            assert shown(value) == f"a value of type {type(value).__name__}"


class TestNearNames:
    def test_the_likeliest_are_suggested_also_if_only_capitals_differ(self):
        assert near("incom", ["age", "income"]) == "; did you mean 'income'?"
        assert near("AGE", ["age", "income"]) == "; did you mean 'age'?"
        assert near("c", ["c1", "c2", "c3"], 2) == "; did you mean 'c3', 'c2'?"
        assert near("weight", ["age", "income"]) == ""
