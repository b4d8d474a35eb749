"""The tables of the grid, prepared as in the papers: what is learned from, what is scored against, and how."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import syntabula
from syntabula.privacy.conversion import rho_from_epsilon

BINS = 100


@dataclass(frozen=True)
class Prepared:
    """A table that is ready to be learned.

    Attributes:
        train: Parquet file of the records that a synthesizer sees.
        unseen: Parquet file of other records of the same table; None where the paper keeps none apart.
        schema: YAML file of its schema.
        discretizer: How numbers of many values are divided into bins.
        n_rows: Number of records that are learned from.
        n_columns: Number of columns.
        label: Column that is predicted on the records kept apart; None where there are none, or it is none of few
            values.
    """

    train: Path
    unseen: Path | None
    schema: Path
    discretizer: str
    n_rows: int
    n_columns: int
    label: str | None = None

    def bins(self, epsilon: float) -> int:
        """Return the most bins of a column: 100 even ones, or so few of PrivTree that pairs stand out of the noise.

        MargNet's public PrivTree makes few bins, as it adds too much noise; the exact one makes 42 to 67 of
        Gauss10 at epsilon 1, and then no pair of columns is worth its noise. Here the number is bounded: six
        times as many records as noise in an average cell of a pair, if the whole budget went to pairs that join
        all columns; and 32.
        """
        if self.discretizer == "uniform":
            return BINS
        noise = math.sqrt((self.n_columns - 1) / (math.pi * rho_from_epsilon(epsilon, 1e-5)))
        return int(np.clip(math.sqrt(self.n_rows / (6 * noise)), 4, 32))


def prepared(name: str, folder: Path) -> Prepared:
    """Write a table's files into a folder.

    Of `bank`, and of any other dataset, 64 % are learned from and 20 % kept apart, as in tab_bench.
    `adult_margnet` is the coded Adult that MargNet's public code holds (the environment variable MARGNET names a
    checkout of KaiChen9909/margnet). `gauss10`, `gauss30` and `gauss50` are drawn anew. Domains are read off the
    tables, as in the papers.
    """
    unseen: pd.DataFrame | None = None
    label = None
    if name == "adult_margnet":
        train, schema = adult_of_margnet()
    elif name.startswith("gauss"):
        train = syntabula.datasets.gauss(int(name.removeprefix("gauss")))
        schema, _ = syntabula.draft_schema(train)
    else:
        table = syntabula.datasets.load(name)
        label = None if table.task == "regression" else table.label
        frame = _few_values_ranked(table.frame)
        order = np.random.default_rng(0).permutation(len(frame))
        # The paper keeps a part for validation: its records that are learned from have 6,024 balances.
        train, _, unseen = np.split(order, [len(frame) * 16 // 25, len(frame) * 4 // 5])
        train, unseen = frame.iloc[train], frame.iloc[unseen]
        schema, _ = syntabula.draft_schema(train)

    files = Prepared(
        train=folder / f"{name}.parquet",
        unseen=None if unseen is None else folder / f"{name}_unseen.parquet",
        schema=folder / f"{name}.yaml",
        discretizer="privtree" if name.startswith("gauss") else "uniform",
        n_rows=len(train),
        n_columns=len(schema.columns),
        label=label,
    )
    train.to_parquet(files.train, index=False)
    if unseen is not None:
        unseen.to_parquet(files.unseen, index=False)
    schema.to_yaml(files.schema)
    return files


def in_levels(path: Path, schema: syntabula.Schema, *, binned: bool) -> pd.DataFrame:
    """Read a table and code numbers of many values in 100 levels of their range in the records learned from.

    The papers' levels range over the real and the synthetic table together, so that one extreme record shifts them
    all against the bins, and errors jump by a factor of two; these stay where they are.

    Args:
        path: Parquet file.
        schema: Of the records that are learned from.
        binned: Whether numbers first move to the middle of their even bin, as the papers' code decodes them.
    """
    frame = pd.read_parquet(path)
    for name, column in schema.columns.items():
        if isinstance(column, syntabula.Numeric) and _is_wide(column):
            scaled = (frame[name].to_numpy(dtype=float) - column.lower) / (column.upper - column.lower)
            if binned:
                scaled = (np.floor(scaled * BINS) + 0.5) / BINS
            frame[name] = np.rint((BINS - 1) * scaled.clip(0, 1)).astype(np.int64)
    return frame


def schema_of_levels(schema: syntabula.Schema) -> syntabula.Schema:
    """Return the schema of what `in_levels` gives."""
    level = syntabula.Numeric(0, BINS - 1, integer=True)
    return syntabula.Schema(
        {
            name: level if isinstance(column, syntabula.Numeric) and _is_wide(column) else column
            for name, column in schema.columns.items()
        }
    )


def _is_wide(column: syntabula.Numeric) -> bool:
    return not column.integer or column.upper - column.lower >= BINS


def _few_values_ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """Replace whole numbers that take few values in a wide range by their ranks, as the papers keep every value."""
    ranked = {
        name: np.unique(column, return_inverse=True)[1]
        for name, column in frame.select_dtypes("integer").items()
        if column.nunique() < BINS <= column.max() - column.min()
    }
    return frame.assign(**ranked)


def adult_of_margnet() -> tuple[pd.DataFrame, syntabula.Schema]:
    """Return the coded Adult of MargNet's public code and its schema."""
    if "MARGNET" not in os.environ:
        sys.exit("adult_margnet: MARGNET must name a checkout of https://github.com/KaiChen9909/margnet")
    folder = Path(os.environ["MARGNET"]) / "data" / "adult"
    names = json.loads((folder / "domain.json").read_text())
    parts = [np.load(folder / f"{part}_train.npy", allow_pickle=True) for part in ("X_num", "X_cat", "y")]
    frame = pd.DataFrame(np.column_stack(parts).astype(float).astype(np.int64), columns=list(names))
    columns = {}
    for name in names:
        # Its labels are numbers with gaps.
        frame[name] = np.unique(frame[name], return_inverse=True)[1]
        size = int(frame[name].max()) + 1
        if name.startswith("num"):
            columns[name] = syntabula.Numeric(0, size - 1, integer=True)
        else:
            frame[name] = frame[name].astype(str)
            columns[name] = syntabula.Categorical([str(code) for code in range(size)])
    return frame, syntabula.Schema(columns)
