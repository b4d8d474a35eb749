from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import syntabula as st
from syntabula.errors import CoercionWarning, DataError
from syntabula.table.finite import finite_table, infinite_cells
from syntabula.table.read import read

N = 2000


def rows() -> pd.DataFrame:
    x = np.random.default_rng(0).normal(50, 5, N)
    x[:200], x[200:300], x[300:400] = np.inf, -np.inf, np.nan
    return pd.DataFrame({"x": x, "y": np.arange(N) % 3})


class TestFiniteTable:
    def test_marks_infinite_cells_alone_and_leaves_what_was_read(self):
        table = read(rows())

        made = finite_table(table, None)

        assert made.columns["x"].missing[:400].all()
        assert not made.columns["x"].missing[400:].any()
        assert not table.columns["x"].missing[:300].any()
        assert made.columns["y"] is table.columns["y"]

    def test_decimals_and_labels(self):
        cells = [Decimal("Infinity"), Decimal(1), None]
        labels = pd.Series([np.inf, 1.0, 1.0], dtype="category")

        table = read(pd.DataFrame({"d": pd.Series(cells, dtype=object), "c": labels}))

        assert [infinite_cells(raw).tolist() for raw in table.columns.values()] == [
            [True, False, False],
            [False] * 3,
        ]

    def test_a_declared_column_that_is_not_nullable_keeps_them_to_be_clipped(self):
        declared = st.Schema({"x": st.Numeric(0, 100), "y": st.Numeric(0, 2, integer=True)})

        assert finite_table(read(rows()), declared).columns["x"].missing.sum() == 100


class TestFit:
    @pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
    def test_found_bounds_are_those_of_finite_numbers_and_the_others_are_missing(self, tmp_path):
        rows().to_csv(tmp_path / "t.csv", index=False)
        for epsilon in (1.0, float("inf")):
            for source in (rows(), tmp_path / "t.csv"):
                release = st.Independent(epsilon=epsilon, seed=1).fit(source)

                assert (release.schema["x"].lower, release.schema["x"].upper) == pytest.approx(
                    (50, 50), abs=60
                )
                # Eleven standard deviations of the share.
                assert release.sample(N, seed=1)["x"].isna().mean() == pytest.approx(0.2, abs=0.1)

    def test_they_are_told_of_where_nothing_is_private(self, recwarn):
        for epsilon, told in ((1.0, 0), (float("inf"), 1)):
            recwarn.clear()
            st.Independent(epsilon=epsilon, seed=1).fit(rows())

            assert [str(w.message) for w in recwarn if w.category is CoercionWarning] == [
                "column 'x': infinite numbers become missing"
            ] * told

    def test_those_of_a_declared_column_are_told_and_strict_reading_refuses_them(self):
        declared = st.Schema({"x": st.Numeric(0, 100, nullable=True), "y": st.Numeric(0, 2, integer=True)})

        with pytest.warns(
            CoercionWarning, match=r"'x': some .* be read .*, or are infinite .* and become missing"
        ):
            st.Independent(seed=1).fit(rows(), declared)
        with pytest.raises(DataError, match="'x'"):
            st.Independent(seed=1).fit(rows(), declared, strict=True)

    @pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
    def test_a_table_in_parts_is_read_alike(self, tmp_path):
        (tmp_path / "parts").mkdir()
        table = pa.Table.from_pandas(rows(), preserve_index=False)
        pq.write_table(table, tmp_path / "all.parquet")
        pq.write_table(table.slice(0, 700), tmp_path / "parts" / "1.parquet")
        pq.write_table(table.slice(700), tmp_path / "parts" / "2.parquet")

        made = [
            st.Independent(seed=1).fit(tmp_path / name).sample(50, seed=1)
            for name in ("all.parquet", "parts")
        ]

        assert made[0].equals(made[1])
