"""Compares methods where privacy is switched off: learns some rows of a table, and scores rows drawn against unseen ones.

    python benchmarks/without_privacy.py [--tables adult magic] [--rows 300 1000 3000] [--methods argn circuit ...]
    python benchmarks/without_privacy.py --show

Needs SYNTABULA_DATA. Rows are drawn with seed 0; 5,000 others are the unseen ones, and as many synthetic rows are drawn.
"real" are the learned rows themselves. Scores: the area under the curve of a forest that tells synthetic from unseen
rows (0.5: it cannot), the mean TVD of pairs in 20 levels, macro F1 and AUC of XGBoost learned on synthetic rows and
tested on unseen ones, the part of rows nearer to a learned record than to an unseen one, of as many (a half: chance),
and processor seconds of learning and drawing. Each finished run is a line of --results and is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import syntabula as st
from syntabula.metrics import DiscriminatorSimilarity, TotalVariation, compare
from syntabula.metrics.closest_record import ClosestRecord
from syntabula.metrics.utility.efficacy import Efficacy

FOUND = Path(__file__).parent / "results" / "without_privacy.jsonl"
METHODS = ("real", "argn", "circuit", "synthpop", "private-gsd", "mst")
UNSEEN = 5_000


def main() -> None:
    """Parse arguments, run what is missing, and show all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=["adult", "magic"])
    parser.add_argument("--rows", nargs="+", type=int, default=[300, 1_000, 3_000])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    options = parser.parse_args()
    runs = [(t, n, m) for n in options.rows for t in options.tables for m in options.methods]
    finished = {(f["table"], f["rows"], f["method"]) for f in found(options.results)}
    for run in [] if options.show else runs:
        if run not in finished:
            line = json.dumps(dict(zip(("table", "rows", "method"), run, strict=True)) | scores(*run))
            print(line, flush=True)
            with options.results.open("a") as file:
                file.write(line + "\n")
    show(found(options.results))


def scores(table: str, rows: int, method: str) -> dict[str, float]:
    """Learn a table and return the scores of rows drawn."""
    warnings.simplefilter("ignore")
    frame = st.datasets.load(table).frame
    schema = st.Schema(
        {n: replace(c, provenance="public") for n, c in st.draft_schema(frame)[0].columns.items()}
    )
    order = np.random.default_rng(0).permutation(len(frame))
    unseen, learned = (frame.iloc[o].reset_index(drop=True) for o in (order[:UNSEEN], order[UNSEEN:][:rows]))
    started = time.process_time()
    drawn: Any = learned
    if method != "real":
        release = st.synthesizer(method)(epsilon=math.inf, seed=0).fit(learned, schema)
        drawn = release.sample(UNSEEN, seed=1000)
    seconds = time.process_time() - started
    target = st.datasets.describe(table).label
    tables = compare(unseen, drawn, holdout=unseen, target=target, schema=schema)
    rng = np.random.default_rng
    told = DiscriminatorSimilarity()(tables, rng(0)).facts["area under the curve"]
    learning = Efficacy(evaluators=("xgboost",))(tables, rng(0))
    seen = compare(learned, drawn, holdout=unseen.iloc[:rows], schema=schema)
    near = ClosestRecord()(seen, rng(0))
    return {
        "seconds": seconds,
        "told": told,
        "pairs": TotalVariation(way=2, levels=20)(tables, rng(0)).value,
        "f1": learning.value,
        "auc": learning.facts["auc (synthetic)"],
        "near": near.facts["nearer to real than to holdout"],
    }


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished runs."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def show(runs: list[dict[str, Any]]) -> None:
    """Print the runs as a Markdown table."""
    print("| table | rows | method | told apart | TVD of pairs | F1 | AUC | near learned | processor s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for run in sorted(runs, key=lambda r: (r["table"], r["rows"])):
        shown = " | ".join(f"{run[key]:.3f}" for key in ("told", "pairs", "f1", "auc", "near"))
        print(f"| {run['table']} | {run['rows']:,} | {run['method']} | {shown} | {run['seconds']:.1f} |")


if __name__ == "__main__":
    main()
