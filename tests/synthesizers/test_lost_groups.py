"""A rule that few rows of a group satisfy by chance removes the group, and a warning says so."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import RuleWarning
from syntabula.synthesizers.lost_groups import Groups
from syntabula.table.raw import PhysicalType, RawColumn

COLUMNS = {"dead": st.Boolean(), "day": st.Numeric(0, 99, integer=True, nullable=True)}


def rows(dead: list[bool]) -> dict[str, RawColumn]:
    flags = np.array(dead)
    return {
        "dead": RawColumn(flags, np.zeros(flags.size, np.bool_), PhysicalType("boolean", "bool")),
        "day": RawColumn(np.zeros(flags.size, np.int64), ~flags, PhysicalType("integer", "int64")),
    }


class TestGroups:
    def test_a_group_that_is_mostly_discarded_is_named_by_its_columns(self) -> None:
        dead = [True] * 100 + [False] * 900
        groups = Groups.of(COLUMNS, COLUMNS)

        groups.add(rows(dead), np.array([i >= 60 for i in range(1000)]))

        assert groups.lost() == ["dead", "day"]

    def test_rows_that_are_discarded_from_all_groups_alike_lose_none(self) -> None:
        dead = [True] * 100 + [False] * 900
        groups = Groups.of(COLUMNS, COLUMNS)

        groups.add(rows(dead), np.arange(1000) % 10 == 0)

        assert not groups.lost()

    def test_groups_that_may_be_noise_do_not_count(self) -> None:
        groups = Groups.of(COLUMNS, COLUMNS)

        groups.add(rows([True] * 99 + [False] * 900), np.arange(999) >= 99)

        assert not groups.lost()

    def test_columns_without_groups_are_left_out(self) -> None:
        many = st.Categorical([f"c{i}" for i in range(1001)])
        columns = COLUMNS | {"many": many, "pay": st.Numeric(0, 1), "one": st.Categorical(["x"])}

        assert [*Groups.of(columns, columns).columns] == ["dead", "day"]


@pytest.mark.thorough
def test_a_conditional_equality_warns_and_its_derivation_keeps_the_group() -> None:
    rng = np.random.default_rng(0)
    left = rng.integers(0, 1000, 5000)
    dead = rng.random(5000) < 0.05
    frame = pd.DataFrame({"left": left, "dead": dead, "died": pd.array(left, "Int64")})
    frame.loc[~dead, "died"] = pd.NA
    number = st.Numeric(0, 999, integer=True)
    columns = {"left": number, "dead": st.Boolean(), "died": st.Numeric(0, 999, integer=True, nullable=True)}
    equal = st.Rules(require=["dead = (died IS NOT NULL)", 'NOT dead OR died = "left"'])
    derived = st.Rules(derive={"died": 'CASE WHEN dead THEN "left" END'})

    release = st.MST(epsilon=math.inf).fit(frame, st.Schema(columns, rules=equal))
    with pytest.warns(RuleWarning, match="columns 'dead', 'died': most of the rows"):
        assert release.sample(5000, seed=1)["dead"].mean() < 0.02
    release = st.MST(epsilon=math.inf).fit(frame, st.Schema(columns, rules=derived))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample = release.sample(5000, seed=1)

    # A share of .05 of 5,000 rows has a standard deviation of .003, so chance alone fails once in ten billion runs.
    assert abs(sample["dead"].mean() - dead.mean()) < 0.02
    assert (sample["died"].isna() == ~sample["dead"]).all()
