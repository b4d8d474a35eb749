"""Columns with known distributions, binned and scored in several readings of Ganev et al.; see discretization.py.

Choices where the paper is silent: DS uses a density-ratio classifier over 50 cells of equal mass. QS uses 1,000
random intervals of the real range. The number of records that rules and PrivTree use is noisy, and paid for. Rows
also hold two other readings of the scores that the paper allows: MPD without the largest record (`mpd99`), and QS
over intervals between two random records (`qs_between`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import syntabula as st
from syntabula.bins.uniform import Bins, UniformBins, uniform_within
from syntabula.datasets.simulated import LOWER, SIZES, UPPER, controlled
from syntabula.prepare.kmeans import KMeansBins
from syntabula.prepare.privtree import PrivTreeBins
from syntabula.prepare.quantile import QuantileBins
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

Row = dict[str, Any]
SHAPES = ("monotone", "normal", "beta", "mixture", "imbalanced")
DISCRETIZERS = ("uniform", "quantile", "kmeans", "privtree")
FITTED = {
    "quantile": QuantileBins(),
    "kmeans": KMeansBins(),
    "privtree": PrivTreeBins(threshold="fraction"),  # as in the study
}
BINS = (5, 10, 20, 35, 50, 100, 250)
EPSILONS = (0.1, 1.0, 10.0, math.inf)
WHOLE = Fraction(1)
SCORES = ("mpd", "ds", "qs")
# Position of the paper's normal shapes if they are only clipped to [-10, 10], not stretched to fill it.
UNSTRETCHED = {"normal": (-4.0, 4.0), "mixture": (-2.0, 13.0), "imbalanced": (-4.0, 14.0)}


def percentile_gaps(real: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Return the distance of each percentile from 1 to 100, scaled by the real column; both columns are ascending."""
    levels = np.arange(1, 101) / 100
    found = [np.interp(levels * (x.size - 1), np.arange(x.size), x) for x in (real, made)]
    return np.abs(found[0] - found[1]) / (float(real[-1] - real[0]) or 1.0)


def percentile_similarity(real: np.ndarray, made: np.ndarray) -> float:
    """MPD: one minus the largest distance of any percentile."""
    return max(0.0, 1 - float(percentile_gaps(np.sort(real), np.sort(made)).max()))


def discriminator_similarity(real: np.ndarray, made: np.ndarray, rng: np.random.Generator) -> float:
    """DS: one minus twice the mean distance of a classifier's held-out probabilities from one half."""
    halves = [rng.permutation(x) for x in (real, made)]
    fit, judge = ([h[i::2] for h in halves] for i in (0, 1))
    cuts = np.unique(np.quantile(np.concatenate(fit), np.arange(1, 50) / 50))
    counts = [np.bincount(np.searchsorted(cuts, x), minlength=cuts.size + 1) + 1.0 for x in fit]
    shares = [c / c.sum() for c in counts]
    probability = shares[0] / (shares[0] + shares[1])
    judged = probability[np.searchsorted(cuts, np.concatenate(judge))]
    return 1 - 2 * float(np.abs(0.5 - judged).mean())


def query_similarity(real: np.ndarray, made: np.ndarray, ends: np.ndarray) -> float:
    """QS on one ascending column: mean ratio of the smaller to the larger count over intervals [k, 2]."""
    ends = np.sort(ends, axis=1)
    counts = [
        np.searchsorted(s, ends[:, 1], "right") - np.searchsorted(s, ends[:, 0], "left") for s in (real, made)
    ]
    return float(smaller_share(counts[0], counts[1] * real.size / max(made.size, 1)).mean())


def smaller_share(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the smaller of two counts over the larger, one where both are zero."""
    larger = np.maximum(a, b)
    return np.where(larger > 0, np.minimum(a, b) / np.where(larger > 0, larger, 1), 1.0)


def one_column_scores(real: np.ndarray, made: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    real, made = np.sort(real), np.sort(made)
    gaps = percentile_gaps(real, made)
    return {
        "mpd": max(0.0, 1 - float(gaps.max())),
        "ds": discriminator_similarity(real, made, rng),
        "qs": query_similarity(real, made, rng.uniform(real[0], real[-1], (1000, 2))),
        "mpd99": max(0.0, 1 - float(gaps[:-1].max())),
        "qs_between": query_similarity(real, made, rng.choice(real, (1000, 2))),
    }


def bins_for(column: ColumnCurator, method: str, count: int, *, share: Fraction) -> Bins:
    """Fit bins over the known domain, paying for a noisy number of records where the method uses it."""
    if method == "uniform":
        return UniformBins(count).bins(LOWER, UPPER, integer=False)
    n_estimated = 0.0
    discretizer = FITTED[method]
    if discretizer.needs_count:
        n_estimated = float(column.histogram([LOWER, UPPER], share=share / 20, step="count").values[0])
        share -= share / 20
    return discretizer.fit(
        column, LOWER, UPPER, count=count, n_estimated=n_estimated, share=share, step="bins"
    )


def one_column(values: np.ndarray, method: str, count: int, epsilon: float, seed: int, *, model: bool) -> Row:
    """US1 (`model` False): redraw every value within its bin. US2: 10 % of the budget for bins, 90 % for a
    histogram."""
    rng = np.random.default_rng(seed)
    budget = st.Budget.none() if math.isinf(epsilon) else st.Budget.pure(epsilon)
    column = ColumnCurator(values, Ledger(budget), SeededNoise(seed))
    bins = bins_for(column, method, count, share=Fraction(1, 10) if model else WHOLE)
    near = {}
    if model:
        counts = column.histogram(bins.edges, share=Fraction(9, 10), step="model").values.clip(0)
        weights = counts / counts.sum() if counts.sum() > 0 else np.full(bins.size, 1 / bins.size)
        made = uniform_within(bins, rng.choice(bins.size, values.size, p=weights), rng)
    else:
        made = uniform_within(bins, bins.codes(values), rng)
        near = {"rs": 1 - float(np.abs(values - made).mean()) / (UPPER - LOWER)}
    scores = near | one_column_scores(values, made, rng)
    utility = float(np.mean([scores[s] for s in (*near, *SCORES)]))
    other = float(np.mean([scores[s] for s in ("mpd99", "ds", "qs_between")]))
    return {"found": bins.size, **scores, "utility": utility, "other_reading": other}


def columns(repeats: int, *, stretched: bool = True) -> Iterator[tuple[Row, np.ndarray]]:
    """Yield facts and values of every column of the study, each shape and size equally often.

    Each has its own seed: otherwise, at small budgets, a whole table would depend on one draw of a tree.
    """
    for seed, (shape, n, repeat) in enumerate(itertools.product(SHAPES, SIZES, range(repeats)), start=1000):
        values = controlled(shape, n, seed=repeat)["value"].to_numpy()
        if not stretched and shape in UNSTRETCHED:
            low, high = UNSTRETCHED[shape]
            values = np.clip(low + (values - LOWER) / (UPPER - LOWER) * (high - low), LOWER, UPPER)
        yield {"shape": shape, "n": n, "repeat": repeat, "seed": seed}, values


def grid(
    repeats: int, *, model: bool, epsilons: tuple[float, ...] = EPSILONS, stretched: bool = True
) -> list[Row]:
    """Return a row for each column, discretiser, number of bins and epsilon."""
    rows = []
    for facts, values in columns(repeats, stretched=stretched):
        for method, count, epsilon in itertools.product(("uniform", *FITTED), BINS, epsilons):
            row = one_column(values, method, count, epsilon, facts["seed"], model=model)
            rows.append(facts | {"method": method, "bins": count, "epsilon": epsilon, "model": model} | row)
    return rows
