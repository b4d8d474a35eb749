"""Missing cells of undeclared columns, above all those that noise hides when domains are sought."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.table.read import read

N = 3000


def table() -> pd.DataFrame:
    """Return columns of each kind, of which a hundredth of the cells is missing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(17, 90, N),
            "fee": np.round(rng.exponential(20, N), 2),
            "town": np.array(["north", "south", "west"])[rng.integers(0, 3, N)],
            "paid": np.array(["true", "false"])[rng.integers(0, 2, N)],
            "call": np.datetime64("2024-01-01") + rng.integers(0, 500, N),
        }
    ).astype(object)
    return frame.mask(rng.random(frame.shape) < 0.01)


def test_no_record_is_left_out_for_missing_cells_that_noise_hides(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)

    release = st.Independent(epsilon=1.0, seed=0).fit(tmp_path / "t.csv")

    encoded, coercions = release.codec.encode(read(tmp_path / "t.csv", release.schema))
    assert (encoded.n_rows, coercions.records_left_out) == (N, 0)
    drawn = release.sample(N, seed=1)
    assert drawn.isna().to_numpy().mean() < 0.02


def test_codes_for_missing_cells_that_hold_none_stay_empty(tmp_path: Path) -> None:
    table().ffill().bfill().to_csv(tmp_path / "t.csv", index=False)

    release = st.Independent(epsilon=1.0, seed=0).fit(tmp_path / "t.csv")

    assert all(column.nullable for column in release.schema.columns.values())
    # Each of five columns gets some by three standard deviations of noise, which this seed does not draw.
    assert not release.sample(N, seed=1).isna().to_numpy().any()


def test_a_type_that_has_no_missing_cells_gets_no_code_for_them() -> None:
    frame = pd.DataFrame({"age": np.arange(N) % 90, "paid": np.arange(N) % 3 == 0})

    for source, nullable in ((frame, False), (frame.convert_dtypes(), True)):
        schema = st.Independent(epsilon=1.0, seed=0).fit(source).schema
        assert [column.nullable for column in schema.columns.values()] == [nullable] * 2


@pytest.mark.parametrize(("method", "nullable"), [("mwem", False), ("independent", True)])
def test_only_a_learner_of_single_columns_can_tell_that_none_is_missing(method: str, nullable: bool) -> None:
    frame = pd.DataFrame({"age": np.arange(N) % 90.0, "town": ["a", "b", "c"] * (N // 3)})

    schema = st.synthesizer(method)(epsilon=1.0, seed=0).fit(frame).schema

    assert [column.nullable for column in schema.columns.values()] == [nullable] * 2
