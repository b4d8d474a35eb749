"""Standard deviations of numeric columns with long tails, and correlations of .7 and more, beside the real ones.

    python benchmarks/tails.py [--tables lending_club_2018 news_part ...] [--method mst] [--epsilons 1 5] [--seeds 0 1 2]

Needs SYNTABULA_DATA. Schemas are those of `rows.py`, with bounds that are far too wide; columns of more than 20 values
count. Near is within a tenth; off is the mean absolute logarithm of the factor of the standard deviation, of .1 to 10.
Run it at an earlier commit to compare.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

import numpy as np
from rows import real_table

import syntabula as st

TABLES = ["lending_club_2018", "news_part", "kddcup99", "shoppers", "bank", "california", "adult"]


def main() -> None:
    """Parse arguments, fit and draw, and print a line for each table and budget."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--method", default="mst")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 5.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | epsilon | columns near | off | strong pairs near |")
    print("|---|---|---|---|---|")
    for name, epsilon in itertools.product(options.tables, options.epsilons):
        real, _, schema = real_table(name)
        real = real[[c for c in real.select_dtypes("number") if real[c].nunique() > 20]].astype(float)
        spread, correlations = real.std(), real.corr().to_numpy()
        strong = np.triu(np.abs(correlations) >= 0.7, 1)
        found = []
        for seed in options.seeds:
            synthesizer = st.synthesizer(options.method)(epsilon=epsilon, delta=1e-5, seed=seed)
            drawn = synthesizer.fit(real_table(name)[0], schema).sample(seed=1)[real.columns].astype(float)
            factor = (drawn.std() / spread).to_numpy()
            kept = np.nan_to_num(drawn.corr().to_numpy()) / correlations
            near = np.abs(np.log(np.maximum(factor, 1e-3))) <= np.log(1.1)
            off = np.abs(np.log(np.clip(factor, 0.1, 10))).mean()
            found.append((near.sum(), off, (np.abs(kept[strong] - 1) <= 0.1).sum()))
        columns, off, pairs = np.mean(found, axis=0)
        print(
            f"| {name} | {epsilon:g} | {columns:.1f} of {real.shape[1]} | {off:.3f} | {pairs:.1f} of {strong.sum()} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
