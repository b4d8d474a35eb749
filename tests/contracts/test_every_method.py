"""The battery that every registered method passes: what any of them promises, whatever it measures and fits.

Methods are run with small settings: a plug-in or a new file in the register adds its tests by being there.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from corners import MODEL_OF_ANOTHER, QUICK_METHODS, VARIANTS, thorough_but
from small_settings import METHODS, NOISY_GRADIENTS, PRIVATE, epsilon_of, small_parts, takes, unspent

import syntabula as st
from syntabula.errors import BudgetError, CoercionWarning, ResourceError
from syntabula.privacy.journal import Journal
from syntabula.privacy.ledger import Ledger

pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.CoercionWarning")
N = 400

SCHEMA = st.Schema(
    {
        "age": st.Numeric(18, 65, integer=True, nullable=True, bins=6),
        "pay": st.Numeric(0, 99, decimals=2, bins=5),
        "job": st.Categorical(("cook", "judge", "nurse"), nullable=True, open=True),
        "member": st.Boolean(nullable=True),
        "day": st.Datetime(dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31), resolution="day", bins=4),
        "id": st.Identifier(prefix="x"),
    }
)

BUDGETS = {
    "approximate": st.Budget(epsilon=1.0, delta=1e-6),
    "small": st.Budget(epsilon=0.01, delta=1e-9),
    "rho": st.Budget.zcdp(0.3, 1e-6),
    "pure": st.Budget.pure(2.0),
}
KINDS = [method for method in METHODS if method not in VARIANTS]
PRIVATE_KINDS = [method for method in PRIVATE if method not in VARIANTS]
MODELS = [method for method in METHODS if method not in MODEL_OF_ANOTHER]
# Those of the contracts of records, and of latent rows, have files, seeds and odd tables tested there.
THERE = ("tabddpm", "great", "ctgan", "tvae", "synthpop")
OWN = [method for method in KINDS if method not in THERE]
# What all methods share is asked of one of each way to learn.
SHARED = [*QUICK_METHODS, "argn", "pategan"]
# All methods by their usual budget, and by Laplace noise; each other budget by a few kinds of questions.
SPENT = [
    *((method, "approximate") for method in PRIVATE),
    *((method, "pure") for method in PRIVATE_KINDS if takes(method, BUDGETS["pure"])),
    *((method, "small") for method in ("auto", "privbayes", "argn")),
    *((method, "rho") for method in ("mst", "gem", "tab-pe", "pategan")),
]


def table(n: int = N, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    job = rng.choice(["cook", "judge", "nurse", "clown"], n, p=[0.5, 0.3, 0.15, 0.05])
    frame = pd.DataFrame(
        {
            "age": pd.array(np.clip(rng.normal(35, 9, n), 18, 65).astype(int), dtype="Int64"),
            "pay": np.round(rng.uniform(0, 99, n), 2),
            "job": job,
            "member": pd.array(rng.random(n) < np.where(job == "cook", 0.8, 0.3), dtype="boolean"),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
            "id": [f"person {i}" for i in range(n)],
        }
    )
    for name in ("age", "job", "member"):
        frame.loc[rng.random(n) < 0.2, name] = None
    return frame


def make(method: str, **options: Any) -> Any:
    """Make a small synthesizer with those of the options that it has."""
    kind = st.synthesizer(method)
    known = {f.name for f in dataclasses.fields(kind)}
    usual = {"seed": 1, "preprocessing": st.Preprocessing(discretizer="uniform")}
    asked = usual | small_parts(method) | options
    if "budget" not in asked:
        asked["epsilon"] = epsilon_of(method, asked.get("epsilon", 5.0))
    return kind(**{k: v for k, v in asked.items() if k in known})


@cache
def fitted(method: str) -> st.Release:
    """Return the release that many tests look at and none changes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoercionWarning)
        return make(method).fit(table(), SCHEMA)


def assert_within(made: pd.DataFrame) -> None:
    """Assert that all cells lie in the schema."""
    assert list(made) == list(SCHEMA)
    assert made["age"].dropna().between(18, 65).all()
    assert made["pay"].between(0, 99).all()
    assert (made["pay"].round(2) == made["pay"]).all()
    assert set(made["job"].dropna()) <= {"cook", "judge", "nurse", "other"}
    assert set(made["member"].dropna()) <= {True, False}
    assert made["day"].between("2020-01-01", "2020-12-31").all()
    assert list(made["id"]) == [f"x{i}" for i in range(1, len(made) + 1)]
    assert not made[["pay", "day", "id"]].isna().any().any()


@pytest.mark.parametrize("method", [method for method in SHARED if method in PRIVATE])
def test_a_budget_so_small_that_noise_cannot_be_drawn_is_refused_before_anything_is_paid(
    method: str, tmp_path: Path
) -> None:
    made = make(method, budget=st.Budget(1e-9, 1e-12), journal=tmp_path / "journal")

    for refused in (lambda: made.fit(table(), SCHEMA), lambda: made.plan(SCHEMA, N)):
        with pytest.raises(BudgetError, match=r"the budget.* too small .*; raise epsilon"):
            refused()

    assert not (tmp_path / "journal").exists()


@pytest.mark.thorough
class TestTables:
    @pytest.mark.parametrize("method", KINDS)
    def test_types_names_and_bounds_are_kept_and_missing_cells_come_back(self, method: str) -> None:
        made = fitted(method).sample(N, seed=0)

        assert made.dtypes.equals(table().dtypes)
        assert_within(made)
        assert made[["age", "job", "member"]].isna().any().all()

    @pytest.mark.parametrize("method", OWN)
    def test_next_to_no_rows_are_enough(self, method: str) -> None:
        for n in (0, 1):
            made = make(method).fit(table(n), SCHEMA).sample(30, seed=0)

            assert len(made) == 30
            assert_within(made)

    @pytest.mark.parametrize("method", OWN)
    def test_few_columns_are_enough(self, method: str) -> None:
        for names in (["job"], ["age", "member"]):
            schema = st.Schema({name: SCHEMA[name] for name in names})

            made = make(method).fit(table()[names], schema).sample(30, seed=0)

            assert list(made) == names

    @pytest.mark.parametrize("method", OWN)
    def test_columns_with_one_code_are_no_trouble(self, method: str) -> None:
        frame = pd.DataFrame({"one": ["a"] * 50, "two": [7] * 50, "three": [True, False] * 25})
        schema = st.Schema(
            {
                "one": st.Categorical(("a",)),
                "two": st.Numeric(7, 7, integer=True),
                "three": st.Boolean(),
            }
        )

        made = make(method).fit(frame, schema).sample(40, seed=0)

        assert set(made["one"]) == {"a"}
        assert set(made["two"]) == {7}

    @pytest.mark.parametrize("method", OWN)
    def test_ten_thousand_categories_are_learned_or_refused_before_anything_is_spent(
        self, method: str, tmp_path: Path
    ) -> None:
        rng = np.random.default_rng(0)
        names = [f"c{i}" for i in range(10_000)]
        frame = pd.DataFrame({"many": rng.choice(names, 300), "few": rng.choice(["a", "b"], 300)})
        schema = st.Schema({"many": st.Categorical(tuple(names)), "few": st.Categorical(("a", "b"))})

        try:
            made = make(method, journal=tmp_path / "journal").fit(frame, schema).sample(50, seed=0)
        except ResourceError:
            assert not (tmp_path / "journal").exists()
        else:
            assert set(made["many"]) <= set(names)


@pytest.mark.thorough
# A few fits of a hundred warn, by noise alone, of some values beyond the bounds.
@pytest.mark.filterwarnings("ignore:column 'age'")
@pytest.mark.parametrize("method", SHARED)
def test_domains_are_found_without_a_schema(method: str) -> None:
    frame = table(1_000)[["age", "job", "pay"]].dropna()

    release = make(method, epsilon=10.0).fit(frame)

    assert set(release.provenance.values()) == {"private"}
    assert release.sample(20, seed=0).dtypes.equals(frame.dtypes)


class TestBudgets:
    @pytest.mark.parametrize("method", sorted(NOISY_GRADIENTS))
    def test_a_budget_without_such_noise_is_refused_at_once(self, method: str) -> None:
        for budget in ("rho", "pure"):
            assert not takes(method, BUDGETS[budget])
            with pytest.raises(BudgetError, match=r"training on records|sampled record"):
                make(method, budget=BUDGETS[budget])

    @pytest.mark.parametrize(
        ("method", "budget"),
        [
            pytest.param(*pair, marks=() if pair[0] in QUICK_METHODS else pytest.mark.thorough)
            for pair in SPENT
        ],
    )
    def test_the_whole_is_spent_and_no_more(self, method: str, budget: str, tmp_path: Path) -> None:
        stated = BUDGETS[budget]
        release = make(method, budget=stated, journal=tmp_path / "journal").fit(table(), SCHEMA)

        with Journal(tmp_path / "journal") as journal:
            spent = Ledger(release.privacy.budget, journal).spent
        total = release.privacy.budget.total
        assert spent <= total <= stated.total
        assert float(spent / total) == pytest.approx(1.0, abs=unspent(method))
        assert stated.epsilon * (1 - unspent(method)) <= release.privacy.epsilon_spent <= stated.epsilon
        assert sum(line.share for line in release.privacy.lines) == pytest.approx(1.0, abs=unspent(method))
        assert release.privacy.method == method

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", PRIVATE_KINDS)
    def test_what_is_spent_was_planned(self, method: str) -> None:
        synthesizer = make(method, bins=8)

        plan = synthesizer.plan(SCHEMA, N)
        lines = synthesizer.fit(table(), SCHEMA).privacy.lines

        planned = {step.name: step.share for step in plan.steps}
        assert {line.step for line in lines} <= set(planned)
        assert sum(planned.values()) == pytest.approx(1.0, abs=1e-9)
        assert math.isfinite(plan.memory_mb + plan.seconds)
        assert plan.describe()

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", PRIVATE_KINDS)
    def test_privacy_can_be_switched_off_and_the_statement_says_so(self, method: str) -> None:
        release = make(method, epsilon=math.inf).fit(table(), SCHEMA)

        assert not release.privacy.is_private
        assert release.privacy.epsilon_spent is None
        assert "privacy was switched off" in release.privacy.text()
        assert abs(release.n_estimated - N) <= 1

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", [method for method in SHARED if method in PRIVATE])
    def test_noise_is_secure_unless_a_seed_is_given(self, method: str) -> None:
        names = ["job", "member"]
        schema = st.Schema({name: SCHEMA[name] for name in names})

        secure = make(method, seed=None).fit(table()[names], schema).privacy

        assert secure.is_private
        assert "not private" not in secure.text()
        assert not make(method, seed=1).fit(table()[names], schema).privacy.is_private


class TestReleases:
    @pytest.mark.thorough
    @pytest.mark.parametrize("method", [method for method in OWN if method in MODELS])
    def test_a_file_brings_back_equal_samples_marginals_and_statement(
        self, method: str, tmp_path: Path
    ) -> None:
        release = fitted(method)
        release.save(tmp_path / "x.syn")

        loaded = st.load(tmp_path / "x.syn")

        assert loaded.sample(200, seed=3).equals(release.sample(200, seed=3))
        assert loaded.method == method
        assert loaded.n_estimated == release.n_estimated
        assert loaded.privacy == release.privacy
        assert loaded.schema == release.schema
        cliques = [("job",), ("member", "age")]
        # The other layout of the network's arrays in memory changes the last bit of its sums.
        rounding = 1e-12 if method == "argn" else 0.0
        for one, other in zip(loaded.marginals(cliques), release.marginals(cliques), strict=True):
            np.testing.assert_allclose(one, other, rtol=rounding)

    @pytest.mark.parametrize("method", thorough_but(QUICK_METHODS, SHARED))
    def test_a_seed_repeats_the_fit_and_another_one_does_not(self, method: str, tmp_path: Path) -> None:
        fitted(method).save(tmp_path / "one")
        for name, seed in (("again", 1), ("other", 2)):
            make(method, seed=seed).fit(table(), SCHEMA).save(tmp_path / name)

        files = {name: (tmp_path / name).read_bytes() for name in ("one", "again", "other")}
        assert files["one"] == files["again"]
        assert files["one"] != files["other"]

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", SHARED)
    def test_a_fit_leaves_the_synthesizer_as_it_was(self, method: str, tmp_path: Path) -> None:
        synthesizer = make(method)

        synthesizer.fit(table(seed=1), SCHEMA)
        synthesizer.fit(table(), SCHEMA).save(tmp_path / "second")
        fitted(method).save(tmp_path / "fresh")

        assert (tmp_path / "second").read_bytes() == (tmp_path / "fresh").read_bytes()

    @pytest.mark.parametrize("method", thorough_but(QUICK_METHODS, MODELS))
    def test_as_many_rows_are_drawn_as_asked_for(self, method: str) -> None:
        release = fitted(method)

        assert [len(release.sample(n, seed=0)) for n in (0, 1, 999)] == [0, 1, 999]
        assert len(release.sample(seed=0)) == release.n_estimated

    @pytest.mark.parametrize("method", thorough_but(QUICK_METHODS, MODELS))
    def test_marginals_are_counts_in_the_order_that_is_asked_for(self, method: str) -> None:
        release = fitted(method)

        one, pair, turned = release.marginals([("job",), ("job", "age"), ("age", "job")])

        assert one.shape == (5,)  # three categories, other, missing
        # Bins are cut into parts after the fit, where values within them are not even.
        assert pair.shape == (5, release.codec.domain.size("age"))
        assert pair.shape[1] >= 7  # six bins, missing
        np.testing.assert_allclose(turned, pair.T, atol=1e-6 * pair.sum())
        np.testing.assert_allclose(pair.sum(axis=1), one, atol=1e-6 * one.sum())
        assert (one >= 0).all()
        assert one.sum() == pytest.approx(release.model.total, rel=1e-6)

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", SHARED)
    def test_progress_goes_up_to_the_end(self, method: str) -> None:
        seen: list[float] = []

        make(method, progress=lambda step, done: seen.append(done)).fit(table(), SCHEMA)

        assert seen == sorted(seen)
        assert seen[-1] == pytest.approx(1.0)
