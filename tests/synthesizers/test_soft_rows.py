"""The systems whose model is soft rows, from table to file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import MissingExtraError

pytest.importorskip("torch")

METHODS = ["margnet", "margnet-q", "margnet-s", "gem", "rap", "rap++"]
SCHEMA = st.Schema(
    {
        "a": st.Numeric(0, 3, integer=True),
        "b": st.Categorical(("x", "y", "z")),
        "c": st.Boolean(),
        "d": st.Numeric(0, 9, integer=True),
    }
)


def table(n: int = 4000) -> pd.DataFrame:
    """Draw rows where b and d follow a; c stands alone."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, n)
    follows = rng.random(n) < 0.8
    return pd.DataFrame(
        {
            "a": a,
            "b": np.array(["x", "y", "z"])[np.where(follows, np.minimum(a, 2), rng.integers(0, 3, n))],
            "c": rng.random(n) < 0.3,
            "d": np.where(follows, 2 * a + rng.integers(0, 2, n), rng.integers(0, 10, n)),
        }
    )


def distance(one: pd.DataFrame, other: pd.DataFrame, columns: list[str]) -> float:
    """Return the total variation distance of the joint distribution of some columns."""
    shares = [frame.value_counts(columns, normalize=True) for frame in (one, other)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


@pytest.mark.parametrize("method", METHODS)
class TestEachSystem:
    def test_a_missing_torch_is_named_before_anything_is_spent(
        self, method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setitem(__import__("sys").modules, "torch", None)

        with pytest.raises(MissingExtraError, match=r"syntabula\[neural\]"):
            st.synthesizer(method)(journal=tmp_path / "journal").fit(table(500), SCHEMA)

        assert not (tmp_path / "journal").exists()


class TestAccuracy:
    @pytest.mark.thorough
    def test_margnet_learns_what_hangs_together(self) -> None:
        # Independence is off by a TVD of 0.45 for (a, b) and 0.6 for (a, d).
        data = table()
        small = {"n_rows": 128, "units": 32, "rounds_per_column": 4}

        rows = st.MargNet(epsilon=2.0, seed=1).with_options(**small).fit(data, SCHEMA).sample(4000, seed=0)

        assert distance(data, rows, ["a", "b"]) < 0.15
        assert distance(data, rows, ["a", "d"]) < 0.2
        assert distance(data, rows, ["c", "d"]) < 0.1

    @pytest.mark.thorough
    def test_gem_learns_the_largest_cells(self) -> None:
        data = table()
        small = {"n_rows": 128, "units": 32, "iterations": 200}

        rows = st.GEM(epsilon=5.0, seed=1).with_options(**small).fit(data, SCHEMA).sample(4000, seed=0)

        even = pd.DataFrame(
            {c: data[c].sample(frac=1, random_state=i).to_numpy() for i, c in enumerate(data)}
        )
        assert distance(data, rows, ["a", "b"]) < distance(data, even, ["a", "b"]) - 0.1
