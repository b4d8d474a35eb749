"""The simulated tables: what is drawn is what is documented."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from syntabula import datasets
from syntabula.datasets import frames
from syntabula.datasets.census import census_cells
from syntabula.datasets.simulated import Pattern, Shape
from syntabula.errors import ArgumentError, DatasetError, MissingExtraError
from syntabula.table.schema.columns import Categorical, Date, Datetime, Numeric

N = 20_000


@pytest.fixture(scope="module")
def census() -> Any:
    return datasets.census(n_rows=N, seed=5)


def rows_refused(call: Any) -> None:
    for n_rows in (0, -1, 1.0, True, "10", float("nan")):
        with pytest.raises(ArgumentError, match="n_rows"):
            call(n_rows)


class TestGauss:
    def test_columns_are_standard_normal_with_correlation_four_fifths(self) -> None:
        for n_columns in [10, 30, 50]:
            table = datasets.gauss(n_columns, N, seed=1).to_numpy()
            correlation = np.corrcoef(table, rowvar=False)
            pairs = correlation[np.triu_indices(n_columns, 1)]

            # Standard errors at 20,000 rows: correlation 0.0026, mean 0.0071, deviation 0.005; 7 of them in at
            # most 1,225 pairs: false alarm below 1e-8.
            assert table.shape == (N, n_columns)
            assert np.abs(pairs - 0.8).max() < 7 * 0.0026
            assert np.abs(table.mean(axis=0)).max() < 7 * 0.0071
            assert np.abs(table.std(axis=0) - 1).max() < 7 * 0.005

    def test_the_default_number_of_rows_is_that_of_the_paper(self) -> None:
        assert len(datasets.gauss(10)) == 16_000

    def test_other_numbers_of_columns_are_refused(self) -> None:
        for n_columns in [0, 11, True]:
            with pytest.raises(ArgumentError, match="n_columns"):
                datasets.gauss(n_columns)

    def test_numbers_of_rows_that_are_none_are_refused(self) -> None:
        rows_refused(lambda n: datasets.gauss(10, n))


class TestControlled:
    def test_values_fill_the_known_domain(self) -> None:
        for shape in get_args(Shape):
            values = datasets.controlled(shape, 100_000, seed=2)["value"].to_numpy()

            assert values.min() >= -10
            assert values.max() <= 10
            assert np.unique(values).size > 99_000

    def test_mean_and_deviation_are_those_of_the_formula(self) -> None:
        for shape, unscale, mean, deviation in [
            ("uniform", (0, 1), 1 / 2, np.sqrt(1 / 12)),
            ("monotone", (0, 1), 2 / 3, np.sqrt(1 / 18)),
            ("normal", (-4, 4), 0, 1),
            ("beta", (0, 1), 2 / 16, np.sqrt(2 * 14 / 16**2 / 17)),
            ("mixture", (-2, 13), 5.5, np.sqrt(1 + 3.5**2)),
            ("imbalanced", (-4, 14), 0.5, np.sqrt(1 + 0.95 * 0.05 * 100)),
        ]:
            low, high = unscale
            values = datasets.controlled(shape, 100_000, seed=3)["value"].to_numpy()
            drawn = low + (values + 10) / 20 * (high - low)

            # 6 standard errors of the mean (false alarm 2e-9 each), plus what clipping at 4 deviations can move.
            assert abs(drawn.mean() - mean) < 6 * deviation / np.sqrt(100_000) + 1e-4
            # The deviation's standard error is below 2 deviation / sqrt(n) for these shapes (kurtosis below 17).
            assert abs(drawn.std() - deviation) < 12 * deviation / np.sqrt(100_000) + 1e-3

    def test_the_two_modes_of_the_mixture_are_equally_large(self) -> None:
        values = datasets.controlled("mixture", 100_000, seed=4)["value"].to_numpy()
        drawn = -2 + (values + 10) / 20 * 15

        # 6 standard errors of a half: false alarm 2e-9.
        assert abs((drawn > 5.5).mean() - 0.5) < 6 * 0.5 / np.sqrt(100_000)

    def test_unknown_shapes_and_sizes_are_refused(self) -> None:
        with pytest.raises(ArgumentError, match="imbalanced"):
            datasets.controlled("skewed")  # type: ignore[arg-type]
        rows_refused(lambda n: datasets.controlled("beta", n))


class TestCensus:
    def test_the_same_seed_gives_the_same_table(self, census: Any) -> None:
        assert census.equals(datasets.census(n_rows=N, seed=5))
        assert not census.equals(datasets.census(n_rows=N, seed=6))

    def test_columns_are_those_of_its_schema_in_order(self, census: Any) -> None:
        assert list(census.columns) == list(datasets.census_schema())

    def test_every_cell_lies_within_the_schema(self, census: Any) -> None:
        for name, column in datasets.census_schema().columns.items():
            cells = census[name]
            assert column.nullable or not cells.isna().any(), name
            given = cells.dropna()
            if isinstance(column, Numeric):
                assert given.between(column.lower, column.upper).all(), name
            elif isinstance(column, Categorical):
                assert tuple(given.cat.categories) == column.categories, name
            elif isinstance(column, Date | Datetime):
                assert given.between(np.datetime64(column.lower), np.datetime64(column.upper)).all(), name

    def test_the_schema_is_public(self) -> None:
        assert datasets.census_schema().provenance["public"] == tuple(datasets.census_schema())

    def test_types_are_those_that_hold_missing_cells_exactly(self, census: Any) -> None:
        types = {name: str(dtype) for name, dtype in census.dtypes.items()}

        assert types["hours_per_week"] == "Int64"
        assert types["age"] == "int64"
        assert types["employed"] == "bool"
        assert types["occupation"] == "category"
        assert types["interview_date"].startswith("datetime64")

    def test_identifiers_are_unique_and_tell_nothing(self, census: Any) -> None:
        assert census["person_id"].is_unique
        assert not census["person_id"].is_monotonic_increasing

    def test_a_person_stays_the_same_in_all_of_its_interviews(self) -> None:
        census = datasets.census(n_rows=N, seed=5, most_interviews=3)

        assert len(census) == N
        persons = census.groupby("person_id")
        assert set(persons.size()) == {1, 2, 3}
        same = ["region", "sex", "age", "education", "marital_status", "household_size", "employed"]
        assert (persons[same].nunique() == 1).all(axis=None)
        assert (persons["interview_date"].nunique() > 1).mean() > 0.5

    def test_missing_cells_have_their_reason(self, census: Any) -> None:
        idle = ~census["employed"]

        assert (census["occupation"].isna() == idle).all()
        assert census.loc[idle, ["hours_per_week", "commute_minutes"]].isna().all(axis=None)
        assert 0.01 < census["income"].isna().mean() < 0.1

    def test_income_is_skewed_has_two_decimals_and_many_exact_zeros(self, census: Any) -> None:
        income = census["income"].dropna()

        assert (income == income.round(2)).all()
        assert 0.1 < (income == 0).mean() < 0.3
        assert income.mean() > 1.3 * income.median()

    # Thresholds lie many standard errors (about 0.01) from what the simulation gives; the seed is fixed.
    def test_columns_depend_on_each_other(self, census: Any) -> None:
        by_education = census.groupby("education", observed=True)["income"].median()
        never = census["marital_status"] == "never_married"
        builds = census["occupation"] == "construction"
        works = census["employed"]

        assert by_education.is_monotonic_increasing
        assert never[census["age"] < 22].mean() > 0.7 > 0.2 > never[census["age"] > 50].mean()
        assert builds[census["sex"] == "male"].mean() > 3 * builds[census["sex"] == "female"].mean()
        assert works[census["age"].between(30, 50)].mean() > 0.6 > 0.1 > works[census["age"] > 75].mean()
        assert census["hours_per_week"][works].astype(float).corr(census["income"][works]) > 0.2
        commute = census.groupby("region", observed=True)["commute_minutes"].mean()
        assert commute["capital"] > 1.5 * commute["north"]

    def test_no_visit_is_after_the_interview(self, census: Any) -> None:
        seen = census.dropna(subset=["last_visit"])

        assert (seen["last_visit"] < seen["interview_date"]).all()

    def test_one_row_can_be_drawn(self) -> None:
        assert datasets.census(n_rows=1).shape == (1, 14)

    def test_numbers_of_rows_that_are_none_are_refused(self) -> None:
        rows_refused(lambda n: datasets.census(n_rows=n))


class TestFrames:
    @pytest.mark.thorough
    @pytest.mark.parametrize("library", ["polars", "pyarrow"])
    def test_every_library_gets_the_same_cells(self, library: frames.Library, census: Any) -> None:
        other = frames.make_frame(census_cells(N, 5), library)
        arrow = other if library == "pyarrow" else other.to_arrow()

        assert arrow.column_names == list(census.columns)
        for name in arrow.column_names:
            given = census[name].astype(object).where(census[name].notna(), None).tolist()
            cells = arrow[name].to_pylist()
            if name == "interview_date":
                given = [stamp.date() for stamp in given]
            assert cells == given, name

    def test_without_any_library_the_error_gives_the_install_line(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(frames, "find_spec", lambda name: None)

        with pytest.raises(MissingExtraError, match=r'pip install "syntabula\[pandas\]"'):
            datasets.census(10)
        assert datasets.load("census").path is None

    def test_the_first_installed_library_is_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(frames, "find_spec", lambda name: name if name != "pandas" else None)

        assert frames.installed_library() == "polars"


class TestPoints:
    def test_coordinates_and_classes_are_those_of_the_schema(self) -> None:
        for kind in get_args(Pattern):
            drawn, schema = datasets.points(kind, 2_000, seed=1), datasets.schema_of(f"points_{kind}")

            assert drawn[["x", "y"]].abs().to_numpy().max() <= 10
            # A class of a tenth of the points is absent with probability 1e-91.
            assert isinstance(schema["class"], Categorical)
            assert sorted(set(drawn["class"])) == [*schema["class"].categories]

    def test_no_line_tells_circles_apart_and_their_radius_does(self) -> None:
        drawn = datasets.points("circles", 20_000, seed=2)
        outer, inner = (drawn[drawn["class"] == name][["x", "y"]].to_numpy() for name in "01")

        # Coordinates deviate by less than 4.1 in units of the table: six standard errors of a mean are below .25.
        assert np.abs(outer.mean(axis=0) - inner.mean(axis=0)).max() < 0.5
        assert np.median(np.hypot(*outer.T)) > 1.5 * np.median(np.hypot(*inner.T))

    def test_unknown_patterns_and_sizes_are_refused(self) -> None:
        with pytest.raises(ArgumentError, match="moons"):
            datasets.points("stars")  # type: ignore[arg-type]
        rows_refused(lambda n: datasets.points("moons", n))


class TestSchemas:
    def test_a_table_without_a_public_schema_is_refused_with_a_way_out(self) -> None:
        with pytest.raises(DatasetError, match="syntabula schema"):
            datasets.schema_of("bank")
        with pytest.raises(DatasetError, match="did you mean"):
            datasets.schema_of("adlut")

    def test_controlled_distributions_have_their_known_domain(self) -> None:
        column = datasets.schema_of("controlled_normal")["value"]

        assert isinstance(column, Numeric)
        assert (column.lower, column.upper) == (-10, 10)

    def test_adult_has_the_columns_and_kinds_of_the_registry(self) -> None:
        schema, info = datasets.schema_of("adult"), datasets.describe("adult")

        assert {name: column.kind for name, column in schema.columns.items()} == dict(info.columns)
        assert list(schema) == list(info.columns)
        assert schema.provenance["public"] == tuple(schema)
        assert {n for n, c in schema.columns.items() if c.nullable} == {
            "workclass", "occupation", "native_country",
        }  # fmt: skip
