"""The named tables: their list, their facts, and how each is loaded from a folder or its provider, or simulated."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from syntabula._arguments import near, shown
from syntabula.datasets.frames import check_seed
from syntabula.datasets.info import FOLDER_VARIABLE, DatasetInfo, looked_for
from syntabula.datasets.simulated import simulated_tables
from syntabula.errors import DatasetError


def names() -> list[str]:
    """Return the names of all tables, sorted; `describe` says which of them can be loaded."""
    return sorted(registry())


def describe(name: str) -> DatasetInfo:
    """Return the facts about a table without loading it.

    Args:
        name: Name of the table, as in `names`.

    Returns:
        Its facts.

    Raises:
        DatasetError: If there is no such table; the message suggests similar names.
    """
    try:
        return registry()[name]
    except (KeyError, TypeError):
        raise DatasetError(unknown(name)) from None


def unknown(name: object) -> str:
    """Return the message that there is no table of this name, with similar names."""
    hint = near(str(name).lower().replace("-", "_"), registry(), 3)
    return f"there is no dataset {shown(name)}{hint}; syntabula.datasets.names() lists all"


@functools.cache
def registry() -> dict[str, DatasetInfo]:
    """Return all tables by name: those of registry.json and the simulated ones."""
    text = resources.files("syntabula.datasets").joinpath("registry.json").read_bytes()
    tables = msgspec.json.decode(text, type=list[DatasetInfo])
    return {info.name: info for info in [*tables, *simulated_tables()]}


@dataclass(frozen=True, kw_only=True)
class Dataset(DatasetInfo):
    """A named table: facts about it, and its rows.

    Attributes:
        path: Parquet file that holds it; None for simulated tables.
        seed: Seed of a simulated table.
    """

    path: Path | None = None
    seed: int = 0

    @cached_property
    def frame(self) -> Any:
        """The rows as a pandas frame, else polars, else pyarrow, by what is installed; read or drawn on first use.

        Raises:
            MissingExtraError: If no dataframe library is installed; `path` can be used without one.
            DatasetError: If the file cannot be read.
        """
        if self.path is None:
            from syntabula.datasets.simulated import draw

            return draw(self.name, self.seed)
        from syntabula.datasets.frames import read_parquet

        return read_parquet(self.path)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self.n_rows} rows, {self.n_columns} columns)"


def load(name: str, *, seed: int = 0) -> Dataset:
    """Load a table by its name.

    A simulated table is drawn. Any other is read from the folder named by the environment variable SYNTABULA_DATA,
    where its checksum must match. If it is not there, it is downloaded from its provider and kept in a cache folder
    (XDG_CACHE_HOME, or ~/.cache). Downloads are checked for their columns and number of rows, and against a checksum
    if one is known (see `Archive`).

    Args:
        name: Name of the table, as in `names`.
        seed: Seed of a simulated table; ignored for others.

    Returns:
        The table; its rows are read on first use of `frame`.

    Raises:
        DatasetError: If there is no such table, its file was altered, or it is not available; the message says where its
            provider publishes it.
        ArgumentError: If the seed is out of range.

    Examples:
        >>> dataset = load("gauss10", seed=1)
        >>> dataset.n_rows, dataset.n_columns
        (16000, 10)
    """
    info, checked_seed = describe(name), check_seed(seed)
    path = None if info.origin == "simulated" else _file_of(info)
    # Field by field, because asdict would turn nested values into dictionaries.
    facts: dict[str, Any] = {f.name: getattr(info, f.name) for f in dataclasses.fields(info)}
    return Dataset(**facts, path=path, seed=checked_seed)


def _file_of(info: DatasetInfo) -> Path:
    """Return the Parquet file of a table that is not simulated, downloading it if necessary."""
    if info.origin == "elsewhere" or info.file is None:
        raise DatasetError(_elsewhere(info))
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        if not Path(folder).is_dir():
            raise DatasetError(f"{FOLDER_VARIABLE} is {folder!r}, which is not a folder; correct or unset it")
        path = Path(folder) / info.file
        if path.is_file():
            _check_sum(info, path)
            return path
    if info.archive is None:
        raise DatasetError(
            f"dataset {info.name!r} {looked_for()} and cannot be downloaded automatically; set "
            f"{FOLDER_VARIABLE} to a folder that holds {info.file}, or get the table from {info.page} "
            f"({info.provider}) and read it like any other table"
        )
    from syntabula.datasets.providers import fetch

    return fetch(info, info.archive)


def _check_sum(info: DatasetInfo, path: Path) -> None:
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != info.sha256:
        raise DatasetError(
            f"{path} is not the expected table {info.name!r}: its SHA-256 is {found}, not "
            f"{info.sha256}; replace the file, or read it as your own table"
        )


def _elsewhere(info: DatasetInfo) -> str:

    stand_ins = [other.name for other in registry().values() if info.name in other.stand_in_for]
    hint = f"; load({stand_ins[0]!r}) gives a substitute" if stand_ins else ""
    more = f" (others: {', '.join(stand_ins[1:])})" if stand_ins[1:] else ""
    caution = ", whose figures are not comparable with those of the papers" if stand_ins else ""
    return (
        f"dataset {info.name!r} ({info.title}) is only available from its provider: get it from {info.page} "
        f"({info.provider}) and read it like any other table{hint}{more}{caution}"
    )
