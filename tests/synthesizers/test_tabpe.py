"""Tab-PE from end to end: rows keep what columns tell of each other, pairs or more."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, ResourceError, TrainingWarning
from syntabula.marginals.domain import Domain
from syntabula.record_models.evolution import Evolution

SCHEMA = st.Schema(
    {
        "x": st.Categorical(("0", "1")),
        "y": st.Categorical(("0", "1")),
        "parity": st.Categorical(("0", "1")),
        "size": st.Numeric(0.0, 20.0),
        "double": st.Numeric(0.0, 40.0),
    }
)
SMALL = Evolution(rounds=12, columns=3, candidates=2000)


def method(**options: Any) -> st.TabPE:
    return st.TabPE(**({"epsilon": 5.0, "evolution": SMALL, "seed": 0} | options))


def table(n: int = 3_000) -> pd.DataFrame:
    """Rows in which no pair tells the parity, and the double is near twice the size."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (2, n))
    size = np.clip(rng.normal(10, 3, n), 0, 20)
    double = np.clip(2 * size + rng.normal(0, 0.5, n), 0, 40)
    bits = {"x": x, "y": y, "parity": x ^ y}
    return pd.DataFrame({c: v.astype(str) for c, v in bits.items()} | {"size": size, "double": double})


@pytest.mark.parametrize("epsilon", [5.0, math.inf])
@pytest.mark.thorough
def test_rows_keep_dependences_of_numbers_and_those_that_no_pair_shows(epsilon: float) -> None:
    made = method(epsilon=epsilon).fit(table(), SCHEMA).sample(3_000, seed=0)

    parity = made["x"].astype(int) ^ made["y"].astype(int)
    assert np.mean(parity == made["parity"].astype(int)) > 0.85
    assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.8
    assert abs(made["size"].mean() - table()["size"].mean()) < 0.5


@pytest.mark.thorough
def test_rows_for_no_records_are_not_one_again_and_again() -> None:
    release = method(epsilon=math.inf).fit(table(0), SCHEMA)

    made = release.sample(200, seed=0)

    labels = ["x", "y", "parity"]
    assert len(made[labels].drop_duplicates()) == 8
    assert len(release.sample(seed=0)) == 1


@pytest.mark.thorough
def test_the_statement_has_votes_that_cost_the_whole_budget() -> None:
    even = st.Preprocessing(discretizer="uniform")
    privacy = method(bins=10, preprocessing=even).fit(table(500), SCHEMA).privacy

    steps = privacy.to_json()["steps"]
    rounds = [f"records vote, round {r}" for r in range(1, 13)]
    assert [step["step"] for step in steps] == ["measure one-way marginals", *rounds]
    assert {event["kind"] for step in steps for event in step["events"]} == {"gaussian"}
    assert 4.9 < privacy.epsilon_spent <= 5.0


def test_a_plan_says_how_long_votes_take_before_a_table_is_there() -> None:
    short, long = (method(evolution=Evolution(rounds=r)).plan(SCHEMA, 50_000) for r in (5, 80))

    assert 0 < short.seconds < long.seconds
    assert [step.name for step in short.steps][-1] == "records vote, round 5"
    # Without noise records vote for many more rows.
    assert st.TabPE(epsilon=math.inf).plan(SCHEMA, 1_000).seconds > 5 * st.TabPE().plan(SCHEMA, 1_000).seconds


def test_options_are_listed_and_wrong_ones_refused() -> None:
    assert set(st.option_notes("tab-pe")) >= {"rounds", "columns", "crowd", "candidates", "one_way_share"}
    with pytest.raises(ArgumentError, match="rounds must be"):
        method().with_options(rounds=0)
    with pytest.raises(ArgumentError, match="candidates must be"):
        Evolution(candidates=1)
    with pytest.raises(ArgumentError, match="evolution must be"):
        _ = method(evolution="fast").learner  # type: ignore[arg-type]


def test_a_limit_of_seconds_leaves_rounds_out_before_any_is_paid_for() -> None:
    even = st.Preprocessing(discretizer="uniform")
    whole = method(bins=10, preprocessing=even)
    limited = whole.with_options(seconds=0.0064)

    privacy = limited.fit(table(500), SCHEMA).privacy

    steps = privacy.to_json()["steps"][1:]
    # The released number of records is near that of the plan.
    assert 3 <= len(steps) <= 5
    assert steps[0]["share"] == pytest.approx(3 / 5 / len(steps))
    assert 4.9 < privacy.epsilon_spent <= 5.0
    assert len(limited.plan(SCHEMA, 500).steps) == 5
    with pytest.warns(TrainingWarning, match="1 round of 12"):
        assert len(whole.with_options(seconds=1e-9).plan(SCHEMA, 500).steps) == 2


def test_a_limit_of_seconds_for_next_to_no_rounds_is_told_before_anything_is_paid(tmp_path: Path) -> None:
    hurried = method(journal=tmp_path / "j").with_options(seconds=1e-6)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            TrainingWarning, match=r"1 round of 12 on a table of 1 row.* All rounds take about"
        ):
            hurried.fit(table(100), SCHEMA)
        assert not (tmp_path / "j").exists()
        with pytest.raises(TrainingWarning, match=r"1 round of 12 on a table of 5,000 rows"):
            hurried.plan(SCHEMA, 5000)
        # What a resumed run pays for was settled before, and without a budget nothing is paid.
        resumed = replace(hurried, resume=True)
        resumed.learner.try_parts(lambda: Domain(("x",), (3,)), resumed.whole_budget, memory_mb=1000.0)
        replace(hurried, epsilon=math.inf).plan(SCHEMA, 5000)


def test_a_population_too_large_for_the_memory_says_what_to_lower() -> None:
    schema = st.Schema({"a": st.Categorical(["x", "y"]), "b": st.Boolean()})
    method = st.TabPE(epsilon=1.0).with_options(candidates=10**9, rounds=1)

    with pytest.raises(ResourceError, match="lower candidates, which is 1,000,000,000"):
        method.fit(pd.DataFrame({"a": ["x"] * 9, "b": [True] * 9}), schema)
