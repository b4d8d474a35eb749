"""Which private method learns columns that depend on each other only together?

    python benchmarks/together.py [--tables parities gas robot gauss10] [--epsilons .2 1 5] [--methods argn tab-pe ...]
    python benchmarks/together.py --show

Needs SYNTABULA_DATA. "parities" is drawn: ten fair coins and three columns, the parities of two, three and five of them;
20,000 rows of 13 columns, no coin in two parities. A method learns four fifths of a table with public bounds and
categories; a fifth is unseen. Scores: the share of rows with the right parity (chance: a half); the mean TVD of pairs in
20 levels and of triples in 8 to the unseen rows; and XGBoost, learned on the drawn rows and tested on unseen ones: macro
F1, or the error of a number in units of its standard deviation. "real" are the learned rows themselves. Processor
seconds are those of fit and draw. Each finished run is a line of --results and is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.metrics import TotalVariation, compare
from syntabula.metrics.utility.efficacy import Efficacy

FOUND = Path(__file__).parent / "results" / "together.jsonl"
TABLES = ("parities", "gas", "robot", "gauss10")
METHODS = ("real", "aim", "auto", "mst", "argn", "tab-pe")
ASKED = ("table", "epsilon", "method", "seed")
PARITIES = {"odd_of_two": range(2), "odd_of_three": range(2, 5), "odd_of_five": range(5, 10)}
SHOWN = (*PARITIES, "pairs", "triples", "learner", "seconds")


def main() -> None:
    """Parse arguments, run what is missing, and show all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2, 1.0, 5.0])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    options = parser.parse_args()
    finished = {tuple(run[key] for key in ASKED) for run in found(options.results)}
    for table in [] if options.show else options.tables:
        for run in [
            (table, epsilon if method != "real" else 0.0, method, seed)
            for epsilon in options.epsilons
            for method in options.methods
            for seed in options.seeds
        ]:
            if run in finished:
                continue
            finished.add(run)
            line = json.dumps(dict(zip(ASKED, run, strict=True)) | scores(*run))
            print(line, flush=True)
            with options.results.open("a") as file:
                file.write(line + "\n")
    show(found(options.results))


def parities() -> pd.DataFrame:
    """Return coins, and columns that are parities of some of them."""
    coins = np.random.default_rng(0).integers(0, 2, size=(20_000, 10))
    columns = {f"coin_{i}": coins[:, i] for i in range(10)}
    columns |= {name: coins[:, [*of]].sum(axis=1) % 2 for name, of in PARITIES.items()}
    return pd.DataFrame({name: values.astype(str) for name, values in columns.items()})


def scores(table: str, epsilon: float, method: str, seed: int) -> dict[str, Any]:
    """Learn a table and return the scores of rows drawn."""
    warnings.simplefilter("ignore")
    frame = parities() if table == "parities" else st.datasets.load(table).frame
    label = None if table == "parities" else st.datasets.describe(table).label
    columns = st.draft_schema(frame)[0].columns
    schema = st.Schema({name: replace(column, provenance="public") for name, column in columns.items()})
    order = np.random.default_rng(seed).permutation(len(frame))
    unseen, learned = (frame.iloc[o].reset_index(drop=True) for o in np.split(order, [len(frame) // 5]))
    drawn, chosen, started = learned, method, time.process_time()
    if method != "real":
        release = st.synthesizer(method)(epsilon=epsilon, seed=seed).fit(learned, schema)
        drawn = release.sample(len(learned), seed=seed + 1000)
        choice = release.privacy.choice
        chosen = choice.method if choice else method
    scored: dict[str, Any] = {"chosen": chosen, "seconds": time.process_time() - started}
    tables = compare(unseen, drawn, holdout=unseen, target=label, schema=schema)
    scored |= {
        "pairs": TotalVariation(way=2, levels=20)(tables, np.random.default_rng(0)).value,
        "triples": TotalVariation(way=3, levels=8)(tables, np.random.default_rng(0)).value,
    }
    if table == "parities":
        bits = drawn.astype(int)
        for name, of in PARITIES.items():
            sums = bits[[f"coin_{i}" for i in of]].sum(axis=1) % 2
            scored[name] = float((sums == bits[name]).mean())
    if label is not None:
        is_number = label not in tables.categories
        learner = Efficacy(target="number" if is_number else "class", evaluators=("xgboost",))
        spread = float(unseen[label].std()) if is_number else 1.0
        scored["learner"] = learner(tables, np.random.default_rng(0)).value / spread
    return scored


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished runs."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def show(runs: list[dict[str, Any]]) -> None:
    """Print the runs as a Markdown table."""
    print(f"| table | epsilon | method | {' | '.join(SHOWN)} |")
    print("|---" * (3 + len(SHOWN)) + "|")
    for run in sorted(
        runs, key=lambda r: (TABLES.index(r["table"]), r["epsilon"], METHODS.index(r["method"]))
    ):
        name = run["method"] + (f" ({run['chosen']})" if run["chosen"] != run["method"] else "")
        figures = [
            f"{run[key]:.1f}" if key == "seconds" else f"{run[key]:.3f}" if key in run else ""
            for key in SHOWN
        ]
        budget = f"{run['epsilon']:g}" if run["epsilon"] else ""
        print(f"| {run['table']} | {budget} | {name} | {' | '.join(figures)} |")


if __name__ == "__main__":
    main()
