"""Parts in which a column has the null type, as writers choose it where no cell of a file has a value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import syntabula as st
from syntabula.errors import DataError, SchemaError

pa = pytest.importorskip("pyarrow")
datasets = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

N = 300
COLUMNS: dict[str, Any] = {
    "integer": pa.array([i % 7 for i in range(N)]),
    "narrow": pa.array([i % 7 for i in range(N)], pa.int16()),
    "float": pa.array([i / 7 for i in range(N)]),
    "text": pa.array(["ab"[i % 2] for i in range(N)]),
    "flag": pa.array([i % 3 == 0 for i in range(N)]),
    "day": pa.array([dt.date(2020, 1, 1 + i % 28) for i in range(N)]),
    "time": pa.array([dt.datetime(2020, 1, 1 + i % 28, i % 24) for i in range(N)]),
    "amount": pa.array([Decimal(i) / 4 for i in range(N)], pa.decimal128(9, 2)),
}
OTHER = pa.array([f"u{i % 4}" for i in range(N)])
pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")


def table(cells: Any) -> Any:
    return pa.table({"x": cells, "other": OTHER})


def written(folder: Path, *tables: Any, suffix: str = "parquet") -> Path:
    folder.mkdir(parents=True)
    for number, part in enumerate(tables):
        file = folder / f"p{number}.{suffix}"
        if suffix == "parquet":
            parquet.write_table(part, file)
        else:
            with pa.ipc.new_file(file, part.schema) as writer:
                writer.write_table(part)
    return folder


def drawn(source: Any, epsilon: float = np.inf, schema: Any = None) -> Any:
    return st.Independent(epsilon=epsilon, seed=0).fit(source, schema).sample(400, seed=1)


class TestNullParts:
    def test_they_are_read_as_the_type_of_the_others_with_missing_cells(self, tmp_path: Path) -> None:
        for name, cells in COLUMNS.items():
            full, none, typed = table(cells), table(pa.nulls(N)), table(pa.nulls(N, cells.type))
            for order in (1, -1):
                alike, mixed = (
                    written(tmp_path / f"{name} {order} {what}", *[full, gaps][::order])
                    for what, gaps in (("alike", typed), ("mixed", none))
                )

                folder = drawn(str(alike)).equals(drawn(str(mixed)))
                dataset = drawn(datasets.dataset(alike)).equals(found := drawn(datasets.dataset(mixed)))

                assert (folder, dataset) == (True, True), (name, order)
                assert found["x"].type == cells.type
                assert 0.3 < found["x"].null_count / 400 < 0.7

    def test_so_are_those_of_arrow_files_and_of_many_files_before_the_first_value(
        self, tmp_path: Path
    ) -> None:
        parts = [table(pa.nulls(N)), table(pa.nulls(N)), table(COLUMNS["integer"])]
        folder = written(tmp_path / "arrow", *parts, suffix="arrow")

        found = drawn(str(folder), 4.0)

        assert {*found["x"].dropna()} == set(range(7))

    def test_a_schema_that_declares_other_columns_changes_nothing(self, tmp_path: Path) -> None:
        folder = written(tmp_path / "d", table(pa.nulls(N)), table(COLUMNS["integer"]))
        schema = st.Schema({"other": st.Categorical(("u0", "u1", "u2", "u3"))}, others="find")

        for source in (str(folder), datasets.dataset(folder)):
            found = drawn(source, 4.0, schema)

            assert {*pa.array(found["x"]).drop_null().to_pylist()} == set(range(7))

    def test_a_column_that_is_null_in_all_stays_without_values(self, tmp_path: Path) -> None:
        folder = written(tmp_path / "d", table(pa.nulls(N)), table(pa.nulls(N)))

        assert drawn(str(folder))["x"].isna().all()
        assert drawn(datasets.dataset(folder))["x"].null_count == 400


class TestDifferentTypes:
    def test_integers_of_several_widths_beside_nulls_have_the_widest(self, tmp_path: Path) -> None:
        folder = written(
            tmp_path / "d", table(pa.nulls(N)), table(COLUMNS["narrow"]), table(COLUMNS["integer"])
        )

        assert drawn(datasets.dataset(folder))["x"].type == pa.int64()

    def test_types_without_a_common_one_are_named_with_their_files(self, tmp_path: Path) -> None:
        three = written(tmp_path / "d", table(pa.nulls(N)), table(COLUMNS["integer"]), table(COLUMNS["text"]))
        two = written(tmp_path / "e", table(COLUMNS["integer"]), table(COLUMNS["text"]))

        for folder, message in [
            (three, r"column 'x' is stored as null in .*p0.parquet' and int64 in .*p1.* and string in .*p2"),
            (
                two,
                r"column 'x' is stored as int64 in .*p0.parquet' and string in .*p1.parquet'; store all of them",
            ),
        ]:
            with pytest.raises(DataError, match=message):
                drawn(datasets.dataset(folder))
            with pytest.raises(
                SchemaError, match="column 'x' is stored as string, but as int64 in other parts"
            ):
                drawn(str(folder))
