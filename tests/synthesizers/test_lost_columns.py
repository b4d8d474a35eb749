"""Which columns came out without information."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "key": [f"row {i}" for i in range(n)],
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

    def test_nothing_is_lost_where_all_is_declared(self) -> None:
        frame = table(300)[["sort", "same"]]
        schema = st.Schema({"sort": st.Categorical(["a", "b"]), "same": st.Categorical(["x"])})

        assert st.Independent(epsilon=1.0, seed=0).fit(frame, schema).lost_columns() == []

    def test_without_privacy_only_what_holds_nothing_is_lost(self) -> None:
        release = st.Independent(epsilon=np.inf, seed=0).fit(table(300)[["sort", "pay", "same"]])

        assert release.lost_columns() == ["same"]
