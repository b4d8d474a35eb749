"""The code stays small to read: the modules of one run, the files of `privacy/`, and no circle among modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "syntabula"

MODULES_OF_A_RUN = 111
"""Modules with code that `synth --method aim` loads for a table that is declared whole, without rules or units.

One of them draws the noise of many counts from a table, in a thirtieth of OpenDP's time; few counts stay OpenDP's.
Another opens text files in whatever encoding they are, and one finds columns that follow from others. Plans are in two:
what a plan says, and how one is made. What codes have records is in two files as well, of which one tells far tails, and
how columns rise together is held beside the targets of cells. How large a model may grow is asked by all selectors, and
so has a file of its own.
"""

FILES_OF_PRIVACY = 21
"""Files of `privacy/` beside its `training/`, which an auditor of a release of marginals reads.

Noise is two of them: drawn number by number, and many numbers at once.
"""

MOST_LINES = 400

RUN = """
import sys
from syntabula.cli.main import main
assert main(["synth", "table.csv", "--method", "aim", "--epsilon", "1", "--delta", "1e-5", "--schema", "schema.yaml",
             "--out", "synthetic.csv", "--quiet"]) == 0
print(*(module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "syntabula"), sep="\\n")
"""

SCHEMA = """
version: 1
columns:
  wide: {kind: numeric, lower: 0, upper: 1000, integer: true}
  narrow: {kind: categorical, categories: [x, y]}
"""


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def has_code(path: Path) -> bool:
    docstring = ast.Expr
    return any(not isinstance(node, docstring) for node in ast.parse(path.read_text(encoding="utf-8")).body)


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, names: set[str]) -> set[str]:
    """Return the modules that a file imports anywhere, within functions and for its types too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            within = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= within & names or {node.module}
    return (found & names) - {name_of(path)}


def test_a_run_of_aim_goes_through_few_modules(tmp_path: Path) -> None:
    rows = [f"{i * 37 % 997},{'xy'[i % 2]}" for i in range(300)]
    (tmp_path / "table.csv").write_text("\n".join(["wide,narrow", *rows]) + "\n")
    (tmp_path / "schema.yaml").write_text(SCHEMA)

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    loaded = [Path(line) for line in done.stdout.splitlines() if line.endswith(".py")]
    assert 50 < sum(map(has_code, loaded)) <= MODULES_OF_A_RUN


def test_privacy_is_few_files_of_few_lines() -> None:
    files = [path for path in (SOURCE / "privacy").rglob("*.py") if path.name != "__init__.py"]

    assert 0 < sum("training" not in path.parts for path in files) <= FILES_OF_PRIVACY


def test_files_stay_short() -> None:
    found = {path.relative_to(SOURCE).as_posix(): len(lines(path)) for path in SOURCE.rglob("*.py")}

    assert len(found) > 200
    assert {name: n for name, n in found.items() if n > MOST_LINES} == {}


@pytest.mark.thorough
def test_no_modules_import_each_other_in_a_circle() -> None:
    paths = {name_of(path): path for path in SOURCE.rglob("*.py")}
    needs = {name: imported(path, {*paths}) for name, path in paths.items()}

    try:
        TopologicalSorter(needs).prepare()
        circle = []
    except CycleError as error:
        circle = error.args[1]

    assert circle == []
