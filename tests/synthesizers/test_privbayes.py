"""PrivBayes from table to table."""

from __future__ import annotations

import math

import pytest

import syntabula as st
from syntabula.marginals.engines.memory import MemoryEngine
from syntabula.synthesizers.grid import grid_parts

FRAME, SCHEMA = st.datasets.census(n_rows=2000), st.datasets.schema_of("census")
PAIR = tuple(SCHEMA.columns)[:2]


def test_a_saved_release_gives_the_same_rows(tmp_path) -> None:
    release = st.PrivBayes(epsilon=1.0, seed=3).fit(FRAME, SCHEMA)
    release.save(tmp_path / "census.syn")

    other = st.load(tmp_path / "census.syn")

    assert other.method == "privbayes"
    assert other.sample(50, seed=1).equals(release.sample(50, seed=1))


def test_a_seed_repeats_a_fit_and_another_does_not() -> None:
    one, two, three = (st.PrivBayes(seed=s).fit(FRAME, SCHEMA).sample(200, seed=1) for s in (1, 1, 2))

    assert one.equals(two)
    assert not one.equals(three)


@pytest.mark.parametrize("budget", [st.Budget(epsilon=1.0, delta=1e-5), st.Budget.pure(1.0)])
def test_the_whole_budget_is_spent(budget) -> None:
    release = st.PrivBayes(budget=budget, preprocessing=st.Preprocessing(discretizer="uniform")).fit(
        FRAME, SCHEMA
    )

    assert release.privacy.epsilon_spent == pytest.approx(budget.epsilon, rel=1e-6)
    assert release.privacy.epsilon_spent <= budget.epsilon


def test_it_is_the_pair_of_its_parts() -> None:
    parts = grid_parts("privbayes", "bayesian_network")

    assert st.PrivBayes().selector == parts["selector"]
    assert type(st.PrivBayes().model) is type(parts["model"])


def test_without_privacy_pairs_come_closer_than_independent_columns() -> None:
    def distance(method) -> float:
        release = method(epsilon=math.inf, bins=8, rare=None).fit(FRAME, SCHEMA)
        encoded = release.codec.encode(st.table.read.read(FRAME), strict=False)[0]
        pairs = [(a, b) for a in encoded.domain.columns for b in encoded.domain.columns if a < b]
        exact = MemoryEngine(encoded).counts(pairs)
        return sum(abs(e - m).sum() for e, m in zip(exact, release.model.marginals(pairs), strict=True))

    assert distance(st.PrivBayes) < distance(st.Independent) / 2
