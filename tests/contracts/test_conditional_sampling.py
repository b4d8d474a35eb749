"""Every registered method samples under conditions and completes given rows."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from corners import MODEL_OF_ANOTHER, QUICK_METHODS, thorough_but
from small_settings import METHODS, epsilon_of, small_parts

import syntabula as st

N = 500

SCHEMA = st.Schema(
    {
        "age": st.Numeric(18, 65, integer=True, nullable=True, bins=6),
        "pay": st.Numeric(0, 99, decimals=2, bins=5),
        "job": st.Categorical(("cook", "judge", "nurse"), nullable=True, open=True),
        "member": st.Boolean(nullable=True),
        "day": st.Datetime(dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31), resolution="hour", bins=4),
        "id": st.Identifier(prefix="x"),
    }
)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    job = rng.choice(["cook", "judge", "nurse", "other"], N, p=[0.5, 0.3, 0.15, 0.05]).astype(object)
    frame = pd.DataFrame(
        {
            "age": pd.array(np.clip(rng.normal(35, 9, N), 18, 65).astype(int), dtype="Int64"),
            "pay": np.round(rng.uniform(0, 99, N), 2),
            "job": job,
            "member": pd.array(rng.random(N) < np.where(job == "cook", 0.8, 0.3), dtype="boolean"),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 8760, N), unit="h"),
            "id": [f"person {i}" for i in range(N)],
        }
    )
    for name in ("age", "job", "member"):
        frame.loc[rng.random(N) < 0.2, name] = None
    return frame


@pytest.mark.parametrize(
    "method",
    thorough_but(QUICK_METHODS, [m for m in METHODS if m not in MODEL_OF_ANOTHER]),
)
# Records of a model may be few, or none may be like a given row; both are said.
@pytest.mark.filterwarnings("ignore::syntabula.errors.ConditionWarning")
def test_rows_satisfy_conditions_and_given_values_stay(method: str) -> None:
    options = {
        "epsilon": epsilon_of(method, 5.0),
        "seed": 1,
        "preprocessing": st.Preprocessing(discretizer="uniform"),
    }
    release = st.synthesizer(method)(**options, **small_parts(method)).fit(table(), SCHEMA)
    given = table().iloc[:40][["age", "job", "day", "id"]]

    made = release.sample(
        60,
        where={
            "age": [(20, 33), 40, None],
            "pay": (10.5, 70.25),
            "job": ["cook", "judge", None],
            "day": ("2020-02-10", dt.datetime(2020, 11, 30, 7)),
        },
        seed=0,
    )
    completed = release.sample(given=given, seed=0)

    assert len(made) == 60
    assert made.dtypes.equals(table().dtypes)
    assert (made["age"].between(20, 33) | (made["age"] == 40) | made["age"].isna()).all()
    assert made["pay"].between(10.5, 70.25).all()
    assert (made["job"].isin(["cook", "judge"]) | made["job"].isna()).all()
    assert made["day"].between("2020-02-10", "2020-11-30 07:00").all()
    assert completed.dtypes.equals(table().dtypes)
    pd.testing.assert_frame_equal(completed[list(given)], given)
    assert not completed["pay"].isna().any()
