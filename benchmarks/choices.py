"""What the default method could choose: distances, a learner's score and seconds of several methods on the same tables.

    python benchmarks/choices.py [--tables adult bank ...] [--methods aim privmrf ...] [--epsilons 0.2 1 5] [--seeds 0 1]
    python benchmarks/choices.py --checkout ../older --version older   # the package of another checkout
    python benchmarks/choices.py --show

Needs SYNTABULA_DATA. A method learns four fifths of a table, drawn by its seed, with bounds and categories that count as
public; a fifth is unseen. Scores: the mean TVD of pairs in 20 levels and of all triples in 8, SynMeter's mean
Wasserstein distance (ten pairs of each type), the AUC (of a label that is a number, the score of `efficacy`) of XGBoost
learned on as many synthetic rows and tested on the unseen ones (where a table has a label), and processor seconds of
fit and draw. "aim@3" is AIM whose candidates are triples; "auto@pairs" does not look for interactions of three columns or
more. The table "parity" is drawn: eight columns of two codes and four of eight, 20,000 rows; `odd` is the parity of two
other columns and `odd_of_three` that of three, in 95 % of rows. The share of rows in which each holds is listed; half is
chance. Each finished run is a line of --results and is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
FOUND = HERE / "results" / "choices.jsonl"
TABLES = ("adult", "bank", "magic", "shoppers", "parity")
METHODS = ("independent", "mst", "aim", "aim@3", "auto@pairs", "auto", "privmrf", "privbayes")
ASKED = ("version", "table", "method", "epsilon", "seed")
SHOWN = ("pairs", "triples", "wasserstein", "auc", "odd", "odd_of_three", "seconds")


def main() -> None:
    """Parse arguments, run what is missing, and show all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2, 1, 5])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--checkout", type=Path, default=HERE.parent, help="whose package learns")
    parser.add_argument("--version", default="now", help="its name in the results")
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    parser.add_argument("--one", nargs=2, metavar=("RUN", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        learn(json.loads(options.one[0]), Path(options.one[1]))
        return
    finished = {tuple(run[key] for key in ASKED) for run in found(options.results)}
    runs = [
        (options.version, table, method, epsilon, seed)
        for table in options.tables
        for epsilon in options.epsilons
        for seed in options.seeds
        for method in options.methods
    ]
    for values in [] if options.show else runs:
        if values in finished:
            continue
        run = dict(zip(ASKED, values, strict=True))
        line = json.dumps(run | outcome(run, options.checkout))
        print(line, flush=True)
        with options.results.open("a") as file:
            file.write(line + "\n")
    show(found(options.results))


def split(run: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows to learn and the unseen ones."""
    import syntabula as st

    frame = drawn_parity() if run["table"] == "parity" else st.datasets.load(run["table"]).frame
    order = np.random.default_rng(run["seed"]).permutation(len(frame))
    unseen, learned = np.split(order, [len(frame) // 5])
    return frame.iloc[learned].reset_index(drop=True), frame.iloc[unseen].reset_index(drop=True)


def drawn_parity() -> pd.DataFrame:
    """Return a table in which no pair tells the parity of two or three columns; some pairs depend on each other."""
    rng = np.random.default_rng(0)
    n = 20_000
    bits = {f"bit_{i}": rng.integers(0, 2, n) for i in range(5)}
    bits["copied"] = np.where(rng.random(n) < 0.8, bits["bit_0"], 1 - bits["bit_0"])
    for name, of in (("odd", (1, 2)), ("odd_of_three", (2, 3, 4))):
        parity = sum(bits[f"bit_{i}"] for i in of) % 2
        bits[name] = np.where(rng.random(n) < 0.95, parity, 1 - parity)
    levels = {"level_0": rng.integers(0, 8, n)}
    for i in range(1, 4):
        step = rng.integers(-1, 2, n)
        levels[f"level_{i}"] = np.clip(levels[f"level_{i - 1}"] + step, 0, 7)
    return pd.DataFrame({name: codes.astype(str) for name, codes in (bits | levels).items()})


def learn(run: dict[str, Any], out: Path) -> None:
    """Fit one method, write as many rows as it learned, and print what took part."""
    warnings.simplefilter("ignore")
    import syntabula as st

    learned, unseen = split(run)
    schema = schema_of(pd.concat([learned, unseen]))
    name, _, way = run["method"].partition("@")
    options: dict[str, Any] = {"epsilon": run["epsilon"], "seed": run["seed"]}
    if way:
        from syntabula.select.adaptive import Adaptive
        from syntabula.select.automatic import Automatic

        of_pairs = Automatic(sparse=Adaptive())
        options["selector"] = of_pairs if way == "pairs" else Adaptive(workload=int(way))
    began = time.process_time()
    release = st.synthesizer(name)(**options).fit(learned, schema)
    release.sample(len(learned), seed=1_000 + run["seed"]).to_parquet(out)
    facts: dict[str, Any] = {"seconds": round(time.process_time() - began, 2)}
    choice = release.privacy.choice
    print(json.dumps(facts | ({"chosen": choice.method, "reason": choice.reason} if choice else {})))


def schema_of(frame: pd.DataFrame) -> Any:
    """Return the schema as read, taken as public."""
    import syntabula as st

    columns = st.draft_schema(frame)[0].columns
    return st.Schema({n: replace(c, provenance="public") for n, c in columns.items()})


def outcome(run: dict[str, Any], checkout: Path) -> dict[str, Any]:
    """Run one method in a process of its own, and score its rows with this checkout."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "drawn.parquet"
        command = [sys.executable, __file__, "--one", json.dumps(run), str(out)]
        own = {"PYTHONPATH": str(checkout.resolve() / "src")}
        ended = subprocess.run(command, env=os.environ | own, capture_output=True, text=True)
        if ended.returncode:
            return {"failed": (ended.stderr.strip().splitlines() or [f"exit {ended.returncode}"])[-1][:200]}
        return json.loads(ended.stdout.splitlines()[-1]) | scores(run, pd.read_parquet(out))


def scores(run: dict[str, Any], drawn: pd.DataFrame) -> dict[str, float]:
    """Return the scores of the rows drawn."""
    import syntabula as st
    from syntabula.metrics import TotalVariation, Wasserstein, compare
    from syntabula.metrics.utility.efficacy import Efficacy

    warnings.simplefilter("ignore")
    learned, unseen = split(run)
    target = "odd" if run["table"] == "parity" else st.datasets.describe(run["table"]).label
    schema = schema_of(pd.concat([learned, unseen]))
    tables = compare(learned, drawn, holdout=unseen, target=target, schema=schema)
    values = {
        "pairs": TotalVariation(way=2, levels=20)(tables, np.random.default_rng(0)).value,
        "triples": TotalVariation(way=3, levels=8)(tables, np.random.default_rng(0)).value,
        "wasserstein": Wasserstein(max_pairs=10)(tables, np.random.default_rng(0)).value,
    }
    if target is not None:
        learner = Efficacy(evaluators=("xgboost",))(tables, np.random.default_rng(0))
        values["auc"] = learner.facts.get("auc (synthetic)", learner.value)
    if run["table"] == "parity":
        bits = {name: drawn[name].astype(int) for name in drawn if not name.startswith("level")}
        values["odd"] = float(((bits["bit_1"] + bits["bit_2"]) % 2 == bits["odd"]).mean())
        three = bits["bit_2"] + bits["bit_3"] + bits["bit_4"]
        values["odd_of_three"] = float((three % 2 == bits["odd_of_three"]).mean())
    return {name: round(float(value), 5) for name, value in values.items()}


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished runs."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def show(runs: list[dict[str, Any]]) -> None:
    """Print the mean over seeds of each score, as a table in Markdown."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        groups[run["table"], run["epsilon"], run["method"], run["version"]].append(run)
    print("| table | epsilon | method | version | runs | " + " | ".join(SHOWN) + " |")
    print("|" + "---|" * (len(SHOWN) + 5))
    for key in sorted(groups):
        cells = []
        for name in SHOWN:
            values = [run[name] for run in groups[key] if name in run]
            cells.append(f"{np.mean(values):.4g}" if values else "-")
        print("| " + " | ".join(map(str, key)) + f" | {len(groups[key])} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
