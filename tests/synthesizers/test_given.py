"""Rows of a release that are given in part: what is given stays as it is, and the rest follows the model."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, ConditionWarning, DataError, SchemaError
from syntabula.synthesizers import drawing

pytestmark = [
    pytest.mark.filterwarnings("ignore::syntabula.errors.CoercionWarning"),
    pytest.mark.filterwarnings("ignore:column 'job'. .* none of the:syntabula.errors.ConditionWarning"),
]
N = 3000
CANARY = "a cell that nobody may see"

SCHEMA = st.Schema(
    {
        "age": st.Numeric(18, 65, integer=True, nullable=True, bins=6),
        "pay": st.Numeric(0, 99, decimals=1, bins=5),
        "share": st.Numeric(-1.0, 1.0, bins=4),
        "job": st.Categorical(("cook", "judge", "nurse"), nullable=True, open=True),
        "sex": st.Categorical(("f", "m")),
        "day": st.Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31), bins=4),
        "id": st.Identifier(prefix="x"),
    }
)


def table(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], n)
    job = np.where(sex == "f", rng.choice(["judge", "nurse"], n), rng.choice(["cook", "nurse", "clown"], n))
    return pd.DataFrame(
        {
            "age": pd.array(np.where(rng.random(n) < 0.1, None, rng.integers(18, 66, n)), dtype="Int16"),
            "pay": np.round(rng.uniform(0, 99, n), 1),
            "share": rng.uniform(-1, 1, n),
            "job": np.where(rng.random(n) < 0.1, None, job.astype(object)),
            "sex": pd.Categorical(sex),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D"),
            "id": [f"person {i}" for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def release() -> st.Release:
    preprocessing = st.Preprocessing(discretizer="uniform")
    return st.MST(epsilon=10.0, seed=1, preprocessing=preprocessing).fit(table(), SCHEMA)


class TestGiven:
    @pytest.mark.parametrize("names", [["sex"], ["day", "share", "pay"], ["id"], [*SCHEMA]])
    def test_values_stay_as_they_are_and_in_their_order(self, release: st.Release, names: list[str]) -> None:
        given = table(200)[names]

        made = release.sample(given=given, seed=0)

        assert list(made) == list(SCHEMA)
        # Values stay; how they are stored follows from the declaration.
        declared = {"age": "Int64", "sex": "str"}
        assert made.dtypes.astype(str).to_dict() == table().dtypes.astype(str).to_dict() | declared
        types = {name: dtype for name, dtype in declared.items() if name in names}
        pd.testing.assert_frame_equal(made[names], given.astype(types))

    def test_other_columns_follow_the_given_ones(self, release: st.Release) -> None:
        n = 5000
        joint = release.marginals([("sex", "job")])[0][0]
        expected = n * joint / joint.sum()

        made = release.sample(given=pd.DataFrame({"sex": ["f"] * n}), seed=0)

        labels = ["cook", "judge", "nurse", "other"]
        counts = [*(int((made["job"] == label).sum()) for label in labels), int(made["job"].isna().sum())]
        # Six deviations of a binomial for each of five codes: a false alarm below 1e-8.
        assert (np.abs(counts - expected) <= 6 * np.sqrt(expected) + 1).all()

    def test_values_that_the_codes_cannot_tell_apart_are_kept(self, release: st.Release) -> None:
        given = pd.DataFrame({"job": ["clown", "astronaut", "other"], "share": [0.1, 0.1 + 1e-15, -1.0]})

        made = release.sample(given=given, seed=0)

        assert made["job"].tolist() == given["job"].tolist()
        assert made["share"].tolist() == given["share"].tolist()

    def test_unlisted_categories_of_an_open_column_are_said(self, release: st.Release) -> None:
        given = pd.DataFrame({"job": ["cook", "Cook", CANARY, None, "other"]})

        with pytest.warns(
            ConditionWarning, match="'job': 2 given cells are none of the 3 categories"
        ) as said:
            made = release.sample(given=given, seed=0)

        assert CANARY not in str(said[0].message)
        assert made["job"].tolist()[:3] == ["cook", "Cook", CANARY]

    def test_rows_may_be_none(self, release: st.Release) -> None:
        made = release.sample(given=table(0)[["sex"]])

        assert len(made) == 0
        assert list(made) == list(SCHEMA)

    def test_a_seed_repeats_what_is_drawn(self, release: st.Release) -> None:
        given = table(50)[["sex"]]

        one, same, other = (release.sample(given=given, seed=s) for s in (1, 1, 2))

        pd.testing.assert_frame_equal(one, same)
        assert not one.equals(other)

    @pytest.mark.parametrize("convert", [polars.from_pandas, pyarrow.Table.from_pandas])
    def test_any_kind_of_table_may_be_given(self, release: st.Release, convert: Callable[..., Any]) -> None:
        given = table(20)[["job", "pay"]]

        made = release.sample(given=convert(given), seed=0)

        pd.testing.assert_frame_equal(made, release.sample(given=given, seed=0))

    @pytest.mark.thorough
    def test_a_file_is_read_as_declared_and_written_in_pieces(
        self, release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(drawing, "ROWS_AT_ONCE", 30)
        given = table(100)[["id", "job", "age"]]
        given.to_csv(tmp_path / "given.csv", index=False)

        drawn = release.sample_to(tmp_path / "made.csv", given=tmp_path / "given.csv", seed=0)

        made = pd.read_csv(tmp_path / "made.csv", dtype=str)
        assert drawn == len(made) == 100
        pd.testing.assert_frame_equal(
            made[["id", "job", "age"]], pd.read_csv(tmp_path / "given.csv", dtype=str)
        )


class TestRefusals:
    def test_cells_that_the_release_cannot_have_are_counted_and_not_shown(self, release: st.Release) -> None:
        for given, message in [
            ({"age": [18, 66, 70]}, "column 'age' has 2 cells with a value outside the bounds"),
            ({"age": [18.5, 20.0]}, "column 'age' has 1 cell not in whole numbers"),
            ({"pay": [1.0, np.nan]}, "column 'pay' has 1 cell missing, which none may be"),
            ({"sex": ["f", CANARY]}, "column 'sex' has 1 cell with an unlisted category"),
            ({"age": ["20", CANARY]}, "column 'age' has 1 cell that cannot be read"),
            ({"day": [1.5]}, "column 'day' has 1 cell that cannot be read"),
        ]:
            with pytest.raises(ArgumentError, match=message) as caught:
                release.sample(given=pd.DataFrame(given))

            assert CANARY not in str(caught.value)

    def test_an_unknown_column_is_named(self, release: st.Release) -> None:
        with pytest.raises(SchemaError, match="no column 'sexx'; did you mean 'sex'"):
            release.sample(given=pd.DataFrame({"sexx": ["f"]}))

    def test_what_is_no_table(self, release: st.Release, tmp_path: Path) -> None:
        with pytest.raises(DataError):
            release.sample(given=5)
        with pytest.raises(DataError, match="no file"):
            release.sample(given=tmp_path / "none.csv")

    def test_it_says_how_many_rows(self, release: st.Release) -> None:
        with pytest.raises(ArgumentError, match="given already defines the rows to draw"):
            release.sample(3, given=table(3)[["sex"]])


class TestWithConditions:
    """Given rows whose other columns satisfy conditions, as cells do that are filled."""

    def test_each_row_has_the_distribution_given_its_values_and_the_conditions(self) -> None:
        exact = st.MST(epsilon=math.inf, seed=1).fit(table(), SCHEMA)
        given = pd.DataFrame({"sex": ["f", "m"] * 4000, "id": [f"key {i}" for i in range(8000)]})

        rows = exact.sample(given=given, where={"job": ..., "age": [(18, 40), None]}, seed=1)

        assert (rows["sex"].astype(str) == given["sex"]).all()
        assert (rows["id"] == given["id"]).all()
        assert rows["job"].notna().all()
        assert (rows["age"].isna() | rows["age"].between(18, 40)).all()
        nurses = {sex: float((rows["job"][rows["sex"] == sex] == "nurse").mean()) for sex in ("f", "m")}
        known = table().dropna(subset=["job"])
        known = known[known["age"].isna() | known["age"].between(18, 40)]
        for sex, share in nurses.items():
            # Of 4,000 rows the share has a standard deviation below 0.008; six of them with a probability of 2e-9.
            assert abs(share - (known["job"][known["sex"] == sex] == "nurse").mean()) < 0.05

    def test_a_row_that_no_draw_satisfies_takes_values_of_rows_like_it(self) -> None:
        rng = np.random.default_rng(0)
        n = 1500
        age = rng.integers(18, 90, n)
        status = np.where(age > 64, "retired", rng.choice(["employed", "student"], n))
        # All who are retired leave their income open, so that no leaf of theirs has any.
        income = np.where(status == "retired", np.nan, 500 + 50 * age + 1000 * (status == "employed"))
        schema = st.Schema(
            {
                "age": st.Numeric(18, 89, integer=True),
                "status": st.Categorical(("employed", "retired", "student")),
                "income": st.Numeric(0, 6000, nullable=True),
                "id": st.Identifier(prefix="p"),
            }
        )
        frame = pd.DataFrame({"age": age, "status": status, "income": income, "id": np.arange(n).astype(str)})
        for method in (st.Synthpop, st.MST):
            release = method(epsilon=math.inf, seed=1).fit(frame, schema)
            given = frame[["age", "status"]].iloc[:300]

            with pytest.warns(ConditionWarning, match="of 300 given rows none of 200 draws satisfied where"):
                rows = release.sample(given=given, where={"income": ...}, seed=1)

            assert rows["income"].notna().all()
            assert (rows["age"].to_numpy() == given["age"]).all()
            assert (rows["status"].astype(str).to_numpy() == given["status"]).all()
            assert rows["id"].is_unique
            # The nearest with an income are those of more than 55 years or so, not those of 18.
            assert rows["income"][rows["status"] == "retired"].mean() > frame["income"].mean() + 500

    @pytest.mark.thorough
    def test_rules_hold_as_well(self) -> None:
        rules = st.Rules(derive={"twice": "pay * 2"}, require=["sex = 'f' or pay < 50"])
        frame = table()
        frame = frame[(frame["sex"] == "f") | (frame["pay"] < 50)].assign(twice=lambda rows: rows["pay"] * 2)
        columns = {**SCHEMA.columns, "twice": st.Numeric(0, 198, decimals=1)}
        ruled = st.MST(epsilon=5.0, seed=1).fit(frame, st.Schema(columns, rules=rules))

        rows = ruled.sample(given=pd.DataFrame({"sex": ["f", "m"] * 50}), where={"twice": (60, None)}, seed=1)

        assert (rows["twice"] >= 60).all()
        assert rows["sex"].astype(str).tolist() == ["f", "m"] * 50
        assert ((rows["sex"] == "f") | (rows["pay"] < 50)).all()

    def test_what_cannot_be_is_refused_in_a_sentence(self, release: st.Release) -> None:
        frame = table()
        exact = st.Synthpop(epsilon=math.inf, seed=1).fit(frame[frame["job"] != "judge"], SCHEMA)
        cases: list[tuple[Any, type[Exception], str]] = [
            ({"sex": "f"}, ArgumentError, "column 'sex' is given, and where has a condition on it"),
            (
                {"job": "judge"},
                ArgumentError,
                "of 2 given rows 2 got none that satisfies where in 200 draws, .* leave these rows out: 0, 1 .the first",
            ),
            ({"work": "cook"}, SchemaError, "work"),
            ("job", ArgumentError, "where must be a dictionary"),
        ]
        for where, error, message in cases:
            with pytest.raises(error, match=message):
                exact.sample(given=pd.DataFrame({"sex": ["f", "f"]}), where=where, seed=1)
