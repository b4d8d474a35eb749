"""Types and domains of columns that nothing declares, and warnings that name those that noise hides."""

from __future__ import annotations

import datetime as dt
import math
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow as pa
import pytest

import syntabula as st
from syntabula.errors import CoercionWarning, DomainWarning, PrivateDomainError
from syntabula.prepare.found_columns import hidden_domain, warn_of_hidden
from syntabula.table.raw import PhysicalType

N = 20_000


def frame(n_known: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2021-03-04")
    table = pd.DataFrame({"age": rng.integers(18, 90, N), "pay": rng.normal(500, 9, N).round()})
    table["debt"] = np.where(np.arange(N) < n_known, 7.5, np.nan)
    table["settled"] = pd.Series([start] * n_known + [pd.NaT] * (N - n_known))
    return table


def test_its_values_count_as_one_and_a_warning_says_so() -> None:
    with (
        pytest.warns(DomainWarning, match="'debt': .*replaced by 0;"),
        pytest.warns(DomainWarning, match="'settled': .*replaced by 1970-01-01;"),
    ):
        release = st.Independent(epsilon=2.0, seed=0).fit(frame()[["debt", "age", "pay", "settled"]])

    made = release.sample(500, seed=0)
    assert list(made) == ["debt", "age", "pay", "settled"]
    assert (made.dtypes == frame().dtypes[made.columns]).all()
    assert made["debt"].isna().mean() > 0.9
    assert made["settled"].isna().mean() > 0.9
    assert set(made["debt"].dropna()) <= {0.0}
    assert made["age"].between(0, 127).all()


@pytest.mark.filterwarnings("ignore::syntabula.errors.DomainWarning")
def test_where_most_are_hidden_the_others_come_out() -> None:
    release = st.Independent(epsilon=2.0, seed=0).fit(frame()[["age", "debt", "settled"]])

    made = release.sample(500, seed=0)
    assert made["age"].nunique() > 9
    assert release.privacy.hidden == ("debt", "settled")
    assert {"debt", "settled"} <= set(release.lost_columns())
    assert "For debt, settled, noise hides where the values lie" in " ".join(release.privacy.text().split())


@pytest.mark.filterwarnings("ignore::syntabula.errors.DomainWarning")
def test_where_all_are_hidden_or_made_anew_it_is_refused() -> None:
    table = frame()[["debt", "settled"]].assign(name=[f"person {i}" for i in range(N)])

    with pytest.raises(
        PrivateDomainError, match=r"no column's domain was found \(columns 'debt', 'settled', 'name'"
    ):
        st.Independent(epsilon=2.0, seed=0).fit(table)


def test_it_rests_on_the_stored_type_alone() -> None:
    for physical, lower in [
        (PhysicalType("integer", "int64"), 0),
        (PhysicalType("decimal", "decimal128(5, 2)", scale=2), 0),
        (PhysicalType("date", "DATE"), dt.date(1970, 1, 1)),
        (PhysicalType("datetime", "datetime64[us]"), dt.datetime(1970, 1, 1)),
        (PhysicalType("datetime", "x", timezone="Europe/Paris"), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)),
    ]:
        column = hidden_domain(physical)

        assert column.objection(physical) is None
        assert (column.lower, column.upper) == (lower, lower)
        assert (column.nullable, column.provenance) == (True, "private")


def told(source: object, epsilon: float) -> list[str]:
    return fitted(source, epsilon)[1]


def fitted(source: object, epsilon: float, seed: int = 0) -> tuple[st.Release, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DomainWarning)
        release = st.Independent(epsilon=epsilon, seed=seed).fit(source)
    return release, [str(w.message) for w in caught]


@pytest.mark.thorough
def test_one_warning_names_all_columns_of_a_kind() -> None:
    names = [f"person {i}" for i in range(N)]
    gaps = np.where(np.arange(N) < 5, 7.5, np.nan)
    frame = pd.DataFrame({"age": np.arange(N) % 70, "pay": np.arange(N) % 90, "sex": np.arange(N) % 2})
    frame = frame.assign(name=names, mother=names[::-1], debt=gaps)

    release, messages = fitted(frame, epsilon=2.0)

    assert release.privacy.made_anew == ("name", "mother")
    assert len(messages) == 2
    assert messages[0].startswith("2 columns ('name', 'mother'), each: hardly any category is frequent")
    assert messages[1].startswith("column 'debt': at this budget")
    assert "person" not in messages[0]


def test_values_beyond_found_bounds_are_told_in_percent() -> None:
    rng = np.random.default_rng(7)
    thin = np.rint(2 ** rng.uniform(9, 15, 400))
    frame = pd.DataFrame({"days": np.append(rng.integers(10, 60, N - thin.size), thin).astype(np.int64)})

    release, messages = fitted(frame, epsilon=1.0, seed=1)

    assert any(
        m.startswith("column 'days': some values seem to lie beyond the bounds that were found")
        and "of the values (noisy counts)" in m
        for m in messages
    )
    assert release.privacy.cut_off["days"] == pytest.approx(0.02, abs=0.008)
    assert "moved to the nearest bound (noisy fractions): days" in " ".join(release.privacy.text().split())


def test_few_values_beyond_found_bounds_are_said_to_be_no_more_than_noise_leaves_room_for() -> None:
    rng = np.random.default_rng(11)
    prices = np.append(rng.integers(50, 250, N - 20), np.full(20, 9_000))

    release, messages = fitted(pd.DataFrame({"price": prices.astype(np.int64)}), epsilon=1.0, seed=1)

    assert not [m for m in messages if "beyond the bounds" in m]
    assert not release.privacy.cut_off
    assert 20 / N < release.privacy.cut_off_at_most < 0.03
    assert "moved to the nearest bound too: at most" in " ".join(release.privacy.text().split())


BEYOND = {
    "floats": np.full(N, 1e20),
    "decimals": pd.Series([Decimal(10**20 + i) for i in range(N)], dtype=pd.ArrowDtype(pa.decimal128(38, 0))),
}
SOUGHT = {
    "floats": np.linspace(-2e18, 2e18, N).round(),
    "whole": np.linspace(-(2.0**63), 2.0**62, N).astype(np.int64),
}


def test_values_beyond_all_that_is_sought_are_told() -> None:
    for name in BEYOND:
        release, messages = fitted(pd.DataFrame({"x": BEYOND[name]}), epsilon=1.0)

        assert any(
            m.startswith("column 'x': some values seem to lie beyond the bounds") and "make them missing" in m
            for m in messages
        )
        assert 0.2 < release.privacy.cut_off["x"] <= 1


def test_large_values_that_are_sought_bring_no_warning() -> None:
    for name in SOUGHT:
        release, messages = fitted(pd.DataFrame({"x": SOUGHT[name]}), epsilon=1.0)

        assert not messages
        assert not release.privacy.cut_off


def test_types_that_noise_hides_are_told_together(tmp_path: Path) -> None:
    rows = "".join(f"{i % 2},,\n" for i in range(N))
    (tmp_path / "t.csv").write_text("sex,one,other\n" + rows)

    assert any(
        m.startswith("2 columns ('one', 'other'), each: it is empty")
        for m in told(tmp_path / "t.csv", epsilon=2.0)
    )


@pytest.mark.thorough
def test_it_points_to_the_line_that_fitted_the_table() -> None:
    frame = pd.DataFrame({"age": np.arange(N) % 70, "name": [f"person {i}" for i in range(N)]})
    frame.index.name = "row"

    with pytest.warns() as caught:
        st.Independent(epsilon=2.0, seed=0).fit(frame)

    assert {w.category for w in caught} == {DomainWarning, CoercionWarning}
    assert {w.filename for w in caught} == {__file__}


def test_of_very_many_columns_some_are_named() -> None:
    with pytest.warns(DomainWarning, match=r"30 columns \('c0', .*'c19' and 10 more\), each: no category"):
        warn_of_hidden([f"c{i}" for i in range(30)], "no category")


class TestWithoutPrivacy:
    """Looking is free, so keys come out in their own form, and no message speaks of noise or a budget."""

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "age": np.arange(300) % 70,
                "member": [f"C-{7919 * i % 1_000_000:06d}" for i in range(300)],
                "said": [f"note {i}" for i in range(300)],
                "sort": ["a", "b", "b"] * 100,
            }
        )

    def test_keys_have_the_pattern_that_a_draft_shows(self) -> None:
        frame = self.frame()

        with pytest.warns(DomainWarning) as caught:
            release = st.Independent(epsilon=math.inf, seed=0).fit(frame)

        assert release.schema["member"].pattern == st.draft_schema(frame)[0]["member"].pattern == r"C-\d{6}"
        assert release.sample()["member"].str.fullmatch(r"C-\d{6}").all()
        (message,) = [str(w.message) for w in caught if w.category is DomainWarning]
        assert "'said': hardly any value repeats" in message
        assert "budget" not in message
        assert "epsilon" not in message
        assert release.lost_columns() == ["said"]
        assert "noise hides" not in release.privacy.text()

    def test_texts_of_which_many_repeat_are_learned(self) -> None:
        frame = pd.DataFrame({"said": [f"note {i}" if i % 3 else "none" for i in range(3_000)]})

        release = st.Independent(epsilon=math.inf, seed=0).fit(frame)

        assert (release.sample()["said"] == "none").mean() == pytest.approx(1 / 3, abs=0.1)

    def test_columns_without_values_leave_the_others(self) -> None:
        empty = np.full(300, np.nan)

        with pytest.warns(DomainWarning, match=r"2 columns \('a', 'b'\), each: it holds no values"):
            release = st.Independent(epsilon=math.inf, seed=0).fit(
                self.frame()[["age"]].assign(a=empty, b=empty)
            )

        assert release.privacy.hidden == ("a", "b")
        assert "For a, b, there are no values" in release.privacy.text()

    def test_a_table_without_values_is_refused(self) -> None:
        for values in ([], [None, None]):
            with pytest.raises(PrivateDomainError, match="the table holds no values"):
                st.Independent(epsilon=math.inf, seed=0).fit(
                    pd.DataFrame({"a": values, "b": values}, dtype=object)
                )

    def test_an_empty_column_is_said_to_hold_no_values(self) -> None:
        frame = self.frame()[["age", "sort"]].assign(
            day=pd.Series([pd.NaT] * 300, dtype="datetime64[ns]"), said=None
        )

        with pytest.warns(DomainWarning) as said:
            release = st.Independent(epsilon=math.inf, seed=0).fit(frame)

        assert [str(w.message).partition(";")[0] for w in said] == [
            "2 columns ('said', 'day'), each: it holds no values, so synthetic rows hold none either"
        ]
        assert release.sample(20)[["day", "said"]].isna().all(axis=None)

    @pytest.mark.parametrize("dtype", ["boolean", "category"])
    def test_so_is_one_of_any_kind(self, dtype: str) -> None:
        frame = self.frame()[["age", "sort"]].assign(none=pd.Series([None] * 300, dtype=dtype))

        with pytest.warns(DomainWarning, match="column 'none': it holds no values, so"):
            release = st.Independent(epsilon=math.inf, seed=0).fit(frame)

        drawn = release.sample(20)["none"]
        assert drawn.isna().all()
        assert drawn.dtype == dtype

    def test_a_budget_does_not_tell_whether_a_column_is_empty_but_what_came_out_does(self) -> None:
        frame = pd.concat([self.frame()[["age", "sort"]]] * 10, ignore_index=True)
        frame["said"] = pd.Series([None] * 3_000, dtype="str")

        with pytest.warns(
            DomainWarning, match="so values, if there are any, are replaced by running numbers"
        ):
            release = st.Independent(epsilon=10.0, seed=0).fit(frame)

        assert "the values are keys, or there are none: they" in " ".join(release.privacy.text().split())
        # The noise of the count has a standard deviation below 2, a fifteenth of what is told as hardly any row.
        assert release.blank_columns() == ["said"]


@pytest.mark.filterwarnings("ignore:column 'sort'")
def test_a_type_that_holds_no_values_comes_out_without_any_and_is_said_to_hold_none() -> None:
    sort = ["a", "b"] * 150
    tables = (
        pyarrow.table({"sort": sort, "none": pyarrow.nulls(300)}),
        polars.DataFrame({"sort": sort, "none": [None] * 300}),
        pd.DataFrame({"sort": sort, "none": pd.Series([None] * 300, dtype=pd.ArrowDtype(pyarrow.null()))}),
    )
    for table in tables:
        with pytest.warns(DomainWarning, match="column 'none': it holds no values, so"):
            # The budget is so small that noise would fill many cells.
            release = st.Independent(epsilon=0.5, seed=0).fit(table)

        drawn = release.sample(50, seed=1)["none"]

        if isinstance(table, pyarrow.Table):
            assert (drawn.null_count, drawn.type) == (50, pyarrow.null())
        else:
            assert drawn.dtype == table["none"].dtype
            assert (drawn.isna().sum() if isinstance(table, pd.DataFrame) else drawn.null_count()) == 50


class TestNumbersOfRows:
    # Noise exceeds the height in any of the cells with probability 2e-8, on either side, which is the false-alarm rate.
    @staticmethod
    def warned(name: str, values: np.ndarray, epsilon: float = 1.0) -> list[str]:
        rng = np.random.default_rng(1)
        table = pd.DataFrame({name: values, "age": rng.integers(18, 90, values.size)})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            st.Independent(epsilon=epsilon, seed=0).fit(table)
        return [str(w.message) for w in caught if "rows are numbered" in str(w.message)]

    def test_a_name_that_no_key_has_brings_a_warning(self) -> None:
        (message,) = self.warned("ride", np.random.default_rng(0).permutation(5_000) + 1)

        assert message.startswith("column 'ride': ")
        assert "{kind: identifier}" in message

    def test_names_of_keys_and_amounts_bring_none(self) -> None:
        rng = np.random.default_rng(0)

        assert not self.warned("ride_id", rng.permutation(5_000) + 1)
        assert not self.warned("cents", rng.gamma(2.0, 1_000.0, 5_000).astype(np.int64))

    def test_without_privacy_they_are_made_anew(self) -> None:
        assert not self.warned("ride", np.random.default_rng(0).permutation(5_000) + 1, epsilon=math.inf)
