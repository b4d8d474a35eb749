"""Do private methods that learn from records keep what `independent` keeps: columns alone, at the same budget?

    python benchmarks/against_independent.py [--tables adult bank] [--rows 10000] [--methods argn ...] [--epsilons 1]
    python benchmarks/against_independent.py --show

Needs SYNTABULA_DATA. Rows are drawn with seed 0, 5,000 others are unseen (0 rows: all others are learned), and as many
rows are drawn as were learned. Scores: mean TVD of single columns and of pairs in 20 levels, to the learned rows; that
of pairs to the unseen ones; macro F1 of XGBoost learned on the drawn rows and tested on unseen ones; processor seconds
of learning, and of drawing. Each finished run is a line of --results and is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import syntabula as st
from syntabula.metrics import TotalVariation, compare
from syntabula.metrics.utility.efficacy import Efficacy

FOUND = Path(__file__).parent / "results" / "against_independent.jsonl"
METHODS = (
    "independent", "ctgan", "tvae", "pategan", "tabddpm", "tablediffusion", "dp-merf", "synthpop", "argn", "tab-pe",
)  # fmt: skip
UNSEEN = 5_000
ASKED = ("version", "table", "rows", "epsilon", "seed", "method")
SCORES = ("columns", "pairs", "unseen", "f1", "seconds", "drawing")


def main() -> None:
    """Parse arguments, run what is missing, and show all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", default="now", help="its name in the results")
    parser.add_argument("--tables", nargs="+", default=["adult", "bank"])
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    options = parser.parse_args()
    runs = [
        (options.version, table, rows, epsilon, seed, method)
        for table in options.tables
        for rows in options.rows
        for epsilon in options.epsilons
        for seed in options.seeds
        for method in options.methods
    ]
    finished = {tuple(f[key] for key in ASKED) for f in found(options.results)}
    for run in [] if options.show else runs:
        if run not in finished:
            line = json.dumps(dict(zip(ASKED, run, strict=True)) | scores(*run[1:]))
            print(line, flush=True)
            with options.results.open("a") as file:
                file.write(line + "\n")
    show(found(options.results))


def scores(table: str, rows: int, epsilon: float, seed: int, method: str) -> dict[str, float]:
    """Learn a table and return the scores of rows drawn."""
    warnings.simplefilter("ignore")
    frame = st.datasets.load(table).frame
    columns = st.draft_schema(frame)[0].columns
    schema = st.Schema({name: replace(column, provenance="public") for name, column in columns.items()})
    order = np.random.default_rng(0).permutation(len(frame))
    unseen, others = (frame.iloc[o].reset_index(drop=True) for o in (order[:UNSEEN], order[UNSEEN:]))
    learned = others.iloc[:rows] if rows else others
    started = time.process_time()
    release = st.synthesizer(method)(epsilon=epsilon, seed=seed).fit(learned, schema)
    fitted = time.process_time()
    drawn: Any = release.sample(len(learned), seed=seed + 1000)
    ended = time.process_time()
    tables = compare(learned, drawn, schema=schema)
    target = st.datasets.describe(table).label
    held_out = compare(unseen, drawn, holdout=unseen, target=target, schema=schema)
    rng = np.random.default_rng
    return {
        "columns": TotalVariation(way=1, levels=20)(tables, rng(0)).value,
        "pairs": TotalVariation(way=2, levels=20)(tables, rng(0)).value,
        "unseen": TotalVariation(way=2, levels=20)(held_out, rng(0)).value,
        "f1": Efficacy(evaluators=("xgboost",))(held_out, rng(0)).value,
        "seconds": fitted - started,
        "drawing": ended - fitted,
    }


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished runs."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def show(runs: list[dict[str, Any]]) -> None:
    """Print means over seeds as a Markdown table."""
    print(
        "| version | table | rows | epsilon | method | columns | pairs | pairs, unseen | F1 | fit s | draw s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    grouped = defaultdict(list)
    for run in runs:
        grouped[tuple(run[key] for key in ASKED if key != "seed")].append(run)
    for (version, table, rows, epsilon, method), same in sorted(grouped.items()):
        means = {key: float(np.mean([run[key] for run in same])) for key in SCORES}
        shown = " | ".join(f"{means[key]:.4f}" for key in SCORES[:4])
        spent = f"{means['seconds']:.0f} | {means['drawing']:.1f}"
        print(f"| {version} | {table} | {rows or 'all'} | {epsilon:g} | {method} | {shown} | {spent} |")


if __name__ == "__main__":
    main()
