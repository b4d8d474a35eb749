"""The tables of studies: named ones, files, and random rows of either."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from syntabula.attacks.baselines import take_rows
from syntabula.bench.table_names import CODED_ADULT, table_and_rows
from syntabula.datasets.registry import registry
from syntabula.errors import DatasetError
from syntabula.table.draft import draft_schema
from syntabula.table.raw import Origin, PhysicalType, RawColumn, RawTable
from syntabula.table.read import read
from syntabula.table.schema.columns import Categorical, Numeric
from syntabula.table.schema.schema import Schema

SIMULATED = ("controlled_", "points_")
"""Begin the names of tables that are drawn anew with each seed, with as many rows as asked."""
_ROWS_SEED = 0


def load_table(name: str) -> RawTable:
    """Return a table.

    Args:
        name: A named table or the path of a file; with "@" and a number, so many random rows of it, the same in each
            run. One of `SIMULATED` is drawn with that many rows.

    Raises:
        DatasetError: If a named table, or the checkout of MargNet's code, is not here; says how to get it.
        DataError: If a file cannot be read.
        OSError: If it is not there.
    """
    table, rows = table_and_rows(name)
    if table.startswith(SIMULATED) and rows is not None:
        return simulated(table, rows)
    whole = _whole(table)
    if rows is None or rows >= whole.n_rows:
        return whole
    chosen = np.random.default_rng(_ROWS_SEED).permutation(whole.n_rows)[:rows]
    return take_rows(whole, np.sort(chosen))


def simulated(table: str, rows: int | None, seed: int = 0) -> RawTable:
    """Draw a simulated table, such as "controlled_normal", with so many rows; None for as many as usual."""
    from syntabula.datasets.simulated import draw

    return read(draw(table, seed, rows))


def check_table(name: str) -> None:
    """Raise DatasetError or OSError if a table is not here, without reading it."""
    table, _ = table_and_rows(name)
    if table == CODED_ADULT:
        _folder_of_coded_adult()
    elif table in registry():
        from syntabula.datasets.registry import load

        load(table)
    elif not Path(table).is_file():
        where = "" if Path(table).is_absolute() else f" in {str(Path.cwd())!r}"
        raise DatasetError(f"there is no file {table!r}{where}; correct its path in `datasets`")


def schema_of_table(name: str, table: RawTable) -> Schema:
    """Return a schema of a table: that of its provider if there is one, else one drafted from all of its rows."""
    from syntabula.datasets.schemas import schema_of

    known, _ = table_and_rows(name)
    if known == CODED_ADULT:
        return _schema_of_coded_adult(table)
    try:
        return schema_of(known)
    except DatasetError:
        return draft_schema(table)[0]


def _whole(table: str) -> RawTable:
    if table == CODED_ADULT:
        return _coded_adult()
    if table in registry():
        from syntabula.datasets.registry import load

        found = load(table)
        return read(found.frame if found.path is None else found.path)
    check_table(table)
    return read(table)


def _folder_of_coded_adult() -> Path:
    folder = Path(os.environ.get("MARGNET", "")) / "data" / "adult"
    if "MARGNET" not in os.environ or not (folder / "domain.json").is_file():
        raise DatasetError(
            f"dataset {CODED_ADULT!r} is part of MargNet's public code: clone "
            "https://github.com/KaiChen9909/margnet and name the checkout in the environment variable MARGNET"
        )
    return folder


def _coded_adult() -> RawTable:
    folder = _folder_of_coded_adult()
    names = list(json.loads((folder / "domain.json").read_text(encoding="utf-8")))
    try:
        parts = [np.load(folder / f"{part}_train.npy") for part in ("X_num", "X_cat", "y")]
    except ValueError:
        # Its categories are pickled there, and a pickle can run anything.
        raise DatasetError(
            f"dataset {CODED_ADULT!r}: X_cat_train.npy holds Python objects, which are not loaded here. If you trust the "
            "checkout, convert it in data/adult by: python -c \"import numpy as np; p = 'X_cat_train.npy'; "
            'np.save(p, np.load(p, allow_pickle=True).astype(str))"'
        ) from None
    cells = np.column_stack(parts).astype(float).astype(np.int64)
    columns = {}
    for place, name in enumerate(names):
        codes = np.unique(cells[:, place], return_inverse=True)[1]  # its labels are numbers with gaps
        values, physical = codes.astype(np.int64), PhysicalType("integer", "int64")
        if not name.startswith("num"):
            values, physical = codes.astype(str).astype(object), PhysicalType("text", "str")
        columns[name] = RawColumn(values, np.zeros(codes.size, np.bool_), physical)
    origin = Origin("parquet", {name: column.physical for name, column in columns.items()})
    return RawTable(columns, len(cells), origin)


def _schema_of_coded_adult(table: RawTable) -> Schema:
    columns: dict[str, Categorical | Numeric] = {}
    for name, column in table.columns.items():
        if name.startswith("num"):
            columns[name] = Numeric(0, int(column.values.max()), integer=True)
        else:
            labels = sorted(set(column.values.tolist()), key=int)
            columns[name] = Categorical(tuple(labels))
    return Schema(columns)
