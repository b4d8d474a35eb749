from __future__ import annotations

import os
from pathlib import Path

import pytest

METHODS = """
import os, signal, time
from dataclasses import dataclass
from syntabula.synthesizers.independent import Independent

@dataclass(frozen=True, kw_only=True)
class Crashing(Independent):
    key = "crashing"
    def fit(self, *given, **more):
        os.kill(os.getpid(), signal.SIGSEGV)

@dataclass(frozen=True, kw_only=True)
class Leaving(Independent):
    key = "leaving"
    def fit(self, *given, **more):
        os._exit(3)

@dataclass(frozen=True, kw_only=True)
class Raising(Independent):
    key = "raising"
    def fit(self, *given, **more):
        raise ValueError("a cell of the table: secretcell")

@dataclass(frozen=True, kw_only=True)
class Hanging(Independent):
    key = "hanging"
    def fit(self, *given, **more):
        time.sleep(3600)

@dataclass(frozen=True, kw_only=True)
class Growing(Independent):
    key = "growing"
    def fit(self, *given, **more):
        kept = []
        while True:
            kept.append(bytearray(2**24))
            time.sleep(0.01)

class Shelf:
    key = "shelf"
    def studies(self):
        from syntabula.bench import NotRun, Study
        return [
            Study(name="shelf-one", datasets=("census@50",), methods=("independent",)),
            NotRun(name="shelf-two", title="A drawing", why="it is a drawing"),
        ]
"""
ENTRIES = """\
[syntabula.synthesizers]
crashing = bad_methods:Crashing
leaving = bad_methods:Leaving
raising = bad_methods:Raising
hanging = bad_methods:Hanging
growing = bad_methods:Growing
[syntabula.study_collections]
shelf = bad_methods:Shelf
"""


@pytest.fixture
def bad_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package of methods that crash, hang and fill memory, for this process and those that it starts."""
    site = tmp_path / "site"
    facts = site / "bad_methods-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / "bad_methods.py").write_text(METHODS)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-methods\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(site))
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{before}" if before else str(site))
