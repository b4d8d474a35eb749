from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.metrics import faults
from syntabula.metrics.registry import describe_metric
from syntabula.metrics.score import Score


def raising(error: Exception):
    def metric(tables, rng):
        raise error

    return metric


OURS = describe_metric("tvd-1")
THEIRS = replace(OURS, key="mine", home="elsewhere:Mine")


class TestCompute:
    def test_an_error_of_our_own_metric_is_raised(self):
        with pytest.raises(ArgumentError, match="planted"):
            faults.compute(OURS, raising(ArgumentError("planted")), None, None)

    def test_a_plug_in_without_memory_ends_the_evaluation(self):
        with pytest.raises(MemoryError):
            faults.compute(THEIRS, raising(MemoryError()), None, None)

    def test_our_errors_are_quoted_and_those_of_others_are_not(self):
        quoted = faults.compute(THEIRS, raising(ArgumentError("planted")), None, None)
        silent = faults.compute(THEIRS, raising(ValueError("cell")), None, None)

        assert "'elsewhere:Mine' broke with ArgumentError (planted); repair" in quoted
        assert "broke with ValueError at line 18 of metric; repair" in silent


@dataclass(frozen=True)
class Returning:
    """A metric that returns what it is given."""

    found: object
    key: ClassVar[str] = "mine"

    def __call__(self, tables, rng):
        return self.found


class TestWhatIsReturned:
    def test_a_score_that_fits_its_class_comes_back(self):
        for value in (0.5, 1, np.float32(0.5), np.int64(2)):
            score = Score(metric="mine", value=value, direction=THEIRS.direction)

            assert faults.compute(THEIRS, Returning(score), None, None) is score

    def test_no_value_needs_a_reason(self):
        score = Score(metric="mine", value=math.nan, direction=THEIRS.direction, note="one column alone")

        assert faults.compute(THEIRS, Returning(score), None, None) is score
        assert "no number, and no `note` that says why" in faults.compute(
            THEIRS, Returning(replace(score, note="")), None, None
        )

    def test_what_does_not_fit_is_said_in_a_sentence(self):
        right = Score(metric="mine", value=0.5, direction=THEIRS.direction)
        other = "higher" if THEIRS.direction == "lower" else "lower"
        for found, why in [
            (None, "an object of type NoneType instead of a Score"),
            (replace(right, value="much"), "whose value is an object of type str instead of a number"),
            (replace(right, value=None), "whose value is an object of type NoneType instead of a number"),
            (
                replace(right, metric="yours"),
                r"the Score of another metric; write Score(metric=self.key, ...)",
            ),
            (
                replace(right, direction=other),
                f"of another direction than its class states, which is {THEIRS.direction!r}",
            ),
        ]:
            sentence = faults.compute(THEIRS, Returning(found), None, None)

            assert why in sentence
            assert sentence.endswith("repair the plug-in, or leave the metric out")


def test_a_class_of_ours_that_cannot_be_called_raises():
    with pytest.raises(TypeError):
        faults.make(replace(OURS, options={"nonsense": 1}))
