"""Text files that are no tables, told by their line before anything is spent."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd

import syntabula as st
from bad_input.matrix import CANARY_TEXT, assert_within, base, case, fit, refuses
from syntabula.errors import DataError

FRAME, SCHEMA = base()
CSV = FRAME.to_csv(index=False).encode()
JSONL = FRAME.to_json(orient="records", lines=True).encode()


def refused_file(what: str, content: bytes, *words: str, name: str = "t.csv") -> None:
    @case("text files", what)
    @refuses(DataError, name, *words)
    def _(folder):
        (folder / name).write_bytes(content)
        try:
            fit(folder / name, SCHEMA, journal=folder / "journal")
        finally:
            # Nothing was spent.
            assert not (folder / "journal").exists()


LAST = len(FRAME) + 2
refused_file(
    "a line that ends as Windows has it",
    CSV + f"30,5.0,{CANARY_TEXT}\r\n".encode(),
    f"line {LAST}",
    "CRLF",
    "LF",
)
refused_file(
    "a line that ends as Unix has it",
    CSV.replace(b"\n", b"\r\n") + b"30,5.0,cook\n",
    f"line {LAST}",
    "ends with LF",
)
refused_file(
    "a carriage return in a cell without quotes",
    CSV + b"30,5.0,co\rok\n",
    f"line {LAST}",
    "carriage return",
    "quotes",
)
refused_file(
    "a line with too few cells",
    CSV + f"30,{CANARY_TEXT}\n".encode(),
    f"line {LAST}",
    "2 cells, the header has 3",
)
refused_file(
    "a line with too few cells after a cell of several lines",
    CSV + f'30,5.0,"{CANARY_TEXT}\n\n\n"\n30\n'.encode(),
    f"line {LAST + 4}",
    "1 cell",
)
refused_file(
    "a line with text after a quote",
    CSV + f'30,5.0,"{CANARY_TEXT}"x\n'.encode(),
    f"line {LAST}",
    "closing quote",
)
refused_file(
    "a quote that is never closed", CSV + f'30,5.0,"{CANARY_TEXT}\n'.encode(), f"line {LAST}", "never closed"
)
refused_file("a table in UTF-16", CSV.decode().encode("utf-16-le"), "line 1", "UTF-16", "UTF-8")
for name, text in (("t.csv", CSV), ("t.tsv", CSV), ("t.jsonl", JSONL)):
    refused_file(
        f"gzip under the name {name}", gzip.compress(text), "compressed with gzip", "'.gz'", name=name
    )
refused_file("a table in Latin-1", CSV + "30,5.0,köchin\n".encode("latin-1"), f"line {LAST}", "UTF-8")
refused_file(
    "NaN in JSON Lines", JSONL + b'{"age": NaN}\n', f"line {LAST - 1}", "NaN", "null", name="t.jsonl"
)
refused_file(
    "an infinite number in JSON Lines", JSONL + b'{"age": Infinity}\n', "Infinity", "null", name="t.jsonl"
)
refused_file(
    "a cut line of JSON",
    JSONL + f'{{"job": "{CANARY_TEXT}'.encode(),
    f"line {LAST - 1}",
    "JSON",
    name="t.jsonl",
)
refused_file(
    "a JSON array instead of lines",
    b"[" + JSONL.replace(b"}\n", b"},\n") + b"]",
    "line 1",
    "array",
    name="t.jsonl",
)
refused_file("JSON Lines in UTF-16", JSONL.decode().encode("utf-16"), "line 1", "UTF-16", name="t.jsonl")


@case("text files", "JSON Lines with a byte order mark are read")
def _(folder):
    (folder / "t.jsonl").write_bytes(b"\xef\xbb\xbf" + JSONL)
    assert_within(fit(folder / "t.jsonl", SCHEMA).sample(50, seed=1), SCHEMA)


@case("text files", "line ends of Windows throughout are read")
def _(folder):
    (folder / "t.csv").write_bytes(CSV.replace(b"\n", b"\r\n"))
    assert_within(fit(folder / "t.csv", SCHEMA).sample(50, seed=1), SCHEMA)


def disarmed(what: str, label: str) -> None:
    @case("text files", f"a label that begins with {what} does not run in a spreadsheet")
    def _(folder):
        frame = pd.DataFrame({"job": [label, "cook"] * 30, "x": np.arange(60) % 2})
        schema = st.Schema({"job": st.Categorical((label, "cook")), "x": st.Numeric(0, 1, integer=True)})
        release = fit(frame, schema, epsilon=50.0)
        for name, mark in (("out.csv", ","), ("out.tsv", "\t")):
            release.sample_to(folder / name, 60, seed=1)
            # As text, or pandas would make a number of a cell.
            cells = pd.read_csv(folder / name, sep=mark, dtype=str)["job"]
            assert set(cells) == {f"'{label}", "cook"}


disarmed("an equals sign", "=1+1")
disarmed("a plus", "+A1")
disarmed("a minus", "-A1")
disarmed("an at sign", "@SUM(A1)")
disarmed("a tab", "\t=1")
disarmed("a line feed", "\n=1")
disarmed("a full-width equals sign", "＝1+1")
disarmed("a full-width plus", "＋A1")
disarmed("a full-width minus", "－A1")
disarmed("a full-width at sign", "＠SUM(A1)")
