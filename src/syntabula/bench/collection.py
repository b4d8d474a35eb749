"""Studies by name: those of the papers, and those of other packages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from syntabula._arguments import near, shown
from syntabula._register import entries, load
from syntabula.bench.study import Study
from syntabula.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class NotRun:
    """A numbered table or figure that no command runs.

    Attributes:
        name: Its name.
        title: What it shows, in one line.
        why: Why it is not run, in a sentence.
    """

    name: str
    title: str
    why: str


Listed = Study | NotRun


class Collection(Protocol):
    """A named set of studies, such as those of a paper; the register knows its class by its key."""

    def studies(self) -> Sequence[Listed]:
        """Return its studies, and what is listed but not run, in order."""


def list_studies(collection: str | None = None) -> list[Listed]:
    """Return all studies, or those of one collection; what cannot be run says why.

    Raises:
        ArgumentError: If there is no such collection, or one of a plug-in cannot be loaded.
    """
    keys = [e.key for e in entries("study_collection")]
    if collection is not None:
        found: Collection = load("study_collection", collection)()
        return [*found.studies()]
    return [study for key in keys for study in list_studies(key)]


def find_study(name: str) -> Study:
    """Return a study by its name; case does not matter.

    Raises:
        ArgumentError: If there is none (suggests similar names), or it cannot be run; says why.
    """
    known = {study.name: study for study in list_studies()}
    wanted = {key.lower(): key for key in known}.get(str(name).lower())
    if wanted is None:
        raise ArgumentError(
            f"there is no study {shown(name)}{near(str(name), known, 3)}; `syntabula bench list` "
            "lists all, and a study of your own is a file named .yaml"
        )
    found = known[wanted]
    if isinstance(found, NotRun):
        raise ArgumentError(f"{found.name} ({found.title}) is not run: {found.why}")
    return found
