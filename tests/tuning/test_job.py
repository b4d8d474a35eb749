"""Which rows a search learns, and which it scores against."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, DataError, SchemaError
from syntabula.tuning.job import check_target, tables_of
from syntabula.tuning.objective import Objective

SCHEMA = st.Schema({"who": st.Identifier(), "x": st.Numeric(0.0, 1.0)}, unit="who", rows_per_unit=5)


def test_validation_rows_are_those_of_other_persons():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": [f"p{i}" for i in rng.integers(0, 30, 200)], "x": rng.random(200)})

    tables = tables_of(frame, None, SCHEMA, None, 0)
    learned, unseen = (set(table.columns["who"].values) for table in (tables.train, tables.validation))

    assert not learned & unseen
    assert learned | unseen == set(frame["who"])
    assert abs(tables.validation.n_rows - 40) < 10


class TestBadTables:
    def test_validation_rows_that_no_score_could_use_are_refused_before_a_fit(self) -> None:
        frame = pd.DataFrame({"who": [f"p{i}" for i in range(20)], "x": np.arange(20.0)})

        with pytest.raises(DataError, match="the validation table has no rows"):
            tables_of(frame, frame[:0], None, None, 0)
        with pytest.raises(SchemaError, match="the validation table lacks column 'x' and has column 'y'"):
            tables_of(frame, frame.rename(columns={"x": "y"}), None, None, 0)

    def test_a_target_of_one_value_is_refused_where_a_metric_predicts_it(self) -> None:
        gaps: list[str | None] = ["yes", None] * 10
        for cells in (["yes"] * 20, gaps, [None] * 20, [3] * 20, [0.5] * 20):
            frame = pd.DataFrame({"bought": cells, "x": np.arange(20.0)})
            tables = tables_of(frame, None, None, "bought", 0)

            with pytest.raises(ArgumentError, match="target 'bought' has a single value"):
                check_target(tables, Objective())
            check_target(tables, Objective(weights={"tvd-2": 1.0}, metrics={}))
            check_target(tables_of(frame, None, None, "x", 0), Objective())
            check_target(tables_of(frame, None, None, None, 0), Objective())
