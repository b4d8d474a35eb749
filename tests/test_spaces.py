from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pytest

from syntabula._spaces import Choice, Range, declared_of, tunable, tunable_part
from syntabula.errors import ArgumentError


class TestRange:
    def test_refuses_what_is_no_range(self):
        for given, what in [
            ({"low": 2, "high": 1}, "swap"),
            ({"low": 0, "high": 1, "log": True}, "above 0"),
            ({"low": math.nan, "high": 1}, "low of a range"),
            ({"low": 0, "high": math.inf}, "high of a range"),
            ({"low": "5", "high": 9}, "low of a range"),
            ({"low": True, "high": 9}, "low of a range"),
            ({"low": 1, "high": 9, "log": 1}, "log of a range"),
        ]:
            with pytest.raises(ArgumentError, match=what):
                Range(**given)

    def test_is_of_whole_numbers_if_both_bounds_are(self):
        assert Range(low=1, high=9).integer
        assert not Range(low=1, high=9.5).integer


class TestChoice:
    def test_refuses_none_and_values_listed_twice(self):
        for values in [(), (1, 1), ([1],), ("a", "b", "a")]:
            with pytest.raises(ArgumentError, match="choice"):
                Choice(values)


class TestDeclared:
    def test_an_option_has_its_default_and_a_part_is_made_anew(self):
        @dataclass(frozen=True, kw_only=True)
        class Part:
            blur: float = tunable(0.1, Range(low=0.0, high=0.5))
            levels: int = 3

        @dataclass(frozen=True, kw_only=True)
        class Method:
            part: Part = tunable_part(lambda: Part(blur=0.2), blur=Choice((0.1, 0.2)), levels=None)

        assert (Part().blur, Part(blur=0.3).blur, replace(Part(blur=0.3), levels=1).blur) == (0.1, 0.3, 0.3)
        assert Method().part == Part(blur=0.2)
        assert Method().part is not Method().part
        assert declared_of(Part) == declared_of(Part()) == {"blur": Range(low=0.0, high=0.5)}
        assert declared_of(Method) == {"part": {"blur": Choice((0.1, 0.2)), "levels": None}}

    def test_a_class_that_declares_an_option_anew_declares_its_values_anew(self):
        @dataclass(frozen=True, kw_only=True)
        class Part:
            blur: float = tunable(0.1, Range(low=0.0, high=0.5))

        @dataclass(frozen=True, kw_only=True)
        class Silent(Part):
            blur: float = 0.2

        assert declared_of(Silent) == {}


def test_plain_values_are_those_of_a_file():
    assert Range(low=1, high=9).plain == {"low": 1, "high": 9}
    assert Range(low=1.0, high=9.0, log=True).plain == {"low": 1.0, "high": 9.0, "log": True}
    assert Choice(("a", None)).plain == ["a", None]


def test_all_values_lie_between_the_ends():
    assert Range(low=1, high=9).ends == (1, 9)
    assert Choice(("a", None)).ends == ("a", None)
