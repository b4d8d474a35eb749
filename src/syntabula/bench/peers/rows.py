"""Runs a peer's script on a table or its codes, in the Python that the user names, and reads its rows."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula.bench.peers.adapter import check_peer
from syntabula.bench.splits import Split, declared
from syntabula.errors import MissingExtraError, TrainingError
from syntabula.marginals.domain import EncodedTable, code_dtype
from syntabula.privacy.conversion import rho_from_epsilon
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.synthesizers.independent import Independent
from syntabula.synthesizers.plan import preparation_of
from syntabula.table.files.files import write_table
from syntabula.table.frames.conform import conform
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.read import read
from syntabula.table.schema.columns import Column, Numeric

if TYPE_CHECKING:
    from syntabula.bench.cell import Cell


def peer_rows(cell: Cell, split: Split, settings: Mapping[str, Any]) -> tuple[RawTable, dict[str, Any]]:
    """Return synthetic rows of a peer, and facts about its run.

    Args:
        cell: The peer, its budget and seed.
        split: The rows to learn.
        settings: Of the method that prepares the columns, as all methods of the cell get them.

    Raises:
        MissingExtraError: If the user names no Python for it, or no checkout of code that is no package.
        TrainingError: If its script fails.
    """
    name = cell.method.partition(":")[2]
    adapter = check_peer(name, cell.epsilon, cell.options)
    python = os.environ.get(adapter.variable)
    if not python:
        raise MissingExtraError(
            f"the peer {name!r} is not here: make an environment for it ({adapter.installed_by}) and name its Python in "
            f"the environment variable {adapter.variable}"
        )
    if adapter.checkout and not os.environ.get(adapter.checkout_variable):
        raise MissingExtraError(
            f"the code of the peer {name!r} is not here: clone {adapter.checkout} and name its folder in the environment "
            f"variable {adapter.checkout_variable}"
        )
    script = [python, "-P", str(Path(__file__).parent / adapter.script), adapter.word]
    private = adapter.is_private
    rho = rho_from_epsilon(cell.epsilon, cell.delta) if private else math.inf
    budget = [repr(cell.epsilon), repr(cell.delta), repr(rho), str(cell.seed)]

    def ran(*files: Path) -> float:
        started = time.perf_counter()
        ended = subprocess.run([*script, *map(str, files), *budget], capture_output=True, check=False)
        if ended.returncode or not files[-1].is_file():
            raise TrainingError(f"the peer {name!r} failed: {_why(ended.returncode, ended.stderr)}")
        return round(time.perf_counter() - started, 3)

    with tempfile.TemporaryDirectory() as place:
        if adapter.learns == "rows":
            columns, seconds = _from_rows(split, Path(place), ran)
        else:
            columns, seconds = _from_codes(cell, split, settings, Path(place), ran)
    n_rows = next(iter(columns.values())).values.size
    return RawTable(columns, n_rows, split.fit.origin), {"fit_seconds": seconds}


_PLACE = re.compile(r'^  File ".*?([^/\\"]+)", line (\d+)', re.MULTILINE)
_ERROR = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception|Exit|Interrupt))\b", re.MULTILINE)


def _why(code: int, printed: bytes) -> str:
    """Say how a script ended: by which error and where, as the text of an error may show a cell of the table."""
    text = printed.decode(errors="replace")
    places = [*_PLACE.finditer(text)]
    error = _ERROR.search(text, places[-1].end()) if places else None
    if error is None:
        return f"its Python ended with exit code {code}" if code else "it wrote no rows"
    return f"{error[1]} at line {places[-1][2]} of {places[-1][1]}; see whether its environment has the versions it needs"


Run = Callable[[Path, Path, Path], float]
"""Runs a script from its table and the facts about it to the synthetic table, and returns the seconds."""


def _from_codes(
    cell: Cell, split: Split, settings: Mapping[str, Any], folder: Path, ran: Run
) -> tuple[dict[str, RawColumn], float]:
    """Let a peer learn the codes of the columns in their bins, and redraw cells within the bins."""
    schema = declared(split, cell.binning, cell.epsilon) or split.schema
    method = Independent(**settings)
    prepared = preparation_of(method, schema, {})
    ledger, noise = Ledger(method.whole_budget), SeededNoise(cell.seed)
    counted = prepared.counted(split.fit.n_rows, ledger, noise)
    codec = prepared.codec(
        split.fit, schema, ledger, noise, counted=counted, progress=lambda step, done: None
    )
    encoded, _ = codec.encode(split.fit)
    sizes = dict(zip(codec.domain.columns, codec.domain.sizes, strict=True))
    rows = np.column_stack([encoded.column(column) for column in sizes]).astype(np.int64)
    table, facts, out = (folder / name for name in ("codes.csv", "sizes.json", "out.csv"))
    header = ",".join(f"c{place}" for place in range(len(sizes)))
    np.savetxt(table, rows, fmt="%d", delimiter=",", header=header, comments="")
    facts.write_text(json.dumps(sizes), encoding="utf-8")
    seconds = ran(table, facts, out)
    made = np.loadtxt(out, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    codes = {
        column: made[:, place].clip(0, sizes[column] - 1).astype(code_dtype(sizes[column]))
        for place, column in enumerate(sizes)
    }
    drawn = EncodedTable.from_mapping(codec.domain, codes)
    return codec.decode(drawn, np.random.default_rng(cell.seed)), seconds


def _from_rows(split: Split, folder: Path, ran: Run) -> tuple[dict[str, RawColumn], float]:
    """Let a peer learn the cells themselves, with what the schema says of their columns."""
    table, facts, out = (folder / name for name in ("rows.parquet", "columns.json", "out.parquet"))
    write_table(split.fit.columns, table, split.fit.origin)
    told = {name: facts_of(column) for name, column in split.schema.columns.items()}
    facts.write_text(json.dumps(told), encoding="utf-8")
    seconds = ran(table, facts, out)
    made = read(out)
    return {
        name: conform(made.columns[name], column.physical) for name, column in split.fit.columns.items()
    }, seconds


def facts_of(column: Column) -> dict[str, Any]:
    """Return what a peer that learns rows is told of a column: its bounds, or its categories."""
    if isinstance(column, Numeric):
        return {"lower": column.lower, "upper": column.upper, "integer": column.integer}
    return {"categories": list(getattr(column, "categories", (False, True)))}
