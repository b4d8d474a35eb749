"""Clock times written as whole numbers are found for a small price, by the name of a column or by its values alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.table.parts.found_parts import found_parts

N = 6_000


def times(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(14, 4, N), 0, 23).astype(int) * 100 + rng.integers(0, 60, N)


def release(frame: pd.DataFrame, epsilon: float = 2.0) -> st.Release:
    # A second column whose domain is always found.
    return st.Independent(epsilon=epsilon, delta=1e-6, seed=0).fit(frame.assign(sort=["a", "b"] * (N // 2)))


def test_they_are_found_by_name_and_values() -> None:
    for epsilon in [2.0, np.inf]:
        for missing in [False, True]:
            frame = pd.DataFrame(
                {"dep_time": pd.Series(times()).where(~(np.arange(N) % 10 == 0) | (not missing))}
            )

            made = release(frame, epsilon)

            assert made.schema["dep_time"] == st.Time(format="1435", nullable=missing, provenance="private")
            drawn = made.sample()["dep_time"]
            assert drawn.dtype == frame["dep_time"].dtype
            assert (drawn.dropna() % 100 < 60).all()
            assert 0.05 * missing <= drawn.isna().mean() <= 0.2 * missing


def test_without_privacy_no_name_is_needed() -> None:
    numbers = {
        "departs": pd.Series(times()).where(np.arange(N) % 10 > 0),
        "amount": np.arange(N) % 48 * 50,
        "month_day": np.arange(N) % 12 * 100 + 100 + np.arange(N) % 30,
        "other": np.append(times()[1:], 1261),
    }

    schema = release(pd.DataFrame(numbers), np.inf).schema

    assert schema["departs"] == st.Time(format="1435", nullable=True, provenance="private")
    assert all(isinstance(schema[name], st.Numeric) for name in ("amount", "month_day", "other"))


def test_few_other_numbers_are_moved_to_a_time() -> None:
    values = times()
    values[:20] = 2400

    assert isinstance(release(pd.DataFrame({"dep_time": values})).schema["dep_time"], st.Time)


@pytest.mark.parametrize("missing", [False, True])
def test_where_the_name_does_not_tell_many_values_must(missing: bool) -> None:
    frame = pd.DataFrame({"departs": pd.Series(times()).where(~(np.arange(N) % 10 == 0) | (not missing))})

    made = release(frame)

    assert made.schema["departs"] == st.Time(format="1435", nullable=missing, provenance="private")
    assert made.privacy.cut_off == {}
    assert (made.sample()["departs"].dropna() % 100 < 60).all()


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "values",
    [
        RNG.integers(0, 2360, N),
        RNG.integers(1, 13, N) * 100 + RNG.integers(1, 32, N),
        RNG.integers(0, 48, N) * 50,
        RNG.integers(0, 24, N) * 100,
        RNG.integers(1990, 2024, N),
        np.where(RNG.random(N) < 0.95, RNG.integers(0, 60, N), RNG.integers(0, 2000, N)),
        times() % 1200,
        np.where(np.arange(N) % 5, times(), times() + 40),
    ],
    ids=[
        "any",
        "month and day",
        "fifties",
        "hundreds",
        "years",
        "small",
        "before noon",
        "minutes from 60 on",
    ],
)
# Of the small ones a twentieth lies beyond the bounds.
@pytest.mark.filterwarnings(
    "ignore:column 'departs'. some values seem to lie beyond:syntabula.errors.DomainWarning"
)
def test_other_numbers_without_a_telling_name_stay_numbers(values: np.ndarray) -> None:
    assert isinstance(release(pd.DataFrame({"departs": values})).schema["departs"], st.Numeric)


def test_noise_that_may_hide_other_numbers_leaves_numbers() -> None:
    frame = pd.DataFrame({"departs": times()})

    assert isinstance(release(frame, 0.3).schema["departs"], st.Numeric)


def test_other_names_and_numbers_are_numbers() -> None:
    for name, values in [
        ("travel_time", np.random.default_rng(0).integers(5, 300, N)),
        ("time", np.arange(N) % 60),
        ("dep_time", np.arange(N) % 2400),
    ]:
        assert isinstance(release(pd.DataFrame({name: values})).schema[name], st.Numeric)


@pytest.mark.thorough
def test_digits_among_texts_are_found_whatever_the_name(tmp_path: Path) -> None:
    codes = [["0105", "0150", "1210"][i % 3] for i in range(N)]
    frame = pd.DataFrame({"call": [f"{t:04}" for t in times()], "code": codes})
    frame.to_csv(tmp_path / "t.csv", index=False)

    for source in (frame, tmp_path / "t.csv"):
        made = st.Independent(epsilon=4.0, delta=1e-6, seed=0).fit(source)

        assert made.schema["call"] == st.Time(format="%H%M", nullable=True, provenance="private")
        assert not isinstance(made.schema["code"], st.Time)
        made.sample_to(tmp_path / "made.csv")
        drawn = pd.read_csv(tmp_path / "made.csv", dtype=str)["call"]
        assert drawn.str.fullmatch(r"([01]\d|2[0-3])[0-5]\d").all()


@pytest.mark.thorough
def test_a_table_in_parts_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"dep_time": times(), "departs": times(1), "pay": np.arange(N) % 700})
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, part in enumerate((frame[: N // 2], frame[N // 2 :])):
        part.to_parquet(folder / f"{i}.parquet", index=False)
    method = st.Independent(epsilon=2.0, delta=1e-6, seed=0)

    # Files may have missing integers, as pandas has in a type of its own.
    whole = method.fit(frame.astype("Int64")).schema
    held = method.fit(folder).schema
    monkeypatch.setitem(found_parts.__kwdefaults__, "most", 100)
    asked = method.fit(folder).schema

    assert isinstance(whole["departs"], st.Time)
    assert asked == held == whole
