"""Samples that are drawn and written piece by piece."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.synthesizers import drawing


@pytest.fixture(scope="module")
def release() -> st.Release:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 4, 400), "b": rng.choice(["x", "y"], 400), "c": "p"})
    schema = st.Schema(
        {"a": st.Numeric(0, 3, integer=True), "b": st.Categorical(("x", "y")), "c": st.Identifier(prefix="p")}
    )
    return st.MST(epsilon=5.0, seed=1).fit(frame, schema)


@pytest.mark.thorough
def test_all_rows_arrive(release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "ROWS_AT_ONCE", 100)

    for rows in [0, 1, 99, 100, 101, 1000]:
        drawn = release.sample_to(tmp_path / "t.parquet", rows, seed=2)

        frame = pd.read_parquet(tmp_path / "t.parquet")
        assert drawn == len(frame) == rows, rows
        assert list(frame.columns) == ["a", "b", "c"], rows
        assert frame["c"].tolist() == [f"p{i}" for i in range(1, rows + 1)], rows


def test_pieces_follow_the_model(
    release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rounding keeps each code of a one-way marginal within one row of its expectation in each piece.
    monkeypatch.setattr(drawing, "ROWS_AT_ONCE", 500)

    release.sample_to(tmp_path / "t.csv", 5000, seed=3)

    frame = pd.read_csv(tmp_path / "t.csv")
    expected = release.marginals([("b",)])[0]
    counts = frame["b"].value_counts().reindex(["x", "y"]).to_numpy()
    assert np.abs(counts - 5000 * expected / expected.sum()).max() <= 10


@pytest.mark.thorough
def test_a_seed_repeats_the_file(
    release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "ROWS_AT_ONCE", 100)

    for name in ("one.csv", "other.csv"):
        release.sample_to(tmp_path / name, 350, seed=4)

    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()
