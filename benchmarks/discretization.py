"""Reproduce Ganev et al., "The Importance of Being Discrete": tables and figures 5, 6, 7 and 12, and US3.

    python benchmarks/discretization.py us1|us2|rules|us3|domains|speed [--out FOLDER] [--small]

Each experiment prints a table and, with --out, writes its rows as JSON and its figure as PNG. Noise is seeded:
these are experiments, not releases. `us3` and `domains` need SYNTABULA_DATA (adult, gas, wine).

Departures from the paper, all for want of a statement in it or of a library here. DS in US1 and US2 uses a
density-ratio classifier over 50 cells of equal mass; US3 scores MPD, QS and CS, not DS and PU. Queries are 1,000
random intervals (or random values of a category) over 1, 2 or 3 columns. The number of
records that rules and PrivTree use is noisy, and paid for. PS1 is in attacks.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import syntabula as st
from syntabula.datasets.controlled import LOWER, UPPER, controlled
from syntabula.discretize import bin_count
from syntabula.discretize.kmeans import KMeansBins
from syntabula.discretize.privtree import PrivTreeBins
from syntabula.discretize.quantile import QuantileBins
from syntabula.discretize.uniform import Bins, UniformBins
from syntabula.discretize.within_bin import uniform_within
from syntabula.privacy.column_curator import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

Row = dict[str, Any]
SHAPES = ("monotone", "normal", "beta", "mixture", "imbalanced")
FITTED = {d.key: d for d in (QuantileBins(), KMeansBins(), PrivTreeBins())}
DISCRETIZERS = ("uniform", *FITTED)
BINS = (5, 10, 20, 35, 50, 100, 250)
EPSILONS = (0.1, 1.0, 10.0, math.inf)
WHOLE = Fraction(1)


# --- metrics ------------------------------------------------------------------------------------------------


def percentile_similarity(real: np.ndarray, made: np.ndarray) -> float:
    """MPD: one minus the largest distance of any percentile, on the scale of the real column."""
    low, width = float(real.min()), float(np.ptp(real)) or 1.0
    levels = np.arange(1, 101)
    gaps = np.abs(np.percentile(real, levels) - np.percentile(made, levels)) / width
    return max(0.0, 1 - float(gaps.max())) if np.isfinite(low) else 0.0


def discriminator_similarity(real: np.ndarray, made: np.ndarray, rng: np.random.Generator) -> float:
    """DS: one minus twice the mean distance from a half of a held-out classifier's probabilities."""
    halves = [rng.permutation(x) for x in (real, made)]
    fit, judge = ([h[i::2] for h in halves] for i in (0, 1))
    cuts = np.unique(np.quantile(np.concatenate(fit), np.arange(1, 50) / 50))
    counts = [np.bincount(np.searchsorted(cuts, x), minlength=cuts.size + 1) + 1.0 for x in fit]
    shares = [c / c.sum() for c in counts]
    probability = shares[0] / (shares[0] + shares[1])
    judged = probability[np.searchsorted(cuts, np.concatenate(judge))]
    return 1 - 2 * float(np.abs(0.5 - judged).mean())


def query_similarity(real: np.ndarray, made: np.ndarray, rng: np.random.Generator, n: int = 1000) -> float:
    """QS on one column: mean ratio of the smaller to the larger count over random intervals."""
    ends = np.sort(rng.uniform(real.min(), real.max(), (n, 2)), axis=1)
    counts = [
        np.searchsorted(s, ends[:, 1], "right") - np.searchsorted(s, ends[:, 0], "left")
        for s in (np.sort(real), np.sort(made))
    ]
    return float(_ratio(counts[0], counts[1] * real.size / max(made.size, 1)).mean())


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    larger = np.maximum(a, b)
    return np.where(larger > 0, np.minimum(a, b) / np.where(larger > 0, larger, 1), 1.0)


def one_column_scores(real: np.ndarray, made: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    return {
        "mpd": percentile_similarity(real, made),
        "ds": discriminator_similarity(real, made, rng),
        "qs": query_similarity(real, made, rng),
    }


# --- one column: US1, US2 and the rules -----------------------------------------------------------------------


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
    """US1 (`model` False): put every value anywhere in its bin. US2: 10 % for bins, 90 % for a histogram."""
    rng, ledger = np.random.default_rng(seed), Ledger(_pure(epsilon))
    column = ColumnCurator(values, ledger, SeededNoise(seed))
    bins = bins_for(column, method, count, share=Fraction(1, 10) if model else WHOLE)
    if model:
        counts = column.histogram(bins.edges, share=Fraction(9, 10), step="model").values.clip(0)
        weights = counts / counts.sum() if counts.sum() > 0 else np.full(bins.size, 1 / bins.size)
        codes = rng.choice(bins.size, values.size, p=weights)
        made = uniform_within(bins, codes, rng)
        scores = one_column_scores(values, made, rng)
    else:
        made = uniform_within(bins, bins.codes(values), rng)
        near = 1 - float(np.abs(values - made).mean()) / (UPPER - LOWER)
        scores = {"rs": near, **one_column_scores(values, made, rng)}
    return {"found": bins.size, **scores, "utility": float(np.mean(list(scores.values())))}


def _pure(epsilon: float) -> st.Budget:
    return st.Budget.none() if math.isinf(epsilon) else st.Budget.pure(epsilon)


def settings(small: bool) -> Iterator[tuple[str, int, int]]:
    """Yield shape, number of records and repetition."""
    sizes = {500: 3, 1_000: 3, 10_000: 2} if small else {500: 5, 1_000: 5, 10_000: 3, 100_000: 2}
    for shape, (n, times) in itertools.product(SHAPES, sizes.items()):
        for repetition in range(times):
            yield shape, n, repetition


def grid(small: bool, *, model: bool) -> list[Row]:
    rows = []
    for shape, n, repetition in settings(small):
        values = controlled(shape, n, seed=repetition)["value"].to_numpy()
        for method, count, epsilon in itertools.product(DISCRETIZERS, BINS, EPSILONS):
            seed = repetition + 10
            row = one_column(values, method, count, epsilon, seed, model=model)
            rows.append({"shape": shape, "n": n, "method": method, "bins": count, "epsilon": epsilon} | row)
    return rows


def rules(small: bool) -> list[Row]:
    """Figure 12: the utility in US2 of each rule's number of bins, and of the best number of the grid."""
    rows = []
    for shape, n, repetition in settings(small):
        values = controlled(shape, n, seed=repetition)["value"].to_numpy()
        chosen: dict[str, Callable[[float], int]] = {
            "doane": lambda _, v=values: bin_count.doane_non_private(v),
            "rice": lambda _, k=n: bin_count.rice(k),
            "freedman-diaconis": lambda _, v=values: bin_count.freedman_diaconis_non_private(v),
            "shimazaki-shinomoto": lambda _, v=values: bin_count.shimazaki_shinomoto_non_private(v),
            "budget rice": lambda e, k=n: bin_count.budget_rice(k, e),
            "20": lambda _: 20,
        }
        counted = {name: {e: rule(e) for e in EPSILONS} for name, rule in chosen.items()}
        for method, epsilon in itertools.product(DISCRETIZERS, EPSILONS):
            wanted = {name: counts[epsilon] for name, counts in counted.items()}
            wanted |= {f"grid {b}": b for b in BINS}
            for name, count in wanted.items():
                row = one_column(values, method, count, epsilon, repetition + 10, model=True)
                rows.append(
                    {
                        "shape": shape,
                        "n": n,
                        "method": method,
                        "epsilon": epsilon,
                        "rule": name,
                        "bins": count,
                        "utility": row["utility"],
                    }
                )
    return rows


# --- real tables: US3, domains --------------------------------------------------------------------------------


def real_table(name: str, small: bool) -> tuple[Any, st.Schema]:
    frame = st.datasets.load(name).frame
    if small and len(frame) > 10_000:
        frame = frame.sample(10_000, random_state=0).reset_index(drop=True)
    return frame, st.draft_schema(frame)[0]


def table_scores(real: Any, made: Any, rng: np.random.Generator) -> dict[str, float]:
    """MPD and CS over numeric columns, QS over random queries of 1 to 3 columns."""
    numeric = [c for c in real.columns if real[c].dtype.kind in "iuf" and real[c].nunique() > 20]
    a, b = (f[numeric].to_numpy(dtype=float) for f in (real, made))
    mpd = np.mean([percentile_similarity(a[:, i], b[:, i]) for i in range(a.shape[1])])
    with np.errstate(invalid="ignore"):
        cors = [np.nan_to_num((np.corrcoef(x, rowvar=False) + 1) / 2, nan=0.5) for x in (a, b)]
    qs = []
    for _ in range(1000):
        picked = rng.choice(real.columns, int(rng.integers(1, 4)), replace=False)
        inside = [np.ones(len(f), dtype=bool) for f in (real, made)]
        for c in picked:
            if c in numeric:
                low, high = np.sort(rng.choice(real[c].to_numpy(), 2))
                tests = [((f[c] >= low) & (f[c] <= high)).to_numpy() for f in (real, made)]
            else:
                value = rng.choice(real[c].to_numpy())
                tests = [(f[c] == value).to_numpy() for f in (real, made)]
            inside = [i & t for i, t in zip(inside, tests, strict=True)]
        shares = [i.mean() for i in inside]
        qs.append(float(_ratio(np.array(shares[0]), np.array(shares[1]))))
    return {"mpd": float(mpd), "cs": float(_ratio(*cors).mean()), "qs": float(np.mean(qs))}


def fit_real(
    frame: Any, schema: st.Schema | None, method: str, discretizer: str, bins: Any, epsilon: float, seed: int
) -> Row:
    options = {"preprocessing": st.Preprocessing(discretizer=discretizer), "bins": bins}
    started = time.perf_counter()
    maker = st.synthesizer(method)(epsilon=epsilon, seed=seed, allow_observed=schema is not None, **options)
    release = maker.fit(frame, schema)
    made = release.sample(len(frame), seed=seed)
    scores = table_scores(frame, made, np.random.default_rng(seed))
    return {
        **scores,
        "utility": float(np.mean(list(scores.values()))),
        "seconds": time.perf_counter() - started,
    }


def us3(small: bool) -> list[Row]:
    rows = []
    methods = ("mst",) if small else ("mst", "aim")
    counts = (5, 10, 20, 50, 100, "auto")
    for name, method in itertools.product(("wine", "gas", "adult"), methods):
        frame, schema = real_table(name, small)
        for discretizer, bins, epsilon in itertools.product(DISCRETIZERS, counts, (0.1, 1.0)):
            row = fit_real(frame, schema, method, discretizer, bins, epsilon, 1)
            facts = {"table": name, "model": method, "method": discretizer, "bins": bins, "epsilon": epsilon}
            rows.append(facts | row)
            print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def domains(small: bool) -> list[Row]:
    """Figure 14: utility with the domain given and found privately; text columns have given categories."""
    rows = []
    for name, discretizer, epsilon in itertools.product(("wine", "gas"), DISCRETIZERS, (1.0, 10.0)):
        frame, schema = real_table(name, small)
        for domain in ("given", "found"):
            chosen = schema if domain == "given" else None
            facts = {"table": name, "method": discretizer, "epsilon": epsilon, "domain": domain}
            try:
                rows.append(facts | fit_real(frame, chosen, "mst", discretizer, 35, epsilon, 2))
            except st.errors.PrivateDomainError:
                rows.append(facts | {"utility": math.nan})
    return rows


# --- speed ----------------------------------------------------------------------------------------------------


def speed(small: bool) -> list[Row]:
    """Seconds of each discretiser on 50,000 values and 250 bins, with secure noise."""
    from syntabula.privacy.noise import SecureNoise

    values = np.random.default_rng(0).lognormal(8, 1, 50_000)
    rows = []
    for method, n in itertools.product(DISCRETIZERS, (50_000,) if small else (50_000, 10_000_000)):
        points = np.tile(values, n // values.size)
        started = time.perf_counter()
        column = ColumnCurator(points, Ledger(st.Budget(1.0, 1e-5)), SecureNoise())
        upper = float(values.max())
        if method == "uniform":
            bins = UniformBins(250).bins(0.0, upper, integer=False)
        else:
            bins = FITTED[method].fit(
                column, 0.0, upper, count=250, n_estimated=float(n), share=WHOLE / 10, step="bins"
            )
        seconds = time.perf_counter() - started
        rows.append({"method": method, "n": n, "found": bins.size, "seconds": seconds})
    return rows


# --- tables and figures ---------------------------------------------------------------------------------------


def pivot(rows: list[Row], down: list[str], across: str, value: str = "utility") -> str:
    """Return a plain table of means."""
    heads = list(dict.fromkeys(r[across] for r in rows))
    lines = ["  ".join([*(f"{d:>12}" for d in down), *(f"{h!s:>8.8}" for h in heads)])]
    for key in dict.fromkeys(tuple(r[d] for d in down) for r in rows):
        cells = []
        for head in heads:
            found = [r[value] for r in rows if tuple(r[d] for d in down) == key and r[across] == head]
            cells.append(f"{np.mean(found):8.3f}" if found else " " * 8)
        lines.append("  ".join([*(f"{k!s:>12.12}" for k in key), *cells]))
    return "\n".join(lines)


def draw(rows: list[Row], across: str, path: Path) -> None:
    """Draw utility against `across`, one line per discretiser or rule, one panel per epsilon."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    line = "rule" if "rule" in rows[0] else "method"
    panels = list(dict.fromkeys(r["epsilon"] for r in rows))
    figure, axes = pyplot.subplots(1, len(panels), figsize=(4 * len(panels), 3.2), sharey=True, squeeze=False)
    for axis, epsilon in zip(axes[0], panels, strict=True):
        for name in dict.fromkeys(r[line] for r in rows):
            mine = [r for r in rows if r["epsilon"] == epsilon and r[line] == name]
            places = sorted({r[across] for r in mine})
            axis.plot(
                places,
                [np.mean([r["utility"] for r in mine if r[across] == p]) for p in places],
                "o-",
                label=name,
            )
        axis.set_xscale("log")
        axis.set_title(f"epsilon {epsilon:g}")
        axis.set_xlabel(across)
    axes[0][0].set_ylabel("utility")
    axes[0][-1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


TABLES = {
    "us1": (["epsilon", "method"], "bins", "utility"),
    "us2": (["epsilon", "method"], "bins", "utility"),
    "rules": (["rule"], "epsilon", "utility"),
    "us3": (["epsilon", "method"], "bins", "utility"),
    "domains": (["epsilon", "method"], "domain", "utility"),
    "speed": (["method"], "n", "seconds"),
}
FIGURES = {"us1": "bins", "us2": "bins", "rules": "n"}
EXPERIMENTS: dict[str, Callable[[bool], list[Row]]] = {
    "us1": lambda small: grid(small, model=False),
    "us2": lambda small: grid(small, model=True),
    "rules": rules,
    "us3": us3,
    "domains": domains,
    "speed": speed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--small", action="store_true", help="fewer records and repetitions")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
    if chosen.experiment in ("us3", "domains") and "SYNTABULA_DATA" not in os.environ:
        parser.error("this experiment needs the folder SYNTABULA_DATA")
    rows = EXPERIMENTS[chosen.experiment](chosen.small)
    down, across, value = TABLES[chosen.experiment]
    print(pivot(rows, down, across, value))
    if chosen.out is not None:
        chosen.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(rows).replace("Infinity", '"inf"').replace("NaN", "null")
        (chosen.out / f"{chosen.experiment}.json").write_text(text, encoding="utf-8")
        if chosen.experiment in FIGURES:
            draw(rows, FIGURES[chosen.experiment], chosen.out / f"{chosen.experiment}.png")


if __name__ == "__main__":
    main()
