"""Spark frames: one release with tables in memory, each record once, and rows that workers draw.

Needs pyspark and Java, and takes a minute; runs only when asked for: `pytest -m spark`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, time
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from small_settings import small_parts
from small_tables import persons
from test_persons_in_parts import in_parts as persons_in_parts
from test_persons_in_parts import release_of as release_of_persons
from test_tables_in_parts import (
    N,
    fitted_by_rules,
    found_in,
    frame,
    in_parts,
    release_of,
    ruled_rows,
    schema,
    undeclared_in_parts,
    undeclared_rows,
)

import syntabula as st
from syntabula.errors import ArgumentError, DataError, MissingExtraError, SchemaError
from syntabula.table.parts import spark_tasks
from syntabula.table.parts.found_parts import found_parts
from syntabula.table.read import parts_of

pytestmark = pytest.mark.spark

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

KIND = schema()["kind"]

SOURCE = str(Path(st.__file__).parents[1])


@pytest.fixture(scope="module")
def spark() -> Iterator[object]:
    sql = pytest.importorskip("pyspark.sql", reason='needs pyspark: pip install "syntabula[spark]"')
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs a Java runtime, such as the package openjdk-17-jre-headless")
    with pytest.MonkeyPatch.context() as patch:
        # Workers are other processes, of the same Python and with the same syntabula.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")]))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = sql.SparkSession.builder.master("local[2, 2]")  # two threads, and two tries of each task
        options = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "512m",
            "spark.log.level": "OFF",
            "spark.ui.showConsoleProgress": "false",
            # Less of what pays in long runs alone.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            "spark.sql.codegen.wholeStage": "false",
            # Small, so that batches are put together.
            "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
        }
        session = builder.config(map=options).getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="module")
def people(spark, tmp_path_factory):
    return spark.read.parquet(str(in_parts(tmp_path_factory.mktemp("spark") / "people", 3)))


CONNECT = """
import sys
from pyspark.sql import SparkSession
from test_tables_in_parts import release_of
session = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = session.read.parquet(sys.argv[1])
assert type(frame).__module__.startswith("pyspark.sql.connect")
print(*release_of(frame))
session.stop()
"""


class TestReleases:
    def test_of_spark_connect_are_those_of_the_table_in_memory(self, spark, tmp_path):
        """In a process of its own, as a session of one kind keeps those of the other from starting."""
        pytest.importorskip("grpc_status", reason='needs Spark Connect: pip install "pyspark[connect]"')
        people = in_parts(tmp_path / "people", 3)
        paths = [str(Path(__file__).parent), os.environ["PYTHONPATH"]]

        done = subprocess.run(
            [sys.executable, "-c", CONNECT, str(people)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
            cwd=tmp_path,
        )

        assert done.stdout.split()[-2:] == list(release_of(frame()))

    @pytest.mark.parametrize("n_parts", [1, 7])
    def test_are_those_of_the_table_in_memory(self, n_parts, people):
        assert release_of(people.repartition(n_parts)) == release_of(frame())

    def test_of_persons_whose_rows_lie_in_several_partitions_are_too(self, spark, tmp_path):
        people, declared = persons(1)
        folder = persons_in_parts(tmp_path / "people", people, 3)
        of_spark = spark.read.parquet(str(folder)).repartition(3)
        # Spark puts the rows in another order; which rows of a person are kept depends on it.
        pq.write_table(of_spark.toArrow(), tmp_path / "all.parquet")

        for method in (st.MST, partial(st.TabPE, **small_parts("tab-pe"))):
            right = release_of_persons(tmp_path / "all.parquet", declared, method)
            assert release_of_persons(of_spark, declared, method) == right

    def test_with_rules_are_those_of_the_table_in_memory(self, spark, tmp_path):
        pq = pytest.importorskip("pyarrow.parquet")
        pa = pytest.importorskip("pyarrow")
        file = str(tmp_path / "rows.parquet")
        pq.write_table(pa.Table.from_pandas(ruled_rows(), preserve_index=False), file)

        rows, said = fitted_by_rules(spark.read.parquet(file).repartition(3))

        right, of_file = fitted_by_rules(file)
        assert rows == right
        # Spark may warn too.
        assert said >= of_file

    def test_of_persons_beside_undeclared_columns_are_too(self, spark, tmp_path):
        rows = undeclared_rows().drop(columns="at").assign(who=lambda t: t["order_id"] % 150)
        pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), tmp_path / "rows.parquet")
        of_spark = spark.read.parquet(str(tmp_path / "rows.parquet")).repartition(3)
        pq.write_table(of_spark.toArrow(), tmp_path / "all.parquet")
        declared = st.Schema(
            {"who": st.Identifier(integer=True), "age": st.Numeric(0, 300, integer=True), "kind": KIND},
            rules=st.Rules(require=["age < 200 or kind = 'red'"]),
            others="find",
            unit="who",
            rows_per_unit=3,
        )

        assert found_in(of_spark, declared) == found_in(tmp_path / "all.parquet", declared)

    def test_without_a_schema_are_those_of_the_table_in_memory(self, spark, tmp_path, monkeypatch):
        whole, _ = undeclared_in_parts(tmp_path / "rows", 1)
        rows = spark.read.parquet(str(whole)).drop("at").repartition(3)
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(pq.read_table(whole).drop_columns(["at"]), whole)
        right = found_in(whole)

        assert found_in(rows) == right
        monkeypatch.setitem(found_parts.__kwdefaults__, "most", 100)
        assert found_in(rows) == right

    def test_that_need_the_records_get_each_once(self, people):
        pieces = [*parts_of(people.repartition(5), schema()).of(["age"]).pieces()]

        assert [*pieces[0].columns] == ["age"]
        ages = [age for piece in pieces for age in piece.columns["age"].values.tolist()]
        assert sorted(ages) == sorted(frame()["age"])

    def test_count_each_record_once_although_a_worker_dies_and_its_task_runs_again(self, people, tmp_path):
        died = str(tmp_path / "died")

        def dying(batches):
            import os

            yield from batches
            try:
                os.close(os.open(died, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            os._exit(1)

        parts = parts_of(people.repartition(2).mapInArrow(dying, people.schema), schema())

        assert parts.n_rows == N
        assert Path(died).exists()


class TestRefusals:
    def test_of_records_that_change_between_passes(self, people, tmp_path):
        more = str(tmp_path / "more")

        def growing(batches):
            import os

            for batch in batches:
                yield batch
                if os.path.exists(more):
                    yield batch

        parts = parts_of(people.mapInArrow(growing, people.schema), schema())
        assert parts.n_rows == N
        Path(more).touch()

        with pytest.raises(DataError, match="did not find the records"):
            _ = [*parts.pieces()]

    def test_of_another_plan(self, people):
        parts = parts_of(people, schema())
        parts.snapshot = type(parts.snapshot).of(people.limit(3))
        parts.snapshot = type(parts.snapshot)(people, parts.snapshot.plan, parts.snapshot.files)

        with pytest.raises(DataError, match="does not read what it read"):
            _ = parts.n_rows

    def test_of_errors_of_spark_show_no_cell(self, spark, people):
        broken = people.selectExpr("cast('secret cell' || kind as int) kind", "amount", "age", "paid", "at")

        with pytest.raises(DataError, match="CAST_INVALID_INPUT") as refused:
            st.MST(seed=1).fit(broken, schema())

        assert "secret" not in str(refused.value)
        assert refused.value.__suppress_context__

    def test_of_a_worker_are_those_of_this_process(self, people):
        nested = people.selectExpr("kind", "array('secret cell', kind) amount", "age", "paid", "at")

        with pytest.raises((DataError, SchemaError), match="amount") as refused:
            st.MST(seed=1).fit(nested, schema(), strict=True)

        assert "secret" not in str(refused.value)

    def test_of_a_frame_that_lacks_a_column_or_has_no_end(self, spark, people):
        with pytest.raises(SchemaError, match="no column 'paid'"):
            st.MST(seed=1).fit(people.drop("paid"), schema())
        with pytest.raises(DataError, match="has no end"):
            st.MST(seed=1).fit(spark.readStream.format("rate").load(), schema())

    def test_of_workers_with_another_version(self, people, monkeypatch):
        monkeypatch.setattr(spark_tasks, "__version__", "0.0.0")

        with pytest.raises(MissingExtraError, match=r"same syntabula as the driver, version"):
            _ = parts_of(people, schema()).n_rows


class TestRows:
    def test_that_workers_draw_are_those_of_files_in_parts(self, spark, tmp_path):
        declared = schema().columns | {
            "who": st.Identifier(prefix="p"),
            "day": st.Date(date(2024, 1, 1), date(2024, 3, 1), nullable=True),
            "clock": st.Time(time(0), time(23, 59)),
        }
        table = frame().assign(who=[f"p{i}" for i in range(N)], day=pd.Timestamp("2024-02-01"), clock="12:00")
        with pytest.warns(st.errors.CoercionWarning):
            release = st.MST(seed=1, bins=5).fit(table, st.Schema(declared))
        release.sample_to(tmp_path / "rows.parquet", 1000, parts=3, seed=4)

        drawn = release.sample_on(spark, 1000, parts=3, seed=4)

        assert drawn.rdd.getNumPartitions() == 3
        assert dict(drawn.dtypes) == {
            "kind": "string",
            "amount": "double",
            "age": "bigint",
            "paid": "boolean",
            "at": "timestamp_ntz",
            "who": "string",
            "day": "date",
            "clock": "string",
        }
        drawn.write.parquet(str(tmp_path / "spark"))
        rows, right = (pd.read_parquet(tmp_path / n).sort_values("who") for n in ("spark", "rows.parquet"))
        assert rows["who"].nunique() == 1000
        right["clock"] = right["clock"].map(lambda clock: f"{clock}.000000")
        pd.testing.assert_frame_equal(
            rows.reset_index(drop=True), right.reset_index(drop=True), check_dtype=False
        )

    def test_need_a_session(self):
        table = pd.DataFrame({"a": [0, 1] * 20})
        release = st.MST(seed=1).fit(table, st.Schema({"a": st.Boolean()}))

        with pytest.raises(ArgumentError, match="session"):
            release.sample_on("local", 10, parts=1)
