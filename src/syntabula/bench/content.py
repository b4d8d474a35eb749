"""What tells one state of a user's file, of this library's code, or of a plug-in's, from another."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
from pathlib import Path

from syntabula._entries import KINDS
from syntabula._register import entries
from syntabula.bench.cell import Cell
from syntabula.bench.table_names import table_and_rows

_SIZE = 8
"""Bytes of a digest."""
_PART = 2**20
_NO_PART_OF_A_CELL = ("cli", "report", "testing", "demo.py")
"""Files of this library that no result depends on."""


def content_of(dataset: str) -> str:
    """Return a digest of the bytes of the file that a dataset names; empty for a named table, and if no file is there.

    A file is read once, until its size or time of change is another.
    """
    from syntabula.bench.checks import known_tables

    table, _ = table_and_rows(dataset)
    if table in known_tables(()):
        return ""
    try:
        facts = os.stat(table)
        return _digest(os.path.abspath(table), facts.st_size, facts.st_mtime_ns)
    except OSError:
        return ""


@functools.lru_cache(maxsize=256)
def _digest(path: str, size: int, changed: int) -> str:
    del size, changed  # a file that has others is read again
    found = hashlib.blake2b(digest_size=_SIZE)
    with open(path, "rb") as file:
        while part := file.read(_PART):
            found.update(part)
    return found.hexdigest()


@functools.cache
def code_state() -> str:
    """Return a digest of the source files of this library that results may depend on."""
    found = hashlib.blake2b(digest_size=_SIZE)
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in _NO_PART_OF_A_CELL:
            found.update(f"{name.as_posix()}\0".encode() + path.read_bytes())
    return found.hexdigest()


def state_behind(cell: Cell) -> str:
    """Return the state of the code that a result depends on: this library's, and after a + that of its plug-ins."""
    named = {*cell.method.split("+"), cell.binning.discretizer, *cell.scores}
    homes = {entry.home for kind in KINDS for entry in entries(kind) if entry.key in named}
    packages = {home.partition(":")[0].partition(".")[0] for home in homes} - {"syntabula", "__main__"}
    own = [state for package in sorted(packages) if (state := _state_of_package(package))]
    return "+".join([code_state(), *own])


@functools.cache
def _state_of_package(name: str) -> str:
    """Return a digest of the source files of a package or module, which is not imported; empty if there are none."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return ""
    if found is None:
        return ""
    folders = [Path(place) for place in found.submodule_search_locations or ()]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    paths += [Path(found.origin)] if found.origin and not folders else []
    digest = hashlib.blake2b(digest_size=_SIZE)
    for path in paths:
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest() if paths else ""
