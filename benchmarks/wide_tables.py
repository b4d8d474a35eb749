"""What noise leaves of wide tables of few rows of which nothing is declared.

    python benchmarks/wide_tables.py [--columns 50 100 ...] [--epsilons 0.5 1] [--seeds 0 1] [--rows 2000]
    PYTHONPATH=../older/src python benchmarks/wide_tables.py     # the package of another checkout

The tables are made up: three normal factors are behind all columns, of which of each ten three are whole numbers, three
real ones, three texts of up to six categories, and one days. Each fit draws as many rows. Prints a table in Markdown:
columns with bounds, those of them that noise hides, columns that carry no information, and the mean TVD of columns,
numbers and days in 20 levels of the real values.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd

import syntabula as st

LEVELS = 20


def main() -> None:
    """Parse arguments, fit every table, print a line of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", nargs="+", type=int, default=[50, 100, 200, 300, 600])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--method", default="mst")
    options = parser.parse_args()
    print("| columns | epsilon | seed | with bounds | hidden | lost | TVD of columns | processor s |")
    print("|---|---|---|---|---|---|---|---|")
    for n_columns in options.columns:
        for epsilon in options.epsilons:
            for seed in options.seeds:
                real = made_up(n_columns, options.rows, seed)
                with_bounds = sum(not is_text(real[name]) for name in real)
                found = outcome(real, options.method, epsilon, seed)
                print(f"| {n_columns} | {epsilon:g} | {seed} | {with_bounds} | {found} |", flush=True)


def made_up(n_columns: int, n_rows: int, seed: int) -> pd.DataFrame:
    """Return a table of so many columns."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, 3))
    columns: dict[str, object] = {}
    for number in range(n_columns):
        weights = rng.normal(size=3)
        shared = (factors @ weights) / np.sqrt(weights @ weights)
        z = shared * 0.6 + rng.normal(size=n_rows) * 0.8
        kind = number % 10
        if kind in (0, 1):
            made: object = np.rint(40 + 12 * z).clip(0, 110).astype(int)
        elif kind == 2:
            made = np.floor(np.exp(1 + 0.8 * z)).astype(int)
        elif kind == 3:
            made = np.round(z * 3, 2)
        elif kind == 4:
            made = np.round(np.exp(6 + z), 2)
        elif kind == 5:
            made = z
        elif kind in (6, 7):
            made = np.array(list("abcdef"))[np.clip(np.floor(z + 2.5), 0, 5).astype(int)]
        elif kind == 8:
            made = np.where(z > 0.3, "yes", "no")
        else:
            days = np.rint(300 + 120 * z).clip(0, 900)
            made = pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D")
        columns[f"{'iiifffcccd'[kind]}{number}"] = made
    return pd.DataFrame(columns)


def outcome(real: pd.DataFrame, method: str, epsilon: float, seed: int) -> str:
    """Return the last cells of a line: what became of a table."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            release = st.synthesizer(method)(epsilon=epsilon, seed=seed).fit(real)
        except st.errors.PrivateDomainError:
            return f"error | | | {time.process_time() - began:.0f}"
        drawn = release.sample(len(real), seed=seed)
    hidden = len(release.privacy.hidden) if hasattr(release.privacy, "hidden") else "not stated"
    apart = np.mean([distance(real[name], drawn[name]) for name in real])
    return f"{hidden} | {len(release.lost_columns())} | {apart:.4f} | {time.process_time() - began:.0f}"


def distance(real: pd.Series, drawn: pd.Series) -> float:
    """Return the TVD of a column, of numbers and days in levels of the real values."""
    if not is_text(real):
        real, drawn = as_numbers(real), as_numbers(drawn)
        edges = np.unique(np.nanquantile(real, np.linspace(0, 1, LEVELS + 1)[1:-1]))
        real, drawn = (pd.Series(np.searchsorted(edges, values)) for values in (real, drawn))
    shares = [values.astype(str).value_counts(normalize=True) for values in (real, drawn)]
    return float(shares[0].subtract(shares[1], fill_value=0).abs().sum() / 2)


def is_text(column: pd.Series) -> bool:
    """Return whether a column has no bounds."""
    return not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column))


def as_numbers(column: pd.Series) -> pd.Series:
    """Return numbers, and days as numbers."""
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(float)
    return column.astype("datetime64[ns]").astype("int64").astype(float)


if __name__ == "__main__":
    main()
