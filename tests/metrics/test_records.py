from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression

from syntabula.errors import ArgumentError
from syntabula.metrics import compare, features
from syntabula.metrics.closest_record import RecordSimilarity
from syntabula.metrics.discriminator import DiscriminatorSimilarity, PropensityError
from syntabula.metrics.features import Coordinates, main_effects, nearest, points
from syntabula.metrics.support import AlphaPrecision, BetaRecall, alpha_precision, beta_recall
from syntabula.table.schema.columns import Categorical, Numeric
from syntabula.table.schema.schema import Schema


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, size=n)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.05, np.nan, age),
            "pay": age * 2 + rng.normal(size=n),
            "job": np.where(age > 45, "lead", rng.choice(["cook", "nurse"], size=n)),
        }
    )


def mixed_up(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The same columns, each in an order of its own."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({c: rng.permutation(frame[c].to_numpy()) for c in frame})


class TestPoints:
    def test_squared_distances_add_up_over_the_columns(self):
        real = pd.DataFrame({"x": [0.5, 1.5, None], "c": ["a", "b", "a"]})
        tables = compare(real, real)

        found = cdist(points(tables, tables.real), points(tables, tables.real)) ** 2

        np.testing.assert_allclose(found, [[0, 2, 1], [2, 0, 2], [1, 2, 0]], atol=1e-6)

    def test_many_categories_take_few_dimensions_and_stay_about_1_apart(self):
        labels = [f"label {i}" for i in range(1000)]
        frame = pd.DataFrame({"c": labels})
        tables = compare(frame, frame, schema=Schema({"c": Categorical(tuple(labels))}))

        found = points(tables, tables.real)
        apart = cdist(found, found)[~np.eye(1000, dtype=bool)] ** 2

        assert found.shape[1] == 256
        # Fixed by a hash: half of 256 bits differ, give or take 8.
        assert apart.mean() == pytest.approx(1.0, abs=0.01)
        assert apart.std() == pytest.approx(8 * 2 / 256, abs=0.01)
        assert (points(tables, tables.synthetic) == found).all()


class TestNearest:
    def test_equals_looking_at_every_point(self):
        for dimensions in [3, 40]:
            rng = np.random.default_rng(1)
            queries, base = (rng.random((n, dimensions)).astype(np.float32) for n in (60, 90))
            every = cdist(queries, base)

            distances, rows = nearest(queries, base, 2)

            np.testing.assert_allclose(distances, np.sort(every, axis=1)[:, :2], atol=1e-5)
            np.testing.assert_array_equal(rows[:, 0], every.argmin(axis=1))

    def test_equal_points_are_at_distance_zero(self):
        base = np.random.default_rng(2).random((200, 40)).astype(np.float32)

        assert (nearest(base, base)[0] == 0).all()


class TestCoordinates:
    def test_the_nearest_record_is_that_of_all_distances(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Blocks are smaller than the tables, and more categories than a byte holds.
        monkeypatch.setattr(features, "_BASE_AT_ONCE", 7)
        monkeypatch.setattr(features, "_QUERIES_AT_ONCE", 5)
        monkeypatch.setattr(features, "_CELLS_AT_ONCE", 1000)
        rng = np.random.default_rng(3)
        frames = [
            pd.DataFrame(
                {
                    "x": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
                    "y": rng.random(n),
                    "few": rng.choice(list("ab"), n),
                    "many": rng.integers(0, 3000, n).astype(str),
                }
            )
            for n in (400, 33)
        ]
        schema = Schema(
            {
                "x": Numeric(0.0, 1.0, nullable=True),
                "y": Numeric(0.0, 1.0),
                "few": Categorical(("a", "b")),
                "many": Categorical(tuple(map(str, range(3000)))),
            }
        )
        frames[1].loc[:9] = frames[0].loc[390:399].to_numpy()
        tables = compare(*frames, schema=schema)
        axes = Coordinates(tables.bounds, {name: tables.size(name) for name in tables.categorical})

        found = axes.nearest(tables.synthetic, tables.real)

        every = cdist(axes.of(tables.synthetic), axes.of(tables.real))
        assert axes.n_axes > 256
        np.testing.assert_allclose(found, every.min(axis=1), atol=1e-6)
        assert (found[:10] == 0).all()


class TestRecordSimilarity:
    def test_by_position_equals_the_formula(self):
        real = pd.DataFrame({"x": [0.0, 0.5, 1.0, None], "c": ["a", "b", "b", "b"]})
        synthetic = pd.DataFrame({"x": [0.5, 0.5, 1.0, 1.0], "c": ["a", "a", "b", "b"]})

        score = RecordSimilarity(match="position")(compare(real, synthetic), np.random.default_rng(0))

        assert score.details == {("x",): 1 - 1.5 / 4, ("c",): 0.75}

    def test_by_position_needs_tables_of_one_length(self):
        tables = compare(people(10, 1), people(11, 2))

        with pytest.raises(ArgumentError, match="differ in length"):
            RecordSimilarity(match="position")(tables, np.random.default_rng(0))

    def test_the_order_of_rows_means_nothing_to_neighbours(self):
        frame = people(200, 1)

        score = RecordSimilarity()(compare(frame, frame[::-1]), np.random.default_rng(0))

        assert score.value == 1.0

    def test_independent_columns_are_further_from_real_records(self):
        frame = people(400, 1)

        fresh, mixed = (
            RecordSimilarity()(compare(frame, other), np.random.default_rng(0)).value
            for other in (people(400, 2), mixed_up(frame, 3))
        )

        assert mixed < fresh < 1


class TestDiscriminator:
    @pytest.mark.thorough
    def test_tells_obvious_tables_apart_and_not_samples_of_one_source(self):
        real, same = people(1500, 1), people(1500, 2)

        alike, apart = (
            DiscriminatorSimilarity()(compare(real, other), np.random.default_rng(0))
            for other in (same, same.assign(pay=same["pay"] + 100))
        )

        # The error of an area under the curve of 750 against 750 rows is below 0.016; 0.1 is above 6 of it.
        assert abs(alike.facts["area under the curve"] - 0.5) < 0.1
        assert alike.value > 0.75
        assert apart.facts["area under the curve"] > 0.99
        assert apart.value < 0.2

    def test_boosted_trees_tell_apart_what_is_apart(self):
        real, same = people(300, 1), people(300, 2)

        alike, apart = (
            DiscriminatorSimilarity(trees="boosted")(compare(real, other), np.random.default_rng(0))
            for other in (same, same.assign(pay=same["pay"] + 100))
        )

        # The error of an area under the curve of 150 against 150 rows is below 0.035; 0.2 is above 5 of it.
        assert abs(alike.facts["area under the curve"] - 0.5) < 0.2
        assert apart.facts["area under the curve"] > 0.99
        with pytest.raises(ArgumentError, match="trees must be"):
            DiscriminatorSimilarity(trees="oak")

    def test_a_table_of_three_rows_has_no_value(self):
        score = DiscriminatorSimilarity()(compare(people(3, 1), people(9, 2)), np.random.default_rng(0))

        assert np.isnan(score.value)
        assert "rows" in score.note


class TestPropensity:
    def test_equals_an_unpenalised_regression_on_main_effects(self):
        real, synthetic = people(400, 1), people(300, 2).assign(pay=lambda f: f["pay"] + 5)
        tables = compare(real, synthetic)
        effects = np.vstack([main_effects(tables, v).toarray() for v in (tables.real, tables.synthetic)])
        label = np.repeat([0, 1], [400, 300])
        fitted = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-10).fit(effects, label)
        expected = ((fitted.predict_proba(effects)[:, 1] - 3 / 7) ** 2).mean()

        score = PropensityError()(tables, np.random.default_rng(0))

        assert score.value == pytest.approx(expected, rel=1e-3)

    def test_is_a_quarter_for_tables_that_share_nothing(self):
        real, synthetic = pd.DataFrame({"c": ["a"] * 40}), pd.DataFrame({"c": ["b"] * 40})

        score = PropensityError()(compare(real, synthetic), np.random.default_rng(0))

        assert score.value == pytest.approx(0.25, abs=0.01)

    def test_constants_tell_nothing(self):
        frame = pd.DataFrame({"c": ["a"] * 40})

        assert PropensityError()(compare(frame, frame), np.random.default_rng(0)).value == 0.0

    @pytest.mark.thorough
    def test_two_fresh_samples_have_twice_the_expectation_for_a_fixed_real_table(self):
        ratios = [
            PropensityError()(
                compare(people(2000, i), people(2000, 100 + i)), np.random.default_rng(0)
            ).facts["ratio to its expectation"]
            for i in range(20)
        ]

        # Half of each ratio times 5 effects is about chi-squared with 5 degrees of freedom, so the sum over 20
        # tables has 100; that it leaves 44 .. 188 has a probability below 1e-6.
        assert 2 * 44 / 100 < np.mean(ratios) < 2 * 188 / 100


class TestSupport:
    def test_records_from_elsewhere_are_neither_precise_nor_covering(self):
        real = np.random.default_rng(1).normal(size=(500, 3)).astype(np.float32)
        elsewhere = real + 100

        # The curves are 0 throughout, against a diagonal of area 1/2.
        assert alpha_precision(real, elsewhere) == pytest.approx(0.0)
        assert beta_recall(real, elsewhere) == pytest.approx(0.0)

    def test_records_that_crowd_the_middle_are_too_precise(self):
        real = np.random.default_rng(2).normal(size=(500, 3)).astype(np.float32)
        middle = np.repeat(real.mean(axis=0, keepdims=True), 500, axis=0)

        # The curve is 1 throughout.
        assert alpha_precision(real, middle) == pytest.approx(0.0, abs=0.01)
        assert beta_recall(real, middle) < 0.1

    def test_a_fresh_sample_is_precise_and_covers_more_than_half(self):
        rng = np.random.default_rng(3)
        real, fresh = (rng.normal(size=(1000, 3)).astype(np.float32) for _ in range(2))

        assert alpha_precision(real, fresh) > 0.9
        assert 0.4 < beta_recall(real, fresh) < 0.8
        assert beta_recall(real, real) == pytest.approx(1.0, abs=0.01)

    def test_independent_columns_score_lower(self):
        for metric in [AlphaPrecision, BetaRecall]:
            frame = people(600, 1)

            fresh, mixed = (
                metric()(compare(frame, other), np.random.default_rng(0)).value
                for other in (people(600, 2), mixed_up(frame, 3))
            )

            assert mixed < fresh


def test_too_few_rows_are_refused():
    for metric in [AlphaPrecision, BetaRecall, DiscriminatorSimilarity, PropensityError, RecordSimilarity]:
        with pytest.raises(ArgumentError):
            metric(max_rows=0)
