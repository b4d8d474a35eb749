"""What every method that learns codes from records promises: refusals, conditions, files, odd tables, plans."""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from record_cases import CASES, QUICK_CASES, method, release, require_library, table

import syntabula as st
from syntabula.errors import BudgetError, ConditionWarning, MissingExtraError, ResourceError
from syntabula.record_models import denoising
from syntabula.record_models.generated_rows import RakedRows
from syntabula.record_models.layer_products import ExactLayers
from syntabula.synthesizers.plan import check_memory, guessed_codec, preparation_of

SCHEMA = st.Schema({"pay": st.Numeric(0.0, 9.0), "kind": st.Categorical(("a", "b"))})
REFUSING = [kind for kind in CASES if CASES[kind].refused]
TRAINED = [kind for kind in CASES if kind != "column_trees"]


def quick(kind: str, steps: int, **options: Any) -> Any:
    """Return a method that makes few steps, where it makes steps."""
    made = method(kind, **options)
    return made if kind == "column_trees" else made.with_options(steps=steps)


class TestRefusals:
    @pytest.mark.parametrize("kind", REFUSING)
    def test_a_finite_budget_is_refused_in_one_sentence_that_says_why(self, kind: str) -> None:
        for budget in (st.Budget(1.0, 1e-5), st.Budget.pure(1.0), st.Budget.zcdp(0.5, 1e-5)):
            with pytest.raises(BudgetError, match=CASES[kind].refused):
                st.synthesizer(CASES[kind].method)(budget=budget)

    @pytest.mark.parametrize("kind", QUICK_CASES)
    def test_without_its_library_it_is_said_what_to_install_before_anything_is_read(
        self, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setitem(sys.modules, CASES[kind].library, None)

        with pytest.raises(MissingExtraError, match=rf"syntabula\[{CASES[kind].extra}\]"):
            method(kind).fit(tmp_path / "not there.csv", SCHEMA)


@pytest.mark.parametrize("kind", QUICK_CASES)
class TestRows:
    @pytest.mark.thorough
    def test_conditions_and_given_values_hold(self, kind: str) -> None:
        learned = release(kind)

        with warnings.catch_warnings():
            # Some try rows until enough have a condition.
            warnings.simplefilter("ignore", ConditionWarning)
            above = learned.sample(100, where={"size": (12.0, 13.0), "kind": "large"}, seed=0)
            given = learned.sample(given=pd.DataFrame({"double": [14.0, 26.0] * 50}), seed=0)
            share = learned.probability({"kind": "large"})

        assert above["size"].between(12, 13).all()
        assert (above["kind"] == "large").all()
        assert above["double"].median() == pytest.approx(25, abs=1)
        # Those that learned to write digits or mix states have some rows far off.
        assert (above["double"] > 20).mean() >= (0.95 if kind in ("language", "circuit") else 1)
        assert given["double"].tolist() == [14.0, 26.0] * 50
        assert given["size"][::2].mean() < 9 < 11 < given["size"][1::2].mean()
        assert share == pytest.approx((table()["kind"] == "large").mean(), abs=0.1)

    @pytest.mark.thorough
    def test_a_release_is_saved_and_samples_the_same_without_the_library(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release(kind).save(tmp_path / "x.syn")
        loaded = st.load(tmp_path / "x.syn").sample(100, seed=1)
        assert loaded.equals(release(kind).sample(100, seed=1))
        # Without torch rows are those of a processor that is no faster by rounding.
        monkeypatch.setattr(denoising, "layers_of", ExactLayers)
        unrounded = st.load(tmp_path / "x.syn").sample(100, seed=1)
        monkeypatch.setitem(sys.modules, CASES[kind].library, None)

        assert st.load(tmp_path / "x.syn").sample(100, seed=1).equals(unrounded)


@pytest.mark.parametrize("kind", QUICK_CASES)
class TestOddTables:
    @pytest.mark.parametrize("n", [0])
    def test_next_to_no_rows_and_a_batch_beyond_them(self, kind: str, n: int, tmp_path: Path) -> None:
        require_library(kind)
        schema = st.draft_schema(table())[0]

        learned = quick(kind, 5, allow_observed=True).fit(table(n), schema)
        made = learned.sample(50, seed=0)
        learned.save(tmp_path / "x.syn")

        assert len(made) == 50
        assert st.load(tmp_path / "x.syn").sample(50, seed=0).equals(made)
        assert made["size"].between(table()["size"].min(), table()["size"].max()).all()

    def test_a_batch_far_beyond_the_table_takes_no_more_memory_than_its_rows(self, kind: str) -> None:
        require_library(kind)
        if kind not in TRAINED:
            pytest.skip("has no batches")
        schema = st.draft_schema(table())[0]
        large = quick(kind, 1, allow_observed=True, memory_mb=60.0).with_options(batch=10**8)

        learned = large.fit(table(50), schema)

        assert len(learned.sample(5, seed=0)) == 5

    def test_a_batch_that_memory_does_not_hold_is_named(self, kind: str) -> None:
        require_library(kind)
        if kind not in TRAINED:
            pytest.skip("has no batches")
        schema = st.draft_schema(table())[0]
        little = quick(kind, 1, allow_observed=True, memory_mb=0.1).with_options(batch=300)

        with pytest.raises(ResourceError, match=r"lower batch, which is 300, or raise memory_mb"):
            little.fit(table(1_000), schema)

    def test_no_batch_is_named_that_the_user_cannot_lower(self, kind: str) -> None:
        require_library(kind)
        if kind not in TRAINED:
            pytest.skip("has no batches")
        schema = st.draft_schema(table())[0]
        little = quick(kind, 1, allow_observed=True, memory_mb=0.1)

        with pytest.raises(ResourceError) as of_one:
            little.with_options(batch=1).fit(table(1_000), schema)
        # As where `auto` chose the method, whose options are not the user's to set.
        codec, prepared = guessed_codec(little, schema, 1_000), preparation_of(little, schema, {})
        with pytest.raises(ResourceError, match=r"step 'train on the records'") as of_other:
            check_memory(little, codec, prepared, 1_000, own_options=False)

        assert "batch" not in f"{of_one.value} {of_other.value}"

    def test_one_column(self, kind: str) -> None:
        require_library(kind)

        made = quick(kind, 30, allow_observed=True).fit(table()[["kind"]]).sample(2_000, seed=0)

        assert (made["kind"] == "large").mean() == pytest.approx((table()["kind"] == "large").mean(), abs=0.1)

    @pytest.mark.thorough
    def test_a_hundred_thousand_categories(self, kind: str) -> None:
        require_library(kind)
        labels = [f"c{i}" for i in range(100_000)]
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"many": rng.choice(labels, 2_000), "few": rng.choice(["a", "b"], 2_000)})
        frame.loc[rng.random(2_000) < 0.4, "many"] = "c7"
        schema = st.Schema({"many": st.Categorical(tuple(labels)), "few": st.Categorical(("a", "b"))})

        made = quick(kind, 10).fit(frame, schema).sample(1_000, seed=0)

        assert 0.25 < (made["many"] == "c7").mean() < 0.55
        assert made["many"].nunique() > 100

    def test_missing_cells_are_drawn_about_as_often(self, kind: str) -> None:
        require_library(kind)
        frame = table(1_000)
        frame.loc[frame.index % 5 == 0, "size"] = None

        made = quick(kind, 20, allow_observed=True).fit(frame).sample(2_000, seed=0)

        assert made["size"].isna().mean() == pytest.approx(0.2, abs=0.08)


class TestOptions:
    @pytest.mark.parametrize("kind", QUICK_CASES)
    def test_they_are_listed_by_part_with_what_they_mean(self, kind: str) -> None:
        parts, notes = st.method_options(CASES[kind].method), st.option_notes(CASES[kind].method)

        own = ["training"] if kind in TRAINED else ["growth"]
        own += ["pretrained"] if kind == "language" else []
        assert [*parts] == ["model", *own, *(["noisy"] if CASES[kind].noisy else [])]
        assert {*notes} == {name for options in parts.values() for name in options}

    @pytest.mark.parametrize("kind", TRAINED)
    def test_the_seconds_of_a_training_and_its_steps_are_changed_by_name(self, kind: str) -> None:
        changed = method(kind).with_options(steps=7, seconds=3)

        assert (changed.training.steps, changed.training.seconds) == (7, 3)


class TestPlan:
    @pytest.mark.parametrize("kind", QUICK_CASES)
    def test_says_how_long_training_takes_before_a_table_is_there(self, kind: str) -> None:
        require_library(kind)

        if kind in TRAINED:
            short, long = (quick(kind, steps).plan(SCHEMA, 5_000) for steps in (10, 100_000))
        else:
            short, long = (method(kind).plan(SCHEMA, n) for n in (5_000, 5_000_000))

        assert short.seconds < long.seconds
        assert long.steps[-1].name == "train on the records"
        assert long.steps[-1].seconds > 1


@pytest.mark.parametrize("key", ["tvae", "ctgan", "tabddpm", "argn", "great"])
def test_rows_of_a_network_follow_the_marginals_unless_asked_not_to(key: str) -> None:
    pytest.importorskip("torch")
    usual = st.synthesizer(key)(epsilon=math.inf, allow_observed=True).with_options(
        steps=2, units=16, batch=64
    )

    with warnings.catch_warnings():
        # So few steps teach nothing, of which some methods warn.
        warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
        followed, drawn = (usual.with_options(follow_marginals=f).fit(table(500)) for f in (True, False))

    assert isinstance(followed.model, RakedRows)
    assert followed.model.exact
    assert isinstance(drawn.model, type(followed.model.inner))
    # What `RakedRows` does is tested beside it.
    assert len(followed.sample(200, seed=0)) == 200
    if key in {"argn", "great"}:
        # These draw a condition first. Its probability is the share of the marginal that all rows follow.
        assert set(followed.sample(50, where={"kind": "large"}, seed=0)["kind"]) == {"large"}
        mask = {"kind": np.array([1.0, 0.0])}
        found, counts = followed.model.restricted(mask), followed.model.counts["kind"]
        assert (found.probability, found.error) == (pytest.approx(counts[0] / counts.sum()), 0)
