"""Exact values and narrow ranges tell of other columns what a large table drawn without conditions shows there."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from functools import partialmethod
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.models.restricted import by_trying
from syntabula.synthesizers import conditions, known_parts
from syntabula.table.coding import following
from syntabula.table.coding.values_within import InBins

N = 20_000
DEVIATIONS = 6  # of a mean or share; a false alarm below 1e-8 each


@pytest.fixture(scope="module")
def amounts() -> tuple[st.Release, pd.DataFrame]:
    """Return a release of amounts with a correlation of .97 in four bins, and many of its rows."""
    rng = np.random.default_rng(0)
    income = np.clip(rng.normal(50, 15, N), 0, 99.9).round(1)
    tax = np.clip(income + rng.normal(0, 4, N), 0, 99.9).round(1)
    rent = np.clip(60 - income / 2 + rng.normal(0, 3, N), 0, 99.9).round(1)
    frame = pd.DataFrame({"income": income, "tax": tax, "rent": rent, "pays": tax > 55})
    number = st.Numeric(0, 99.9, decimals=1, bins=4)
    schema = st.Schema({"income": number, "tax": number, "rent": number, "pays": st.Boolean()})
    preprocessing = st.Preprocessing(discretizer="uniform")
    release = st.MST(epsilon=10.0, seed=0, preprocessing=preprocessing).fit(frame, schema)
    return release, release.sample(100_000, seed=1)


class TestNumbers:
    @pytest.mark.parametrize("value", [30.0, 45.0, 70.0])
    @pytest.mark.parametrize("how", ["where", "given"])
    def test_an_exact_number_tells_others_where_in_its_bin_it_lies(
        self, amounts: tuple[st.Release, pd.DataFrame], value: float, how: str
    ) -> None:
        release, every = amounts
        near = every[(every["income"] - value).abs() < 0.25]
        assert 200 < len(near) < 0.02 * len(every)
        if how == "where":
            made = release.sample(2000, where={"income": value}, seed=0)
        else:
            made = release.sample(given=pd.DataFrame({"income": np.full(2000, value)}), seed=0)

        assert (made["income"] == value).all()
        # The whole bin has other means by several points.
        whole = every[every["income"] // 25 == value // 25]
        assert abs(whole["tax"].mean() - near["tax"].mean()) > 3
        for name in ("tax", "rent"):
            deviation = math.hypot(near[name].std() / len(near) ** 0.5, made[name].std() / len(made) ** 0.5)
            assert abs(made[name].mean() - near[name].mean()) < DEVIATIONS * deviation
            assert made[name].std() == pytest.approx(near[name].std(), rel=0.15)

    def test_the_number_of_rows_is_that_of_all_rows(
        self, amounts: tuple[st.Release, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release, every = amounts
        # Rows of the whole release count them where they are frequent, and so for once they may not.
        monkeypatch.setattr(conditions, "_ENOUGH", 2.0)
        where = {"income": (62, 68), "tax": (50.5, 56)}

        found = release.probability(where)

        there = (every["income"].between(62, 68) & every["tax"].between(50.5, 56)).mean()
        assert found == pytest.approx(there, rel=0.1)

    def test_given_values_stay_and_differ_from_row_to_row(
        self, amounts: tuple[st.Release, pd.DataFrame]
    ) -> None:
        release, every = amounts
        given = every[["income"]].head(3000)

        made = release.sample(given=given, seed=0)

        assert made["income"].tolist() == given["income"].tolist()
        # .9 as in all rows, and .7 if they were drawn apart within bins.
        whole = every["income"].corr(every["tax"])
        assert made["income"].corr(made["tax"]) == pytest.approx(whole, abs=0.03)
        # Values within bins repeat no more than they do in any rows.
        assert made["tax"].nunique() > 0.9 * every["tax"].head(3000).nunique()


@pytest.fixture(scope="module")
def visits() -> st.Release:
    """Return a release of visits whose hour tells their kind, with times in wide bins."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["ward", "shop"], N, p=[0.5, 0.5])
    early = rng.random(N) < np.where(kind == "ward", 0.9, 0.2)
    hour = np.where(early, rng.integers(7, 11, N), rng.integers(15, 20, N))
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 365, N), unit="D")
    at = day + pd.to_timedelta(hour * 60 + rng.integers(0, 60, N), unit="min")
    frame = pd.DataFrame({"at": at, "kind": kind, "free": rng.choice(["a", "b", "c"], N)})
    ends = dt.datetime(2023, 1, 1), dt.datetime(2023, 12, 31, 23, 59)
    columns = {"at": st.Datetime(*ends, resolution="minute", bins=12)}
    columns |= {"kind": st.Categorical(("ward", "shop")), "free": st.Categorical(("a", "b", "c"))}
    release = st.MST(epsilon=10.0, seed=0).fit(frame, st.Schema(columns))
    assert "at" in release.codec.lifts
    return release


def drawn(release: st.Release, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many rows of a release's model are drawn from now on, draw by draw."""
    rows: list[int] = []
    sample = type(release.model).sample

    def counted(model: Any, n: int, *rest: Any) -> Any:
        rows.append(n)
        return sample(model, n, *rest)

    monkeypatch.setattr(type(release.model), "sample", counted)
    return rows


class TestCost:
    def test_a_release_that_is_asked_again_is_learned_once(
        self, amounts: tuple[st.Release, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release, every = amounts
        rows = drawn(release, monkeypatch)
        monkeypatch.setattr(known_parts, "followers_of", known_parts._LastFollowers())
        given = every[["income"]].head(10)

        made = [release.sample(given=given, seed=0) for _ in range(2)]

        assert rows == [known_parts.TRIED, *[10, 70] * 2]
        pd.testing.assert_frame_equal(*made)

    def test_many_rows_under_a_condition_do_not_take_many_times_as_many(
        self, amounts: tuple[st.Release, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release, every = amounts
        where = {"income": (62, 66)}
        near = every[every["income"].between(62, 66)]
        assert 0.05 < len(near) / len(every) < 0.1
        rows = drawn(release, monkeypatch)

        made = release.sample(15_000, where=where, seed=0)

        # Each row that is kept took more than ten others.
        assert sum(rows) < 0.8 * 15_000 * len(every) / len(near)
        assert made["income"].between(62, 66).all()
        # Those before were drawn without the condition, and are few.
        few = release.sample(1_000, where=where, seed=0)
        for name in ("tax", "rent"):
            for some in (made, few):
                spread = math.hypot(near[name].std() / len(near) ** 0.5, some[name].std() / len(some) ** 0.5)
                assert abs(some[name].mean() - near[name].mean()) < DEVIATIONS * spread
                assert some[name].std() == pytest.approx(near[name].std(), rel=0.15)

    def test_no_other_rows_are_drawn_of_a_model_that_draws_slowly(
        self, amounts: tuple[st.Release, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release, every = amounts
        monkeypatch.setattr(type(release.model), "draws_slowly", property(lambda model: True))
        monkeypatch.setattr("syntabula.synthesizers.conditions.LikelyRows.of", None)
        monkeypatch.setattr("syntabula.synthesizers.completion.Completion._chosen", None)
        rows = drawn(release, monkeypatch)

        made = release.sample(given=every[["income"]].head(10), seed=0)
        some = release.sample(20, where={"income": (62, 68)}, seed=0)

        assert rows == [10]
        assert made["income"].tolist() == every["income"].head(10).tolist()
        assert some["income"].between(62, 68).all()

    @pytest.mark.parametrize(("income", "is_chosen"), [((62, 62.4), True), ((88, 88.9), False)])
    def test_rare_rows_of_a_model_that_tries_are_not_sought_for_long(
        self,
        amounts: tuple[st.Release, pd.DataFrame],
        monkeypatch: pytest.MonkeyPatch,
        income: tuple[float, float],
        is_chosen: bool,
    ) -> None:
        release, _ = amounts
        monkeypatch.setattr(type(release.model), "restricted", partialmethod(by_trying, tried=20_000))
        rows = drawn(release, monkeypatch)

        made = conditions.SatisfyingRows.of(release.codec, release.model, {"income": income})
        found = made.draw(0, 10, np.random.default_rng(0))

        assert found["income"].values.size == 10
        assert (made.likely is not None) == is_chosen
        # Those that tell how likely the conditions are, as many again, and those that are returned.
        assert sum(rows) < 3 * 20_000

    def test_given_numbers_and_times_are_not_drawn_anew(
        self, amounts: tuple[st.Release, pd.DataFrame], visits: st.Release, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release, every = amounts
        found: list[InBins] = []
        at = following._at

        def seen(column: InBins, *rest: Any) -> Any:
            found.append(column)
            return at(column, *rest)

        monkeypatch.setattr(following, "_at", seen)
        monkeypatch.setattr("syntabula.bins.lift.Lifts.redrawn", None)

        release.sample(given=every[["income"]].head(10), seed=0)
        visits.sample(given=pd.DataFrame({"at": [pd.Timestamp(HOUR[8])] * 10}), seed=0)

        # Those of tax and rent.
        assert len(found) == 2


HOUR = {8: "2023-03-07 08:00", 16: "2023-03-07 16:00"}


class TestTimes:
    @pytest.mark.parametrize("hour", [8, 16])
    def test_a_known_hour_tells_what_lifts_say(self, visits: st.Release, hour: int) -> None:
        every = visits.sample(100_000, seed=1)
        there = every[every["at"].dt.hour == hour]
        expected = (there["kind"] == "ward").mean()
        assert abs(expected - 0.5) > 0.25
        first = pd.Timestamp(HOUR[hour])
        where = {"at": (first, first + pd.Timedelta(minutes=59))}
        given = pd.DataFrame({"at": first + pd.to_timedelta(np.arange(2000) % 60, unit="min")})

        rows = [visits.sample(2000, where=where, seed=0), visits.sample(given=given, seed=0)]

        assert rows[1]["at"].tolist() == given["at"].tolist()
        for made in rows:
            assert (made["at"].dt.floor("h") == first).all()
            # Six deviations of a share of 2,000 rows and of about 10,000, with a little for choosing among few draws.
            assert abs((made["kind"] == "ward").mean() - expected) < 0.08
        # With the other column known as well the number of rows is that of both.
        both = visits.probability(where | {"kind": "ward"}) / visits.probability(where)
        assert both == pytest.approx(expected, abs=0.05)

    def test_times_without_lifts_tell_what_bins_do(
        self, visits: st.Release, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plain = replace(visits, codec=replace(visits.codec, lifts={}))
        where = {"at": (HOUR[8], "2023-03-07 08:59")}
        given = pd.DataFrame({"at": [pd.Timestamp(HOUR[8])] * 50})

        made = plain.sample(50, where=where, seed=0), plain.sample(given=given, seed=0)

        # Rows are those of the model, drawn once.
        monkeypatch.setattr("syntabula.synthesizers.conditions.LikelyRows.draw", None)
        monkeypatch.setattr("syntabula.synthesizers.completion.Completion._chosen", None)
        pd.testing.assert_frame_equal(plain.sample(50, where=where, seed=0), made[0])
        pd.testing.assert_frame_equal(plain.sample(given=given, seed=0), made[1])
        assert abs((plain.sample(2000, where=where, seed=0)["kind"] == "ward").mean() - 0.5) < 0.08

    def test_other_columns_stay_as_they_were(self, visits: st.Release) -> None:
        made = visits.sample(6000, where={"at": (HOUR[8], "2023-03-07 08:59")}, seed=0)

        share = made["free"].value_counts(normalize=True)
        assert share.to_numpy() == pytest.approx([1 / 3] * 3, abs=0.05)
