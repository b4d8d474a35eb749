"""Small random tables with public schemas, and the neighbours that privacy tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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


def persons(seed: int) -> tuple[pd.DataFrame, st.Schema]:
    """Draw such a table in which persons have 1 to 8 rows, of which at most three are used."""
    frame, schema = table(seed)
    rng = np.random.default_rng([seed, 1])
    of_person = np.repeat(np.arange(len(frame)), rng.integers(1, 9, len(frame)))[: len(frame)]
    frame["who"] = rng.permutation(np.array([f"person {i}" for i in of_person], dtype=object))
    return frame, replace(schema, unit="who", rows_per_unit=3)


def neighbours_by_person(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield tables without all rows of one person."""
    people = frame["who"].value_counts()
    chosen = {"most rows": people.index[0], "fewest rows": people.index[-1]}
    chosen |= {"first row": frame["who"].iloc[0], "last row": frame["who"].iloc[-1]}
    chosen["extreme value"] = frame["who"].iloc[int(np.nanargmax(frame["income"].fillna(-1).to_numpy()))]
    for name, person in chosen.items():
        yield f"the person with the {name}", frame[frame["who"] != person].reset_index(drop=True)


def with_another_person(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a table with a person more, of more rows than are used, in front of the others and among them."""
    new = pd.concat([frame.iloc[[0]]] * 5).assign(who="somebody else", income=199.0, job="judge")
    yield "a person in front", pd.concat([new, frame], ignore_index=True)
    mixed = pd.concat([frame, new], ignore_index=True)
    order = np.random.default_rng(0).permutation(len(mixed))
    # The rows of the others stay in their order.
    order[np.isin(order, np.arange(len(frame)))] = np.arange(len(frame))
    yield "a person in between", mixed.iloc[order].reset_index(drop=True)


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
