"""Measurements: what two of one clique say together."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.measurement import Measurement


def test_the_nearer_measurement_counts_more() -> None:
    first = Measurement(("a",), np.array([0.0, 10.0]), 1.0)
    second = Measurement(("a",), np.array([5.0, 10.0]), 2.0)

    together = first.averaged(second)

    assert together.values == pytest.approx([1.0, 10.0])
    assert together.sigma == pytest.approx(np.sqrt(0.8))


def test_measurements_of_different_columns_are_not_averaged() -> None:
    with pytest.raises(ArgumentError, match="cannot be averaged"):
        Measurement(("a",), np.ones(2), 1.0).averaged(Measurement(("b",), np.ones(2), 1.0))
