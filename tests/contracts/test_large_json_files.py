"""A large file of JSON lines, read batch by batch: one release with the file that is read whole, and its errors."""

from __future__ import annotations

import json
import tracemalloc
import warnings
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import syntabula as st
from syntabula.errors import CoercionWarning, DataError
from syntabula.synthesizers.reading import opened
from syntabula.table import read as reading
from syntabula.table.files import json_reading
from syntabula.table.read import parts_of, read

pa = pytest.importorskip("pyarrow")

N = 3000

DECLARED = {
    "note": st.Categorical(("one\nline", 'a "b"', "12"), open=True, nullable=True),
    "amount": st.Numeric(-4, 8, nullable=True),
    "age": st.Numeric(0, 60, integer=True),
    "paid": st.Boolean(),
    "day": st.Date(date(2020, 1, 1), date(2020, 12, 31)),
}

SCHEMAS = {
    "whole": st.Schema(DECLARED),
    "partial": st.Schema({"age": DECLARED["age"], "note": DECLARED["note"]}, others="find"),
    "none": None,
}


def lines() -> list[str]:
    """Return objects in which keys are absent or null, and numbers, texts and types that show late."""
    rng = np.random.default_rng(4)
    kind = rng.integers(0, 4, N)
    written = []
    for i, k in enumerate(kind.tolist()):
        cells = {
            "note": ("one\nline", 'a "b"', "12", None)[k],
            "amount": f"{min(max(rng.normal(), -3), 3) + k:.2f}",
            "age": f"{rng.integers(0, 70)}{'e0' if i % 7 == 0 else ''}",
            "paid": "true" if k > 1 else "false",
            "day": str(np.datetime64("2020-01-01") + int(rng.integers(0, 90))),
            "late": str(i % 5 + (2**63 if i > N - 5 else 0)),
        }
        numbers = [n for n in ("amount", "age", "paid", "late") if n != "amount" or rng.random() > 0.1]
        pairs = [f'"{n}": {json.dumps(c)}' for n, c in cells.items() if n in ("note", "day")]
        pairs += [f'"{n}": {cells[n]}' for n in numbers if n != "late" or i > N // 2]
        written.append(f"{{{', '.join(pairs)}}}\n")
    return written


def written(path: Path) -> Path:
    """Write the objects to a file, compressed as its suffix says, and return its path."""
    with pa.output_stream(path, compression="detect") as file:
        file.write("".join(lines()).encode())
    return path


def contents(path: Path, schema: st.Schema | None) -> dict[str, object]:
    """Return what a release holds, file by file, its rows and what the fit warned of."""
    place = path.parent / "release.syn"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        release = st.MST(seed=5, epsilon=20.0).fit(path, schema)
    release.save(place)
    with zipfile.ZipFile(place) as file:
        held: dict[str, object] = {name: file.read(name) for name in file.namelist()}
    release.sample_to(path.parent / "rows.csv", 300, seed=1)
    return held | {
        "rows": (path.parent / "rows.csv").read_bytes(),
        "said": {str(w.message) for w in said if issubclass(w.category, CoercionWarning)},
    }


def read_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every file a large one, of several batches."""
    monkeypatch.setattr(reading, "LARGE_FILE", 0)
    monkeypatch.setattr(json_reading, "ROWS_AT_ONCE", 700)


class TestReleases:
    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("name", "schema"),
        [*(("t.jsonl", schema) for schema in SCHEMAS), ("t.ndjson.gz", "none"), ("t.jsonl.zst", "partial")],
    )
    def test_are_those_of_the_file_that_is_read_whole(self, name, schema, tmp_path, monkeypatch):
        path = written(tmp_path / name)
        whole = contents(path, SCHEMAS[schema])

        read_in_batches(monkeypatch)

        parts = opened(st.MST(), path, SCHEMAS[schema])
        assert parts is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert len([*parts.pieces()]) == 5
        assert contents(path, SCHEMAS[schema]) == whole
        # Only a schema of all columns leaves the keys out that it does not declare.
        assert any("keys that the schema" in sentence for sentence in whole["said"]) == (schema == "whole")

    @pytest.mark.thorough
    def test_hold_a_batch_at_a_time(self, tmp_path, monkeypatch):
        path = written(tmp_path / "t.jsonl")
        path.write_bytes(path.read_bytes() * 8)
        schema = SCHEMAS["partial"]
        peaks = []
        for once in (False, True):
            if once:
                read_in_batches(monkeypatch)
            tracemalloc.start()
            pieces = parts_of(path, schema).pieces() if once else [read(path, schema)]
            n_rows = sum(piece.n_rows for piece in pieces)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert n_rows == 8 * N

        assert peaks[1] < peaks[0] / 4


class TestFaults:
    @pytest.mark.thorough
    @pytest.mark.parametrize("schema", SCHEMAS)
    @pytest.mark.parametrize("line", ["{'note': 'SECRET'}", "[SECRET]", '{"note": "SECRET"'])
    def test_behind_the_first_batches_are_named_by_their_line(self, line, schema, tmp_path, monkeypatch):
        path = written(tmp_path / "t.jsonl")
        path.write_text(path.read_text() + line + "\n")
        journal = tmp_path / "journal.jsonl"
        read_in_batches(monkeypatch)

        with pytest.raises(DataError, match=f"line {N + 1} of ") as caught:
            st.Independent(seed=1, epsilon=1.0, journal=journal).fit(path, SCHEMAS[schema])

        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert not journal.exists() or '"spend"' not in journal.read_text()

    def test_of_an_empty_file_say_what_to_do(self, tmp_path):
        (tmp_path / "t.jsonl").write_text("")

        with pytest.raises(DataError, match=r"t\.jsonl' is empty; write one object per line"):
            parts_of(tmp_path / "t.jsonl", None)
