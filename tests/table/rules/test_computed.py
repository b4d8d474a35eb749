"""Computed cells take the type, rounding and bounds that their column declares."""

from __future__ import annotations

import datetime as dt

import numpy as np

import syntabula as st
from syntabula import Numeric
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.rules.computed import as_declared


def test_a_computed_value_half_a_step_outside_is_rounded_to_the_bound_and_no_farther():
    column = Numeric(0, 1, decimals=1)
    values = np.array([-0.05, -0.06, 1.04, 1.06])

    found, fits = as_declared(
        column, RawColumn(values, np.zeros(4, np.bool_), PhysicalType("float", "DOUBLE"))
    )

    assert fits.tolist() == [True, False, True, False]
    assert found.values[[0, 2]].tolist() == [0.0, 1.0]


def test_a_computed_clock_time_fits_between_its_bounds_however_it_is_written():
    times = {"time": np.array([8, 12, 18]) * 3_600_000_000, "integer": np.array([800, 1200, 1800])}

    for kind, values in times.items():
        column = st.Time(dt.time(9), dt.time(18), format="1435" if kind == "integer" else None)
        computed = RawColumn(values, np.zeros(3, np.bool_), PhysicalType(kind, kind))

        assert as_declared(column, computed)[1].tolist() == [False, True, True]
