"""Rows that neither memory nor a disk can hold are refused before they are drawn."""

from __future__ import annotations

import os
import shutil
import signal
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import DataError, ResourceError
from syntabula.synthesizers import drawing

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(scope="module")
def release() -> st.Release:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 4, 400), "b": rng.choice(["x", "y"], 400), "c": "p"})
    schema = st.Schema(
        {"a": st.Numeric(0, 3, integer=True), "b": st.Categorical(("x", "y")), "c": st.Identifier(prefix="p")}
    )
    return st.MST(epsilon=5.0, seed=1).fit(frame, schema)


def refuse_draws(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let nothing but the few rows be drawn that show how large one is."""
    drawn: list[int] = []
    real = drawing.Drawing.rows

    def draw(self: drawing.Drawing, start: int, stop: int, rng: np.random.Generator) -> Any:
        drawn.append(stop - start)
        assert len(drawn) == 1
        return real(self, start, stop, rng)

    monkeypatch.setattr(drawing.Drawing, "rows", draw)
    return drawn


class TestMemory:
    def test_more_rows_than_memory_holds_are_refused_with_both_numbers(
        self, release: st.Release, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        drawn = refuse_draws(monkeypatch)
        monkeypatch.setattr(drawing, "available_bytes", lambda: 20 * 10**9)

        with pytest.raises(ResourceError, match=r"1,000,000,000 rows .* GB of memory, and 20 GB are free"):
            release.sample(10**9)

        assert drawn == [drawing.TRIED_ROWS]

    @pytest.mark.parametrize("n", [10**12, 10**15])
    def test_so_are_those_that_no_machine_holds(self, release: st.Release, n: int) -> None:
        with pytest.raises(ResourceError, match="draw fewer rows"):
            release.sample(n)

    @pytest.mark.thorough
    def test_the_estimate_is_near_what_is_taken(self, release: st.Release) -> None:
        rows = release.sample_columns(100_000)
        frame = release.sample(100_000)

        estimate = 100_000 * sum(map(drawing._bytes_per_row, rows.values()))
        held = int(frame.memory_usage(deep=True, index=False).sum())

        assert 0.3 * held < estimate < 3 * held

    def test_nothing_is_refused_where_the_system_does_not_say(
        self, release: st.Release, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(drawing, "available_bytes", lambda: None)
        monkeypatch.setattr(drawing, "ROWS_AT_ONCE", 100)

        assert len(release.sample(250)) == 250


class TestDisk:
    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
    def test_more_rows_than_the_disk_holds_are_refused_with_both_numbers(
        self, suffix: str, release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        drawn = refuse_draws(monkeypatch)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(2 * 10**9, 10**9, 10**9))

        with pytest.raises(DataError, match=r"1,000,000,000,000 rows .* TB in .*, and 1 GB are free"):
            release.sample_to(tmp_path / f"t.{suffix}", 10**12)

        assert drawn == [drawing.TRIED_ROWS]
        assert os.listdir(tmp_path) == []

    @pytest.mark.thorough
    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    def test_the_estimate_is_near_what_is_written(
        self, suffix: str, release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / f"t.{suffix}"
        release.sample_to(path, 200_000)
        size = path.stat().st_size
        monkeypatch.setattr(drawing, "ROWS_AT_ONCE", 100_000)

        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, size * 2))
        assert release.sample_to(path, 200_000) == 200_000
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, size // 2))
        with pytest.raises(DataError, match="are free on its disk"):
            release.sample_to(path, 200_000)

    def test_the_rows_of_a_seed_do_not_depend_on_the_estimate(
        self, release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(drawing, "ROWS_AT_ONCE", 100)

        release.sample_to(tmp_path / "t.parquet", 350, seed=3)

        pd.testing.assert_frame_equal(
            pd.read_parquet(tmp_path / "t.parquet"), release.sample(350, seed=3), check_dtype=False
        )


@pytest.mark.parametrize("n", [10**16, 2**63, 10**5000], ids=["16 digits", "beyond 64 bits", "5001 digits"])
def test_what_no_machine_holds_is_refused_before_anything(
    n: int, release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing.Drawing, "rows", None)

    for draw in (release.sample, lambda n: release.sample_to(tmp_path / "t.csv", n)):
        with pytest.raises(ResourceError, match="rows, as no machine holds more"):
            draw(n)

    assert os.listdir(tmp_path) == []


def test_an_interrupt_waits_for_one_piece_at_most(
    release: st.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in pieces and not in seconds: it comes in the second of many."""
    monkeypatch.setattr(drawing, "ROWS_AT_ONCE", 1_000)
    monkeypatch.setattr(drawing, "TRIED_ROWS", 10)
    drawn: list[int] = []
    real = drawing.Drawing.rows

    def draw(self: drawing.Drawing, start: int, stop: int, rng: np.random.Generator) -> Any:
        drawn.append(stop - start)
        if len(drawn) == 3:
            signal.raise_signal(signal.SIGINT)
        return real(self, start, stop, rng)

    monkeypatch.setattr(drawing.Drawing, "rows", draw)

    with pytest.raises(KeyboardInterrupt):
        release.sample(1_000_000)

    assert drawn == [10, 1_000, 1_000]
