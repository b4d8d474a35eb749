"""Scores of the Adult table against itself, its half and its columns drawn apart."""

from __future__ import annotations

import os

import pytest

import syntabula
from syntabula import datasets
from syntabula.errors import PrivacyWarning
from syntabula.metrics import QueryError, TotalVariation, Wasserstein

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not os.environ.get("SYNTABULA_DATA"), reason="set SYNTABULA_DATA to the folder of the real tables"
    ),
]


@pytest.fixture(scope="module")
def found() -> syntabula.Evaluation:
    path = datasets.load("adult").path
    with pytest.warns(PrivacyWarning):
        return syntabula.evaluate(
            path,
            path,
            schema=datasets.schema_of("adult"),
            metrics=[TotalVariation(), Wasserstein(max_rows=300), QueryError()],
            baselines=("HALF", "HISTOGRAM"),
        )


@pytest.mark.thorough
@pytest.mark.parametrize("key", ["tvd-2", "wasserstein", "query-error-3"])
def test_the_table_itself_is_perfect_a_half_is_good_and_independent_columns_are_worse(found, key):
    score = found.score(key)

    assert score.value == 0
    assert 0 < score.baselines["HALF"] < score.baselines["HISTOGRAM"] < 1


def test_adult_has_the_columns_and_pairs_that_the_papers_count(found):
    details = found.score("wasserstein").details

    assert sum(len(part) == 1 for part in details) == 15
    assert sum(len(part) == 2 for part in details) == 105
