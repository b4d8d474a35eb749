"""Sampling under conditions: accuracy and speed.

    python benchmarks/conditions.py exact --methods mst
    python benchmarks/conditions.py speed --methods mst aim privbayes privsyn margnet

Needs SYNTABULA_DATA. A release of adult at epsilon 1, with seeded noise: these are experiments, not releases. `exact`
compares rows drawn with `where` with those of 3,000,000 rows that satisfy the same conditions, by the total variation
distance over all pairs of columns (numbers in 20 bins), and one half of the latter with the other half. `speed`
measures rows per processor second, the best of three.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import syntabula as st
from syntabula import datasets

TRIED, AT_ONCE, KEPT = 3_000_000, 250_000, 60_000
SEVERAL: dict[str, Any] = {"sex": "Female", "age": (30, 40), "education": ["HS-grad", "Some-college"]}
CASES: dict[str, dict[str, Any]] = {
    "one value": {"sex": "Female"},
    "value, range and values": SEVERAL,
    "ranges that cut bins": {
        "fnlwgt": (150_000, 200_500),
        "capital_gain": (1, 9_999),
        "hours_per_week": (36, 44),
    },
    "missing": {"workclass": None, "native_country": [None, "Mexico"]},
}
MANY = SEVERAL | {
    "workclass": ["Private", None],
    "hours_per_week": (36, 44),
    "race": ["White", "Black"],
    "fnlwgt": (100_000, 300_000),
    "income": "<=50K",
}


def main() -> None:
    """Print the rows of one table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("exact", "speed"))
    parser.add_argument("--methods", nargs="+", default=["mst"])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    adult = datasets.load("adult").frame
    columns = {
        "exact": "conditions | probability | part of 3,000,000 rows | rows compared | TVD | of its halves",
        "speed": "what | rows per second",
    }[asked.what]
    print(f"| method | {columns} |")
    print("|---" * (columns.count("|") + 2) + "|")
    for method in asked.methods:
        release = st.synthesizer(method)(epsilon=1.0, delta=1e-5, seed=1).fit(
            adult, datasets.schema_of("adult")
        )
        rows = exact(release) if asked.what == "exact" else speed(release, adult)
        for row in rows:
            print(f"| {method} | {' | '.join(row)} |", flush=True)


def exact(release: st.Release) -> list[list[str]]:
    """Return case, probability, fraction of the tried rows, rows compared, and both distances."""
    kept: dict[str, list[pd.DataFrame]] = {case: [] for case in CASES}
    n_kept = dict.fromkeys(CASES, 0)
    for seed in range(TRIED // AT_ONCE):
        rows = release.sample(AT_ONCE, seed=seed + 100)
        for case, where in CASES.items():
            part = rows[satisfying(rows, where)]
            n_kept[case] += len(part)
            if sum(map(len, kept[case])) < 2 * KEPT:
                kept[case].append(part)
    found = []
    for case, where in CASES.items():
        tried = pd.concat(kept[case]).sample(frac=1, random_state=0)
        n = min(len(tried) // 2, KEPT)
        made = release.sample(n, where=where, seed=0)
        assert satisfying(made, where).all()
        conditional, one, other = coded([made, tried[:n], tried[n : 2 * n]])
        shares = f"{release.probability(where):.6f}", f"{n_kept[case] / TRIED:.6f}"
        found.append([case, *shares, f"{n:,}", f"{tvd(conditional, one):.4f}", f"{tvd(one, other):.4f}"])
    return found


def satisfying(rows: pd.DataFrame, where: dict[str, Any]) -> np.ndarray:
    """Return which rows satisfy conditions, computed without the library."""
    mask = np.ones(len(rows), dtype=bool)
    for column, condition in where.items():
        if isinstance(condition, tuple):
            mask = mask & rows[column].between(*condition).to_numpy()
            continue
        values = condition if isinstance(condition, list) else [condition]
        held = rows[column].isin([v for v in values if v is not None]).to_numpy()
        mask = mask & (held | rows[column].isna().to_numpy() if None in values else held)
    return mask


def coded(frames: list[pd.DataFrame]) -> list[dict[str, np.ndarray]]:
    """Return tables as codes by column, numbers in 20 bins with about equally many rows."""
    whole = pd.concat(frames, ignore_index=True)
    ends = np.cumsum([len(f) for f in frames])[:-1]
    parts: list[dict[str, np.ndarray]] = [{} for _ in frames]
    for column in whole:
        values = whole[column]
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > 20:
            values = pd.qcut(values.rank(), 20, duplicates="drop", labels=False)
        codes = pd.factorize(values, use_na_sentinel=False)[0]
        for part, piece in zip(parts, np.split(codes, ends), strict=True):
            part[column] = piece
    return parts


def tvd(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """Return the mean total variation distance over all pairs of columns."""
    distances = []
    for a, b in itertools.combinations(one, 2):
        size = 1 + max(int(t[b].max()) for t in (one, other))
        cells = size * (1 + max(int(t[a].max()) for t in (one, other)))
        shares = [np.bincount(t[a] * size + t[b], minlength=cells) / t[a].size for t in (one, other)]
        distances.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(distances))


def speed(release: st.Release, adult: pd.DataFrame) -> list[list[str]]:
    """Return what is drawn, and the rows per second."""
    jobs: dict[str, Callable[[], Any]] = {
        "unconditional": lambda: release.sample_columns(AT_ONCE, seed=0),
        "where, 3 columns": lambda: release.sample_columns(AT_ONCE, where=SEVERAL, seed=0),
        "where, 8 columns": lambda: release.sample_columns(AT_ONCE, where=MANY, seed=0),
    }
    for names in (["sex"], ["sex", "income", "age", "education", "occupation"], [*adult][:10], [*adult][:14]):
        given = adult[names]
        what = f"given, {len(names)} {'column' if len(names) == 1 else 'columns'}"
        jobs[what] = lambda given=given: release.sample_columns(given=given, seed=0)
    return [[what, f"{rows_per_second(job):,.0f}"] for what, job in jobs.items()]


def rows_per_second(job: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        columns = job()
        best = min(best, time.process_time() - start)
    return len(next(iter(columns.values())).values) / best


if __name__ == "__main__":
    main()
