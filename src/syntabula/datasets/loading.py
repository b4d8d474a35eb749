"""Loading a table by its name: from the folder SYNTABULA_DATA, else from its provider, else drawn."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from syntabula.datasets.frames import check_seed
from syntabula.datasets.info import DatasetInfo
from syntabula.datasets.registry import describe
from syntabula.errors import DatasetError

FOLDER_VARIABLE = "SYNTABULA_DATA"


@dataclass(frozen=True, kw_only=True)
class Dataset(DatasetInfo):
    """A named table: what is known about it, and its rows.

    Attributes:
        path: Parquet file that holds it; None for simulated tables.
        seed: Seed that a simulated table is drawn with.
    """

    path: Path | None = None
    seed: int = 0

    @cached_property
    def frame(self) -> Any:
        """The rows as a frame of pandas, else polars, else pyarrow; read or drawn when first used.

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

    A simulated table is drawn. Any other is looked for in the folder that the environment variable
    SYNTABULA_DATA names, where its checksum must be right, and else downloaded from its provider and kept in
    a cache folder (XDG_CACHE_HOME, or ~/.cache). What a provider sends is checked for its columns and number
    of rows, and by a checksum only where one is known (see `Archive`).

    Args:
        name: Name of the table, as in `names`.
        seed: Seed of a simulated table; has no effect on others.

    Returns:
        The table; its rows are read when `frame` is first used.

    Raises:
        DatasetError: If there is no such table, its file is altered, or it cannot be had here; the message
            says where its provider publishes it.
        ArgumentError: If the seed is out of range.

    Examples:
        >>> dataset = load("gauss10", seed=1)
        >>> dataset.n_rows, dataset.n_columns
        (16000, 10)
    """
    info, checked_seed = describe(name), check_seed(seed)
    path = None if info.origin == "simulated" else _file_of(info)
    # Field by field: asdict would copy nested values into dictionaries.
    facts: dict[str, Any] = {f.name: getattr(info, f.name) for f in dataclasses.fields(info)}
    return Dataset(**facts, path=path, seed=checked_seed)


def _file_of(info: DatasetInfo) -> Path:
    """Return the Parquet file of a table that is not simulated, downloading it if need be."""
    if info.origin == "elsewhere" or info.file is None:
        raise DatasetError(_elsewhere(info))
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        if not Path(folder).is_dir():
            raise DatasetError(f"{FOLDER_VARIABLE} names {folder!r}, which is no folder; correct or unset it")
        path = Path(folder) / info.file
        if path.is_file():
            _check_sum(info, path)
            return path
    if info.archive is None:
        raise DatasetError(
            f"dataset {info.name!r} is not here and cannot be downloaded automatically; set "
            f"{FOLDER_VARIABLE} to a folder that holds {info.file}, or get the table from {info.page} "
            f"({info.provider}) and read it as any other"
        )
    from syntabula.datasets.providers import fetch

    return fetch(info, info.archive)


def _check_sum(info: DatasetInfo, path: Path) -> None:
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != info.sha256:
        raise DatasetError(
            f"{path} is not the table {info.name!r} that is known here: its SHA-256 is {found}, not "
            f"{info.sha256}; replace the file, or read it as a table of your own"
        )


def _elsewhere(info: DatasetInfo) -> str:
    from syntabula.datasets.registry import registry

    stand_ins = [other.name for other in registry().values() if info.name in other.stand_in_for]
    hint = f"; load({stand_ins[0]!r}) gives a stand-in" if stand_ins else ""
    more = f" (others: {', '.join(stand_ins[1:])})" if stand_ins[1:] else ""
    caution = ", whose figures are not comparable with those of the papers" if stand_ins else ""
    return (
        f"dataset {info.name!r} ({info.title}) is only to be had from its provider: get it from {info.page} "
        f"({info.provider}) and read it as any other table{hint}{more}{caution}"
    )
