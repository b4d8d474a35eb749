"""Small random tables with public schemas, and the neighbours that privacy tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import numpy as np
import pandas as pd

import syntabula as st

CITIES = tuple(f"city {i}" for i in range(120))


def table(seed: int) -> tuple[pd.DataFrame, st.Schema]:
    """Draw a table of 1 to 200 rows with numbers, categories, booleans, dates and missing cells."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200)) if seed % 5 else int(rng.integers(1, 5))
    job = rng.choice(["cook", "nurse", "judge"], n, p=[0.6, 0.39, 0.01]).astype(object)
    job[rng.random(n) < 0.1] = None
    income = np.round(rng.lognormal(3, 1, n), 2)
    income[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame(
        {
            "age": rng.integers(-5, 130, n),  # partly outside the bounds
            "income": income,
            "job": job,
            "city": rng.choice(np.array([*CITIES, "nowhere"], dtype=object), n),
            "member": rng.random(n) < 0.5,
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "who": [f"person {i}" for i in range(n)],
        }
    )
    schema = st.Schema(
        {
            "age": st.Numeric(0, 120, integer=True),
            "income": st.Numeric(0.0, 200.0, decimals=2, nullable=True),
            "job": st.Categorical(("cook", "nurse", "judge"), nullable=True),
            "city": st.Categorical(CITIES, open=True),
            "member": st.Boolean(),
            "joined": st.Datetime(datetime(2020, 1, 1), datetime(2022, 12, 31), resolution="day"),
            "who": st.Identifier(prefix="p"),
        }
    )
    return frame, schema


def neighbours(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield up to six tables with one record fewer."""
    n = len(frame)
    rare_job = frame["job"].map(frame["job"].value_counts(dropna=False)).fillna(frame["job"].isna().sum())
    choices = {
        "first": 0,
        "last": n - 1,
        "only holder of a category": int(np.argmin(rare_job.to_numpy())),
        "extreme value": int(np.nanargmax(frame["income"].fillna(-1).to_numpy())),
        "a row with missing cells": int(np.argmax(frame.isna().any(axis=1).to_numpy())),
    }
    for name, position in choices.items():
        yield name, frame.drop(index=frame.index[position]).reset_index(drop=True)
    if n == 1:
        yield "the only row", frame.iloc[:0].copy()


def retyped(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a table with one record more, whose cells make other stored types of the columns."""
    odd = {
        "age": None,
        "income": "much",
        "job": 7,
        "city": True,
        "member": None,
        "joined": "someday",
        "who": 5,
    }
    records = [*frame.astype(object).to_dict("records"), odd]
    yield "a record of other types", pd.DataFrame.from_records(records, columns=[*frame]).infer_objects()
