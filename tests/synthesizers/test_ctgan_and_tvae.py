"""CTGAN and TVAE from end to end: what they take and refuse, rows with conditions, files, odd tables."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, MissingExtraError
from syntabula.synthesizers.plan import check_declared_memory

SMALL: dict[str, dict[str, Any]] = {
    "ctgan": {"units": 32, "critic_units": 32, "hidden": 8, "steps": 60, "batch": 100},
    "tvae": {"units": 32, "hidden": 8, "steps": 100, "batch": 100, "learning_rate": 1e-2},
}
METHODS = [*SMALL]


def method(key: str, **options: Any) -> Any:
    made = st.synthesizer(key)(epsilon=math.inf, seed=0, allow_observed=True)
    return made.with_options(**SMALL[key] | options)


def table(n: int = 2_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.normal(10, 3, n)
    kind = np.where(size + rng.normal(0, 1, n) > 10, "large", "small")
    return pd.DataFrame({"size": size.round(3), "double": 2 * size + rng.normal(0, 0.5, n), "kind": kind})


@pytest.mark.parametrize("key", METHODS)
class TestRefusals:
    def test_without_torch_it_is_said_what_to_install_before_anything_is_read(
        self, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setitem(sys.modules, "torch", None)

        with pytest.raises(MissingExtraError, match=r"syntabula\[neural\]"):
            method(key).fit(tmp_path / "not there.csv", st.Schema({"kind": st.Categorical(("a", "b"))}))

    def test_wrong_options_are_refused_by_name(self, key: str) -> None:
        for wrong in [{"modes": 0}, {"modes": 101}, {"hidden": 0}, {"steps": 0}]:
            with pytest.raises(ArgumentError, match=next(iter(wrong))):
                method(key, **wrong)


def test_ctgan_holds_no_records_out() -> None:
    with pytest.raises(ArgumentError, match=r"held_out must be 0: .* got 0.1"):
        method("ctgan", held_out=0.1)


def test_wrong_options_of_ctgan_are_refused_by_name() -> None:
    for wrong in [{"pac": 0}, {"temperature": 0}, {"penalty": -1}, {"dropout": 1}]:
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            method("ctgan", **wrong)


@pytest.mark.parametrize("key", METHODS)
class TestRows:
    @pytest.mark.thorough
    def test_conditions_and_given_values_hold_and_a_file_brings_all_back_without_torch(
        self, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("torch")
        told: list[str] = []
        fitted = st.synthesizer(key)(
            epsilon=math.inf, seed=0, allow_observed=True, progress=lambda step, done: told.append(step)
        )
        release = fitted.with_options(**SMALL[key]).fit(table())
        release.save(tmp_path / "x.syn")
        monkeypatch.setitem(sys.modules, "torch", None)
        loaded = st.load(tmp_path / "x.syn")

        above = loaded.sample(200, where={"size": (9.0, 13.0), "kind": "large"}, seed=0)
        given = loaded.sample(given=pd.DataFrame({"double": [14.0, 26.0]}), seed=0)

        assert loaded.sample(100, seed=1).equals(release.sample(100, seed=1))
        assert above["size"].between(9, 13).all()
        assert (above["kind"] == "large").all()
        assert given["double"].tolist() == [14.0, 26.0]
        assert 0 < loaded.probability({"kind": "large"}) < 1
        losses = r"loss \S+ and \S+," if key == "ctgan" else r"loss \S+,"
        assert any(pd.Series(told).str.contains(losses))

    @pytest.mark.thorough
    def test_one_way_marginals_of_categories_are_the_tables(self, key: str) -> None:
        pytest.importorskip("torch")

        made = method(key).fit(table()).sample(4_000, seed=0)

        assert abs((made["kind"] == "large").mean() - (table()["kind"] == "large").mean()) < 0.15

    @pytest.mark.parametrize("columns", [["kind"], ["size"]])
    def test_one_column_of_ten_rows_and_a_batch_beyond_them(self, key: str, columns: list[str]) -> None:
        pytest.importorskip("torch")

        assert len(method(key).fit(table(10)[columns]).sample(50, seed=0)) == 50

    def test_the_seconds_of_a_training_are_held(self, key: str) -> None:
        pytest.importorskip("torch")
        schema = st.Schema({"pay": st.Numeric(0.0, 9.0), "kind": st.Categorical(("a", "b"))})

        plan = method(key, steps=10**8, seconds=2.0).plan(schema, 5_000)

        assert plan.steps[-1].seconds == 2.0


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_checking_memory_tries_few_records_and_times_nothing(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from syntabula.record_models.variational import VariationalNetwork

    tried: list[int] = []
    right = VariationalNetwork.losses

    def counted(self: Any, records: Any, random: Any) -> Any:
        tried.append(len(records))
        return right(self, records, random)

    monkeypatch.setattr(VariationalNetwork, "losses", counted)
    schema = st.Schema({"pay": st.Numeric(0.0, 9.0), "kind": st.Categorical(("a", "b"))})

    check_declared_memory(st.TVAE(epsilon=epsilon).with_options(units=8), schema)

    assert tried == [4]


def test_a_plan_of_ctgan_with_a_budget_names_a_better_method() -> None:
    pytest.importorskip("torch")
    schema = st.Schema({"pay": st.Numeric(0.0, 9.0), "kind": st.Categorical(("a", "b"))})

    private, without = (
        st.CTGAN(epsilon=epsilon).with_options(critic_units=8, **small).plan(schema, 100)
        for epsilon, small in ((1.0, {}), (math.inf, {"units": 8, "batch": 8}))
    )

    assert "AIM" in str(private)
    assert "AIM" in private.to_json()["caution"]
    assert "AIM" not in str(without)
