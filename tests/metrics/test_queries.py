from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from syntabula.errors import ArgumentError
from syntabula.metrics import compare
from syntabula.metrics.queries import Condition, QueryError, QuerySimilarity, answer, draw_queries


def table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "y": rng.random(n),
            "c": rng.choice(["a", "b", None], size=n),
            "d": rng.choice(["u", "v"], size=n),
        }
    )


class TestQueries:
    def test_are_conjunctions_over_distinct_columns_within_the_real_range(self):
        tables = compare(table(200, 1), table(100, 2).assign(y=7.5))

        queries = draw_queries(tables, 200, 3, np.random.default_rng(0))

        for query in queries:
            assert len({condition.column for condition in query}) == 3
            for condition in query:
                assert condition.low <= condition.high
                assert condition.column != "y" or condition.high <= 1

    def test_points_are_values_of_the_real_table(self):
        tables = compare(pd.DataFrame({"c": ["a", "a"]}), pd.DataFrame({"c": ["b", None]}))

        queries = draw_queries(tables, 50, 1, np.random.default_rng(0))

        assert {condition.low for (condition,) in queries} == {0.0}

    def test_answers_equal_those_of_pandas(self):
        frame = table(300, 1)
        tables = compare(frame, frame)
        query = (Condition("x", -0.5, 1.0), Condition("c", 2.0, 2.0), Condition("y", 0.25, 0.5))

        found = answer(tables.real, [query])

        first = frame["x"].between(-0.5, 1.0)
        second = first & frame["c"].isna()
        third = second & frame["y"].between(0.25, 0.5)
        np.testing.assert_allclose(found, [[first.mean(), second.mean(), third.mean()]])


class TestQueryError:
    def test_is_the_mean_error_of_whole_queries_or_of_all_prefixes(self):
        tables = compare(table(300, 1), table(200, 2))
        queries = draw_queries(tables, 40, 3, np.random.default_rng(5))
        errors = np.abs(answer(tables.real, queries) - answer(tables.synthetic, queries))

        whole, prefixes = (
            QueryError(n_queries=40, prefixes=p)(tables, np.random.default_rng(5)) for p in (False, True)
        )

        assert whole.value == pytest.approx(errors[:, 2].mean())
        assert [*whole.details] == [("3-way",)]
        assert prefixes.value == pytest.approx(errors.mean())
        assert [*prefixes.details] == [("1-way",), ("2-way",), ("3-way",)]

    def test_tables_of_two_columns_get_queries_of_two_conditions(self):
        frame = table(50, 1)[["x", "c"]]

        assert [*QueryError()(compare(frame, frame), np.random.default_rng(0)).details] == [("2-way",)]

    def test_a_point_query_on_one_column_has_a_known_error(self):
        real, synthetic = pd.DataFrame({"c": ["a"] * 4}), pd.DataFrame({"c": ["a", "a", "a", "b"]})

        score = QueryError(way=1, n_queries=10)(compare(real, synthetic), np.random.default_rng(0))

        assert score.value == pytest.approx(0.25)
        assert score.facts["standard error"] == 0.0

    def test_options_out_of_range_are_refused(self):
        for options in [{"way": 0}, {"n_queries": 0}]:
            with pytest.raises(ArgumentError):
                QueryError(**options)


class TestQuerySimilarity:
    def test_is_the_ratio_of_answers(self):
        real, synthetic = pd.DataFrame({"c": ["a"] * 4}), pd.DataFrame({"c": ["a", "a", "a", "b"]})

        score = QuerySimilarity(n_queries=10)(compare(real, synthetic), np.random.default_rng(0))

        assert score.value == pytest.approx(0.75)

    def test_two_empty_answers_are_alike(self):
        frame = pd.DataFrame({"x": [0.5, 0.5, 1.5], "c": ["a", "a", "b"]})

        score = QuerySimilarity(n_queries=200)(compare(frame, frame), np.random.default_rng(0))

        assert score.value == 1.0
