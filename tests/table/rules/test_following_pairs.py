"""Columns that follow from two others together, and from neither alone."""

from __future__ import annotations

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.table.draft import draft_with_rules
from syntabula.table.read import read
from syntabula.table.rules.at_work import row_rules

N = 3000


def flights(seed=0):
    rng = np.random.default_rng(seed)
    origin, dest = rng.integers(0, 3, N), rng.integers(0, 12, N)
    miles = rng.choice(np.arange(100, 1000, 50), (3, 12))
    names = np.array([f"A{i}" for i in range(12)])
    return pd.DataFrame(
        {
            "from": names[origin],
            "to": names[dest],
            "miles": miles[origin, dest],
            "zone": np.array(["near", "far", None], dtype=object)[(origin * 5 + dest) % 3],
            "carrier": rng.choice([*"xyz"], N),
        }
    )


def derived(frame):
    rules = draft_with_rules(read(frame))[2]
    return {} if rules is None else dict(rules.derive)


def test_they_are_proposed_and_hold_in_a_release():
    frame = flights()
    schema, _, rules = draft_with_rules(read(frame))
    assert rules is not None
    assert {*rules.derive} == {"miles", "zone"}
    ruled = st.Schema(schema.columns, rules=rules)

    made = st.MST(epsilon=1.0, allow_observed=True, seed=0).fit(frame, ruled).sample(500, seed=0)

    checked = row_rules(ruled)
    assert checked is not None
    assert not any(rows.any() for rows in checked.broken_by(read(made, ruled).columns, 500).values())
    known = frame[["from", "to", "miles"]].drop_duplicates()
    assert len(made.merge(known, on=["from", "to", "miles"])) == 500
    assert made["zone"].isna().any()


def test_one_row_that_differs_takes_it_away():
    frame = flights()
    frame.loc[7, "miles"] += 1

    assert {*derived(frame)} == {"zone"}


def test_chance_and_single_columns_give_none():
    rng = np.random.default_rng(0)
    # Each pair has three rows, so that a rare mark hardly ever contradicts itself.
    frame = pd.DataFrame({"a": rng.integers(0, 30, N), "b": rng.integers(0, 33, N)})
    frame["mark"] = np.where(rng.random(N) < 0.01, "x", "y")
    assert derived(frame) == {}

    frame = flights()[["from", "to"]]
    frame["hub"] = frame["to"].isin(["A1", "A4"]).map({True: "hub", False: "no"})
    assert {*derived(frame)} == {"hub"}
    assert "from" not in derived(frame)["hub"]
