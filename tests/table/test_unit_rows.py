"""Splits that keep all rows of a unit together."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import DataError, SchemaError, SplitWarning
from syntabula.table.read import read
from syntabula.table.unit_rows import chosen_units, parted, shuffled, units_of_rows, warn_of_shared_units

SCHEMA = st.Schema({"who": st.Identifier(), "x": st.Numeric(0, 9)}, unit="who", rows_per_unit=2)
UNITS = np.random.default_rng(0).integers(0, 40, 300)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class TestParted:
    def test_no_unit_is_on_both_sides_and_every_row_is_on_one(self):
        for seed in range(20):
            first, rest = parted(75, 300, UNITS, rng(seed))

            assert not set(UNITS[first]) & set(UNITS[rest])
            assert sorted([*first, *rest]) == [*range(300)]
            # Cut at the border of units that is nearest.
            assert abs(first.size - 75) <= np.bincount(UNITS).max() / 2

    def test_parts_are_never_empty(self):
        units = np.array([0, 0, 0, 0, 1])

        for n_first in (0, 1, 4, 5):
            assert all(part.size for part in parted(n_first, 5, units, rng()))

    def test_rows_that_are_their_own_units_are_split_at_the_number(self):
        first, rest = parted(3, 10, None, rng())

        assert first.size == 3
        assert [*first, *rest] == [*rng().permutation(10)]

    def test_one_unit_cannot_be_split(self):
        with pytest.raises(DataError, match="all rows are of one unit"):
            parted(2, 4, np.zeros(4, np.intp), rng())


class TestShuffled:
    def test_rows_of_a_unit_stand_together(self):
        rows = shuffled(300, UNITS, rng())

        assert sorted(rows) == [*range(300)]
        assert np.count_nonzero(np.diff(UNITS[rows])) == np.unique(UNITS).size - 1


def test_chosen_units_have_all_of_their_given_rows():
    rows = np.flatnonzero(UNITS != 3)

    chosen = chosen_units(7, rows, UNITS, rng())

    assert np.unique(UNITS[chosen]).size == 7
    assert [*chosen] == [row for row in rows if UNITS[row] in UNITS[chosen]]


class TestUnits:
    def test_keys_that_are_equal_in_a_file_are_one_unit(self):
        frame = pd.DataFrame({"who": ["b", "a", "b"], "x": [1.0, 2.0, 3.0]})

        units = units_of_rows(read(frame), SCHEMA)

        assert units is not None
        assert units[0] == units[2] != units[1]
        assert units_of_rows(read(frame), None) is None

    def test_a_table_without_the_column_is_refused(self):
        with pytest.raises(SchemaError, match="'who', which names the unit, is missing"):
            units_of_rows(read(pd.DataFrame({"x": [1.0]})), SCHEMA)

    def test_units_in_both_tables_are_warned_of(self):
        tables = {
            name: read(pd.DataFrame({"who": [*who], "x": 1.0})) for name, who in [("a", "pqr"), ("b", "rs")]
        }

        with pytest.warns(SplitWarning, match="units of 'who' have rows in the a table and in the b table"):
            warn_of_shared_units(tables, SCHEMA)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_of_shared_units({**tables, "b": read(pd.DataFrame({"who": ["s"], "x": 1.0}))}, SCHEMA)
            warn_of_shared_units(tables, None)
