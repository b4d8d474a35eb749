"""A cell that bins one numeric column: US1 and US2 of Ganev et al., "The Importance of Being Discrete".

US1 ("bins") redraws every value within its bin. US2 ("histogram") spends a tenth of the budget on bins and the rest on
a noisy histogram. The budget is pure, and the domain is known.

Choices where the paper is silent: the discriminator is a density-ratio classifier over 50 cells of equal mass, and
queries are 1,000 random intervals of the real range. The number of records that rules and PrivTree use is noisy, and
paid for.
"""

from __future__ import annotations

import math
import time
import zlib
from fractions import Fraction
from typing import Any

import numpy as np

from syntabula._register import load
from syntabula.bench.bin_rules import RULES
from syntabula.bench.candidate import Binning
from syntabula.bench.cell import Cell
from syntabula.bench.table_names import table_and_rows
from syntabula.bench.table_source import SIMULATED, load_table, simulated
from syntabula.bench.tasks import Outcome
from syntabula.bins.uniform import Bins, UniformBins, uniform_within
from syntabula.datasets.simulated import LOWER, UPPER
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Floats
from syntabula.prepare.preprocessing import FittedDiscretizer
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

_WHOLE = Fraction(1)
_QUERIES = 1000
_CELLS = 50
_DRAWN = 80
"""Even bins in which a picture shows the column itself."""


def run(cell: Cell) -> Outcome:
    """Bin a column, redraw it, and score it."""
    values = _values(cell)
    count = bin_count(cell, values)
    # Otherwise all columns of a seed would depend on one draw of a tree at small budgets.
    seed = cell.seed + zlib.crc32(cell.dataset.encode())
    rng = np.random.default_rng(seed)
    budget = Budget.none() if math.isinf(cell.epsilon) else Budget.pure(cell.epsilon)
    column = ColumnCurator(values, Ledger(budget), SeededNoise(seed))
    modelled = cell.method == "histogram"
    started = time.perf_counter()
    bins = fitted_bins(column, cell.binning, count, share=Fraction(1, 10) if modelled else _WHOLE)
    seconds = time.perf_counter() - started
    scores = {}
    if modelled:
        counts = column.histogram(bins.edges, share=Fraction(9, 10), step="model").values.clip(0)
        weights = counts / counts.sum() if counts.sum() > 0 else np.full(bins.size, 1 / bins.size)
        made = uniform_within(bins, rng.choice(bins.size, values.size, p=weights), rng)
    else:
        made = uniform_within(bins, bins.codes(values), rng)
        if "record-similarity" in cell.scores:
            scores["record-similarity"] = 1 - float(np.abs(values - made).mean()) / (UPPER - LOWER)
    scores |= {name: value for name, value in _scores(values, made, rng).items() if name in cell.scores}
    if cell.overall:
        scores[cell.overall] = float(np.mean([*scores.values()]))
    facts: dict[str, Any] = {"bins found": bins.size, "bins asked": count, "fit_seconds": seconds}
    if "bins" in cell.task_options.get("keep", ()):
        facts["kept"] = {"bins": _drawn(values, made, bins)}
    return Outcome(scores=scores, facts=facts)


def _drawn(values: Floats, made: Floats, bins: Bins) -> dict[str, list[float]]:
    """Return the edges of the bins, the share of redrawn values in each, and shares of the column in even bins."""
    edges = np.asarray(bins.edges, np.float64)
    shares = [
        np.histogram(column, cuts)[0] / column.size
        for column, cuts in ((made, edges), (values, np.linspace(LOWER, UPPER, _DRAWN + 1)))
    ]
    named = zip(("edges", "shares", "column"), (edges, *shares), strict=True)
    return {name: np.round(numbers, 5).tolist() for name, numbers in named}


def _values(cell: Cell) -> Floats:
    table, rows = table_and_rows(cell.dataset)
    if table.startswith(SIMULATED):
        drawn = simulated(table, rows, cell.seed)
        return drawn.columns["value"].values.astype(np.float64)
    numbers = [c for c in load_table(cell.dataset).columns.values() if c.physical.is_ordered]
    if not numbers:
        raise ArgumentError(f"the table {cell.dataset!r} has no numeric column to bin")
    values = numbers[0].values[~numbers[0].missing].astype(np.float64)
    low, high = float(values.min()), float(values.max())
    return LOWER + (values - low) / ((high - low) or 1.0) * (UPPER - LOWER)


def bin_count(cell: Cell, values: Floats) -> int:
    """Return the number of bins that a cell asks for, which a rule may read off the values without privacy."""
    bins = cell.binning.bins
    if isinstance(bins, int):
        return bins
    if bins not in RULES:
        raise ArgumentError("this task needs a number of bins in `preprocessing`, or the name of a rule")
    return RULES[bins](values, cell.epsilon)


def fitted_bins(column: ColumnCurator, binning: Binning, count: int, *, share: Fraction) -> Bins:
    """Fit bins over the known domain of simulated columns; pays for a noisy number of records where it is used."""
    if binning.discretizer == "uniform":
        return UniformBins(count).bins(LOWER, UPPER, integer=False)
    made = binning.made()
    discretizer: FittedDiscretizer = load("discretizer", made)() if isinstance(made, str) else made
    n_estimated = 0.0
    if discretizer.needs_count:
        n_estimated = float(column.histogram([LOWER, UPPER], share=share / 20, step="count").values[0])
        share -= share / 20
    return discretizer.fit(
        column, LOWER, UPPER, count=count, n_estimated=n_estimated, share=share, step="bins"
    )


def _scores(real: Floats, made: Floats, rng: np.random.Generator) -> dict[str, float]:
    real, made = np.sort(real), np.sort(made)
    levels = np.arange(1, 101) / 100
    found = [np.interp(levels * (x.size - 1), np.arange(x.size), x) for x in (real, made)]
    gap = float(np.abs(found[0] - found[1]).max()) / (float(real[-1] - real[0]) or 1.0)
    return {
        "percentile-similarity": max(0.0, 1 - gap),
        "discriminator-similarity": _discriminator(real, made, rng),
        "query-similarity": _queries(real, made, rng.uniform(real[0], real[-1], (_QUERIES, 2))),
    }


def _discriminator(real: Floats, made: Floats, rng: np.random.Generator) -> float:
    """Return one minus twice the mean distance of a classifier's held-out probabilities from one half."""
    halves = [rng.permutation(x) for x in (real, made)]
    fit, judge = ([h[i::2] for h in halves] for i in (0, 1))
    cuts = np.unique(np.quantile(np.concatenate(fit), np.arange(1, _CELLS) / _CELLS))
    counts = [np.bincount(np.searchsorted(cuts, x), minlength=cuts.size + 1) + 1.0 for x in fit]
    shares = [c / c.sum() for c in counts]
    probability = shares[0] / (shares[0] + shares[1])
    judged = probability[np.searchsorted(cuts, np.concatenate(judge))]
    return 1 - 2 * float(np.abs(0.5 - judged).mean())


def _queries(real: Floats, made: Floats, ends: Floats) -> float:
    """Return the mean ratio of the smaller to the larger share of two ascending columns over intervals [k, 2]."""
    low, high = np.sort(ends, axis=1).T
    a, b = (
        (np.searchsorted(x, high, side="right") - np.searchsorted(x, low, side="left")) / x.size
        for x in (real, made)
    )
    larger = np.maximum(a, b)
    return float(np.where(larger > 0, np.minimum(a, b) / np.where(larger > 0, larger, 1), 1.0).mean())
