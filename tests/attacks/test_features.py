"""The features of each attack, against brute force."""

from __future__ import annotations

import itertools
from datetime import date

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import attacks
from syntabula.errors import ArgumentError, DataError
from syntabula.table.read import read

SCHEMA = st.Schema(
    {
        "x": st.Numeric(-9.0, 9.0, nullable=True),
        "c": st.Categorical(("a", "b"), nullable=True),
        "id": st.Identifier(prefix="p"),
        "b": st.Boolean(),
        "d": st.Date(date(2020, 1, 1), date(2021, 1, 1)),
    }
)


def table(seed: int, n: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "c": rng.choice(["a", "b"], n).astype(object),
            "id": [f"p{i}" for i in range(n)],
            "b": rng.random(n) < 0.5,
            "d": pd.Timestamp("2020-02-01") + pd.to_timedelta(rng.integers(0, 40, n), unit="D"),
        }
    )
    frame.loc[1, "x"], frame.loc[2, "c"] = np.nan, None
    return frame


def known(target: int | None = 0) -> attacks.Knowledge:
    return attacks.Knowledge(read(table(0)), SCHEMA, target)


class TestKnowledge:
    def test_identifiers_are_looked_at_by_nobody(self):
        knowledge = known()

        assert knowledge.numeric == ("x", "d")
        assert list(knowledge.categories) == ["c", "b"]

    def test_a_value_that_no_record_has_gets_the_last_code(self):
        other = table(1)
        other.loc[0, "c"] = "new"

        codes = known().read(read(other).columns).codes["c"]

        assert codes[0] == 3
        assert codes[2] == 2

    def test_a_table_without_a_column_or_with_text_for_numbers_is_refused(self):
        columns = read(table(1)).columns

        with pytest.raises(DataError, match="lacks"):
            known().read({name: c for name, c in columns.items() if name != "d"})
        with pytest.raises(DataError, match="'x'"):
            known().read({**columns, "x": columns["id"]})

    def test_the_others_are_all_but_the_target(self):
        assert known(4).others.n_rows == 29
        assert known(None).others.n_rows == 30


class TestQueryBased:
    def test_it_counts_agreement_on_every_subset_of_the_columns(self):
        for target in [0, 1, 2]:
            knowledge = known(target)
            synthetic = knowledge.read(read(table(7)).columns)

            found = attacks.QueryBased(n_bins=4).features(synthetic, knowledge)

            agree = attacks.QueryBased(n_bins=4)._agreement(synthetic, knowledge, target)
            expected = sorted(
                int(agree[:, subset].all(axis=1).sum())
                for size in range(1, 5)
                for subset in itertools.combinations(range(4), size)
            )
            assert sorted(found) == expected

    def test_missing_cells_agree_with_missing_cells_only(self):
        knowledge = known(1)

        agree = attacks.QueryBased()._agreement(knowledge.table, knowledge, 1)

        assert np.array_equal(np.flatnonzero(agree[:, 0]), [1])

    def test_many_columns_are_sampled_and_every_single_one_is_asked_for(self):
        queries = attacks.QueryBased()._subsets(40, 100)

        assert queries.shape == (100, 40)
        assert np.array_equal(queries[:40], np.eye(40, dtype=bool))
        assert queries.any(axis=1).all()


class TestGroundHog:
    def test_a_number_has_five_statistics_and_a_category_three(self):
        knowledge = known()

        found = attacks.GroundHog().features(knowledge.table, knowledge)

        x = table(0)["x"].dropna()
        assert found[:5] == pytest.approx([x.min(), x.max(), x.mean(), x.median(), x.std(ddof=0)])
        assert found.size == 2 * 5 + 2 * 3
        assert found[10] == 3

    def test_a_column_without_values_gives_as_many_features(self):
        for part in ["summary", "histogram", "correlation"]:
            knowledge, empty = known(), table(1)
            empty["x"] = np.nan
            hog = attacks.GroundHog(parts=(part,))

            found = hog.features(knowledge.read(read(empty).columns), knowledge)

            assert found.size == hog.features(knowledge.table, knowledge).size
            assert np.isfinite(found).all()

    def test_correlations_are_pearsons(self):
        frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [3.0, 1.0, 1.0], "z": [5.0, 5.0, 5.0]})
        schema = st.Schema({name: st.Numeric(0, 9) for name in "xyz"})
        knowledge = attacks.Knowledge(read(frame), schema)

        found = attacks.GroundHog(parts=("correlation",)).features(knowledge.table, knowledge)

        assert found == pytest.approx([np.corrcoef(frame["x"], frame["y"])[0, 1], 0, 0])

    def test_unknown_parts_are_refused(self):
        with pytest.raises(ArgumentError):
            attacks.GroundHog(parts=("moments",))


class TestValueRange:
    def test_reach_is_the_way_from_the_others_to_the_target(self):
        frame = pd.DataFrame({"x": [0.0, 1.0, 3.0]})
        knowledge = attacks.Knowledge(read(frame), st.Schema({"x": st.Numeric(0, 9)}), 2)

        def reach(value: float) -> float:
            synthetic = knowledge.read(read(pd.DataFrame({"x": [0.0, value]})).columns)
            return float(attacks.ValueRange().features(synthetic, knowledge)[0])

        assert [reach(v) for v in (0.5, 1.0, 2.0, 3.0, 8.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]


class TestOutliers:
    def test_scores_are_mean_distances_to_the_nearest_records(self):
        knowledge = known()
        from syntabula.metrics.features import Coordinates

        points = Coordinates(knowledge.bounds, knowledge.sizes).of(knowledge.table)
        distances = np.linalg.norm(points[:, None] - points[None], axis=2)

        found = attacks.outlier_scores(knowledge, n_neighbours=3)

        assert found == pytest.approx(np.sort(distances, axis=1)[:, 1:4].mean(axis=1), abs=1e-5)

    def test_more_neighbours_than_records_are_refused(self):
        with pytest.raises(ArgumentError):
            attacks.outlier_scores(known(), n_neighbours=30)
