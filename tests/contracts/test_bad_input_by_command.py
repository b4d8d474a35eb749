"""Bad input through the command line.

Each case ends with its exit code and one line that names what is wrong: no traceback, no cell of the table, no
file left behind. The library's own matrix is in `test_bad_input`.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corners import thorough_but

from syntabula.cli.main import main

CANARY = "zebra-canary-7731"
NUMBER = "77310417"

HEADER = "age,job,pay"
SCHEMA = """\
version: 1
columns:
  age: {kind: numeric, lower: 17, upper: 90, integer: true, nullable: true}
  job: {kind: categorical, categories: [cook, nurse], nullable: true}
  pay: {kind: numeric, lower: 0, upper: 100, decimals: 2}
"""


def rows(n: int = 80) -> list[str]:
    rng = random.Random(3)
    return [
        f"{rng.randint(17, 90)},{rng.choice(('cook', 'nurse'))},{rng.uniform(0, 100):.2f}" for _ in range(n)
    ]


def csv(*lines: str, header: str = HEADER) -> bytes:
    return ("\n".join([header, *rows(), f"30,{CANARY},{NUMBER}", *lines]) + "\n").encode()


def parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    n = 20
    base = {"age": [30] * n, "job": ["cook"] * n, "pay": [1.0] * n}
    pq.write_table(pa.table(base | columns), buffer)
    return buffer.getvalue()


def schema(old: str, new: str) -> str:
    assert old in SCHEMA
    return SCHEMA.replace(old, new)


@dataclass(frozen=True)
class Bad:
    """One case: files beside the usual ones, the words of the command, and what must be said.

    Attributes:
        words: Words after `syntabula`; the usual synth command with these appended if they begin with "--".
        code: Exit code.
        names: What the line on standard error must name.
        files: Content by file name; t.csv and s.yaml are there anyway.
    """

    code: int
    names: tuple[str, ...]
    words: tuple[str, ...] = ()
    files: dict[str, bytes | str] = field(default_factory=dict)

    @property
    def command(self) -> list[str]:
        if self.words and not self.words[0].startswith("-"):
            return list(self.words)
        return ["synth", "t.csv", "-s", "s.yaml", "-o", "out.csv", *self.words]


def table(code: int, *names: str, name: str, content: bytes, more: tuple[str, ...] = ()) -> Bad:
    return Bad(code, (*names,), ("synth", name, "-s", "s.yaml", "-o", "out.csv", *more), {name: content})


def declared(code: int, *names: str, text: bytes | str) -> Bad:
    return Bad(code, names, files={"s.yaml": text})


def option(name: str, value: str, *names: str, code: int = 2) -> Bad:
    return Bad(code, names or (name.lstrip("-"),), (f"{name}={value}",))


GZIPPED = gzip.compress(csv())

TABLES = {
    "an empty file": table(3, "t.csv", name="t.csv", content=b""),
    "a header with a repeated name": table(3, "'age'", name="t.csv", content=csv(header="age,age,pay")),
    "a row with too many cells": table(3, "t.csv", "line 83", name="t.csv", content=csv(f"1,2,3,{CANARY}")),
    "bytes that are no text": table(3, "t.csv", name="t.csv", content=csv() + b"30,\xff\xfe,5\n"),
    "an open quote": table(3, "t.csv", name="t.csv", content=csv() + f'30,"{CANARY},5\n'.encode()),
    "a folder": Bad(
        3, ("folder", "x.csv"), ("synth", "folder", "-s", "s.yaml", "-o", "out.csv"), {"folder/x.csv": b""}
    ),
    "a file that is not there": Bad(3, ("none.csv",), ("synth", "none.csv", "-s", "s.yaml", "-o", "out.csv")),
    "a format that is not known": table(2, "t.ods", ".csv", name="t.ods", content=csv()),
    "a truncated gzip file": table(3, "t.csv.gz", name="t.csv.gz", content=GZIPPED[:-30]),
    "text under the name of gzip": table(3, "t.csv.gz", name="t.csv.gz", content=csv()),
    "a truncated Parquet file": table(3, "t.parquet", name="t.parquet", content=parquet()[:-20]),
    "text under the name of Arrow": table(3, "t.arrow", name="t.arrow", content=csv()),
    "a line that is no JSON": table(3, "t.jsonl", name="t.jsonl", content=f'{{"age": {CANARY}\n'.encode()),
    "a JSON line that is no object": table(3, "t.jsonl", name="t.jsonl", content=f'["{CANARY}"]\n'.encode()),
    "a column too few": table(2, "'pay'", name="t.csv", content=b"age,job\n30,cook\n"),
    "a column too many": table(
        2,
        "'extra'",
        name="t.csv",
        content=csv(header=f"{HEADER},extra").replace(b"\n", b",\n").replace(b"extra,", b"extra"),
    ),
    "a column of another case": table(2, "'pay'", "'Pay'", name="t.csv", content=csv(header="age,job,Pay")),
    "nested cells, strict": table(
        3, "'job'", name="t.parquet", content=parquet(job=[[CANARY]] * 20), more=("--strict",)
    ),
    "values outside the schema, strict": Bad(3, ("'job'", "'pay'"), ("--strict",)),
    "text among numbers, strict": Bad(
        3, ("'age'", "read"), ("--strict",), {"t.csv": csv(f"{CANARY},cook,5")}
    ),
}

SCHEMAS = {
    "a schema that is not there": Bad(
        2, ("none.yaml",), ("synth", "t.csv", "-s", "none.yaml", "-o", "out.csv")
    ),
    "an empty schema": declared(2, "s.yaml", text=""),
    "a schema that is no YAML": declared(2, "s.yaml", text="columns: [1, {"),
    "a schema that would run code": declared(2, "s.yaml", text="!!python/object/apply:os.abort []"),
    "a schema in other bytes": declared(2, "s.yaml", text=b"\xff\xfe\x00columns"),
    "a schema of a newer version": declared(2, "version", text=schema("version: 1", "version: 99")),
    "an unknown kind": declared(
        2, "'age'", "numeric", text=schema("age: {kind: numeric", "age: {kind: numbr")
    ),
    "a bound that is no number": declared(
        2, "line 3", "'lower' of 'age'", "not a number", text=schema("lower: 17", "lower: .nan")
    ),
    "nothing to learn": declared(
        2,
        "column",
        text="version: 1\ncolumns:\n"
        + "".join(f"  {c}: {{kind: identifier}}\n" for c in ("age", "job", "pay")),
    ),
    "a domain read off the table": declared(
        4, "'age'", "observed", text=schema("nullable: true}\n  job", "provenance: observed}\n  job")
    ),
}

ARGUMENTS = {
    **{f"--epsilon={v}": option("--epsilon", v) for v in ("0", "nan", "-inf", "text", "")},
    **{f"--delta={v}": option("--delta", v) for v in ("0", "1", "nan", "text")},
    **{f"--rho={v}": option("--rho", v) for v in ("0", "nan", "inf")},
    **{f"--rows={v}": option("--rows", v) for v in ("-1", "1.5")},
    **{f"--seed={v}": option("--seed", v) for v in ("-1", "text")},
    **{f"--bins={v}": option("--bins", v) for v in ("1", "2.5", "some")},
    **{f"--memory={v}": option("--memory", v) for v in ("0", "nan", "inf")},
    **{f"--preprocessing-share={v}": option("--preprocessing-share", v, "share") for v in ("0", "1", "nan")},
    "--method=mts": option("--method", "mts", "'mst'"),
    "--discretizer=best": option("--discretizer", "best", "discretizer", "privtree"),
    "--within=odd": option("--within", "odd", "within", "normal"),
    "--option=nothing": option("--option", "nothing", "NAME=VALUE"),
    "--option of no part": option("--option", "max_round=3", "max_round"),
    "--option of a wrong type": option("--option", "compress_sigmas=many", "compress_sigmas"),
    "--option of no sense": option("--option", "iterations=0", "iterations"),
    "rho and epsilon": Bad(2, ("--rho",), ("--rho=1", "--epsilon=1")),
    "pure and delta": Bad(2, ("--pure",), ("--pure", "--delta=1e-5")),
    "an unknown option": Bad(2, ("--epsilom",), ("--epsilom=1",)),
    "no output": Bad(2, ("--out",), ("synth", "t.csv", "-s", "s.yaml")),
    "no table": Bad(2, ("TABLE",), ("synth", "-s", "s.yaml", "-o", "out.csv")),
    "an unknown command": Bad(2, ("sinth",), ("sinth", "t.csv")),
    "a plan without table and schema": Bad(2, ("schema",), ("plan",)),
    "a plan of a wrong number of rows": Bad(2, ("rows",), ("plan", "-s", "s.yaml", "--assume-rows=-1")),
    "a table in an unknown format": Bad(2, ("out.ods",), ("synth", "t.csv", "-s", "s.yaml", "-o", "out.ods")),
    "a schema in an unknown format": Bad(2, ("s.txt",), ("schema", "t.csv", "-o", "s.txt")),
    "the table as output": Bad(2, ("t.csv",), ("synth", "t.csv", "-s", "s.yaml", "-o", "t.csv", "--force")),
}

REFUSALS = {
    "a budget that hides every bound": Bad(
        # By secure noise one fit in some hundreds takes noise for a column.
        4,
        ("schema", "epsilon"),
        ("synth", "t.csv", "-o", "out.csv", "-e", "0.001", "--seed", "0"),
    ),
    "text without schema and delta": Bad(2, ("delta",), ("synth", "t.csv", "-o", "out.csv", "--pure")),
    "too little memory": Bad(5, ("memory", "'pay'"), ("--memory=0.0001",)),
    "a joint that no memory holds": Bad(
        5,
        ("'age'", "'pay'"),
        ("--bins=1000000", "--method=mst"),
        {"s.yaml": schema("upper: 90", "upper: 1000000").replace("upper: 100,", "upper: 10000,")},
    ),
    "an output that exists": Bad(6, ("out.csv", "--force"), files={"out.csv": "precious"}),
    "an output in no folder": Bad(6, ("no/out.csv",), ("synth", "t.csv", "-s", "s.yaml", "-o", "no/out.csv")),
    "a release in no folder": Bad(6, ("no/x.syn",), ("--save=no/x.syn",)),
    "a statement in no folder": Bad(6, ("no/x.txt",), ("--statement=no/x.txt",)),
    "a journal in no folder": Bad(6, ("no/journal",), ("--journal=no/journal",)),
    "a table as a release": Bad(6, ("t.csv",), ("info", "t.csv")),
    "an empty release": Bad(6, ("x.syn",), ("sample", "x.syn", "-o", "out.csv"), {"x.syn": b""}),
    "a release that is not there": Bad(6, ("x.syn",), ("sample", "x.syn", "-o", "out.csv")),
    "a negative number of rows of a release": Bad(
        2, ("rows",), ("sample", "t.csv", "-o", "out.csv", "--rows=-1")
    ),
    "a draft of nested cells": Bad(
        2, ("'job'",), ("schema", "t.parquet", "-o", "new.yaml"), {"t.parquet": parquet(job=[[CANARY]] * 20)}
    ),
}

STRANGE = {
    "an epsilon with an underscore": option("--epsilon", "1_0", "is not a number", "digits 0 to 9"),
    "an epsilon in other digits": option("--epsilon", "٣", "is not a number", "digits 0 to 9"),
    "a delta in other digits": option("--delta", "1e-１", "is not a number"),
    "an epsilon beyond floats": option("--epsilon", "1e400", "--epsilon inf switches privacy off"),
    "a rho beyond floats": option("--rho", "1e400", "--rho", "--epsilon inf switches privacy off"),
    "an option beyond floats": option("--option", "iterations=1e400", "iterations", "too large"),
    "a delta below all floats": option("--delta", "1e-400"),
    "a memory beyond floats": option("--memory", "1e400"),
    "more rows than a disk holds": option("--rows", "9" * 21),
    "an option without a name": option("--option", "=5", "NAME=VALUE"),
    "an option of nothing": option("--option", "iterations=", "iterations"),
    "a method with a space behind it": option("--method", "MST ", "'mst'"),
    "the statement as the table that is made": option("--statement", "out.csv", "--statement", "--out"),
    "the release as the table that is read": option("--save", "t.csv", "--save", "input file"),
    "a journal that is the schema": option("--journal", "s.yaml", "journal", "line 1", code=6),
    "resume without a journal": Bad(2, ("--resume", "--journal"), ("--resume",)),
    "resume of a journal that is not there": Bad(6, ("journal", "none"), ("--resume", "--journal=none")),
    "a schema that is the table": Bad(
        2, ("t.csv", ".yaml"), ("synth", "t.csv", "-s", "t.csv", "-o", "out.csv")
    ),
    "an output under a file": Bad(
        6, ("--out", "folder"), ("synth", "t.csv", "-s", "s.yaml", "-o", "no/no/o.csv")
    ),
    "a null character in an output": Bad(2, ("--out",), ("synth", "t.csv", "-s", "s.yaml", "-o", "a\0.csv")),
    "scores of one table": Bad(2, ("SYNTHETIC",), ("evaluate", "t.csv")),
    "scores by no metric": Bad(2, ("nothing",), ("evaluate", "t.csv", "t.csv", "-m", "nothing")),
    "scores of no target": Bad(2, ("--target", "age"), ("evaluate", "t.csv", "t.csv", "--target", "x")),
    "scores of a schema": Bad(2, ("s.yaml",), ("evaluate", "t.csv", "s.yaml")),
    "a draft over a schema": Bad(6, ("s.yaml", "--force"), ("schema", "t.csv", "-o", "s.yaml")),
    "a draft in no folder": Bad(6, ("no/s.yaml",), ("schema", "t.csv", "-o", "no/s.yaml")),
    "an attack by an odd number": Bad(
        2, ("--shadows", "7"), ("attack", "t.csv", "-s", "s.yaml", "--shadows", "7")
    ),
}

# Where a file is expected, there is something else: no option may open it, as some would wait for ever.
TABLE = ("synth", "t.csv", "-s", "s.yaml", "-o", "out.csv")
INPUTS: dict[str, tuple[str, ...]] = {
    "table.csv": ("synth", "table.csv", "-s", "s.yaml", "-o", "out.csv"),
    "table.csv.gz": ("synth", "table.csv.gz", "-s", "s.yaml", "-o", "out.csv"),
    "table.jsonl": ("synth", "table.jsonl", "-s", "s.yaml", "-o", "out.csv"),
    "table.parquet": ("synth", "table.parquet", "-s", "s.yaml", "-o", "out.csv"),
    "table.arrow": ("synth", "table.arrow", "-s", "s.yaml", "-o", "out.csv"),
    "untyped.csv": ("synth", "untyped.csv", "-o", "out.csv"),
    "planned.csv": ("plan", "planned.csv"),
    "drafted.csv": ("schema", "drafted.csv", "-o", "new.yaml"),
    "attacked.csv": ("attack", "attacked.csv", "-s", "s.yaml"),
    "real.csv": ("evaluate", "real.csv", "t.csv"),
    "synthetic.csv": ("evaluate", "t.csv", "synthetic.csv"),
    "holdout.csv": ("evaluate", "t.csv", "t.csv", "--holdout", "holdout.csv"),
    "schema.yaml": ("synth", "t.csv", "-s", "schema.yaml", "-o", "out.csv"),
    "schema.json": ("plan", "-s", "schema.json"),
    "journal": (*TABLE, "--journal", "journal"),
    "resumed": (*TABLE, "--journal", "resumed", "--resume"),
    "info.syn": ("info", "info.syn"),
    "sample.syn": ("sample", "sample.syn", "-o", "out.csv"),
    "shown.syn": ("report", "t.csv", "t.csv", "--release", "shown.syn", "-o", "out.html"),
    "scores.json": ("report", "t.csv", "t.csv", "--evaluation", "scores.json", "-o", "out.html"),
    "attacks.json": ("report", "t.csv", "t.csv", "--attacks", "attacks.json", "-o", "out.html"),
}
OUTPUTS: dict[str, tuple[str, ...]] = {
    "made.csv": ("synth", "t.csv", "-s", "s.yaml", "-o", "made.csv"),
    "made.parquet": ("synth", "t.csv", "-s", "s.yaml", "-o", "made.parquet"),
    "made.syn": (*TABLE, "--save", "made.syn"),
    "made.txt": (*TABLE, "--statement", "made.txt"),
    "made.yaml": ("schema", "t.csv", "-o", "made.yaml"),
    "scores.csv": ("evaluate", "t.csv", "t.csv", "-o", "scores.csv"),
    "made.html": ("report", "t.csv", "t.csv", "-o", "made.html"),
    "made.json": ("attack", "t.csv", "-s", "s.yaml", "-o", "made.json"),
}
SPECIAL: dict[str, Callable[[Path], object]] = {
    "pipe": lambda path: os.mkfifo(path),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
}

CASES = {
    f"{group}: {name}": case
    for group, cases in (
        ("table", TABLES),
        ("schema", SCHEMAS),
        ("argument", ARGUMENTS),
        ("refusal", REFUSALS),
        ("strange", STRANGE),
    )
    for name, case in cases.items()
}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def filled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with a table and its schema."""
    folder.mkdir(exist_ok=True)
    (folder / "t.csv").write_bytes(csv())
    (folder / "s.yaml").write_text(SCHEMA, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return filled(tmp_path, monkeypatch)


def prepare(case: Bad, folder: Path) -> None:
    for name, content in case.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize(
    "group", thorough_but(["refusal"], sorted({name.partition(":")[0] for name in CASES}))
)
def test_bad_input_ends_in_one_clear_line_and_leaves_nothing(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (name, case) in enumerate(CASES.items()):
        if name.partition(":")[0] != group:
            continue
        folder = filled(tmp_path / str(number), monkeypatch)
        prepare(case, folder)
        before = contents(folder)

        code = main(case.command)

        shown = capsys.readouterr()
        errors = [line for line in shown.err.splitlines() if line.startswith("error: ")]
        assert code == case.code, (name, shown.err)
        assert len(errors) == 1, name
        assert shown.err.rstrip().endswith(errors[0]), name
        for word in case.names:
            assert word in errors[0], name
        assert "Traceback" not in shown.err, name
        assert "unexpected" not in errors[0], name
        assert CANARY not in shown.out + shown.err, name
        assert NUMBER not in shown.out + shown.err, name
        assert shown.out == "", name
        assert contents(folder) == before, name
        assert not [p for p in folder.rglob("*") if p.name.startswith(".")], name


def test_a_run_of_the_same_table_and_schema_works(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Else all cases above could fail for a reason of their own.
    assert main(["synth", "t.csv", "-s", "s.yaml", "-o", "out.csv"]) == 0

    capsys.readouterr()
    assert sorted(os.listdir(folder)) == ["out.csv", "s.yaml", "t.csv"]


ODD: dict[str, Callable[[], bytes]] = {
    "no rows": lambda: f"{HEADER}\n".encode(),
    "one row": lambda: f"{HEADER}\n30,cook,5\n".encode(),
    "windows line ends and a byte order mark": lambda: b"\xef\xbb\xbf" + csv().replace(b"\n", b"\r\n"),
    "a number without any value": lambda: re.sub(rb"(?m)^\d+,", b",", csv()),
    "all cells missing in a column": lambda: csv().replace(b",cook,", b",,").replace(b",nurse,", b",,"),
    "a constant": lambda: f"{HEADER}\n".encode() + b"30,cook,5\n" * 50,
    "text among numbers": lambda: csv(f"{CANARY},cook,5", f"30,cook,{CANARY}"),
    "numbers of any size": lambda: csv(
        "1e99999999999999999999,cook,-inf", f"{10**30},cook,5", "30.5,cook,nan"
    ),
    "values outside the bounds": lambda: csv("300,cook,-5", "-7,nurse,1e300"),
}


@pytest.mark.parametrize("name", list(ODD))
def test_odd_but_valid_input_gives_a_table(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "t.csv").write_bytes(ODD[name]())

    code = main(["synth", "t.csv", "-s", "s.yaml", "-o", "out.csv", "--rows", "40"])

    shown = capsys.readouterr()
    assert code == 0, shown.err
    header, *cells = (folder / "out.csv").read_text().splitlines()
    assert header == ("\ufeff" if "mark" in name else "") + HEADER
    assert len(cells) == 40
    for line in cells:
        age, job, pay = line.split(",")
        assert not age or 17 <= int(age) <= 90
        assert job in ("cook", "nurse", "")
        assert 0 <= float(pay) <= 100
    assert CANARY not in shown.out + shown.err


@pytest.fixture
def within_a_minute() -> Iterator[None]:
    """Break off what waits for ever."""

    def give_up(*_: object) -> None:
        raise TimeoutError("the command waits for something that never comes")

    former = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, former)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
@pytest.mark.usefixtures("within_a_minute")
@pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
class TestWhatIsNoFile:
    # Pipes would be waited for; of what else is no file, one input for each way to read.
    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            *((name, "pipe") for name in INPUTS),
            *(
                (name, kind)
                for name in ("table.csv", "table.jsonl", "table.parquet", "schema.yaml", "journal")
                for kind in ("device", "folder")
            ),
            *(("info.syn", "folder"), ("sample.syn", "device"), ("scores.json", "folder")),
        ],
    )
    def test_an_input_is_refused_in_a_sentence(
        self, name: str, kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        SPECIAL[kind](folder / name)
        before = sorted(os.listdir(folder))

        code = main([*INPUTS[name]])

        said = capsys.readouterr().err
        assert code in (2, 3, 6), said
        assert said.count("error: ") == 1
        assert kind in said
        assert name in said
        assert sorted(os.listdir(folder)) == before

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            *((name, "pipe") for name in OUTPUTS),
            *((name, "folder") for name in ("made.csv", "made.syn", "made.txt")),
            *((name, "device") for name in ("made.parquet", "made.html")),
        ],
    )
    def test_an_output_is_refused_before_anything_is_spent_and_stays(
        self, name: str, kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        SPECIAL[kind](folder / name)
        mode = (folder / name).lstat().st_mode

        code = main([*OUTPUTS[name], "--force"])

        said = capsys.readouterr().err
        assert code == 6, said
        assert said.count("error: ") == 1
        assert kind in said
        assert (folder / name).lstat().st_mode == mode
        assert sorted(os.listdir(folder)) == sorted([name, "s.yaml", "t.csv"])

    @pytest.mark.thorough
    def test_the_standard_input_is_read_where_one_pass_does(self, folder: Path) -> None:
        lines = [f'{{"age": {20 + i % 50}, "job": "cook", "pay": 5}}' for i in range(100)]
        for name, text in (("in.jsonl", "\n".join(lines)), ("in.yaml", SCHEMA)):
            (folder / name).symlink_to("/dev/stdin")
            words = ["in.jsonl", "-s", "s.yaml"] if name == "in.jsonl" else ["t.csv", "-s", name]
            command = [sys.executable, "-m", "syntabula", "synth", *words, "-o", f"{name}.csv", "--rows", "7"]

            ran = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder, timeout=60)

            assert ran.returncode == 0, ran.stderr
            assert len((folder / f"{name}.csv").read_text().splitlines()) == 8

    @pytest.mark.thorough
    def test_a_table_that_is_read_twice_cannot_come_by_the_standard_input(self, folder: Path) -> None:
        """All its rows were lost without a word."""
        (folder / "in.csv").symlink_to("/dev/stdin")
        command = [sys.executable, "-m", "syntabula", "synth", "in.csv", "-s", "s.yaml", "-o", "out.csv"]

        ran = subprocess.run(
            command, input=csv().decode(), capture_output=True, text=True, cwd=folder, timeout=60
        )

        assert ran.returncode == 3
        assert "a pipe" in ran.stderr
        assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        *(("t.csv", True), ("t.parquet", False)),
        *(pytest.param(name, True, marks=pytest.mark.thorough) for name in ("t.jsonl", "t.parquet")),
        *(pytest.param(name, False, marks=pytest.mark.thorough) for name in ("t.csv.gz", "t.arrow")),
    ],
)
def test_a_table_that_memory_cannot_hold_is_not_called_damaged(
    name: str, found: bool, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb
    import pyarrow.feather

    text = "\n".join([HEADER, *rows(2_000) * 100]).encode()
    jsonl = b'{"age": 30, "job": "cook", "pay": 5}\n' * 200_000
    (folder / name).write_bytes(
        {"t.csv.gz": gzip.compress(text), "t.jsonl": jsonl, "t.parquet": parquet()}.get(name, text)
    )
    real = duckdb.connect
    little = "200KB" if name == "t.parquet" else "2MB"

    def connect(*args: Any, config: dict[str, Any] | None = None, **named: Any) -> Any:
        return real(*args, config={**(config or {}), "memory_limit": little}, **named)

    def read_table(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 536870912 failed")

    monkeypatch.setattr(duckdb, "connect", connect)
    monkeypatch.setattr(pyarrow.feather, "read_table", read_table)

    code = main(["synth", name, *([] if found else ["-s", "s.yaml"]), "-o", "out.csv"])

    said = capsys.readouterr().err
    assert code == 5, said
    assert "not enough memory to read" in said
    assert name in said


ROWS = {"a trillion": (10**12, 6), "more than integers count": (2**63, 2), "very many": (10**30, 2)}


@pytest.mark.parametrize(
    ("command", "name"),
    [*(("synth", name) for name in ROWS), ("sample", "a trillion")],
)
def test_rows_that_cannot_be_are_refused_before_a_file_is_opened(
    name: str, command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TABLE, "--save", "x.syn"]) == 0
    capsys.readouterr()
    before = contents(folder)
    words = {"synth": ["synth", "t.csv", "-s", "s.yaml"], "sample": ["sample", "x.syn"]}[command]
    number, expected = ROWS[name]

    code = main([*words, "-o", "many.csv", "--rows", str(number)])

    said = capsys.readouterr().err
    assert code == expected, said
    assert "rows" in said
    # Else the budget would have been spent.
    assert "note:" not in said
    assert contents(folder) == before


@pytest.mark.thorough
def test_a_journal_on_a_full_disk_is_named_with_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write

    def full(descriptor: int, data: Any) -> int:
        if b'"spend"' in bytes(data):
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        code = main([*TABLE, "--journal", "spends"])

    said = capsys.readouterr().err
    assert code == 6
    assert "'spends'" in said
    assert "No space left on device" in said
    assert "--resume" in said
    assert main([*TABLE, "--journal", "spends", "--resume"]) == 0
