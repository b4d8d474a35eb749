"""The folder's docstrings give an order in which it can be read, and each event has one rule."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import syntabula.privacy
import syntabula.privacy.training
from syntabula.privacy.events import Event
from syntabula.privacy.rules import RULES

FOLDER = Path(syntabula.privacy.__file__).parent
FILES = {path.stem: path for path in FOLDER.rglob("*.py") if path.stem != "__init__"}
TRAINING = {path.stem for path in (FOLDER / "training").glob("*.py")} & FILES.keys()


def named(docstring: str | None) -> list[str]:
    return [*dict.fromkeys(re.findall(r"`(\w+)`", docstring or ""))]


WHOLE, IN_TRAINING = named(syntabula.privacy.__doc__), named(syntabula.privacy.training.__doc__)
DOORS_OF_RECORDS = named((syntabula.privacy.training.__doc__ or "").partition("3. Doors")[2])


def imported(path: Path) -> set[str]:
    """Return the files of the folder that a file imports, for its types too."""
    found = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    names = {f"{n.module}.{alias.name}" for n in found for alias in n.names} | {n.module or "" for n in found}
    return {name.rpartition(".")[2] for name in names if name.startswith("syntabula.privacy.")} & FILES.keys()


def test_they_name_every_file_and_no_other() -> None:
    assert {*WHOLE} == (FILES.keys() - TRAINING) | {"doors", "training"}
    assert {*IN_TRAINING} == TRAINING


def test_every_file_comes_after_those_that_it_imports_so_that_there_is_no_circle() -> None:
    place = WHOLE.index("training")
    costs = [name for name in IN_TRAINING if name not in DOORS_OF_RECORDS]
    files = WHOLE[:place] + costs + WHOLE[place:] + DOORS_OF_RECORDS
    order = {name: place for place, name in enumerate(files)}

    early = {name: {n for n in imported(path) if order[n] >= order[name]} for name, path in FILES.items()}

    assert {name: needs for name, needs in early.items() if needs} == {}


def test_a_release_of_marginals_loads_nothing_that_only_models_of_records_need() -> None:
    program = """
import sys
import pandas as pd
import syntabula as st

frame = pd.DataFrame({"a": [0, 1, 2] * 20, "b": [True, False] * 30})
schema = st.Schema({"a": st.Numeric(0, 9, integer=True), "b": st.Boolean()})
release = st.AIM(epsilon=1.0, seed=0).fit(frame, schema=schema)
assert release.privacy.text() and len(release.sample(5))
print(*(name for name in sys.modules if name.startswith("syntabula.privacy.")))
"""

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True
    )

    loaded = {name.rpartition(".")[2] for name in done.stdout.split()}
    assert "tables" in loaded
    assert not loaded & (TRAINING | {"training"})


def test_each_event_has_a_rule_and_a_kind_of_its_own() -> None:
    assert {*RULES} == {*Event.__subclasses__()}
    assert len({event.kind for event in RULES}) == len(RULES)
