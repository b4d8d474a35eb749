"""Which rows a search learns, and which it scores against."""

from __future__ import annotations

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.tuning.job import tables_of

SCHEMA = st.Schema({"who": st.Identifier(), "x": st.Numeric(0.0, 1.0)}, unit="who", rows_per_unit=5)


def test_validation_rows_are_those_of_other_persons():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": [f"p{i}" for i in rng.integers(0, 30, 200)], "x": rng.random(200)})

    tables = tables_of(frame, None, SCHEMA, None, 0)
    learned, unseen = (set(table.columns["who"].values) for table in (tables.train, tables.validation))

    assert not learned & unseen
    assert learned | unseen == set(frame["who"])
    assert abs(tables.validation.n_rows - 40) < 10
