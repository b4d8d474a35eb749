"""The commands, programs and schemas that the README and the pages of docs show, run on a made-up table."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula
from syntabula.cli.main import main

ROOT = Path(__file__).parents[2]
# Pages with tests of their own, or whose tables are folders, Spark frames or other libraries'.
APART = {"big_tables.md", "plugins.md", "recompose.md", "studies.md"}
PAGES = [
    Path("README.md"),
    *sorted(p.relative_to(ROOT) for p in (ROOT / "docs").glob("*.md") if p.name not in APART),
]
# What makes a run long without changing which lines are run.
SHORTER = {"--trials 50": "--trials 1", "trials=50": "trials=1", "attack ": "attack --shadows 20 "}


def blocks(page: Path, language: str = "") -> list[str]:
    """Return what a page has in blocks of a language, or in those of none."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for usual, short in SHORTER.items():
        text = text.replace(usual, short)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[list[str]]:
    """Return the words of each command of ours that a page shows, without the program's name."""
    lines = "".join(blocks(page)).splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("syntabula ")]


def with_any(language: str) -> list[Path]:
    found = [page for page in PAGES if (commands(page) if language == "" else blocks(page, language))]
    assert found
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the files that the pages name, and the schema of the README."""
    rng = np.random.default_rng(5)
    for name in ("people.csv", "look-alike.csv"):
        frame = pd.DataFrame(
            {"age": rng.integers(18, 90, 1_500), "sex": rng.choice(["female", "male"], 1_500)}
        )
        frame["job"] = rng.choice(["cook", "driver", "nurse", "teacher"], 1_500)
        frame["employed"] = rng.random(1_500) < 0.7
        income = (frame["age"] * 500 + rng.normal(20_000, 3_000, 1_500)).round(2)
        frame.assign(income=income.where(rng.random(1_500) < 0.9)).to_csv(tmp_path / name, index=False)
    (tmp_path / "schema.yaml").write_text(blocks(Path("README.md"), "yaml")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def release() -> None:
    """Write the release and the table that some pages begin with."""
    made = syntabula.MST(epsilon=1.0).fit("people.csv", "schema.yaml")
    made.save("people.syn")
    made.sample_to("synthetic.csv")


@pytest.mark.parametrize("page", with_any("yaml"), ids=str)
def test_schemas_are_read(page: Path, folder: Path) -> None:
    for number, text in enumerate(blocks(page, "yaml")):
        path = folder / f"{number}.yaml"
        path.write_text(text, encoding="utf-8")

        assert syntabula.Schema.from_yaml(path).columns


# Noise is secure, so that bounds found of a few rows may cut some values off.
@pytest.mark.filterwarnings("ignore::syntabula.errors.DomainWarning")
@pytest.mark.thorough
@pytest.mark.parametrize("page", with_any("python"), ids=str)
def test_programs_run(page: Path, folder: Path) -> None:
    if page.name == "sampling.md":
        release()
    names: dict[str, object] = {}

    for program in blocks(page, "python"):
        exec(compile(program, str(page), "exec"), names)


@pytest.mark.thorough
@pytest.mark.parametrize("page", with_any(""), ids=str)
def test_commands_run(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if page.name in {"sampling.md", "scores.md"}:
        release()

    for words in commands(page):
        code = main([*words, "--quiet"])

        assert code == 0, (words, capsys.readouterr().err)
