"""Missing cells that a release invents in complete columns, and columns that lose theirs; without a schema.

    python benchmarks/missing_cells.py [--tables adult bank ...] [--part 0.05] [--rows 10000] [--epsilons 0.5 1 5]
        [--seeds 0 1 2] [--method mst]

Needs SYNTABULA_DATA. Columns that are complete in the table are taken, stored as types that may have missing cells. With
--part, that part of the cells of every second column is emptied first.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

import numpy as np
import pandas as pd

import syntabula as st

TABLES = [
    "acs",
    "adult",
    "bank",
    "california",
    "insurance",
    "kddcup99",
    "lending_club_2018",
    "magic",
    "news_part",
    "obesity",
    "shoppers",
]


def complete(name: str, n: int) -> pd.DataFrame:
    """Return at most n rows of the columns of a table that have no missing cell."""
    frame = st.datasets.load(name).frame
    frame = frame[[c for c in frame if frame[c].notna().all()]]
    if len(frame) > n:
        frame = frame.sample(n, random_state=0).reset_index(drop=True)
    kinds = {}
    for column, cells in frame.items():
        if pd.api.types.is_bool_dtype(cells):
            kinds[column] = "boolean"
        elif pd.api.types.is_integer_dtype(cells):
            kinds[column] = "Int64"
        elif not pd.api.types.is_numeric_dtype(cells):
            kinds[column] = "object"
    return frame.astype(kinds)


def main() -> None:
    """Parse arguments, fit and draw, and print a line for each fit and the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--method", default="mst")
    parser.add_argument("--part", type=float, default=0.0, help="part of the cells that is emptied")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 5.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | epsilon | seed | complete | of these with missing cells | emptied | of these complete |")
    print("|---|---|---|---|---|---|---|")
    sums: dict[float, np.ndarray] = {epsilon: np.zeros(4, dtype=int) for epsilon in options.epsilons}
    for name, seed in itertools.product(options.tables, options.seeds):
        table, rng = complete(name, options.rows), np.random.default_rng(seed)
        emptied = [*table.columns[::2]] if options.part else []
        for column in emptied:
            table[column] = table[column].mask(rng.random(len(table)) < options.part)
        for epsilon in options.epsilons:
            synthesizer = st.synthesizer(options.method)(epsilon=epsilon, delta=1e-6, seed=seed)
            missing = synthesizer.fit(table).sample(len(table), seed=seed).isna().any()
            whole = [c for c in table if c not in emptied]
            counts = [len(whole), int(missing[whole].sum()), len(emptied), int((~missing[emptied]).sum())]
            sums[epsilon] += counts
            print(f"| {name} | {epsilon:g} | {seed} | {' | '.join(map(str, counts))} |", flush=True)
    for epsilon, counts in sums.items():
        print(f"| all | {epsilon:g} | | {' | '.join(map(str, counts))} |")


if __name__ == "__main__":
    main()
