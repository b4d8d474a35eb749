"""PrivMRF from table to table."""

from __future__ import annotations

import pytest

import syntabula as st

FRAME, SCHEMA = st.datasets.census(n_rows=1000), st.datasets.schema_of("census")
EVEN = st.Preprocessing(discretizer="uniform")


def test_a_saved_release_gives_the_same_rows(tmp_path) -> None:
    release = st.PrivMRF(epsilon=1.0, seed=3, bins=8, preprocessing=EVEN).fit(FRAME, SCHEMA)
    release.save(tmp_path / "census.syn")

    other = st.load(tmp_path / "census.syn")

    assert other.method == "privmrf"
    assert other.sample(50, seed=1).equals(release.sample(50, seed=1))


def test_a_seed_repeats_a_fit_and_another_does_not() -> None:
    one, two, three = (
        st.PrivMRF(seed=s, bins=8, preprocessing=EVEN).fit(FRAME, SCHEMA).sample(200, seed=1)
        for s in (1, 1, 2)
    )

    assert one.equals(two)
    assert not one.equals(three)


@pytest.mark.parametrize("budget", [st.Budget(epsilon=1.0, delta=1e-5), st.Budget.pure(1.0)])
def test_the_whole_budget_is_spent(budget) -> None:
    release = st.PrivMRF(budget=budget, bins=8, preprocessing=EVEN, seed=1).fit(FRAME, SCHEMA)

    assert release.privacy.epsilon_spent == pytest.approx(budget.epsilon, rel=1e-6)
    assert release.privacy.epsilon_spent <= budget.epsilon
