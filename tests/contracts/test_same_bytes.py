"""The same inputs and seed give the same bytes: in another process, and with any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import syntabula as st

METHODS = [info.key for info in st.list_synthesizers()]
SCRIPT = """
import sys
import duckdb
import syntabula as st

threads, folder, contracts, *methods = sys.argv[1:]
sys.path.append(contracts)
from small_settings import small_parts

duckdb.execute(f"SET threads = {threads}")
frame = st.datasets.census(n_rows=2000, seed=1)
for method in methods:
    synthesizer = st.synthesizer(method)(epsilon=3.0, seed=5, **small_parts(method))
    release = synthesizer.fit(frame, st.datasets.schema_of("census"))
    release.save(f"{folder}/{method}.syn")
    for suffix in ("csv", "parquet", "jsonl.gz"):
        release.sample_to(f"{folder}/{method}.{suffix}", 1000, seed=7)
"""
CONTRACTS = str(Path(__file__).parent)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Files]:
    """What all methods write in two processes of different numbers of threads."""
    return _run(1, tmp_path_factory.mktemp("one")), _run(4, tmp_path_factory.mktemp("four"))


def _run(threads: int, folder: Path) -> Files:
    # Another hash seed too: the order of a set must not matter.
    environment = os.environ | dict.fromkeys(THREADS, str(threads)) | {"PYTHONHASHSEED": str(threads)}
    words = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(threads), str(folder), CONTRACTS, *METHODS]
    subprocess.run(words, env=environment, check=True, capture_output=True, timeout=600)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("suffix", ["syn", "csv", "parquet", "jsonl.gz"])
@pytest.mark.parametrize("method", METHODS)
def test_threads_and_processes_change_nothing(method: str, suffix: str, runs: tuple[Files, Files]) -> None:
    one, four = runs

    assert one[f"{method}.{suffix}"] == four[f"{method}.{suffix}"]
