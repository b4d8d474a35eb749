from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from syntabula.errors import ArgumentError, CoercionWarning, DataError, SchemaError
from syntabula.metrics import compare
from syntabula.table.schema.columns import Categorical, Date, Identifier, Numeric
from syntabula.table.schema.schema import Schema


@pytest.fixture
def real() -> pd.DataFrame:
    return pd.DataFrame({"x": [0.5, 1.5, None], "c": ["b", None, "a"]})


class TestCoding:
    def test_gives_a_value_the_same_code_in_every_table(self, real):
        synthetic = pd.DataFrame({"c": ["a", "z", "b"], "x": [1.0, 2.0, 3.0]})

        tables = compare(real, synthetic, holdout=real)

        assert tables.categories["c"] == ("a", "b", "z", None)
        assert tables.real.codes["c"].tolist() == [1, 3, 0]
        assert tables.synthetic.codes["c"].tolist() == [0, 2, 1]
        assert tables.holdout.codes["c"].tolist() == [1, 3, 0]

    def test_keeps_missing_numbers_as_nan(self, real):
        tables = compare(real, real)

        np.testing.assert_array_equal(tables.real.numbers["x"], [0.5, 1.5, np.nan])

    def test_reads_tables_of_different_libraries_and_files_alike(self, real, tmp_path):
        path = tmp_path / "real.csv"
        real.to_csv(path, index=False)

        for other in (pl.from_pandas(real), pl.from_pandas(real).to_arrow(), path):
            tables = compare(real, other)
            assert tables.synthetic.codes["c"].tolist() == tables.real.codes["c"].tolist()

    def test_numbers_of_32_bits_equal_those_of_64_that_round_to_them(self):
        real = pd.DataFrame({"x": np.array([0.1, 0.3, np.nan], np.float32), "y": [0.1, 0.3, 0.5]})
        synthetic = pd.DataFrame({"x": [0.3, 0.1, 1e100], "y": [0.1, 0.30000001, 0.5]})

        tables = compare(real, synthetic, holdout=real)

        assert tables.synthetic.numbers["x"].tolist() == [*tables.real.numbers["x"][[1, 0]], 1e100]
        assert tables.synthetic.numbers["y"].tolist() == synthetic["y"].tolist()
        np.testing.assert_array_equal(tables.holdout.numbers["x"], tables.real.numbers["x"])

    @pytest.mark.parametrize(
        ("resolution", "first"), [("week", "2020-05-11"), ("month", "2020-05-01"), ("quarter", "2020-04-01")]
    )
    def test_days_declared_as_periods_are_their_first_days_in_every_table(self, resolution, first):
        days = Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31), resolution=resolution, nullable=True)
        real = pd.DataFrame({"d": pd.to_datetime(["2020-05-15T13:00", None])})
        synthetic = pl.DataFrame({"d": [dt.date.fromisoformat(first), None]})

        tables = compare(real, synthetic, holdout=real, schema=Schema({"d": days}))

        for view in (tables.real, tables.holdout):
            np.testing.assert_array_equal(view.numbers["d"], tables.synthetic.numbers["d"])

    def test_takes_dates_as_numbers_and_booleans_as_categories(self):
        frame = pl.DataFrame({"d": [dt.date(1970, 1, 2), dt.date(1970, 1, 3)], "b": [True, False]})

        tables = compare(frame, frame)

        assert tables.numeric == ("d",)
        assert tables.real.numbers["d"].tolist() == [86_400e6, 2 * 86_400e6]
        assert tables.categories["b"] == (False, True, None)

    def test_takes_decimals_as_numbers(self):
        frame = pl.DataFrame({"x": [Decimal("0.25"), None]}, schema={"x": pl.Decimal(10, 2)})

        tables = compare(frame, frame)

        np.testing.assert_array_equal(tables.real.numbers["x"], [0.25, np.nan])

    def test_a_schema_says_what_is_numeric_and_what_is_left_out(self):
        frame = pd.DataFrame({"key": [1, 2], "level": [3, 4], "group": [5, 6]})
        schema = Schema({"key": Identifier(), "level": Numeric(0, 9), "group": Categorical((5, 6))})

        tables = compare(frame, frame, schema=schema)

        assert (tables.numeric, tables.categorical, tables.left_out) == (("level",), ("group",), ("key",))

    def test_text_files_are_read_alike_whatever_values_one_of_them_lacks(self, tmp_path):
        real, synthetic = tmp_path / "real.csv", tmp_path / "synthetic.csv"
        real.write_text("code\n7\n8.5\nunknown\n", encoding="utf-8")
        synthetic.write_text("code\n8.5\n7\n7\n", encoding="utf-8")

        tables = compare(real, synthetic)

        assert tables.categories["code"] == ("7", "8.5", "unknown", None)
        assert tables.synthetic.codes["code"].tolist() == [1, 0, 0]

    def test_cells_that_are_not_what_their_column_is_declared_as_count_as_missing(self, tmp_path):
        real, synthetic = tmp_path / "real.csv", tmp_path / "synthetic.csv"
        real.write_text("x\n0.5\nsecret\n", encoding="utf-8")
        synthetic.write_text("x\n0.5\n1.5\n", encoding="utf-8")

        with pytest.warns(CoercionWarning, match="of the real table .* count as missing, in 'x'") as caught:
            tables = compare(real, synthetic, schema=Schema({"x": Numeric(0, 9)}))

        np.testing.assert_array_equal(tables.real.numbers["x"], [0.5, np.nan])
        assert "secret" not in str(caught[0].message)

    def test_integers_that_became_floats_keep_their_categories(self):
        real = pd.DataFrame({"c": [1, 2, 2]})
        synthetic = pd.DataFrame({"c": [1.0, None, 2.0]})

        tables = compare(real, synthetic)

        assert tables.synthetic.codes["c"].tolist() == [0, 2, 1]


class TestBadInput:
    def test_refuses_an_empty_table(self, real):
        with pytest.raises(DataError, match="synthetic table has no rows"):
            compare(real, real.iloc[:0])

    def test_a_folder_is_refused_as_such_in_every_place(self, real, tmp_path):
        for tables in ([tmp_path, real], [real, tmp_path], [real, real, tmp_path]):
            with pytest.raises(DataError, match="is a folder, which only"):
                compare(*tables[:2], holdout=tables[2] if len(tables) > 2 else None)

    def test_refuses_other_columns_and_names_them(self, real):
        with pytest.raises(SchemaError, match=r"synthetic table lacks column 'c'; both"):
            compare(real, real[["x"]])
        with pytest.raises(SchemaError, match=r"holdout table has column 'y' besides"):
            compare(real, real, holdout=real.assign(y=1))

    def test_refuses_a_column_of_another_kind_without_showing_a_cell(self, real):
        moments = pd.to_datetime(["2020-01-31", "2020-01-31", None])
        with pytest.raises(
            DataError,
            match=r"column 'c' of the synthetic table is stored as datetime .* but declared categorical",
        ) as caught:
            compare(real, real.assign(c=moments))
        assert "2020" not in str(caught.value)
        with pytest.raises(DataError, match="column 'x' of the synthetic table is stored as boolean"):
            compare(real.assign(x=moments), real.assign(x=[True, False, True]))

    def test_reads_cells_that_are_stored_otherwise_as_their_texts(self, real):
        real = real.assign(c=["1", "2", "1"])
        other = real.assign(c=[1, 3, 2], x=["0.5", "secret", "2"])

        with pytest.warns(
            CoercionWarning,
            match='of the synthetic table .* count as missing, in .x.; where they hold "other"',
        ):
            tables = compare(real, other)

        assert tables.categories["c"] == ("1", "2", "3", None)
        np.testing.assert_array_equal(tables.synthetic.numbers["x"], [0.5, np.nan, 2.0])

    def test_infinite_numbers_count_as_missing(self, real):
        with pytest.warns(CoercionWarning, match="synthetic table .* count as missing, in 'x'"):
            tables = compare(real, real.assign(x=[1.0, np.inf, 2.0]))

        assert np.isnan(tables.synthetic.numbers["x"]).tolist() == [False, True, False]

    def test_refuses_a_target_that_is_no_column(self, real):
        with pytest.raises(ArgumentError, match="target is 'y'"):
            compare(real, real, target="y")

    def test_refuses_a_target_that_nothing_can_predict(self):
        alone = pd.DataFrame({"y": [1.0, 2.0, 4.0]})
        with pytest.raises(ArgumentError, match="only column; leave it out"):
            compare(alone, alone, target="y")

    def test_refuses_tables_of_identifiers_alone(self):
        frame = pd.DataFrame({"key": [1, 2]})

        with pytest.raises(SchemaError, match="no column is left"):
            compare(frame, frame, schema=Schema({"key": Identifier()}))

    def test_a_table_is_never_none(self, real):
        with pytest.raises(DataError, match="no table was given"):
            compare(real, None)
