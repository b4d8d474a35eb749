"""How much of strong correlations is kept among many small columns: drawn taxi rides, over several seeds.

    python benchmarks/rides.py --methods aim mst auto --seeds 10

The table has 300,000 rows and 17 columns, three of them constant, under wide public bounds. Distance, fare and tip depend
on each other; they are the only columns of many values, so that the median column has few codes. Printed are the least,
median and most of the correlation of distance and fare over the seeds, the mean TVD of all pairs in 20 levels, that of
triples in 8, and processor seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.metrics import TotalVariation, compare

ROWS = 300_000


def rides(n: int, seed: int = 0) -> pd.DataFrame:
    """Return drawn rides."""
    rng = np.random.default_rng(seed)
    airport = rng.random(n) < 0.03
    distance = np.where(airport, rng.normal(17, 1.2, n), np.minimum(rng.lognormal(0.7, 0.85, n), 90))
    metered = 3 + 2.6 * distance * np.exp(rng.normal(0, 0.18, n)) + rng.exponential(1.2, n)
    fare = np.where(airport, 70.0, np.maximum(3.0, np.round(2 * metered) / 2))
    pay = rng.choice([1, 2, 3, 4], n, p=[0.75, 0.22, 0.02, 0.01])
    tip = np.where(
        pay == 1, np.round(fare * rng.choice([0, 0.15, 0.2, 0.25], n, p=[0.1, 0.3, 0.4, 0.2]), 2), 0
    )
    zone = rng.integers(0, 60, n)
    return pd.DataFrame(
        {
            "vendor": rng.choice([1, 2], n, p=[0.3, 0.7]),
            "hour": rng.integers(0, 24, n),
            "weekday": rng.integers(0, 7, n),
            "passengers": rng.choice(6, n, p=[0.72, 0.15, 0.05, 0.03, 0.03, 0.02]),
            "distance": np.round(np.abs(distance), 2),
            "rate": np.where(airport, 2, 1),
            "stored": rng.choice(["Y", "N"], n, p=[0.01, 0.99]),
            "from": zone,
            "to": (zone + rng.integers(0, 20, n)) % 60,
            "pay": pay,
            "fare": fare,
            "extra": rng.choice([0, 1, 2.5, 5], n, p=[0.4, 0.2, 0.3, 0.1]),
            "tip": tip,
            "tolls": np.where(rng.random(n) < 0.08, 6.94, 0.0),
            "tax": 0.5,
            "surcharge": 1.0,
            "congestion": 2.5,
        }
    )


def declared() -> st.Schema:
    """Return the schema: codes, and bounds far wider than the values."""
    codes = {"vendor": 2, "weekday": 7, "passengers": 9, "rate": 6, "from": 60, "to": 60, "pay": 5}
    amounts = {"distance": 1_000, "fare": 10_000, "extra": 100, "tip": 5_000, "tolls": 1_000}
    fees = dict.fromkeys(["tax", "surcharge", "congestion"], 10)
    return st.Schema(
        {
            **{name: st.Categorical(list(range(n + 1))) for name, n in codes.items()},
            "hour": st.Numeric(0, 23, decimals=0),
            "stored": st.Categorical(["Y", "N"]),
            **{name: st.Numeric(0, most, decimals=2) for name, most in (amounts | fees).items()},
        }
    )


def main() -> None:
    """Parse arguments, and print a row for each method and epsilon."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=["aim", "mst", "auto"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    real, schema = rides(ROWS), declared()
    print(f"real: {real['distance'].corr(real['fare']):.3f}")
    print("| method | epsilon | least | median | most | pairs | triples | processor seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for method in options.methods:
        for epsilon in options.epsilons:
            kept, distances, seconds = [], [], []
            for seed in range(options.seeds):
                started = time.process_time()
                release = st.synthesizer(method)(epsilon=epsilon, delta=1e-6, seed=seed).fit(real, schema)
                rows = release.sample(seed=seed)
                seconds.append(time.process_time() - started)
                kept.append(rows["distance"].corr(rows["fare"]))
                tables, rng = compare(real, rows, schema=schema), np.random.default_rng(0)
                scores = [
                    TotalVariation(way=way, levels=n)(tables, rng).value for way, n in ((2, 20), (3, 8))
                ]
                distances.append(scores)
            pairs, triples = np.mean(distances, axis=0)
            print(
                f"| {method} | {epsilon:g} | {min(kept):.3f} | {np.median(kept):.3f} | {max(kept):.3f} | "
                f"{pairs:.4f} | {triples:.4f} | {min(seconds):.1f} to {max(seconds):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
