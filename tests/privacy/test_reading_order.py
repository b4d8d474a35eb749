"""The folder's docstring gives an order in which it can be read, and each event has one rule."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import syntabula.privacy
from syntabula.privacy.events import Event
from syntabula.privacy.rules import RULES

FOLDER = Path(syntabula.privacy.__file__).parent
FILES = {path.stem: path for path in FOLDER.rglob("*.py") if path.stem != "__init__"}
NAMED = [*dict.fromkeys(re.findall(r"`(\w+)`", syntabula.privacy.__doc__ or ""))]


def imported(path: Path) -> set[str]:
    """Return the files of the folder that a file imports, for its types too."""
    found = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    names = {f"{n.module}.{alias.name}" for n in found for alias in n.names} | {n.module or "" for n in found}
    return {name.rpartition(".")[2] for name in names if name.startswith("syntabula.privacy.")} & FILES.keys()


def test_it_names_every_file_and_no_other() -> None:
    assert {*NAMED} == {*FILES, "doors"}


def test_every_file_comes_after_those_that_it_imports_so_that_there_is_no_circle() -> None:
    order = {name: place for place, name in enumerate(NAMED)}

    early = {name: {n for n in imported(path) if order[n] >= order[name]} for name, path in FILES.items()}

    assert {name: needs for name, needs in early.items() if needs} == {}


def test_each_event_has_a_rule_and_a_kind_of_its_own() -> None:
    assert {*RULES} == {*Event.__subclasses__()}
    assert len({event.kind for event in RULES}) == len(RULES)
