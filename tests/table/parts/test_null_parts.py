"""Parts in which a column has the null type, as writers choose it where no cell of a file has a value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import syntabula as st
from syntabula.errors import DataError, SchemaError

pa = pytest.importorskip("pyarrow")
datasets = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")
pc = pytest.importorskip("pyarrow.compute")

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


class TestNumbersOfSeveralTypes:
    """Libraries write a column of integers as floats where cells are missing, and as null where all are."""

    WHOLE = tuple(i % 7 for i in range(N))
    HALVES = tuple(i % 7 + 0.5 for i in range(N))

    @pytest.mark.parametrize("suffix", ["parquet", "arrow"])
    def test_integers_beside_floats_are_floats_in_any_order(self, tmp_path: Path, suffix: str) -> None:
        stored = [pa.nulls(N), pa.array(self.WHOLE), pa.array(self.HALVES)]
        as_floats = [pa.nulls(N, pa.float64()), pa.array(self.WHOLE, pa.float64()), pa.array(self.HALVES)]

        for place, order in enumerate([*permutations(range(3)), (1, 2), (2, 1)]):
            mixed, alike = (
                written(tmp_path / f"{place} {name}", *(table(cells[i]) for i in order), suffix=suffix)
                for name, cells in (("mixed", stored), ("alike", as_floats))
            )
            folder, dataset = (drawn(source(mixed)) for source in (str, self.dataset))

            assert folder.equals(drawn(str(alike))), order
            assert dataset.equals(drawn(self.dataset(alike))), order
            assert dataset["x"].type == pa.float64()
            assert {*dataset["x"].drop_null().to_pylist()} == {*folder["x"].dropna()}

    @pytest.mark.parametrize(
        ("types", "common"),
        [
            (("null", "int16", "int64"), "int64"),
            (("int16", "int64"), "int64"),
            (("int64", "int16"), "int64"),
            (("uint8", "uint32"), "uint32"),
            (("uint32", "int8"), "int64"),
            (("float", "double"), "double"),
            (("float", "int8"), "double"),
            (("uint64", "float"), "double"),
            (("null", "float"), "float"),
        ],
    )
    def test_the_type_holds_the_numbers_of_all(
        self, types: tuple[str, ...], common: str, tmp_path: Path
    ) -> None:
        cells = [pa.nulls(N) if t == "null" else pa.array(self.WHOLE, pa.type_for_alias(t)) for t in types]
        folder = written(tmp_path / "d", *map(table, cells))

        found, of_folder = drawn(self.dataset(folder))["x"], drawn(str(folder))["x"]

        assert str(found.type) == common
        assert {*found.drop_null().to_pylist()} == {*of_folder.dropna()} == set(range(7))

    def test_a_folder_writes_what_one_file_of_that_type_writes(self, tmp_path: Path) -> None:
        mixed = written(tmp_path / "d", table(pa.array(self.WHOLE)), table(pa.array(self.HALVES)))
        release = st.Independent(epsilon=np.inf, seed=0).fit(str(mixed))

        release.sample_to(tmp_path / "drawn.parquet", 50, seed=0)

        assert parquet.read_schema(tmp_path / "drawn.parquet").field("x").type == pa.float64()

    def test_several_processes_read_them_alike(self, tmp_path: Path) -> None:
        mixed = written(tmp_path / "d", *map(table, (pa.array(self.WHOLE), pa.array(self.HALVES))))

        one, two = (
            st.Independent(epsilon=np.inf, seed=0, workers=k).fit(str(mixed)).sample(300, seed=0)
            for k in (1, 2)
        )

        assert one.equals(two)

    def test_one_long_integer_ends_no_fit_of_folders_and_datasets(self, tmp_path: Path) -> None:
        # Whether a private fit ends must not depend on a single cell.
        for name, last in (("short", 7), ("long", 2**53 + 1)):
            cells = pa.array([*range(N - 1), last])
            folder = written(tmp_path / name, table(cells), table(pa.array([5.0] * N)))
            of_folder, of_dataset = drawn(folder, 5.0), drawn(datasets.dataset(folder), 5.0)
            assert of_dataset.column("x").to_pylist() == of_folder["x"].tolist()

    def test_a_dataset_whose_type_was_given_keeps_it(self, tmp_path: Path) -> None:
        folder = written(tmp_path / "d", *map(table, (pa.array(self.WHOLE), pa.array(self.HALVES))))
        given = pa.schema([("x", pa.float32()), ("other", pa.string())])

        assert drawn(datasets.dataset(folder, schema=given))["x"].type == pa.float32()

    def test_keys_of_folders_stay(self, tmp_path: Path) -> None:
        for key, cells in (("k=1", self.WHOLE), ("k=2", self.HALVES)):
            written(tmp_path / "d" / key, table(pa.array(cells)))

        found = drawn(datasets.dataset(tmp_path / "d", partitioning="hive"))

        assert found["x"].type == pa.float64()
        assert {*found["k"].to_pylist()} == {1, 2}

    def test_a_dataset_with_a_filter_is_read_as_pyarrow_reads_it(self, tmp_path: Path) -> None:
        of_text = pc.field("other") != "u0"
        floats_first = written(
            tmp_path / "d", table(pa.array(self.HALVES)), table(pa.array(self.WHOLE)), table(pa.nulls(N))
        )
        found = drawn(datasets.dataset(floats_first).filter(of_text))
        assert found["x"].type == pa.float64()
        assert {*found["other"].to_pylist()} == {"u1", "u2", "u3"}

        floats_last = written(tmp_path / "e", *map(table, (pa.array(self.WHOLE), pa.array(self.HALVES))))
        with pytest.raises(DataError, match=r"column 'x' is stored as int64 in .* and double in"):
            drawn(datasets.dataset(floats_last).filter(of_text))

    def test_numbers_of_which_no_type_holds_all_are_refused(self, tmp_path: Path) -> None:
        folder = written(tmp_path / "d", *(table(pa.array(self.WHOLE, t)) for t in (pa.int64(), pa.uint64())))

        with pytest.raises(SchemaError, match="column 'x' is stored as uint64, but as int64 in other parts"):
            drawn(str(folder))

    def dataset(self, folder: Path) -> Any:
        return datasets.dataset(
            folder, format="ipc" if next(folder.iterdir()).suffix == ".arrow" else "parquet"
        )


class TestDifferentTypes:
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
