from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from syntabula.errors import ArgumentError
from syntabula.metrics import Comparison, compare


@pytest.fixture
def tables() -> Comparison:
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    real = pd.DataFrame({"x": x, "c": np.where(x > 0, "high", "low")})
    return compare(real, real.sample(frac=0.5, random_state=1))


class TestScale:
    def test_bounds_span_both_tables_and_leave_out_missing_cells(self):
        tables = compare(pd.DataFrame({"x": [1.5, None]}), pd.DataFrame({"x": [0.5, 4.5]}))

        assert tables.bounds["x"] == (0.5, 4.5)
        np.testing.assert_array_equal(tables.scaled(tables.real, "x"), [0.25, np.nan])

    def test_a_constant_becomes_zero_and_so_may_a_column_without_values(self):
        frame = pd.DataFrame({"x": [2.5, 2.5], "empty": np.array([np.nan, np.nan])})

        tables = compare(frame, frame)

        assert tables.scaled(tables.real, "x").tolist() == [0.0, 0.0]

    def test_levels_round_to_a_grid_and_code_missing_cells_apart(self):
        tables = compare(pd.DataFrame({"x": [0.0, 0.26, 1.0, None]}), pd.DataFrame({"x": [0.74, 0.76]}))

        real, synthetic = tables.levels("x", 3)

        assert real.tolist() == [0, 1, 2, 3]
        assert synthetic.tolist() == [1, 2]
        assert tables.n_levels("x", 3) == 4

    def test_one_level_is_refused(self, tables):
        with pytest.raises(ArgumentError, match="at least 2"):
            tables.levels("x", 1)


class TestBaselines:
    def test_halves_share_the_rows_of_the_real_table(self, tables):
        half = tables.halves(np.random.default_rng(2))

        joined = np.concatenate([half.real.numbers["x"], half.synthetic.numbers["x"]])
        np.testing.assert_array_equal(np.sort(joined), np.sort(tables.real.numbers["x"]))
        assert half.real.n_rows == 200

    def test_histogram_loses_the_dependence_of_columns_but_not_their_values(self, tables):
        drawn = tables.histogram(np.random.default_rng(3)).synthetic

        assert drawn.n_rows == tables.synthetic.n_rows
        assert set(drawn.numbers["x"]) <= set(tables.real.numbers["x"])
        agree = (drawn.numbers["x"] > 0) == (drawn.codes["c"] == 0)
        assert 0.3 < agree.mean() < 0.7

    def test_itself_is_the_real_table(self, tables):
        assert tables.itself().synthetic is tables.real

    def test_one_row_has_no_halves(self):
        frame = pd.DataFrame({"x": [1.5]})

        with pytest.raises(ArgumentError, match="no halves"):
            compare(frame, frame).halves(np.random.default_rng(0))

    def test_a_holdout_takes_the_place_of_the_real_table(self, tables):
        with pytest.raises(ArgumentError, match="no holdout"):
            tables.against_holdout()

    def test_a_sample_is_of_distinct_rows_and_no_larger_than_the_table(self, tables):
        small = tables.sampled(250, np.random.default_rng(4))

        assert small.real.n_rows == 250
        assert np.unique(small.real.numbers["x"]).size == 250
        assert small.synthetic is tables.synthetic
