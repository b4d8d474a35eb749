"""Which columns came out without information."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import RuleWarning
from syntabula.synthesizers.drawing import Drawing


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            # Of no shape that many have.
            "key": ["".join(rng.choice([*"ab12-_."], 12)) for _ in range(n)],
            "rare": [f"kind {i % 997}" if i % 50 else "common" for i in range(n)],
            "sort": rng.choice(["a", "b"], n),
            "pay": rng.integers(0, 100, n),
            "same": np.full(n, "x"),
        }
    )


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
class TestLostColumns:
    def test_running_numbers_and_columns_of_other_count_as_lost(self) -> None:
        release = st.Independent(epsilon=8.0, seed=0).fit(table(3_000))

        assert release.lost_columns()[:2] == ["key", "rare"]

    def test_columns_of_which_much_is_other_are_told_with_the_share(self) -> None:
        frame = table(3_000)
        frame["half"] = np.where(np.arange(3_000) % 2, "common", [f"rare {i}" for i in range(3_000)])
        release = st.Independent(epsilon=8.0, seed=0).fit(frame)

        # 1,000 rows are judged: the share has a standard deviation of .016.
        assert release.other_columns() == {"half": pytest.approx(0.5, abs=0.1)}
        assert "rare" in release.lost_columns()

    def test_the_rows_that_judge_bring_no_warnings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        release = st.Independent(epsilon=8.0, seed=0).fit(table(3_000))
        draw, drawn = Drawing.rows, []

        def warned(self: Drawing, start: int, stop: int, rng: np.random.Generator) -> object:
            warnings.warn("of these rows", RuleWarning, stacklevel=1)
            drawn.append(stop - start)
            return draw(self, start, stop, rng)

        monkeypatch.setattr(Drawing, "rows", warned)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert release.lost_columns() == release.lost_columns()
            release.other_columns(), release.coarse_columns()

        assert drawn == [1_000]

    def test_nothing_is_lost_where_all_is_declared(self) -> None:
        frame = table(300)[["sort", "same"]]
        schema = st.Schema({"sort": st.Categorical(["a", "b"]), "same": st.Categorical(["x"])})

        assert st.Independent(epsilon=1.0, seed=0).fit(frame, schema).lost_columns() == []

    def test_without_privacy_only_what_holds_nothing_is_lost(self) -> None:
        release = st.Independent(epsilon=np.inf, seed=0).fit(table(300)[["sort", "pay", "same"]])

        assert release.lost_columns() == ["same"]


COLUMNS = {
    "sort": st.Categorical(["a", "b", "c", "d"], nullable=True),
    "rare": st.Categorical([f"r{i}" for i in range(12)]),
    "whole": st.Categorical(["x", "y"], open=True),
}


class TestEmptyCategories:
    @staticmethod
    def frame() -> pd.DataFrame:
        rng = np.random.default_rng(0)
        rare = np.where(np.arange(3_000) < 9, [f"r{1 + i % 9}" for i in range(3_000)], "r0")
        rare[1500:] = "r10"
        return pd.DataFrame(
            {"sort": rng.choice(["a", "b"], 3_000), "rare": rare, "whole": rng.choice(["x", "y"], 3_000)}
        )

    def test_declared_categories_that_never_come_out_are_counted(self) -> None:
        release = st.MST(epsilon=0.5, seed=3).fit(self.frame(), st.Schema(COLUMNS))

        empty = release.empty_categories()

        drawn = release.sample(50_000, seed=1)
        assert {*empty} == {"sort", "rare"}
        for name, count in empty.items():
            assert count == len({*COLUMNS[name].categories} - {*drawn[name]})
        assert empty["sort"] == 2
        assert empty["rare"] >= 8

    def test_those_that_a_model_expects_of_no_record_are_among_them(self) -> None:
        codes = [str(i) for i in range(60)]
        shares = 1 / np.arange(1.0, 61.0) ** 1.5
        drawn = np.random.default_rng(0).choice(codes, 1_500, p=shares / shares.sum())
        schema = st.Schema({"code": st.Categorical(codes), "sort": st.Categorical(["a"])})
        release = st.Independent(epsilon=0.5, delta=1e-6, seed=0).fit(
            pd.DataFrame({"code": drawn, "sort": "a"}), schema
        )

        empty = release.empty_categories()

        assert empty == {"code": 60 - release.sample(100_000, seed=1)["code"].nunique()}
        assert empty["code"] > 10

    def test_they_take_no_draw(self, monkeypatch: pytest.MonkeyPatch) -> None:
        release = st.Independent(epsilon=0.5, seed=3).fit(self.frame(), st.Schema(COLUMNS))
        monkeypatch.setattr(Drawing, "rows", None)

        assert release.empty_categories()["sort"] == 2

    @pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
    def test_without_privacy_or_where_categories_were_found_none_is_told(self) -> None:
        exact = st.Independent(epsilon=np.inf, seed=0).fit(self.frame(), st.Schema(COLUMNS))
        found = st.Independent(epsilon=0.5, seed=0).fit(self.frame())

        assert exact.empty_categories() == found.empty_categories() == {}


def mixed(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "tenure": rng.integers(1, 73, n),
            "gain": np.where(rng.random(n) < 0.9, 0, rng.integers(1, 5_000, n)),
            "level": rng.integers(0, 3, n),
            "sort": rng.choice(["a", "b"], n),
        }
    )


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
class TestCoarseColumns:
    def test_few_records_leave_little_more_than_a_range(self) -> None:
        release = st.MST(epsilon=0.7, delta=1e-6, seed=0).fit(mixed(900))

        assert "tenure" in release.coarse_columns()
        assert not {"sort", *release.lost_columns()} & {*release.coarse_columns()}

    def test_frequent_values_and_few_values_are_more(self) -> None:
        release = st.MST(epsilon=4.0, delta=1e-6, seed=0).fit(mixed(20_000))

        assert release.coarse_columns() == []

    def test_declared_ones_are_told_too_unless_few_bins_are_asked_for(self) -> None:
        frame = mixed(200)[["tenure", "sort"]]
        for bins, told in [(None, ["tenure"]), (3, [])]:
            columns = {
                "tenure": st.Numeric(0, 100, integer=True, bins=bins),
                "sort": st.Categorical(["a", "b"]),
            }

            release = st.MST(epsilon=0.1, delta=1e-6, seed=0).fit(frame, st.Schema(columns))

            assert release.coarse_columns() == told
            assert release.lost_columns() == []

    def test_a_declared_one_of_a_single_value_is_lost_unless_it_is_declared_so(self) -> None:
        frame = pd.DataFrame({"part": np.where(np.arange(900) % 30 > 0, 0.0, 0.5), "same": [1] * 900})
        columns = {"part": st.Numeric(0, 1, step=0.5), "same": st.Numeric(1, 1, integer=True)}

        release = st.MST(epsilon=0.1, delta=1e-6, seed=0).fit(frame, st.Schema(columns))

        assert set(release.sample(300)["part"]) == {0.0}
        assert (release.lost_columns(), release.coarse_columns()) == (["part"], [])

    def test_exact_ones_are_not_coarse(self) -> None:
        assert st.MST(epsilon=np.inf, seed=0).fit(mixed(200)[["tenure", "sort"]]).coarse_columns() == []

    def test_what_is_stored_tells_the_same(self, tmp_path: Path) -> None:
        release = st.MST(epsilon=0.7, delta=1e-6, seed=0).fit(mixed(900))
        release.save(tmp_path / "made.release")

        assert st.load(tmp_path / "made.release").coarse_columns() == release.coarse_columns()
