"""Compares methods where privacy is switched off: learns some rows of a table, and scores rows drawn against unseen ones.

    python benchmarks/without_privacy.py [--tables adult magic] [--rows 300 1000 3000] [--methods argn circuit ...]
    python benchmarks/without_privacy.py --told [--tables adult magic shoppers bean] [--rows 0] [--methods real auto]
    python benchmarks/without_privacy.py --show

Needs SYNTABULA_DATA. Rows are drawn with seed 0; 5,000 others are the unseen ones, and as many synthetic rows are drawn.
0 rows: all others are learned. "real" are the learned rows themselves, or 5,000 of them with --told. Scores: the area
under the curve of a forest that tells synthetic from unseen
rows (0.5: it cannot), the mean TVD of pairs in 20 levels, macro F1 and AUC of XGBoost learned on synthetic rows and
tested on unseen ones, the part of rows nearer to a learned record than to an unseen one, of as many (a half: chance),
and processor seconds of learning and drawing. --told scores nothing but the area under the curve of XGBoost that tells
the rows apart: it learns a half of the unseen rows and of synthetic ones, and is tested on the other half of the
unseen ones and as many of a second draw of the same fit; three draws of the halves, and their mean. Each finished run is
a line of --results and is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.metrics import DiscriminatorSimilarity, TotalVariation, compare
from syntabula.metrics.closest_record import ClosestRecord
from syntabula.metrics.features import ordinal
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
    parser.add_argument(
        "--told", action="store_true", help="score nothing but whether XGBoost tells rows apart"
    )
    options = parser.parse_args()
    runs = [(t, n, m) for n in options.rows for t in options.tables for m in options.methods]
    finished = {
        (f["table"], f["rows"], f["method"])
        for f in found(options.results)
        if ("boosted" in f) == options.told
    }
    score = boosted_scores if options.told else scores
    for run in [] if options.show else runs:
        if run not in finished:
            line = json.dumps(dict(zip(("table", "rows", "method"), run, strict=True)) | score(*run))
            print(line, flush=True)
            with options.results.open("a") as file:
                file.write(line + "\n")
    show(found(options.results))


def scores(table: str, rows: int, method: str) -> dict[str, float]:
    """Learn a table and return the scores of rows drawn."""
    made = drawn_rows(table, rows, method)
    target = st.datasets.describe(table).label
    tables = compare(made.unseen, made.drawn, holdout=made.unseen, target=target, schema=made.schema)
    rng = np.random.default_rng
    told = DiscriminatorSimilarity()(tables, rng(0)).facts["area under the curve"]
    learning = Efficacy(evaluators=("xgboost",))(tables, rng(0))
    seen = compare(made.learned, made.drawn, holdout=made.unseen.iloc[:rows], schema=made.schema)
    near = ClosestRecord()(seen, rng(0))
    return {
        "seconds": made.seconds,
        "told": told,
        "pairs": TotalVariation(way=2, levels=20)(tables, rng(0)).value,
        "f1": learning.value,
        "auc": learning.facts["auc (synthetic)"],
        "near": near.facts["nearer to real than to holdout"],
    }


def boosted_scores(table: str, rows: int, method: str) -> dict[str, Any]:
    """Learn a table and return how well boosted trees tell rows drawn from unseen ones."""
    made = drawn_rows(table, rows, method)
    both = pd.concat([made.drawn.iloc[:UNSEEN], made.again.iloc[:UNSEEN]], ignore_index=True)
    tables = compare(made.unseen, both, schema=made.schema)
    each = [boosted(tables, seed) for seed in range(3)]
    return {
        "learned": len(made.learned),
        "chosen": made.chosen,
        "seconds": made.fitting,
        "drawing": made.seconds - made.fitting,
        "boosted": float(np.mean(each)),
        "each": each,
    }


def boosted(tables: Any, seed: int) -> float:
    """Return the area under the curve of XGBoost that learns half of the real and of one draw's rows, on other halves.

    The synthetic rows it is tested on are of the second draw, as those of one may share out what is drawn: one half then
    says what the other lacks.
    """
    from sklearn.metrics import roc_auc_score
    from xgboost import XGBClassifier

    rng = np.random.default_rng(seed)
    real = ordinal(tables, tables.real)
    first, second = np.split(ordinal(tables, tables.synthetic), 2)
    of_real, of_drawn = (rng.permutation(len(rows)) % 2 == 0 for rows in (real, first))
    trees = XGBClassifier(n_estimators=200, max_depth=5, learning_rate=0.1, n_jobs=1, random_state=seed)
    trees.fit(*_labelled(real[of_real], first[of_drawn]))
    rows, is_drawn = _labelled(real[~of_real], second[~of_drawn])
    return float(roc_auc_score(is_drawn, trees.predict_proba(rows)[:, 1]))


def _labelled(real: Any, drawn: Any) -> tuple[Any, Any]:
    return np.concatenate([real, drawn]), np.repeat([0, 1], [len(real), len(drawn)])


@dataclass(frozen=True)
class Made:
    """Rows of a table, and rows drawn after learning some of them.

    Attributes:
        learned: The rows that were learned.
        unseen: Others.
        drawn: Rows drawn, or the learned ones.
        again: As many of another draw, or the same learned ones.
        schema: Of the whole table.
        chosen: The method, or that which `auto` chose.
        fitting: Processor seconds of learning.
        seconds: Of learning and drawing.
    """

    learned: Any
    unseen: Any
    drawn: Any
    again: Any
    schema: st.Schema
    chosen: str
    fitting: float
    seconds: float


def drawn_rows(table: str, rows: int, method: str) -> Made:
    """Learn so many rows of a table, all but the unseen ones for 0, and draw as many as are unseen."""
    warnings.simplefilter("ignore")
    frame = st.datasets.load(table).frame
    schema = st.Schema(
        {n: replace(c, provenance="public") for n, c in st.draft_schema(frame)[0].columns.items()}
    )
    order = np.random.default_rng(0).permutation(len(frame))
    unseen, others = (frame.iloc[o].reset_index(drop=True) for o in (order[:UNSEEN], order[UNSEEN:]))
    learned = others.iloc[:rows] if rows else others
    drawn, chosen, fitting, started = learned, method, 0.0, time.process_time()
    if method != "real":
        release = st.synthesizer(method)(epsilon=math.inf, seed=0).fit(learned, schema)
        fitting = time.process_time() - started
        drawn = release.sample(UNSEEN, seed=1000)
        choice = release.privacy.choice
        chosen = choice.method if choice else method
    seconds = time.process_time() - started
    again = drawn if method == "real" else release.sample(UNSEEN, seed=1001)
    return Made(learned, unseen, drawn, again, schema, chosen, fitting, seconds)


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished runs."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def show(runs: list[dict[str, Any]]) -> None:
    """Print the runs as Markdown tables."""
    if told := [run for run in runs if "boosted" in run]:
        print("| table | learned | method | AUC of XGBoost | three draws of halves | fit s | draw s |")
        print("|---|---|---|---|---|---|---|")
        for run in sorted(told, key=lambda r: r["table"]):
            name = run["method"] + (f" ({run['chosen']})" if run["chosen"] != run["method"] else "")
            each = f"{min(run['each']):.3f} to {max(run['each']):.3f}"
            spent = f"{run['seconds']:.1f} | {run['drawing']:.1f}"
            print(
                f"| {run['table']} | {run['learned']:,} | {name} | {run['boosted']:.3f} | {each} | {spent} |"
            )
        print()
    print("| table | rows | method | told apart | TVD of pairs | F1 | AUC | near learned | processor s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for run in sorted((r for r in runs if "boosted" not in r), key=lambda r: (r["table"], r["rows"])):
        shown = " | ".join(f"{run[key]:.3f}" for key in ("told", "pairs", "f1", "auc", "near"))
        print(f"| {run['table']} | {run['rows']:,} | {run['method']} | {shown} | {run['seconds']:.1f} |")


if __name__ == "__main__":
    main()
