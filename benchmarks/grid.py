"""Selectors and models of the grid, and named methods, on one table: how close, how fast, how large.

    python benchmarks/grid.py --table bank --pairs adaptive+pgm privmrf+pgm independent_difference+gum
    python benchmarks/grid.py --table bank --selectors independent_difference --models gum pgm genetic neural
    python benchmarks/grid.py --table bank --pairs aim privmrf --reported reported-results.json --seeds 5

The set-up is that of Chen, Li, Gong, McKenna, Wang, tab_bench (figures 3 and 4, tables 17 and 18): numbers in
100 even bins, synthetic rows scored against records that the synthesizer has not seen (a fifth of the table).
Each run is a process of its own, from reading the Parquet file to the written one. Prints one line per method
and epsilon, means over seeds: the fidelity error (total variation distance over pairs of columns), the query
error over prefixes of 1 to 3 conditions, as the paper's figures are, and over 3 conditions, seconds, the
largest peak memory. With --reported the paper's figure stands in brackets, where it has one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from harness import HERE, CodedTable, coded_table, tvd

# Rows of the paper's tables, by our pairs and methods.
REPORTED = {
    "independent_difference+gum": ("Table 18", "GUM"),
    "independent_difference+pgm": ("Table 18", "PGM"),
    "independent_difference+relaxed_projection": ("Table 18", "Relaxed Projection"),
    "independent_difference+genetic": ("Table 18", "Genetic Algorithm"),
    "independent_difference+neural": ("Table 18", "Generative Network"),
    "privmrf+pgm": ("Table 17", "PrivMRF selection"),
    "adaptive+pgm": ("Table 17", "AIM selection"),
    "fixed_rounds+pgm": ("Table 17", "RAP++ selection"),
    "aim": ("Table 1", "AIM"),
    "gem": ("Table 1", "GEM"),
    "privmrf": ("Table 1", "PrivMRF"),
    "privsyn": ("Table 1", "PrivSyn"),
    "private-gsd": ("Table 1", "Private-GSD"),
}
DATASETS = {"bank": "Bank"}
RANGED_FROM = 20
"""Columns with at least so many codes are asked for by ranges, others by single codes."""
Figures = Mapping[tuple[str, float, str], float]


@dataclass(frozen=True)
class Score:
    """How one run came out.

    Attributes:
        fidelity: Mean total variation distance over pairs of columns.
        prefix: Mean absolute error of queries of one, two and three conditions.
        three_way: The same of those of three conditions.
        seconds: From reading the file to the written synthetic one.
        peak_mb: Largest memory of the process. Neither is known where nothing ran.
    """

    fidelity: float
    prefix: float
    three_way: float
    seconds: float
    peak_mb: float


def main() -> None:
    """Parse arguments, run everything, print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="bank")
    parser.add_argument("--bins", type=int, default=100, help="bins of a table that is not coded yet")
    parser.add_argument("--pairs", nargs="*", default=[], help="selector+model, or the key of a method")
    parser.add_argument("--selectors", nargs="*", default=[], help="with --models: every pair of both")
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.2, 1.0, 5.0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds given to one run")
    parser.add_argument("--reported", type=Path, help="JSON file of published figures")
    options = parser.parse_args()

    methods = [*options.pairs, *(f"{s}+{m}" for s, m in product(options.selectors, options.models))]
    figures = {} if options.reported is None else reported(options.reported, options.table)
    print(
        "| method | epsilon | runs | fidelity error | query error, prefixes | query error, 3-way "
        "| seconds | peak MB |\n|---|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        train, test = split(coded_table(options.table, folder, options.bins), folder)
        sizes = list(train.sizes.values())
        real = codes(train.path, train)
        same = score(codes(test, train), real, sizes)
        print(line("real records", None, [same], figures), flush=True)
        for epsilon in options.epsilons:
            for method in methods:
                runs = [run(method, train, test, epsilon, s, options.limit) for s in range(options.seeds)]
                print(line(method, epsilon, runs, figures), flush=True)


def split(table: CodedTable, folder: Path) -> tuple[CodedTable, Path]:
    """Divide a table at random into four parts that are learned from and one that is scored against."""
    frame = pd.read_parquet(table.path)
    order = np.random.default_rng(0).permutation(len(frame))
    kept = len(frame) * 4 // 5
    train, test = folder / "train.parquet", folder / "test.parquet"
    frame.iloc[order[:kept]].to_parquet(train, index=False)
    frame.iloc[order[kept:]].to_parquet(test, index=False)
    return replace(table, path=train), test


def run(method: str, train: CodedTable, test: Path, epsilon: float, seed: int, limit: float) -> Score | str:
    """Run a method in a process of its own and score what it wrote; says what went wrong if it did."""
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "synthetic.parquet"
        words = [method, str(train.path), str(train.domain), str(out), str(epsilon), str(seed)]
        command = [sys.executable, str(HERE / "own_run.py"), *words]
        try:
            done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return f"not done in {limit:.0f} s"
        except subprocess.CalledProcessError as error:
            return error.stderr.strip().splitlines()[-1][:200]
        cost = json.loads(done.stdout.splitlines()[-1])
        found = score(codes(test, train), codes(out, train), list(train.sizes.values()))
        return replace(found, seconds=cost["seconds"], peak_mb=cost["peak_mb"])


def codes(path: Path, table: CodedTable) -> np.ndarray:
    """Return a file's codes [rows, columns] in the order of a table's domain."""
    return pd.read_parquet(path)[list(table.sizes)].to_numpy().astype(np.int64)


def score(real: np.ndarray, synthetic: np.ndarray, sizes: Sequence[int]) -> Score:
    """Compare rows of codes by pairs and by queries that depend on the real rows alone."""
    pairs = combinations(range(len(sizes)), 2)
    fidelity = float(np.mean([tvd(real, synthetic, sizes, pair) for pair in pairs]))
    errors = query_errors(real, synthetic, sizes)
    return Score(fidelity, float(errors.mean()), float(errors[:, -1].mean()), np.nan, np.nan)


def query_errors(
    real: np.ndarray, synthetic: np.ndarray, sizes: Sequence[int], n_queries: int = 1000
) -> np.ndarray:
    """Return the absolute errors [queries, conditions] of conjunctions of random conditions."""
    rng = np.random.default_rng(0)
    least, largest = real.min(axis=0), real.max(axis=0)
    occurring = [np.unique(column) for column in real.T]
    errors = []
    for _ in range(n_queries):
        keeps = [np.ones(len(rows), dtype=bool) for rows in (real, synthetic)]
        errors.append([])
        for column in rng.choice(len(sizes), size=min(3, len(sizes)), replace=False):
            if sizes[column] >= RANGED_FROM:
                low, high = np.sort(rng.uniform(least[column], largest[column], 2))
            else:
                low = high = rng.choice(occurring[column])
            for keep, rows in zip(keeps, (real, synthetic), strict=True):
                keep &= (rows[:, column] >= low) & (rows[:, column] <= high)
            errors[-1].append(abs(keeps[0].mean() - keeps[1].mean()))
    return np.array(errors)


def reported(path: Path, table: str) -> Figures:
    """Return the published figures of tab_bench on a table, by method, epsilon and metric."""
    names = {place: method for method, place in REPORTED.items()}
    names[("Table 1", "Ground Truth")] = "real records"
    return {
        (names[entry["table"], entry["method"]], entry["epsilon"], entry["metric"]): entry["value"]
        for entry in json.loads(path.read_text())["results"]
        if entry["paper"] == "tab_bench"
        and entry["dataset"] == DATASETS.get(table)
        and (entry["table"], entry["method"]) in names
    }


def line(method: str, epsilon: float | None, runs: Sequence[Score | str], figures: Figures) -> str:
    """Return one line of the table of results."""
    shown = "" if epsilon is None else f"{epsilon:g}"
    paper = {
        metric: figures.get((method, 1.0 if epsilon is None else epsilon, metric))
        for metric in ("fidelity_error_tvd", "query_error")
    }
    done = [r for r in runs if isinstance(r, Score)]
    if len(done) < len(runs):
        wrong = next(r for r in runs if isinstance(r, str))
        beside = [f"({v:g})" if v is not None else "" for v in paper.values()]
        return f"| {method} | {shown} | {len(runs)} | {beside[0]} | {beside[1]} | | {wrong} | |"
    fidelity, prefix = (
        f"{np.mean(ours):.4f}" + (f" ({theirs:g})" if theirs is not None else "")
        for ours, theirs in zip(
            ([r.fidelity for r in done], [r.prefix for r in done]), paper.values(), strict=True
        )
    )
    seconds, peak_mb = np.mean([r.seconds for r in done]), np.max([r.peak_mb for r in done])
    cost = "| |" if np.isnan(seconds) else f"{seconds:.1f} | {peak_mb:.0f} |"
    three_way = np.mean([r.three_way for r in done])
    return f"| {method} | {shown} | {len(done)} | {fidelity} | {prefix} | {three_way:.4f} | {cost}"


if __name__ == "__main__":
    main()
