"""Real rows after binning and merging of rare categories, without any model: the best that a method over them can do."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from syntabula.bench.cell import Cell
from syntabula.bench.splits import Split, declared
from syntabula.marginals.counting import engine_for
from syntabula.marginals.domain import Domain
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.synthesizers.independent import Independent
from syntabula.synthesizers.plan import preparation_of
from syntabula.table.raw import RawTable


def through_bins(cell: Cell, split: Split, settings: Mapping[str, Any]) -> tuple[RawTable, dict[str, float]]:
    """Return the learned rows after preprocessing, the mean number of cells of a pair, and the seconds of finding bins.

    `settings` are those that all methods of the cell get. The options `numbers` and `categories` of the row say which
    columns are preprocessed; both by default.
    """
    schema = declared(split, cell.binning)
    if schema is None:
        schema = split.schema
    method = Independent(**settings)
    prepared = preparation_of(method, schema, {})
    ledger, noise = Ledger(method.whole_budget), SeededNoise(cell.seed)
    counted = prepared.counted(split.fit.n_rows, ledger, noise)
    started = time.perf_counter()
    codec = prepared.codec(
        split.fit, schema, ledger, noise, counted=counted, progress=lambda step, done: None
    )
    seconds = time.perf_counter() - started
    encoded, _ = codec.encode(split.fit)
    recoding = None
    if cell.options.get("categories", True):
        recoding = prepared.recoding(Curator(engine_for(encoded, limit_mb=method.memory_mb), ledger, noise))
    rng = np.random.default_rng(cell.seed)
    domain = codec.domain
    if recoding is not None:
        encoded, domain = recoding.decode(recoding.encode(encoded), rng), recoding.target
    columns = codec.decode(encoded, rng)
    if not cell.options.get("numbers", True):
        kept = [name for name in columns if columns[name].physical.is_ordered or name in codec.bins]
        columns |= {name: split.fit.columns[name] for name in kept}
    facts = {"mean cells of a pair": _mean_cells(domain, split, cell), "fit_seconds": round(seconds, 3)}
    return RawTable(columns, encoded.n_rows, split.fit.origin), facts


def cells_as_they_are(table: RawTable) -> float:
    """Return the mean number of cells of a pair of columns of a table that is not binned."""
    sizes = [int(np.unique(column.values[~column.missing]).size) for column in table.columns.values()]
    return float(np.mean([a * b for a, b in combinations(sizes, 2)])) if len(sizes) > 1 else math.nan


def _mean_cells(domain: Domain, split: Split, cell: Cell) -> float:
    """Return the mean number of cells over pairs; a column that is not binned has as many codes as values."""
    sizes = {name: domain.size(name) for name in domain.columns}
    for name, column in split.fit.columns.items():
        binned = cell.options.get("numbers", True) or not column.physical.is_ordered
        if name in sizes and not binned:
            sizes[name] = int(np.unique(column.values).size)
    return float(np.mean([a * b for a, b in combinations(sizes.values(), 2)]))
