"""Rows of a release that satisfy conditions: all of them do, and they are distributed as such rows are."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import stats

import syntabula as st
from syntabula.errors import ArgumentError, ConditionWarning, SchemaError
from syntabula.select.privbayes import ParentSets
from syntabula.synthesizers import conditions, drawing

pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.CoercionWarning")
LEAST_P = 1e-9  # of each test of a distribution: all of this file together raise a false alarm below 1e-6
N = 4000

SCHEMA = st.Schema(
    {
        "age": st.Numeric(18, 65, integer=True, nullable=True, bins=6),
        "pay": st.Numeric(0, 99, decimals=1, bins=5),
        "share": st.Numeric(-1.0, 1.0, bins=4),
        "job": st.Categorical(("cook", "judge", "nurse"), nullable=True, open=True),
        "member": st.Boolean(nullable=True),
        "day": st.Datetime(dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31), resolution="day", bins=4),
        "code": st.Categorical(tuple(range(120))),
        "id": st.Identifier(prefix="x", nullable=True),
    }
)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    job = rng.choice(["cook", "judge", "nurse", "clown"], N, p=[0.5, 0.3, 0.15, 0.05])
    age = np.clip(rng.normal(35, 9, N), 18, 65).astype(int)
    frame = pd.DataFrame(
        {
            "age": pd.array(age, dtype="Int16"),
            "pay": np.round(np.clip(age + rng.normal(0, 9, N), 0, 99), 1),
            "share": rng.uniform(-1, 1, N),
            "job": pd.Categorical(job),
            "member": pd.array(rng.random(N) < np.where(job == "cook", 0.8, 0.3), dtype="boolean"),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, N), unit="D"),
            "code": np.minimum(rng.geometric(0.1, N) - 1, 119),
            "id": [f"person {i}" for i in range(N)],
        }
    )
    for name in ("age", "job", "member", "id"):
        frame.loc[rng.random(N) < 0.2, name] = None
    return frame


@pytest.fixture(scope="module")
def release() -> st.Release:
    # Rare codes are merged, and values lie normally within bins: all that can come between a code and a value.
    preprocessing = st.Preprocessing(discretizer="uniform", within="normal")
    mst = st.MST(epsilon=10.0, seed=1, preprocessing=preprocessing, rare=st.RareCategories())
    return mst.fit(table(), SCHEMA)


CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "a range within one bin": ({"age": (22, 24)}, lambda f: f["age"].between(22, 24)),
    "a range over several bins": ({"age": (20, 40)}, lambda f: f["age"].between(20, 40)),
    "open ranges": (
        {"age": (50, None), "pay": (None, 55.5)},
        lambda f: (f["age"] >= 50) & (f["pay"] <= 55.5),
    ),
    "one number": ({"pay": 33.3}, lambda f: f["pay"] == 33.3),
    "numbers, ranges and missing": (
        {"age": [30, (41, 45), None]},
        lambda f: (f["age"] == 30) | f["age"].between(41, 45) | f["age"].isna(),
    ),
    "days": (
        {"day": ("2020-02-28", dt.date(2020, 3, 2))},
        lambda f: f["day"].between("2020-02-28", "2020-03-02"),
    ),
    "categories": ({"job": ["cook", "other"]}, lambda f: f["job"].isin(["cook", "other"])),
    "ranges that overlap": (
        {"age": [(20, 50), (25, 30), (48, 55), 60]},
        lambda f: f["age"].between(20, 55) | (f["age"] == 60),
    ),
    "missing": ({"job": None, "id": None}, lambda f: f["job"].isna() & f["id"].isna()),
    "present": ({"age": (None, None)}, lambda f: f["age"].notna()),
    "present in many columns": (
        {"age": ..., "job": ..., "member": ..., "id": ..., "code": ...},
        lambda f: f[["age", "job", "member", "id"]].notna().all(axis=1),
    ),
    "merged categories": ({"code": [80, 90, 100, 3]}, lambda f: f["code"].isin([80, 90, 100, 3])),
    "many columns": (
        {"age": (25, 50), "pay": (20, 60), "job": ["cook", "nurse", None], "member": [True, None]},
        lambda f: (
            f["age"].between(25, 50)
            & f["pay"].between(20, 60)
            & (f["job"].isin(["cook", "nurse"]) | f["job"].isna())
            & ((f["member"] == True) | f["member"].isna())  # noqa: E712
        ),
    ),
}


@pytest.fixture(scope="module")
def unconditional(release: st.Release) -> pd.DataFrame:
    return release.sample(200_000, seed=9)


class TestDistribution:
    @pytest.mark.thorough
    @pytest.mark.parametrize("case", CASES)
    def test_all_rows_satisfy_the_conditions_and_are_otherwise_like_such_rows(
        self, release: st.Release, unconditional: pd.DataFrame, case: str
    ) -> None:
        where, satisfies = CASES[case]
        mask = satisfies(unconditional).fillna(False).astype(bool)
        kept = unconditional[mask]

        made = release.sample(3000, where=where, seed=0)

        assert len(made) == 3000
        assert satisfies(made).fillna(False).all()
        assert made.dtypes.astype(str).equals(unconditional.dtypes.astype(str))
        # Six deviations of a binomial; rounding only lowers the variance.
        probability = release.probability(where)
        deviation = math.sqrt(probability * (1 - probability) / len(unconditional))
        assert abs(mask.mean() - probability) < 6 * deviation + 1e-4
        for column in SCHEMA:
            if column != "id":
                assert p_value(made[column], kept[column]) > LEAST_P, column
        for one, other in (("age", "pay"), ("job", "member")):
            pairs = (coarse(f[one]) + "/" + coarse(f[other]) for f in (made, kept))
            assert p_value(*pairs) > LEAST_P


def coarse(values: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        values = values.astype("Float64") // 10
    return values.astype(str).fillna("missing")


def p_value(some: pd.Series, others: pd.Series) -> float:
    """Test that two samples are of one distribution: of numbers their order, of all else how often they are."""
    if some.dtype.kind in "fiM" and some.nunique() > 20:
        return float(stats.ks_2samp(some.dropna(), others.dropna()).pvalue)
    counts = pd.concat(
        [s.astype(str).fillna("missing").value_counts() for s in (some, others)], axis=1
    ).fillna(0)
    counts = counts.to_numpy()
    small = counts.sum(axis=1) < 20
    counts = np.vstack([counts[~small], counts[small].sum(axis=0)])
    counts = counts[counts.sum(axis=1) > 0]
    return 1.0 if len(counts) < 2 else float(stats.chi2_contingency(counts).pvalue)


class TestNumberOfRows:
    def test_is_the_noisy_estimate_of_the_records_that_satisfy(self, release: st.Release) -> None:
        where = {"age": (30, 40), "member": True}

        made = release.sample(where=where)

        assert len(made) == round(release.probability(where) * release.model.total)
        actual = table()
        there = (actual["age"].between(30, 40) & actual["member"]).sum()
        assert len(made) == pytest.approx(there, rel=0.2)

    def test_may_be_none_or_one(self, release: st.Release) -> None:
        for n in (0, 1):
            made = release.sample(n, where={"job": "cook"}, seed=0)
            assert len(made) == n
            assert made.dtypes.astype(str).equals(release.sample(5).dtypes.astype(str))

    def test_of_no_conditions_is_that_of_all(self, release: st.Release) -> None:
        assert len(release.sample(where={})) == release.n_estimated
        assert release.probability({}) == 1

    @pytest.mark.thorough
    def test_the_probability_of_all_values_of_all_columns_is_one(self, release: st.Release) -> None:
        everything = {
            "age": [(None, None), None],
            "pay": (0, 99),
            "job": [*SCHEMA["job"].categories, "other", None],
        }

        assert release.probability(everything) == pytest.approx(1)


class TestKinds:
    def test_the_frame_is_of_the_kind_that_was_fitted(self) -> None:
        for convert in [polars.from_pandas, pyarrow.Table.from_pandas, lambda frame: frame]:
            frame = convert(table()[["age", "job", "day"]].astype({"job": str}))
            schema = st.Schema({n: SCHEMA[n] for n in ("age", "job", "day")})
            fitted = st.Independent(epsilon=5.0, seed=1).fit(frame, schema)

            made = fitted.sample(20, where={"age": (20, 30), "job": ["cook"]}, seed=0)

            whole = fitted.sample(20, seed=0)
            assert type(made) is type(whole)
            assert getattr(made, "schema", None) == getattr(whole, "schema", None)
            assert all(20 <= v <= 30 for v in made["age"].to_pylist()) if hasattr(made, "to_pydict") else True

    @pytest.mark.thorough
    def test_a_file_gets_them_in_pieces(
        self, release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(drawing, "ROWS_AT_ONCE", 70)
        # Rows of the whole release are drawn until enough satisfy a range, thousands at a time.
        monkeypatch.setattr(conditions, "_ENOUGH", 2.0)
        largest: list[int] = []
        decode = type(release.codec).decode

        def watched(self: Any, table: Any, *rest: Any, **named: Any) -> Any:
            largest.append(table.n_rows)
            return decode(self, table, *rest, **named)

        monkeypatch.setattr(type(release.codec), "decode", watched)
        for name in ("one.csv", "other.csv"):
            assert release.sample_to(tmp_path / name, 200, where={"age": (30, 33)}, seed=4) == 200

        # The whole is larger than a piece, so that a few rows are drawn before to see whether there is room for it.
        assert largest == [200, 70, 70, 60] * 2
        made = pd.read_csv(tmp_path / "one.csv")
        assert len(made) == 200
        assert made["age"].between(30, 33).all()
        assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()

    def test_a_seed_repeats_the_rows(self, release: st.Release) -> None:
        where = {"age": (30, 33), "share": (0.1, 0.2)}

        one, same, other = (release.sample(50, where=where, seed=s) for s in (1, 1, 2))

        pd.testing.assert_frame_equal(one, same)
        assert not one.equals(other)

    def test_a_file_of_a_release_brings_the_same_rows(self, release: st.Release, tmp_path: Path) -> None:
        release.save(tmp_path / "x.syn")
        where = {"age": (30, 33), "code": [1, 2]}

        again = st.load(tmp_path / "x.syn").sample(50, where=where, seed=1)

        pd.testing.assert_frame_equal(release.sample(50, where=where, seed=1), again)


class TestRefusals:
    def test_an_unknown_column_is_named_with_the_nearest(self, release: st.Release) -> None:
        with pytest.raises(SchemaError, match="no column 'agee'; did you mean 'age'"):
            release.sample(1, where={"agee": 1})

    def test_what_is_no_mapping(self, release: st.Release) -> None:
        for where in ["age=3", [("age", 3)], 5]:
            with pytest.raises(
                ArgumentError, match="where must be a dictionary from columns to allowed values"
            ):
                release.sample(1, where=where)

    def test_what_no_row_can_be(self) -> None:
        frame = pd.DataFrame({"a": ["x", "y"] * 500, "b": ["u", "v"] * 500})
        schema = st.Schema({"a": st.Categorical(("x", "y", "z")), "b": st.Categorical(("u", "v"))})
        records = st.PrivSyn(epsilon=math.inf, seed=1).fit(frame, schema)

        with pytest.raises(
            ArgumentError, match=r"columns 'a', 'b' together; none of the model's 1,000 synthetic"
        ):
            records.sample(5, where={"a": "x", "b": "v"})
        with pytest.raises(ArgumentError, match="conditions on column 'a'; none"):
            records.sample(5, where={"a": "z"})
        with pytest.warns(ConditionWarning, match="expects 0 records"):
            assert len(records.sample(where={"a": "z"})) == 0
        assert len(records.sample(5, where={"a": "x"})) == 5

    def test_few_records_are_said(self) -> None:
        frame = pd.DataFrame({"a": ["x"] * 990 + ["y"] * 10, "b": ["u", "v"] * 500})
        schema = st.Schema({"a": st.Categorical(("x", "y")), "b": st.Categorical(("u", "v"))})
        records = st.PrivSyn(epsilon=math.inf, seed=1).fit(frame, schema)

        with pytest.warns(
            ConditionWarning, match=r"only 10 of the model's 1,000 synthetic records .* 50 rows repeat"
        ):
            made = records.sample(50, where={"a": "y"})

        assert set(made["a"]) == {"y"}
        assert len(records.sample(5, where={"a": "y"})) == 5

    def test_rows_that_had_to_be_tried_often_are_said(self) -> None:
        frame = table()[["age", "job", "member"]]
        schema = st.Schema({n: SCHEMA[n] for n in frame})
        preprocessing = st.Preprocessing(discretizer="uniform", within="even")
        selector = ParentSets(records_per_noise=None)
        wide = st.PrivBayes(epsilon=5.0, seed=1, preprocessing=preprocessing, selector=selector)
        release = wide.fit(frame, schema)
        release = replace(release, model=replace(release.model, max_memory_mb=1e-6))

        with pytest.warns(ConditionWarning, match=r"until enough satisfy them: \d\.\d\d% of the rows do"):
            made = release.sample(500, where={"age": 30, "member": True}, seed=0)

        assert made["age"].tolist() == [30] * 500
        assert made["member"].all()
        # What many rows satisfy takes no longer than usual, so nothing is said, which would be an error here.
        assert release.sample(500, where={"member": True}, seed=0)["member"].all()

    def test_next_to_nothing_expected_is_said(self, release: st.Release) -> None:
        where = {"age": 64, "pay": 1.5, "job": "judge", "code": 20}

        with pytest.warns(ConditionWarning, match="this release expects .* records to satisfy"):
            made = release.sample(3, where=where)

        assert made["age"].tolist() == [64] * 3
        assert made["pay"].tolist() == [1.5] * 3


@pytest.mark.parametrize("rules", [None, st.Rules(require=("not (amount = 0 and kind = 'paid')",))])
@pytest.mark.parametrize("value", [0, 12.5, 100.0])
def test_a_frequent_number_of_any_precision_can_be_asked_for(value: float, rules: Any) -> None:
    rng = np.random.default_rng(0)
    amount = np.where(rng.random(N) < 0.5, 0.0, np.minimum(rng.exponential(40, N), 100.0))
    amount[:400] = 12.5
    frame = pd.DataFrame({"amount": amount, "kind": np.where(amount == 0, "free", "paid")})
    columns = {"amount": st.Numeric(0.0, 100.0), "kind": st.Categorical(("free", "paid"))}
    release = st.MST(epsilon=5.0, seed=0).fit(frame, st.Schema(columns, rules=rules))

    drawn = release.sample(300, where={"amount": value}, seed=0)

    assert (drawn["amount"] == value).all()
    assert (drawn["kind"] == ("free" if value == 0 else "paid")).mean() > 0.95
    # Noise has a deviation of less than .005 at this budget.
    assert release.probability({"amount": value}) == pytest.approx((amount == value).mean(), abs=0.05)
    with pytest.raises(ArgumentError, match="a single number has probability 0"):
        release.sample(1, where={"amount": 17.25})
    for never in ("<0", ">100"):
        with pytest.raises(ArgumentError, match="which column 'amount' never is"):
            release.sample(1, where={"amount": never})
    some = release.sample(50, where={"amount": ">0"}, seed=0)
    assert (some["amount"] > 0).all()
    none = release.sample(50, where={"amount": "<=0"}, seed=0)
    assert (none["amount"] == 0).all()
