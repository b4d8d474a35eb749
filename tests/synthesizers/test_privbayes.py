"""PrivBayes from table to table."""

from __future__ import annotations

import math

import pytest

import syntabula as st
from syntabula.marginals.counting import MemoryEngine

FRAME, SCHEMA = st.datasets.census(n_rows=2000), st.datasets.schema_of("census")
PAIR = tuple(SCHEMA.columns)[:2]


def test_it_is_the_pair_of_its_parts() -> None:
    pair = st.Marginal(selector="privbayes", model="bayesian_network")

    assert st.PrivBayes().selector == pair.selector
    assert type(st.PrivBayes().model) is type(pair.model)


@pytest.mark.thorough
def test_without_privacy_pairs_come_closer_than_independent_columns() -> None:
    def distance(method) -> float:
        release = method(epsilon=math.inf, bins=8, rare=None).fit(FRAME, SCHEMA)
        encoded = release.codec.encode(st.table.read.read(FRAME), strict=False)[0]
        pairs = [(a, b) for a in encoded.domain.columns for b in encoded.domain.columns if a < b]
        exact = MemoryEngine(encoded).counts(pairs)
        return sum(abs(e - m).sum() for e, m in zip(exact, release.model.marginals(pairs), strict=True))

    assert distance(st.PrivBayes) < distance(st.Independent) / 2
