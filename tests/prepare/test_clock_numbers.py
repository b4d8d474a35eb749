"""Clock times written as whole numbers are found for a small price, where the name of a column suggests them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st

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


def test_other_names_and_numbers_are_numbers() -> None:
    for name, values in [
        ("departs", times()),
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

        assert made.schema["call"] == st.Time(format="%H%M", provenance="private")
        assert not isinstance(made.schema["code"], st.Time)
        made.sample_to(tmp_path / "made.csv")
        drawn = pd.read_csv(tmp_path / "made.csv", dtype=str)["call"]
        assert drawn.str.fullmatch(r"([01]\d|2[0-3])[0-5]\d").all()


def test_a_table_in_parts_finds_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame({"dep_time": times(), "pay": np.arange(N) % 700})
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, part in enumerate((frame[: N // 2], frame[N // 2 :])):
        part.to_parquet(folder / f"{i}.parquet", index=False)
    method = st.Independent(epsilon=2.0, delta=1e-6, seed=0)

    assert method.fit(folder).schema == method.fit(frame).schema
