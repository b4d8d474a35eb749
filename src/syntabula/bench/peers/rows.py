"""Runs a peer's script on the codes of a table, in the Python that the user names, and decodes its rows."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula.bench.peers.adapter import ADAPTERS, check_peer
from syntabula.bench.splits import Split, declared
from syntabula.errors import ArgumentError, MissingExtraError, TrainingError
from syntabula.marginals.encoded import EncodedTable, code_dtype
from syntabula.privacy.conversion import rho_from_epsilon
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.synthesizers.independent import Independent
from syntabula.synthesizers.plan import budget_of, preparation_of
from syntabula.table.raw import RawTable

if TYPE_CHECKING:
    from syntabula.bench.cell import Cell


def peer_rows(cell: Cell, split: Split, settings: Mapping[str, Any]) -> tuple[RawTable, dict[str, Any]]:
    """Return synthetic rows of a peer, and facts about its run.

    Args:
        cell: The peer, its budget and seed.
        split: The rows to learn.
        settings: Of the method that prepares the columns, as all methods of the cell get them.

    Raises:
        MissingExtraError: If the user names no Python for it.
        TrainingError: If its script fails.
    """
    name = cell.method.partition(":")[2]
    if math.isinf(cell.epsilon):
        raise ArgumentError(f"the peer {name!r} needs a finite epsilon")
    check_peer(name)
    adapter = ADAPTERS[name]
    python = os.environ.get(adapter.variable)
    if not python:
        raise MissingExtraError(
            f"the peer {name!r} is not here: make an environment for it ({adapter.installed_by}) and name its Python in "
            f"the environment variable {adapter.variable}"
        )
    schema = declared(split, cell.binning, cell.epsilon) or split.schema
    method = Independent(**settings)
    prepared = preparation_of(method, schema, {})
    ledger, noise = Ledger(budget_of(method)), SeededNoise(cell.seed)
    counted = prepared.counted(split.fit.n_rows, ledger, noise)
    codec = prepared.codec(
        split.fit, schema, ledger, noise, counted=counted, progress=lambda step, done: None
    )
    encoded, _ = codec.encode(split.fit)
    sizes = dict(zip(codec.domain.columns, codec.domain.sizes, strict=True))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = np.column_stack([encoded.column(column) for column in sizes]).astype(np.int64)
        _write(folder / "codes.csv", list(sizes), rows)
        (folder / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")
        files = [str(folder / name) for name in ("codes.csv", "sizes.json", "out.csv")]
        script = Path(__file__).parent / adapter.script
        rho = rho_from_epsilon(cell.epsilon, cell.delta)
        words = [adapter.word, *files, repr(cell.epsilon), repr(cell.delta), repr(rho), str(cell.seed)]
        started = time.perf_counter()
        ran = subprocess.run([python, "-P", str(script), *words], capture_output=True, check=False)
        seconds = time.perf_counter() - started
        if ran.returncode or not (folder / "out.csv").is_file():
            raise TrainingError(
                f"the peer {name!r} failed with exit code {ran.returncode}; run its script to see why"
            )
        made = np.loadtxt(folder / "out.csv", delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    codes = {
        column: made[:, place].clip(0, sizes[column] - 1).astype(code_dtype(sizes[column]))
        for place, column in enumerate(sizes)
    }
    table = EncodedTable.from_mapping(codec.domain, codes)
    columns = codec.decode(table, np.random.default_rng(cell.seed))
    return RawTable(columns, table.n_rows, split.fit.origin), {"fit_seconds": round(seconds, 3)}


def _write(path: Path, names: list[str], rows: Any) -> None:
    header = ",".join(f"c{place}" for place in range(len(names)))
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=header, comments="")
