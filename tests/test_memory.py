"""Errors of any library that mean too little memory are told from damaged data."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from syntabula._memory import available_bytes, memory_for, ran_out
from syntabula.errors import DataError, ResourceError


def duckdb_error() -> Exception:
    import duckdb

    database = duckdb.connect(config={"memory_limit": "5MB", "temp_directory": ""})
    with pytest.raises(duckdb.Error) as caught:
        database.execute("CREATE TABLE t AS SELECT range FROM range(100000000)")
    return caught.value


def numpy_error() -> Exception:
    with pytest.raises(MemoryError) as caught:
        np.ones(2**60, dtype=np.uint8)
    return caught.value


def arrow_error() -> Exception:
    with pytest.raises(pa.ArrowException) as caught:
        pa.allocate_buffer(2**60)
    return caught.value


def wrapped() -> Exception:
    """As a binding wraps what its library raised."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = MemoryError()
    return error


def called_damaged() -> Exception:
    """As a reader calls a file damaged that it has no memory for."""
    try:
        try:
            raise MemoryError
        except MemoryError:
            raise DataError("the file is damaged") from None
    except DataError as error:
        return error


OUT_OF_MEMORY: dict[str, Callable[[], Exception]] = {
    "Python": MemoryError,
    "numpy": numpy_error,
    "Arrow": arrow_error,
    "Arrow's unknown error": lambda: pa.ArrowException("Unknown error: std::bad_alloc"),
    "DuckDB": duckdb_error,
    "the operating system": lambda: OSError(errno.ENOMEM, "Cannot allocate memory"),
    "a library that cannot be loaded": lambda: ImportError("x.so: failed to map segment from shared object"),
    "torch": lambda: RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"
    ),
    "torch on a GPU": lambda: type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory"),
    "a library on a GPU": lambda: RuntimeError(
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"
    ),
    "a GPU that is full already": lambda: RuntimeError("CUDA error: out of memory"),
    "a thread that cannot be started": lambda: RuntimeError("can't start new thread"),
    "a binding": wrapped,
    "a reader": called_damaged,
}


@pytest.mark.parametrize("name", list(OUT_OF_MEMORY))
def test_every_library_has_a_way_to_say_so(name: str) -> None:
    error = OUT_OF_MEMORY[name]()

    def fail() -> None:
        with memory_for("read 'x.csv'"):
            raise error

    assert ran_out(error)
    with pytest.raises(ResourceError, match=r"not enough memory to read 'x\.csv'"):
        fail()


@pytest.mark.parametrize(
    "error", [DataError("memory"), ValueError("x"), OSError(errno.ENOSPC, "No space left"), KeyError("bad")]
)
def test_other_errors_pass(error: Exception) -> None:
    def fail() -> None:
        with memory_for("read"):
            raise error

    assert not ran_out(error)
    with pytest.raises(type(error)):
        fail()


def test_what_the_caller_was_handling_is_not_the_cause() -> None:
    """A smaller table is read because a larger one did not fit, and is damaged."""

    def fail() -> None:
        try:
            raise MemoryError
        except MemoryError:
            with memory_for("read"):
                raise DataError("damaged")  # noqa: B904

    with pytest.raises(DataError, match="damaged"):
        fail()


def test_an_interrupt_is_none() -> None:
    def fail() -> None:
        with memory_for("read"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()


class TestAvailable:
    def test_it_is_at_most_what_the_machine_has(self) -> None:
        available = available_bytes()

        assert available is not None
        assert 2**20 < available <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    @pytest.mark.parametrize("version", [1, 2])
    def test_the_limit_of_a_container_counts_without_what_can_be_reclaimed(
        self, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = tmp_path / ("memory" if version == 1 else "") / "inner"
        place.mkdir(parents=True)
        names = {
            1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
            2: ("memory.max", "memory.current", "inactive_file"),
        }[version]
        (place / names[0]).write_text("90000000\n")
        (place / names[1]).write_text("50000000\n")
        (place / "memory.stat").write_text(f"anon 1\n{names[2]} 20000000\n")
        line = "4:memory:/inner\n" if version == 1 else "0::/inner\n"
        real = Path.read_text
        monkeypatch.setattr(
            Path, "read_text", lambda p, *a, **k: line if str(p) == "/proc/self/cgroup" else real(p, *a, **k)
        )
        monkeypatch.setattr("syntabula._memory._CGROUPS", str(tmp_path))

        assert available_bytes() == 60_000_000

    @pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process is set")
    def test_the_limit_of_the_process_counts(self) -> None:
        script = (
            "import resource; from syntabula._memory import available_bytes; "
            "resource.setrlimit(resource.RLIMIT_AS, (3 * 10**8,) * 2); print(available_bytes())"
        )

        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

        assert 0 < int(ran.stdout) < 3 * 10**8
