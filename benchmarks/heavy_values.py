"""How much of the mass of frequent numbers is kept, by how many rows have them, on tables of business columns.

    python benchmarks/heavy_values.py [--tables lending_club_2018 ...] [--method mst] [--epsilon 1] [--seeds 0 1 2]

Needs SYNTABULA_DATA. Schemas are those of `rows.py`, with bounds that are far too wide. A value counts if it holds 2 % of
its column's present cells; what is kept is the smaller of its rows in both tables.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import pairwise

import numpy as np
from rows import real_table

import syntabula as st

ENDS = (0, 500, 750, 1_000, np.inf)
"""Rows that have a value, as ends of groups."""


def main() -> None:
    """Parse arguments, fit and draw, and print a line for each table and group."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=["lending_club_2018", "news_part"])
    parser.add_argument("--method", default="mst")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | rows of a value | values | mass kept | values that keep nine tenths |")
    print("|---|---|---|---|---|")
    for name in options.tables:
        real, _, schema = real_table(name)
        numbers = [c for c in real.select_dtypes("number") if real[c].notna().any()]
        of_real, of_made = [], []
        for seed in options.seeds:
            synthesizer = st.synthesizer(options.method)(epsilon=options.epsilon, delta=1e-5, seed=seed)
            made = synthesizer.fit(real, schema).sample(len(real), seed=seed)
            for column in numbers:
                counts = real[column].value_counts()
                counts = counts[counts >= 0.02 * real[column].notna().sum()]
                of_real.append(counts.to_numpy(np.float64))
                # Floats of 32 bits stand for the decimals that are drawn.
                drawn = made[column].astype(np.float32 if real[column].dtype == np.float32 else np.float64)
                of_made.append(drawn.value_counts().reindex(counts.index, fill_value=0).to_numpy(np.float64))
        counts = np.concatenate(of_real)
        kept = np.minimum(np.concatenate(of_made), counts)
        for least, end in pairwise(ENDS):
            group = (counts >= least) & (counts < end)
            if group.any():
                near = kept[group] >= 0.9 * counts[group]
                print(
                    f"| {name} | {least:,} to {end:,} | {group.sum() / len(options.seeds):.0f} "
                    f"| {kept[group].sum() / counts[group].sum():.3f} | {near.mean():.0%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
