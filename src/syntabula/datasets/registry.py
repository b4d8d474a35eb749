"""What is known about each named table without loading it; the facts are in registry.json."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal

import msgspec

from syntabula._arguments import shown
from syntabula.errors import DatasetError

Kind = Literal["numeric", "categorical", "boolean", "date", "datetime", "identifier"]
Task = Literal["binary", "multiclass", "regression"]
Origin = Literal["file", "simulated", "elsewhere"]


@dataclass(frozen=True, kw_only=True)
class Archive:
    """How to read a table out of the zip file that its provider publishes.

    Attributes:
        url: Address of the zip file.
        members: Files in it, whose rows follow each other; "a.zip/b.csv" is a file of a zip file inside.
        file_columns: Columns in the order of the files, where it is not the order of the table.
        delimiter: What separates cells.
        header: Whether the first line names the columns.
        comment: Lines that start with it are no rows.
        missing: How a missing cell is written.
        label_suffix: Text after some labels that is no part of them.
        sha256: Checksum of the zip file; None where it is not known, and then only the number of rows and
            columns and the kind of each column can be checked.
    """

    url: str
    members: tuple[str, ...]
    file_columns: tuple[str, ...] | None = None
    delimiter: str = ","
    header: bool = False
    comment: str | None = None
    missing: str | None = None
    label_suffix: str = ""
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """Facts about a named table.

    Attributes:
        name: Its name here.
        title: What it is, in one line.
        origin: `file` (read from SYNTABULA_DATA or its provider), `simulated` (drawn here), or `elsewhere`
            (only its provider has it; `load` says where and what stands in for it).
        n_rows: Number of rows; of tables that are elsewhere that of the paper, of simulated ones the default.
        n_columns: Number of columns, the label included as far as is known.
        columns: Kind of each column, in order; empty where the table is elsewhere.
        label: Column to predict; None where there is none.
        task: What kind of prediction that is.
        provider: Who publishes it.
        page: Where its provider publishes it; empty for simulated tables.
        licence: Under which terms.
        stand_in_for: Tables of the papers that it stands in for; its figures are not comparable with theirs.
        papers: Papers that use it, with the table that counts its rows.
        note: What differs from what its provider publishes, or is good to know.
        file: Name of its file in the folder SYNTABULA_DATA.
        sha256: Checksum of that file.
        archive: How to read it from its provider; None where it must be fetched by hand.
    """

    name: str
    title: str
    origin: Origin
    n_rows: int
    n_columns: int
    columns: Mapping[str, Kind] = field(default_factory=dict, hash=False)
    label: str | None = None
    task: Task | None = None
    provider: str = ""
    page: str = ""
    licence: str = ""
    stand_in_for: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()
    note: str = ""
    file: str | None = None
    sha256: str | None = None
    archive: Archive | None = None


def names() -> list[str]:
    """Return the names of all tables, sorted; `describe` tells which of them can be loaded."""
    return sorted(registry())


def describe(name: str) -> DatasetInfo:
    """Return what is known about a table without loading it.

    Args:
        name: Name of the table, as in `names`.

    Returns:
        Its facts.

    Raises:
        DatasetError: If there is no such table; the message lists near misses.
    """
    try:
        return registry()[name]
    except (KeyError, TypeError):
        raise DatasetError(unknown(name)) from None


def unknown(name: object) -> str:
    """Say that there is no table of this name, with near misses."""
    near = difflib.get_close_matches(str(name).lower().replace("-", "_"), registry(), n=3)
    hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
    return f"there is no dataset {shown(name)}{hint}; syntabula.datasets.names() lists all"


@functools.cache
def registry() -> dict[str, DatasetInfo]:
    """Return all tables by name: those of registry.json and the simulated ones."""
    from syntabula.datasets.simulated import simulated_tables

    text = resources.files("syntabula.datasets").joinpath("registry.json").read_bytes()
    tables = msgspec.json.decode(text, type=list[DatasetInfo])
    return {info.name: info for info in [*tables, *simulated_tables()]}
