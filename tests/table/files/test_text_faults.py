"""Why a text file cannot be read: the first line that is wrong, by its true number, and never what it holds."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syntabula.errors import DataError
from syntabula.table.files.delimited import delimited_file
from syntabula.table.files.files import read_table
from syntabula.table.files.text_faults import delimited_fault, json_fault
from syntabula.table.schema.columns import Categorical, Numeric
from syntabula.table.schema.schema import Schema

CANARY = "zebra-canary-7731"
HEADER = b"age,job,pay\n"
ROW = b"30,cook,5\n"
SCHEMA = Schema(
    {
        "age": Numeric(0, 99, integer=True),
        "job": Categorical(("cook", "nurse")),
        "pay": Numeric(0.0, 9.0, nullable=True),
    }
)
CRLF = (HEADER + ROW * 3).replace(b"\n", b"\r\n")

DELIMITED = {
    "a line that ends as Windows has it": (5, "ends with CRLF", HEADER + ROW * 3 + b"31,nurse,6\r\n" + ROW),
    "a late line that does": (100_002, "ends with CRLF", HEADER + ROW * 100_000 + b"31,nurse,6\r\n" + ROW),
    "a line that does not": (5, "ends with LF", CRLF + b"31,nurse,6\n" + CRLF),
    "only a header that ends as Windows has it": (2, "ends with LF", HEADER.replace(b"\n", b"\r\n") + ROW),
    "only a header that ends as old systems had it": (2, "ends with LF", HEADER.replace(b"\n", b"\r") + ROW),
    "a carriage return in a cell": (5, "carriage return", HEADER + ROW * 3 + b"31,nur\rse,6\n" + ROW),
    "a carriage return for a line end": (5, "carriage return", HEADER + ROW * 3 + b"31,nurse,6\r" + ROW),
    "too few cells": (5, "2 cells, the header has 3", HEADER + ROW * 3 + b"31,nurse\n" + ROW),
    "a single cell": (5, "1 cell, the header has 3", HEADER + ROW * 3 + b"31\n" + ROW),
    "too few cells at the end": (5, "2 cells, the header has 3", HEADER + ROW * 3 + b"31,nurse"),
    "too few cells after cells of many lines": (
        12,
        "2 cells",
        HEADER + b'30,"a\n\n\n\nb",3\n' * 2 + b"31,nurse\n",
    ),
    "too few cells after empty lines": (7, "2 cells", HEADER + ROW + b"\n\n" + ROW * 2 + b"31,nurse\n"),
    "too many cells": (3, "4 cells, the header has 3", HEADER + ROW + b"31,nurse,3,4\n" + ROW),
    "a line of white space": (3, "1 cell", HEADER + ROW + b"   \n" + ROW),
    "too few cells between semicolons": (3, "2 cells", (HEADER + ROW + b"1,a\n").replace(b",", b";")),
    "an open quote": (3, "never closed", HEADER + ROW + b'31,"nurse,6\n' + ROW * 5),
    "text after a quote": (3, "after a closing quote", HEADER + ROW + b'31,"nu"rse,6\n' + ROW),
    "bytes that are no text": (5, "not UTF-8", HEADER + ROW * 3 + b"31,n\xfcrse,6\n" + ROW),
    "a long record": (3, "more than 2 MB", HEADER + ROW + b"31," + b"x" * 3_000_000 + b",6\n"),
    "UTF-16 without a mark": (1, "UTF-16", (HEADER + ROW).decode().encode("utf-16-le")),
}
RECORD = b'{"age": 30, "job": "cook"}\n'
JSON = {
    "NaN": (3, "holds NaN", RECORD * 2 + b'{"age": NaN}\n' + RECORD),
    "an infinite number": (2, "holds -Infinity", RECORD + b'{"age": -Infinity}\n'),
    "NaN after empty lines": (4, "holds NaN", RECORD + b"\n\n" + b'{"age": NaN}\n'),
    "a number too large for a float": (1, "too large for a float", b'{"age": 1e999}\n'),
    "a number with a leading zero": (2, "not valid JSON", RECORD + b'{"age": 01}\n'),
    "a cut line": (2, "not valid JSON", RECORD + b'{"age": 3, "jo'),
    "two objects in a line": (1, "not valid JSON", b'{"age": 3} {"age": 4}\n'),
    "an object over several lines": (1, "not valid JSON", b'{\n"age": 3\n}\n'),
    "an array": (1, "array", b'[{"age": 3}]\n'),
    "an array over several lines": (1, "array", b'[\n{"age": 3}\n]\n'),
    "an array among objects": (2, "array", RECORD + b"[3]\n"),
    "a number": (2, "not a JSON object", RECORD + b"3\n"),
    "null": (2, "not a JSON object", RECORD + b"null\n"),
    "bytes that are no text": (2, "not UTF-8", RECORD + b'{"job": "co\xffok"}\n'),
    "half of a surrogate pair": (2, "surrogate", RECORD + b'{"job": "\\ud800"}\n'),
    "a cut line after a byte order mark": (2, "not valid JSON", b"\xef\xbb\xbf" + RECORD + b'{"age": 3,\n'),
    "UTF-16": (1, "UTF-16", RECORD.decode().encode("utf-16")),
    "values nested too deep": (2, "nested", RECORD + b'{"age": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
}


def spoilt(content: bytes) -> bytes:
    """Return a file of which every cell is a canary."""
    return content.replace(b"cook", CANARY.encode()).replace(b"nurse", CANARY.encode())


@pytest.mark.thorough
def test_delimited_files_are_refused_by_line(tmp_path: Path) -> None:
    for suffix, names in (("", list(DELIMITED)), (".gz", ["too few cells", "bytes that are no text"])):
        for name in names:
            line, words, content = DELIMITED[name]
            path = tmp_path / f"t.csv{suffix}"
            path.write_bytes(gzip.compress(spoilt(content)) if suffix else spoilt(content))

            for schema in (SCHEMA, None):
                with pytest.raises(DataError, match=f"^line {line} of '{path}' .*{words}.*; ") as caught:
                    read_table(path, schema)
                assert CANARY not in str(caught.value)
            with pytest.raises(DataError, match=f"^line {line} of '{path}' .*{words}"), delimited_file(path):
                pass


@pytest.mark.thorough
def test_json_lines_are_refused_by_line(tmp_path: Path) -> None:
    for suffix, names in (("", list(JSON)), (".gz", ["NaN", "bytes that are no text"])):
        for name in names:
            line, words, content = JSON[name]
            path = tmp_path / f"t.jsonl{suffix}"
            path.write_bytes(gzip.compress(spoilt(content)) if suffix else spoilt(content))

            # A number of any size is read if a schema says that it is a number.
            for schema in (None,) if "too large" in words else (None, SCHEMA):
                with pytest.raises(DataError, match=f"^line {line} of '{path}' .*{words}") as caught:
                    read_table(path, schema)
                assert CANARY not in str(caught.value)


@pytest.mark.thorough
def test_good_files_have_no_fault(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(
        b"\xef\xbb\xbf" + HEADER + ROW + b'1,"a\r\nb\rc ""d"",",\n\n2,,3,\n4,x,5'
    )
    (tmp_path / "t.jsonl").write_bytes(b"\xef\xbb\xbf" + RECORD + b"\n" + RECORD.strip())

    assert delimited_fault(str(tmp_path / "t.csv"), "none", ",;") is None
    assert json_fault(str(tmp_path / "t.jsonl"), "none") is None
    assert read_table(tmp_path / "t.csv").n_rows == 4
    assert read_table(tmp_path / "t.jsonl").n_rows == 2
    assert read_table(tmp_path / "t.csv").n_rows == 4


def test_files_of_another_compression_are_not_looked_through(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(HEADER)
    (tmp_path / "t.csv.zst").write_bytes(HEADER)

    for name in ("t.csv.gz", "t.csv.zst"):
        with pytest.raises(DataError, match=rf"{name}'.* cannot be read .*compression"):
            read_table(tmp_path / name)


@pytest.mark.thorough
@given(st.text('ab,;"\n\r 1', max_size=12).map(str.encode))
@example(b'a,b\n1,"\n')
@example(b"a,b\r\n1,2\n")
@example(b', "')
def test_whatever_is_refused_names_its_line(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("soup") / "t.csv"
    path.write_bytes(b"x,y\n1,2\n" + content)

    # An error of any other kind fails the test as well.
    said = []
    try:
        read_table(path)
    except DataError as refused:
        said = [str(refused)]
    assert all(words.startswith("line ") for words in said)
