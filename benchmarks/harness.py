"""Shared parts of the benchmarks beside public code: coded tables, and distances."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


@dataclass(frozen=True)
class CodedTable:
    """A table of integer codes on disk, which every system reads.

    Attributes:
        name: Its name in the output.
        path: Parquet file of codes.
        domain: JSON file with the number of codes of each column.
    """

    name: str
    path: Path
    domain: Path

    @property
    def sizes(self) -> dict[str, int]:
        """Number of codes of each column."""
        return json.loads(self.domain.read_text())


def coded_table(name: str, folder: Path, bins: int = 100) -> CodedTable:
    """Return a table of codes: one stored as codes, or another dataset coded with uniform bins.

    Stored are `NAME.parquet` beside `NAME.domain.json` in the folder SYNTABULA_DATA, such as `adult_coded`, and
    `adult_margnet` in the checkout of KaiChen9909/margnet that the environment variable MARGNET names.
    """
    data = Path(os.environ.get("SYNTABULA_DATA", "no folder"))
    if (data / f"{name}.domain.json").exists():
        return CodedTable(name, data / f"{name}.parquet", data / f"{name}.domain.json")
    if name == "adult_coded":
        sys.exit("adult_coded: SYNTABULA_DATA must name the folder that holds it; gauss10 needs no file")
    import pandas as pd

    import syntabula
    from syntabula.bench.table_source import CODED_ADULT, load_table, schema_of_table
    from syntabula.table.coding.codec import Codec
    from syntabula.table.read import read

    if name == CODED_ADULT:
        table = load_table(name)
        schema = schema_of_table(name, table)
    else:
        table = read(syntabula.datasets.load(name).frame)
        schema, _ = syntabula.draft_schema(table)
    encoded, _ = Codec.plan(schema, bins=bins).encode(table, strict=False)
    coded = CodedTable(name, folder / f"{name}.parquet", folder / f"{name}.domain.json")
    pd.DataFrame(dict(zip(encoded.domain.columns, encoded.codes, strict=True))).to_parquet(coded.path)
    sizes = dict(zip(encoded.domain.columns, encoded.domain.sizes, strict=True))
    coded.domain.write_text(json.dumps(sizes))
    return coded


def distances(table: CodedTable, synthetic: Path, n_triples: int = 200) -> tuple[float, float]:
    """Return the mean TVD of a synthetic table over all pairs and over random triples."""
    import pandas as pd

    names, sizes = list(table.sizes), list(table.sizes.values())
    real_rows = pd.read_parquet(table.path)[names].to_numpy().astype(np.int64)
    rows = pd.read_parquet(synthetic)[names].to_numpy().astype(np.int64)
    every = list(combinations(range(len(sizes)), 3))
    order = np.random.default_rng(0).permutation(len(every))[:n_triples]
    groups = (list(combinations(range(len(sizes)), 2)), [every[i] for i in order])
    pairs, triples = (float(np.mean([tvd(real_rows, rows, sizes, c) for c in some])) for some in groups)
    return pairs, triples


def tvd(real: np.ndarray, synthetic: np.ndarray, sizes: Sequence[int], clique: tuple[int, ...]) -> float:
    """Return half the L1 distance between two tables' joint frequencies of some columns."""
    shape = tuple(sizes[i] for i in clique)
    cells = int(np.prod(shape))
    one, other = (
        np.bincount(np.ravel_multi_index(t[:, clique].T, shape), minlength=cells) / max(len(t), 1)
        for t in (real, synthetic)
    )
    return float(np.abs(one - other).sum() / 2)
