"""A large delimited file, which is read batch by batch: one release with the file that is read whole, and its errors."""

from __future__ import annotations

import gzip
import warnings
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import DataError
from syntabula.synthesizers.reading import opened
from syntabula.table import read as reading
from syntabula.table.parts import text_parts
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.read import LARGE_FILE

pa = pytest.importorskip("pyarrow")

N = 5000
"""DuckDB gives batches of whole vectors of 2,048 rows."""

FORMS = {
    "t.csv": {},
    "t.tsv": {"sep": "\t"},
    "semicolons.csv": {"sep": ";", "decimal": ","},
    "t.csv.gz": {},
    "t.csv.zst": {},
}

DECLARED = {
    "note": st.Categorical(("one\nline", 'a "b"', "x,y;z"), open=True, nullable=True),
    "amount": st.Numeric(-4, 8, nullable=True),
    "age": st.Numeric(0, 60, integer=True),
    "paid": st.Boolean(),
    "day": st.Date(date(2020, 1, 1), date(2020, 12, 31)),
    "code": st.Categorical(("007", "1e5", "12"), nullable=True),
}

SCHEMAS = {
    "whole": st.Schema(DECLARED),
    "partial": st.Schema({"age": DECLARED["age"], "note": DECLARED["note"]}, others="find"),
    "none": None,
}


def rows() -> pd.DataFrame:
    """Return cells with line breaks, quotes and delimiters, empty cells, and texts that look like numbers."""
    rng = np.random.default_rng(4)
    kind = rng.integers(0, 4, N)
    return pd.DataFrame(
        {
            "note": [("one\nline", 'a "b"', "x,y;z", "")[k] for k in kind],
            "amount": np.where(rng.random(N) < 0.1, np.nan, (rng.normal(size=N).clip(-3, 3) + kind).round(2)),
            "age": rng.integers(0, 70, N),
            "paid": np.where(kind > 1, "yes", "no"),
            "day": [str(np.datetime64("2020-01-01") + int(d)) for d in rng.integers(0, 90, N)],
            "code": [("007", "1e5", "12", "")[k] for k in rng.integers(0, 4, N)],
        }
    )


def written(path: Path) -> Path:
    """Write the rows to a file in the form of its name, and return its path."""
    text = rows().to_csv(index=False, **FORMS[path.name]).encode()
    # Arrow compresses by the suffix.
    with pa.output_stream(path, compression="detect") as file:
        file.write(text)
    return path


def contents(path: Path, schema: st.Schema | None, *, workers: int = 1) -> dict[str, object]:
    """Return what a release holds, file by file, and its rows."""
    place = path.parent / "release.syn"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = st.MST(seed=5, epsilon=20.0, workers=workers).fit(path, schema)
    release.save(place)
    with zipfile.ZipFile(place) as file:
        held: dict[str, object] = {name: file.read(name) for name in file.namelist()}
    release.sample_to(path.parent / "rows.csv", 300, seed=1)
    return held | {"rows": (path.parent / "rows.csv").read_bytes()}


def read_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every file a large one, of several batches."""
    monkeypatch.setattr(reading, "LARGE_FILE", 0)
    monkeypatch.setattr(text_parts, "ROWS_AT_ONCE", 2048)


class TestReleases:
    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("name", "schema"),
        [*((name, "none") for name in FORMS), ("t.csv", "whole"), ("semicolons.csv", "partial")],
    )
    def test_are_those_of_the_file_that_is_read_whole(self, name, schema, tmp_path, monkeypatch):
        path = written(tmp_path / name)
        assert path.stat().st_size < LARGE_FILE
        whole = contents(path, SCHEMAS[schema])

        read_in_batches(monkeypatch)

        assert isinstance(opened(st.MST(), path, SCHEMAS[schema]), RawParts)
        assert contents(path, SCHEMAS[schema]) == whole

    @pytest.mark.thorough
    def test_of_several_processes_are_too(self, tmp_path, monkeypatch):
        path = written(tmp_path / "t.csv")
        whole = contents(path, None)

        read_in_batches(monkeypatch)

        assert opened(st.MST(workers=3), path, None).processes == 3
        assert contents(path, None, workers=3) == whole


BROKEN = {
    "a cell too many": (b"1,b,0.5,SECRET\n", "line 902 .* has 4 cells, the header has 3"),
    "a cell too few": (b"SECRET\n", "line 902 .* has 1 cell, the header has 3"),
    "another encoding": (b"1,SECRET\xff,0.5\n", "line 902 .* is not UTF-8"),
    "an open quote": (b'1,"SECRET,0.5\n', "line 902 .* has a quote that is never closed"),
}


class TestFaults:
    @pytest.mark.parametrize(
        ("after", "schema"),
        [(0, None), (4000, st.Schema({"a": st.Numeric(0, 9, integer=True)}, others="find"))],
    )
    @pytest.mark.parametrize("fault", BROKEN)
    def test_are_named_by_their_line_before_anything_is_spent(
        self, fault, after, schema, tmp_path, monkeypatch
    ):
        line, message = BROKEN[fault]
        path = tmp_path / "t.csv"
        path.write_bytes(b"a,b,c\n" + b'1,"x\ny",0.5\n' * 450 + line + b"2,z,0.25\n" * after)
        journal = tmp_path / "journal.jsonl"
        read_in_batches(monkeypatch)

        with pytest.raises(DataError, match=message) as caught:
            st.Independent(seed=1, epsilon=1.0, journal=journal).fit(path, schema)

        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert not journal.exists() or '"spend"' not in journal.read_text()

    @pytest.mark.thorough
    @pytest.mark.parametrize("fault", BROKEN)
    def test_behind_the_first_batches_are_named_by_their_line_too(self, fault, tmp_path, monkeypatch):
        line, message = BROKEN[fault]
        path = tmp_path / "t.csv"
        path.write_bytes(b"a,b,c\n" + b"1,z,0.5\n" * 30_000 + b'1,"x\ny",0.5\n' * 30_000 + line)
        read_in_batches(monkeypatch)

        with pytest.raises(DataError, match=message.replace("902", "90002")) as caught:
            st.Independent(seed=1, epsilon=1.0).fit(path)

        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None

    @pytest.mark.parametrize(
        "fault", [pytest.param(f, marks=pytest.mark.thorough) for f in ("a cell too many", "an open quote")]
    )
    def test_are_found_by_several_processes(self, fault, tmp_path, monkeypatch):
        line, message = BROKEN[fault]
        path = tmp_path / "t.csv"
        path.write_bytes(b"a,b,c\n" + b'1,"x\ny",0.5\n' * 450 + line)
        read_in_batches(monkeypatch)

        with pytest.raises(DataError, match=message) as caught:
            st.Independent(seed=1, epsilon=1.0, workers=2).fit(path)

        assert "SECRET" not in str(caught.value)

    def test_of_a_compressed_file_that_ends_too_early_are_refused(self, tmp_path, monkeypatch):
        path = tmp_path / "t.csv.gz"
        rng = np.random.default_rng(0)
        text = "a,b\n" + "".join(f"{x},{y}\n" for x, y in rng.integers(0, 10**6, (N, 2)))
        path.write_bytes(gzip.compress(text.encode())[:-2000])
        read_in_batches(monkeypatch)

        with pytest.raises(DataError, match=r"t\.csv\.gz"):
            st.Independent(seed=1, epsilon=1.0).fit(path)
