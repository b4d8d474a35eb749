"""The same inputs and seed give the same bytes: in another process, and with any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from corners import VARIANTS
from small_settings import METHODS as EVERY

SCRIPT = """
import sys
import duckdb
import syntabula as st

threads, folder, contracts, *methods = sys.argv[1:]
sys.path.append(contracts)
from small_settings import epsilon_of, small_parts

duckdb.execute(f"SET threads = {threads}")
frame = st.datasets.census(n_rows=500, seed=1)
for method in methods:
    synthesizer = st.synthesizer(method)(epsilon=epsilon_of(method, 3.0), seed=5, **small_parts(method))
    release = synthesizer.fit(frame, st.datasets.schema_of("census"))
    release.save(f"{folder}/{method}.syn")
    for suffix in ("csv", "parquet"):
        release.sample_to(f"{folder}/{method}.{suffix}", 300, seed=7)
"""
METHODS = [method for method in EVERY if method not in VARIANTS]
CONTRACTS = str(Path(__file__).parent)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Files = dict[str, bytes]


def run(threads: int, folder: Path) -> Files:
    """Return what all methods write in a process of so many threads."""
    folder.mkdir()
    # Another hash seed too: the order of a set must not matter.
    environment = os.environ | dict.fromkeys(THREADS, str(threads)) | {"PYTHONHASHSEED": str(threads)}
    words = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(threads), str(folder), CONTRACTS, *METHODS]
    subprocess.run(words, env=environment, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.thorough
def test_threads_and_processes_change_nothing(tmp_path: Path) -> None:
    one, four = run(1, tmp_path / "one"), run(4, tmp_path / "four")

    names = [f"{method}.{suffix}" for method in METHODS for suffix in ("syn", "csv", "parquet")]
    assert sorted(one) == sorted(four) == sorted(names)
    assert [name for name in names if one[name] != four[name]] == []
