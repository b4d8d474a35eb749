from __future__ import annotations

from dataclasses import replace

import pytest

from syntabula.errors import ArgumentError
from syntabula.metrics import faults
from syntabula.metrics.registry import describe_metric


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
        assert "broke with ValueError at line 14 of metric; repair" in silent


def test_a_class_of_ours_that_cannot_be_called_raises():
    with pytest.raises(TypeError):
        faults.make(replace(OURS, options={"nonsense": 1}))
