"""Prepares the tables of the grid as in the papers: the records to learn, the records to score against, and bins."""

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
        unseen: Parquet file of other records of the same table; None if the paper keeps none apart.
        schema: YAML file of its schema.
        discretizer: Discretizer for numeric columns with many values.
        n_rows: Number of records in `train`.
        n_columns: Number of columns.
        label: Column to predict on the unseen records; None if there are none, or the label has many values.
    """

    train: Path
    unseen: Path | None
    schema: Path
    discretizer: str
    n_rows: int
    n_columns: int
    label: str | None = None

    def bins(self, epsilon: float) -> int:
        """Return the most bins of a column: 100 even ones, or few enough of PrivTree that pairs stand out from the
        noise.

        MargNet's public PrivTree makes few bins, as it adds too much noise; the exact one makes 42 to 67 on
        Gauss10 at epsilon 1, and then no pair of columns stands out from its noise. Here the number is at most
        32, and an average cell of a pair must hold six times as many records as noise if the whole budget went
        to pairs that join all columns.
        """
        if self.discretizer == "uniform":
            return BINS
        noise = math.sqrt((self.n_columns - 1) / (math.pi * rho_from_epsilon(epsilon, 1e-5)))
        return int(np.clip(math.sqrt(self.n_rows / (6 * noise)), 4, 32))


def prepared(name: str, folder: Path) -> Prepared:
    """Write a table's files into a folder.

    Of `bank`, and of any other dataset, 64 % are learned from and 20 % kept apart, as in tab_bench.
    `adult_margnet` is the coded Adult that MargNet's public code holds (the environment variable MARGNET names a
    checkout of KaiChen9909/margnet). `gauss10`, `gauss30` and `gauss50` are simulated here. Domains are read off the
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
        # The paper keeps a part for validation: its training records have 6,024 distinct balances.
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
    """Read a table and round numbers with many values to 100 levels of their range in the training records.

    The papers' levels cover the range of the real and the synthetic table together, so one extreme record shifts
    all levels relative to the bins, and errors jump by a factor of two. The levels here are fixed.

    Args:
        path: Parquet file.
        schema: Schema of the training records.
        binned: Whether numbers are first moved to the middle of their even bin, as the papers' code decodes them.
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
    """Return the schema of the result of `in_levels`."""
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
    """Replace whole numbers with few values in a wide range by their ranks, as the papers keep every value."""
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
