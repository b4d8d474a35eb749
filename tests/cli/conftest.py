from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from syntabula.cli.main import main

SCHEMA = """\
version: 1
columns:
  age:
    kind: numeric
    lower: 17
    upper: 90
    integer: true
  sex:
    kind: categorical
    categories: [f, m]
  job:
    kind: categorical
    categories: [cook, driver, nurse, teacher]
    nullable: true
"""


@dataclass(frozen=True)
class Ran:
    """What one run of the command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""

    def call(*words: object) -> Ran:
        code = main([str(word) for word in words])
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with people.csv and schema.yaml."""
    rng = random.Random(7)
    lines = ["age,sex,job"]
    for _ in range(300):
        sex = rng.choice("fm")
        job = rng.choice(["nurse", "teacher", ""] if sex == "f" else ["driver", "cook", "nurse"])
        lines.append(f"{rng.randint(17, 90)},{sex},{job}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "schema.yaml").write_text(SCHEMA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def released(folder: Path, run: Run) -> Path:
    """A release file of people.csv."""
    ran = run(
        "synth", "people.csv", "-s", "schema.yaml", "-o", "first.csv", "--save", "people.syn", "--quiet"
    )
    assert ran.code == 0, ran.err
    return folder / "people.syn"
