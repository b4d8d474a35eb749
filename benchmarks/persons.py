"""What it costs to protect persons with several rows: distance by the rows of a person that are used.

    python benchmarks/persons.py [--methods NAME ...] [--rows K ...] [--seeds N]

Adult's rows are given to persons with 1 to 40 rows each, m rows with probability in proportion to 1 / m (9.3 rows on
average): at random, so that the rows of a person tell nothing of each other, or in the order of all columns, so that
they are alike. Each method is fitted at epsilon 1 (delta 1e-5) with a schema that keeps at most k rows of each person,
and once without a unit, where single rows are protected. Distances are total variation distances of all pairs
of columns, in 20 even bins, between a synthetic table and the whole real one. Noise is seeded. Prints Markdown.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.table.coding.codec import Codec
from syntabula.table.read import read

MOST = 40
BINS = 20


def keys(n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return the person of each row [n_rows]; those of a person stand together."""
    sizes = np.arange(1, MOST + 1)
    drawn = rng.choice(sizes, n_rows, p=(1 / sizes) / (1 / sizes).sum())
    return np.repeat(np.arange(n_rows), drawn)[:n_rows]


def of_persons(frame: pd.DataFrame, alike: bool, rng: np.random.Generator) -> pd.DataFrame:
    """Return the table with a column of keys, in random order."""
    ordered = frame.sort_values([*frame]) if alike else frame.sample(frac=1, random_state=rng)
    return (
        ordered.assign(person=keys(len(frame), rng)).sample(frac=1, random_state=rng).reset_index(drop=True)
    )


def distance(codec: Codec, real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """Return the mean total variation distance over all pairs of columns."""
    tables = [codec.encode(read(frame, codec.schema))[0] for frame in (real, synthetic)]
    found = []
    for pair in combinations(codec.domain.columns, 2):
        cells = codec.domain.cells(pair)
        shares = []
        for table in tables:
            joint = table.column(pair[0]).astype(np.int64) * codec.domain.size(pair[1]) + table.column(
                pair[1]
            )
            shares.append(np.bincount(joint, minlength=cells) / table.n_rows)
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["mst", "aim"])
    parser.add_argument("--rows", nargs="+", type=int, default=[1, 2, 5, 10])
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
    frame = st.datasets.load("adult").frame
    plain = st.datasets.schema_of("adult")
    keyed = replace(plain, columns={"person": st.Identifier(integer=True), **plain.columns})
    codec = Codec.plan(plain, bins=BINS)
    print("| method | persons' rows | at most | distance | rows used | processor seconds |")
    print("|---|---|---|---|---|---|")
    for method in chosen.methods:
        for alike in (False, True):
            real = of_persons(frame, alike, np.random.default_rng(0))
            for rows in (None, *chosen.rows):
                schema = keyed if rows is None else replace(keyed, unit="person", rows_per_unit=rows)
                far, used = [], 0.0
                began = time.process_time()
                for seed in range(chosen.seeds):
                    release = st.synthesizer(method)(epsilon=1.0, delta=1e-5, seed=seed).fit(real, schema)
                    used += release.n_estimated / chosen.seeds
                    synthetic = release.sample(len(real), seed=seed)
                    far.append(distance(codec, real[[*plain]], synthetic[[*plain]]))
                words = "rows alone" if rows is None else f"{rows}"
                kind = "alike" if alike else "at random"
                seconds = (time.process_time() - began) / chosen.seeds
                print(
                    f"| {method} | {kind} | {words} | {np.mean(far):.4f} | {used:,.0f} | {seconds:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
