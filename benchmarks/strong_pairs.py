"""How much of strong correlations is kept, with values dealt out within bins and without, from the same release.

    python benchmarks/strong_pairs.py --tables california shoppers --methods mst aim --epsilons 1 5

Needs SYNTABULA_DATA. Columns are declared as in rows.py. Both draws have the same codes, or merged codes; without dealing
out, the values of a bin, and the codes that were merged, are drawn apart. A pair of numeric columns is strong if its
correlation is at least .7 in the real rows. Kept is the median of our correlation over the real one; near is the share
of strong pairs that are within a tenth. The distance of pairs is their TVD in 20 levels. Seconds are those of drawing as
many rows as were learned.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from rows import real_table

import syntabula as st
from syntabula.metrics import TotalVariation, compare
from syntabula.table.coding import values_within

STRONG, MOST_ROWS, FEWEST_VALUES = 0.7, 50_000, 20


def main() -> None:
    """Parse arguments, learn each table, and print a row per release."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    print("| table | method | epsilon | strong pairs | kept | near | distance of pairs | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for row, frame, schema, release in learned(
        parser, ["california", "shoppers", "lending_club_2018", "news_part"], ["mst", "aim"], [1.0, 5.0]
    ):
        apart, dealt = drawn(release, dealt_out=False), drawn(release, dealt_out=True)
        kept = [kept_of(frame, rows) for rows, _ in (apart, dealt)]
        near = [np.mean(np.abs(k - 1) <= 0.1) for k in kept]
        pairs = [pairs_of(frame, rows, schema) for rows, _ in (apart, dealt)]
        print(
            f"| {row} | {kept[0].size} | "
            f"{np.median(kept[0]):.2f} → {np.median(kept[1]):.2f} | {near[0]:.0%} → {near[1]:.0%} | "
            f"{pairs[0]:.4f} → {pairs[1]:.4f} | {apart[1]:.2f} → {dealt[1]:.2f} |",
            flush=True,
        )


def learned(
    parser: argparse.ArgumentParser, tables: list[str], methods: list[str], epsilons: list[float]
) -> Iterator[tuple[str, pd.DataFrame, st.Schema, st.Release]]:
    """Yield how a row begins, the frame, the schema and the release, for all that the command line names."""
    parser.add_argument("--tables", nargs="+", default=tables)
    parser.add_argument("--methods", nargs="+", default=methods)
    parser.add_argument("--epsilons", nargs="+", type=float, default=epsilons)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for table in options.tables:
        frame, _, schema = real_table(table)
        frame = frame.iloc[:MOST_ROWS]
        for method in options.methods:
            for epsilon in options.epsilons:
                release = st.synthesizer(method)(epsilon=epsilon, seed=options.seed).fit(frame, schema)
                yield f"{table} | {method} | {epsilon:g}", frame, schema, release


def drawn(release: Any, *, dealt_out: bool) -> tuple[pd.DataFrame, float]:
    """Return rows of a release, and the processor seconds that drawing them took."""
    least = values_within._STRONG
    values_within._STRONG = least if dealt_out else 2.0
    try:
        started = time.process_time()
        return release.sample(seed=1), time.process_time() - started
    finally:
        values_within._STRONG = least


def kept_of(real: pd.DataFrame, rows: pd.DataFrame) -> np.ndarray:
    """Return our correlation over the real one for each strong pair."""
    columns = [c for c in real.select_dtypes("number") if real[c].nunique() > FEWEST_VALUES]
    ours = rows[columns].astype(float).corr()
    theirs = real[columns].astype(float).corr()
    strong = [(a, b) for a, b in combinations(columns, 2) if abs(theirs.loc[a, b]) >= STRONG]
    return np.array([np.nan_to_num(ours.loc[a, b]) / theirs.loc[a, b] for a, b in strong])


def pairs_of(real: pd.DataFrame, rows: pd.DataFrame, schema: st.Schema) -> float:
    """Return the mean distance of pairs."""
    tables = compare(real, rows, schema=schema)
    return TotalVariation(way=2, levels=20)(tables, np.random.default_rng(0)).value


if __name__ == "__main__":
    main()
