"""Which rows a method learns, which are held out, and how both are compared with synthetic ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.attacks.baselines import take_rows
from syntabula.bench.bin_rules import RULES, with_rule
from syntabula.bench.candidate import Binning
from syntabula.bench.levels import few_values_ranked
from syntabula.bench.table_names import CODED_ADULT, label_of, table_and_rows
from syntabula.bench.table_source import load_table, schema_of_table
from syntabula.datasets.registry import describe, registry
from syntabula.errors import DataError
from syntabula.privacy.conversion import rho_from_epsilon
from syntabula.table.draft import draft_schema
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Categorical, Numeric
from syntabula.table.schema.schema import Schema

Rows = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Split:
    """A table that is ready to be learned and compared.

    Attributes:
        fit: The rows that a method learns.
        learned: Those of them that scores compare with.
        held_out: Rows that the method does not see; None if there are none.
        schema: Schema of all of them.
        target: Column to predict, or None.
        levels: Whether wide numbers are compared in 100 levels, as in tab_bench and MargNet.
        as_many_rows: Whether as many synthetic rows are drawn as there are real ones to compare with; otherwise their
            number is the release's noisy one.
    """

    fit: RawTable
    learned: RawTable
    held_out: RawTable | None
    schema: Schema
    target: str | None
    levels: bool = False
    as_many_rows: bool = False

    def real(self, role: str) -> RawTable | None:
        """Return the rows of a role, "learned" or "held out"; None if there are none."""
        return self.learned if role == "learned" else self.held_out


def _holdout(name: str, options: Mapping[str, Any]) -> Split:
    """Learn a random four fifths of the rows.

    `holdout` is another fraction to keep apart, or a number of rows; half of them are where a table has no more.
    """
    table = load_table(name)
    order = np.random.default_rng(0).permutation(table.n_rows)
    apart = float(options.get("holdout", 0.2))
    number = int(apart) if apart < table.n_rows else table.n_rows // 2
    cut = table.n_rows - (int(apart * table.n_rows) if apart < 1 else number)
    fit = take_rows(table, order[:cut])
    held_out = take_rows(table, order[cut:]) if cut < table.n_rows else None
    schema = schema_of_table(name, table)
    return Split(fit=fit, learned=fit, held_out=held_out, schema=schema, target=label_of(name))


def _whole(name: str, options: Mapping[str, Any]) -> Split:
    """Learn all rows and compare with them."""
    del options
    table = load_table(name)
    schema = schema_of_table(name, table)
    return Split(fit=table, learned=table, held_out=None, schema=schema, target=label_of(name))


def _tab_bench(name: str, options: Mapping[str, Any]) -> Split:
    """Learn 64 % of the rows and hold out 20 %, as tab_bench and MargNet do; the rest was for validation.

    Whole numbers with few values in a wide range become their ranks, as the papers keep every value. Domains are read
    off the learned rows, and numbers are compared in 100 levels of their range.
    """
    del options
    table = few_values_ranked(load_table(name))
    # The paper keeps a part for validation: its training records have 6,024 distinct balances.
    first, second = table.n_rows * 16 // 25, table.n_rows * 4 // 5
    order = np.random.default_rng(0).permutation(table.n_rows)
    fit, held_out = take_rows(table, order[:first]), take_rows(table, order[second:])
    known, _ = table_and_rows(name)
    numeric = known in registry() and describe(known).task == "regression"
    schema = draft_schema(fit)[0]
    target = None if numeric else label_of(name)
    return Split(fit=fit, learned=fit, held_out=held_out, schema=schema, target=target, levels=True)


def _margnet(name: str, options: Mapping[str, Any]) -> Split:
    """Learn all rows of a simulated table or of MargNet's Adult, as it does; other tables as in tab_bench."""
    known, _ = table_and_rows(name)
    if known != CODED_ADULT and not known.startswith("gauss"):
        return _tab_bench(name, options)
    table = load_table(name)
    schema = schema_of_table(name, table)
    return Split(fit=table, learned=table, held_out=None, schema=schema, target=label_of(name), levels=True)


_LABELS_OF_SYNMETER = {
    "faults": ("TypeOfSteel_A300", "TypeOfSteel_A400", "Outside_Global_Index"),
    "insurance": ("children",),
}
"""Columns with few distinct numbers that SynMeter's Table 3 counts as categorical."""
_ADULT_ROWS = 32_561


def table_of_synmeter(name: str) -> tuple[RawTable, Schema]:
    """Return a table as SynMeter has it, and its schema: columns have the types counted in its Table 3."""
    known, _ = table_and_rows(name)
    table = load_table(name)
    if known == "adult" and table.n_rows > _ADULT_ROWS:
        table = take_rows(table, np.arange(_ADULT_ROWS))
    kinds = describe(known).columns if known in registry() else {}
    columns = {}
    for column, drafted in draft_schema(table)[0].columns.items():
        values = table.columns[column].values[~table.columns[column].missing]
        numeric = kinds.get(column) == "numeric" and column not in _LABELS_OF_SYNMETER.get(known, ())
        if numeric and isinstance(drafted, Categorical):
            low, high = int(values.min()), int(values.max())
            drafted = Numeric(low, high, integer=True, nullable=drafted.nullable)
        elif not numeric and isinstance(drafted, Numeric):
            drafted = Categorical(tuple(sorted(set(values.tolist()))))
        columns[column] = drafted
    return table, Schema(columns)


def _synmeter(name: str, options: Mapping[str, Any]) -> Split:
    """Split 8:2 and the larger part 8:2 again, stratified by class, as SynMeter does; both larger parts are learned."""
    del options
    table, schema = table_of_synmeter(name)
    known, _ = table_and_rows(name)
    label = label_of(name)
    classes = None
    if label is not None and describe(known).task != "regression":
        classes = np.asarray(table.columns[label].values.tolist(), dtype=object).astype(str)
    fit, held_out = _stratified(np.arange(table.n_rows), classes)
    learned, _ = _stratified(fit, classes)
    parts = [take_rows(table, rows) for rows in (fit, learned, held_out)]
    return Split(
        fit=parts[0], learned=parts[1], held_out=parts[2], schema=schema, target=label, as_many_rows=True
    )


def _stratified(rows: Rows, classes: NDArray[Any] | None) -> tuple[Rows, Rows]:
    split = require("sklearn.model_selection", "evaluate").train_test_split
    strata = None
    if classes is not None:
        strata = classes[rows]
        counts = np.unique(strata, return_counts=True)[1]
        # A class of one row cannot be in both parts, which happens only where few rows of a table are taken.
        strata = strata if counts.min() > 1 else None
    larger, smaller = split(rows, test_size=0.2, random_state=0, stratify=strata)
    return larger, smaller


SPLITS: Mapping[str, Callable[[str, Mapping[str, Any]], Split]] = {
    "holdout": _holdout,
    "whole": _whole,
    "tab_bench": _tab_bench,
    "margnet": _margnet,
    "synmeter": _synmeter,
}
"""Splits by name: `holdout` keeps a fifth of the rows apart, `whole` none; the others are those of the papers."""


def load_split(split: str, dataset: str, options: Mapping[str, Any], target: str | None) -> Split:
    """Return a table split as a study says; `target` replaces the label of a named table.

    Raises:
        DataError: If the table has too few rows to learn from and to hold out.
    """
    made = SPLITS[split](dataset, options)
    held_out = made.held_out
    lacks = made.fit.n_rows == 0 or (held_out is not None and held_out.n_rows == 0)
    if lacks or (split == "holdout" and held_out is None and options.get("holdout", 1)):
        raise DataError(
            f"the table {dataset!r} has too few rows to learn some and hold others out; name a larger one"
        )
    return made if target is None else replace(made, target=target)


def declared(split: Split, binning: Binning, epsilon: float = math.inf) -> Schema | None:
    """Return the schema that a method is given: all public, observed, or none if it must find it."""
    if binning.domain == "found":
        return None
    schema = split.schema
    if binning.bins in RULES:
        schema = with_rule(schema, split.fit, str(binning.bins), epsilon)
    if binning.domain == "observed":
        return schema
    return Schema({name: replace(column, provenance="public") for name, column in schema.columns.items()})


def bins_of_pairs(n_rows: int, n_columns: int, epsilon: float) -> int:
    """Return the most bins of a column such that pairs of columns stand out from their noise.

    MargNet's public PrivTree makes few bins, as it adds too much noise; the exact one makes 42 to 67 on Gauss10 at
    epsilon 1, and then no pair of columns stands out from its noise. Here the number is at most 32, and an average
    cell of a pair must hold six times as many records as noise if the whole budget went to pairs that join all
    columns.
    """
    noise = math.sqrt((n_columns - 1) / (math.pi * rho_from_epsilon(epsilon, 1e-5)))
    return int(np.clip(math.sqrt(n_rows / (6 * noise)), 4, 32))
