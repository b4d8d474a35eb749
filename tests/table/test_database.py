"""An interrupt of the user's stops DuckDB and arrives as KeyboardInterrupt; types that files store are read exactly."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syntabula.errors import DataError
from syntabula.table.database import _shared, at_hand, connection, interruptible
from syntabula.table.files.parquet_reading import read_parquet
from syntabula.table.frames.frames import from_frame

ENDLESS = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"


def interrupted(script: str, *words: object) -> str:
    """Run a script in a process of its own, interrupt it once it has printed "go", and return what it prints then.

    Within this process an interrupt may arrive in a callback of some library that swallows it.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "go\n"
        child.send_signal(signal.SIGINT)
        return child.communicate(timeout=600)[0]
    finally:
        child.kill()


def interrupt_once(started: threading.Event) -> threading.Thread:
    """Interrupt this process as soon as something has started."""

    def send() -> None:
        assert started.wait(60)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


class TestInterruptible:
    @pytest.mark.thorough
    @pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no interrupt to one child alone")
    @pytest.mark.parametrize("fetch", ["fetchall", "fetchnumpy"])
    def test_a_query_that_would_never_end_is_stopped(self, fetch: str) -> None:
        script = (
            "import sys\n"
            "from syntabula.table.database import connection\n"
            "from syntabula.table.database import interruptible\n"
            "def work():\n"
            f"    relation = database.sql({ENDLESS!r})\n"
            "    print('go', flush=True)\n"
            "    return getattr(relation, sys.argv[1])()\n"
            "with connection() as database:\n"
            "    try:\n"
            "        interruptible(database, work)\n"
            "    except KeyboardInterrupt:\n"
            "        print('interrupted', database.execute('SELECT 1').fetchall())\n"
        )

        assert interrupted(script, fetch) == "interrupted [(1,)]\n"

    @pytest.mark.thorough
    def test_a_second_signal_does_not_leave_the_query_behind(self) -> None:
        started = threading.Event()
        stopping: list[int] = []

        class Database:
            def interrupt(self) -> None:
                stopping.append(1)
                if len(stopping) == 1:
                    signal.raise_signal(signal.SIGINT)
                database.interrupt()

        def work() -> object:
            relation = database.sql(ENDLESS)
            started.set()
            return relation.fetchall()

        with connection() as database:
            sender = interrupt_once(started)
            with pytest.raises(KeyboardInterrupt):
                interruptible(Database(), work)
            sender.join()

            assert len(stopping) > 1
            assert "duckdb" not in [thread.name for thread in threading.enumerate()]

    def test_results_and_errors_pass_through(self) -> None:
        with connection() as database:
            assert interruptible(database, lambda: 3) == 3
            with pytest.raises(ZeroDivisionError):
                interruptible(database, lambda: 1 // 0)


def count_to(last: int, **options: str) -> list[int]:
    """Return numbers by way of a view, a table and a type that every caller names alike."""
    with at_hand(**options) as database:
        database.register("given", {"v": np.arange(last)})
        database.execute("CREATE TEMP TABLE cells AS SELECT v FROM given")
        database.execute("CREATE TEMP TYPE texts AS ENUM (SELECT v::VARCHAR FROM cells)")
        return [int(v) for (v,) in database.execute("SELECT v::VARCHAR::texts FROM cells").fetchall()]


class TestAtHand:
    def test_what_one_creates_is_its_own_and_gone_afterwards(self) -> None:
        with ThreadPoolExecutor(4) as threads:
            found = [*threads.map(lambda n: count_to(n, memory="1GB"), range(1, 60))]

        assert found == [[*range(n)] for n in range(1, 60)]
        with at_hand(memory="1GB") as database:
            held = database.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()
            tables = database.execute("FROM duckdb_tables()").fetchall()
        assert (held, tables) == ([(0,)], [])

    def test_many_cells_have_a_database_of_their_own(self) -> None:
        with at_hand(cells=10**6) as own, at_hand() as shared:
            own.execute("CREATE TABLE cells AS SELECT range AS v FROM range(200000)")

            assert own.execute("SELECT v FROM cells").fetchnumpy()["v"].tolist() == [*range(200_000)]
            assert shared.execute("FROM duckdb_tables()").fetchall() == []

    def test_it_reaches_no_file_and_its_settings_stay(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a\n1\n")
        with at_hand() as database:
            setting = "SELECT current_setting('TimeZone'), current_setting('threads')"
            assert database.execute(setting).fetchall() == [("UTC", 1)]
            for query in (f"FROM read_csv('{tmp_path / 't.csv'}')", "SET threads = 2"):
                with pytest.raises(duckdb.Error):
                    database.execute(query)

    def test_an_interrupt_stops_its_own_query_alone(self) -> None:
        with at_hand() as one, at_hand() as other, ThreadPoolExecutor(1) as thread:
            endless = thread.submit(one.execute, ENDLESS)
            while not endless.done():
                one.interrupt()
                assert other.execute("SELECT 3").fetchall() == [(3,)]

            assert isinstance(endless.exception(), duckdb.InterruptException)

    def test_after_an_error_another_database_is_opened(self) -> None:
        """DuckDB refuses all further queries of a database after some errors of its own."""
        before = _shared(os.getpid(), None)

        with pytest.raises(ZeroDivisionError), at_hand():
            raise ZeroDivisionError

        assert _shared(os.getpid(), None) is not before
        assert count_to(3) == [0, 1, 2]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
    def test_a_forked_process_opens_its_own(self) -> None:
        count_to(3)

        child = multiprocessing.get_context("fork").Process(target=count_in_a_database_of_its_own)
        child.start()
        child.join(60)

        assert child.exitcode == 0


def count_in_a_database_of_its_own() -> None:
    opened = _shared.cache_info().misses

    assert count_to(3) == [0, 1, 2]
    assert _shared.cache_info().misses == opened + 1


class TestRelationOfTheUser:
    @pytest.mark.parametrize(
        ("text", "expected"), [("Query interrupted", KeyboardInterrupt), ("something else", DataError)]
    )
    def test_duckdbs_own_interrupt_is_translated(
        self, monkeypatch: pytest.MonkeyPatch, text: str, expected: type[BaseException]
    ) -> None:
        import duckdb

        from syntabula.table import database

        def fail(*_: object) -> None:
            raise RuntimeError(text)

        monkeypatch.setattr(database, "read_relation", fail)

        with pytest.raises(expected):
            from_frame(duckdb.sql("SELECT 1 AS x"))


COPIES = """
import random, sys, threading, time
from syntabula.table.database import connection
random.seed(0)
copy = f"COPY (SELECT range a, hash(range) b FROM range(4000000)) TO '{sys.argv[1]}' (FORMAT parquet)"
def run(database):
    try:
        database.execute(copy)
    except Exception:
        pass
for _ in range(60):
    with connection() as database:
        database.execute("SET threads = 1")
        thread = threading.Thread(target=run, args=(database,), daemon=True)
        thread.start()
        time.sleep(random.uniform(0, 0.05))
        while thread.is_alive():
            database.interrupt()
            thread.join(0.05)
print("done")
"""


@pytest.mark.thorough
def test_an_interrupted_copy_never_waits_for_ever(tmp_path: Path) -> None:
    """With the threads that DuckDB 2.0 writes with by default, one of some ten did."""
    ran = subprocess.run(
        [sys.executable, "-c", COPIES, str(tmp_path / "t.parquet")],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert ran.stdout == "done\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no interrupt to one child alone")
class TestWholeRead:
    @pytest.mark.thorough
    def test_reading_a_file_ends_in_keyboard_interrupt(self, tmp_path: Path) -> None:
        """With the handler that Python installs, interrupted while DuckDB works."""
        script = (
            "import sys\n"
            "from syntabula.table.files import cell_types, files\n"
            f"cell_types.types_of = lambda database, n: (print('go', flush=True), database.sql({ENDLESS!r})"
            ".fetchnumpy())\n"
            "try:\n"
            "    files.read_table(sys.argv[1])\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n"
        )
        path = tmp_path / "x.csv"
        path.write_text("a\n1\n", encoding="utf-8")

        assert interrupted(script, path) == "interrupted\n"


def test_times_in_nanoseconds_are_read_to_the_microsecond(tmp_path: Path) -> None:
    moments = [-1, 1_630_276_980_123_456]
    table = pa.table(
        {
            "at": pa.array([1_000 * m for m in moments], pa.timestamp("ns", tz="Europe/Berlin")),
            "clock": pa.array([0, 86_399_999_999_000], pa.time64("ns")),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")

    columns, n_rows = read_parquet(str(tmp_path / "x.parquet"))

    assert n_rows == 2
    assert columns["at"].values.tolist() == moments
    assert (columns["at"].physical.kind, columns["at"].physical.timezone) == ("datetime", "Europe/Berlin")
    assert columns["clock"].values.tolist() == [0, 86_399_999_999]
    assert columns["clock"].physical.kind == "time"
