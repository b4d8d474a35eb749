"""Reproduces the tables of Du and Li, SynMeter: fidelity, query error, membership disclosure and affinity.

    python benchmarks/synmeter.py fidelity|queries|disclosure|affinity [--tables ...] [--methods ...] [--seconds S]
    python benchmarks/synmeter.py table

Needs SYNTABULA_DATA. Each finished cell is a line of --results, with the commit of the library, and is not run again,
so that a run can be interrupted at any time, or stopped from starting a cell after S seconds; with --again, cells of
other commits are run again and replaced. `table` rewrites the tables of results/synmeter.md from that file and the
figures in synmeter_reported.json.

As the authors: rows are split 8:2 and the larger part 8:2 again (stratified by a class, seed 0, as their code does);
models learn both larger parts; the largest part ("train") or the fifth ("test") is the real table of a score; tables
of more than 5,000 rows are compared on 3,000 rows. Bounds and categories are those of the whole table and count as
public. Columns have the types counted in their Table 3; adult is its first 32,561 rows.

Methods besides those of the library: HALF, HISTOGRAM and, for disclosure, SELF; for fidelity and queries, QUANTILES
and EVEN, the real rows in ten quantile bins or twenty even ones; for disclosure, mst-bins, pairs-bins,
triples-bins and privsyn-bins, methods in the bins of the authors' code (synmeter_bins.py).

Unlike the authors: methods have default settings, theirs are tuned; one model and one synthetic table per cell,
theirs is a mean of ten; at most --pairs pairs of each type are transported, and the resulting error is stated.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from synmeter_bins import Binned, rounded
from synmeter_table import write_tables

import syntabula as st
from syntabula import attacks
from syntabula.metrics import QueryError, Wasserstein, compare
from syntabula.metrics.utility.affinity import Affinity
from syntabula.metrics.utility.efficacy import Efficacy

HERE = Path(__file__).parent
FOUND = HERE / "results" / "synmeter.jsonl"
TABLES = ("insurance", "obesity", "faults", "abalone", "wine", "robot")
TABLES += ("magic", "phishing", "bean", "shoppers", "adult", "news_part")
ROUNDED = {"QUANTILES": (10, "quantile"), "EVEN": (20, "even")}
BINNED = {
    "mst-bins": Binned(method="mst", most=5, kind="quantile", epsilon=math.inf),
    "pairs-bins": Binned(method="mst", most=5, kind="quantile", epsilon=math.inf, pairs=True),
    "triples-bins": Binned(method="mst", most=5, kind="quantile", epsilon=math.inf, pairs=True, triples=5),
    "privsyn-bins": Binned(method="privsyn", most=10, kind="even", epsilon=math.inf),
}
CATEGORIES = {
    "faults": ("TypeOfSteel_A300", "TypeOfSteel_A400", "Outside_Global_Index"),
    "insurance": ("children",),
}
"""Columns with few distinct numbers that SynMeter's Table 3 counts as categorical."""
ADULT_ROWS = 32_561
MANY_ROWS, SOME_ROWS = 5_000, 3_000

Cell = dict[str, Any]


def load(name: str) -> tuple[Any, st.Schema]:
    """Return a table as SynMeter has it, and its public schema."""
    frame = st.datasets.load(name).frame
    if name == "adult":
        frame = frame.iloc[:ADULT_ROWS]
    kinds = st.datasets.describe(name).columns
    columns = {}
    for column, drafted in st.draft_schema(frame)[0].columns.items():
        numeric = kinds[column] == "numeric" and column not in CATEGORIES.get(name, ())
        if numeric and isinstance(drafted, st.Categorical):
            values = frame[column].dropna()
            drafted = st.Numeric(
                int(values.min()), int(values.max()), integer=True, nullable=drafted.nullable
            )
        elif not numeric and isinstance(drafted, st.Numeric):
            drafted = st.Categorical(tuple(sorted(frame[column].dropna().unique().tolist())))
        columns[column] = replace(drafted, provenance="public")
    return frame, st.Schema(columns)


def split(name: str, frame: Any) -> dict[str, Any]:
    """Return the rows to learn ("fit"), and the real tables of scores ("train" is part of "fit", "test" is not)."""
    from sklearn.model_selection import train_test_split

    info = st.datasets.describe(name)

    def classes(part: Any) -> Any:
        return None if info.task == "regression" else part[info.label]

    fit, test = train_test_split(frame, test_size=0.2, random_state=0, stratify=classes(frame))
    train, _ = train_test_split(fit, test_size=0.2, random_state=0, stratify=classes(fit))
    return {
        name: part.reset_index(drop=True) for name, part in {"fit": fit, "train": train, "test": test}.items()
    }


def learned(cell: Cell, fit: Any, schema: st.Schema) -> Callable[[int], Any]:
    """Learn a table; return a function that draws a synthetic one with n rows, or fewer if HALF has fewer."""
    method, seed = cell["method"], cell["seed"]
    rng = np.random.default_rng(seed)
    if method == "HALF":
        half = fit.iloc[rng.permutation(len(fit))[: len(fit) // 2]]
        return lambda n: half.iloc[:n].reset_index(drop=True)
    if method == "HISTOGRAM":
        return lambda n: fit.iloc[:n].apply(lambda c: fit[c.name].to_numpy()[rng.integers(len(fit), size=n)])
    release = st.synthesizer(method)(epsilon=_number(cell["epsilon"]), seed=seed).fit(fit, schema)
    return lambda n: release.sample(
        n, seed=1000 + seed
    )  # not the seed of the fit, whose random choices would recur


def fidelity(cell: Cell, pairs: int) -> Cell:
    """Score one synthetic table against both real ones by Wasserstein distance."""
    frame, schema = load(cell["table"])
    parts = split(cell["table"], frame)
    fit = parts["fit"]
    started = time.process_time()
    binned = ROUNDED.get(cell["method"])
    draw = None if binned else learned(cell, fit, schema)
    found: Cell = {"pairs": pairs, "fit_seconds": time.process_time() - started}
    for part in ("train", "test"):
        real = parts[part]
        if cell["method"] == "HALF" and part == "train":
            # The other half of the rows to learn.
            order = np.random.default_rng(cell["seed"]).permutation(len(fit))
            real = fit.iloc[order[len(fit) // 2 :]].iloc[: len(real)].reset_index(drop=True)
        made = rounded(real, schema, *binned) if binned else draw(len(real))
        rng = np.random.default_rng([cell["seed"], part == "test"])
        tables = compare(real, made, schema=schema)
        few = tables.sampled(SOME_ROWS, rng) if len(real) > MANY_ROWS else tables
        score = Wasserstein(max_rows=MANY_ROWS, max_pairs=pairs)(few, np.random.default_rng(0))
        found[part] = {
            "value": score.value,
            "error": score.facts["standard error of the choice of pairs"],
            "types": {kind[8:]: v for kind, v in score.facts.items() if kind.startswith("mean of")},
        }
    return found


def queries(cell: Cell) -> Cell:
    """Score a synthetic table against the test rows, by queries with three conditions and with one, two and three."""
    frame, schema = load(cell["table"])
    parts = split(cell["table"], frame)
    real, binned = parts["test"], ROUNDED.get(cell["method"])
    made = rounded(real, schema, *binned) if binned else learned(cell, parts["fit"], schema)(len(real))
    tables = compare(real, made, schema=schema)
    three, mean = (
        QueryError(prefixes=prefixes)(tables, np.random.default_rng(0)).value for prefixes in (False, True)
    )
    return {"three": three, "mean": mean}


def disclosure(cell: Cell) -> Cell:
    """Score membership disclosure; shadow models are kept until the cell is done, so that it can resume."""
    frame, schema = load(cell["table"])
    method = cell["method"]
    if method in attacks.BASELINES:
        synthesizer: Any = attacks.BASELINES[method]()
    elif method in BINNED:
        synthesizer = replace(BINNED[method], epsilon=_number(cell["epsilon"]))
    else:
        synthesizer = st.synthesizer(method)(epsilon=_number(cell["epsilon"]))
    score = attacks.membership_disclosure(
        frame,
        synthesizer,
        schema,
        n_shadows=cell["shadows"],
        n_draws=cell["draws"],
        folder=os.environ.get("SYNMETER_SHADOWS")
        and Path(os.environ["SYNMETER_SHADOWS"]) / "-".join([*(str(v) for v in cell.values()), commit()]),
        baselines=False,
    )
    facts = ("standard_error", "mean", "percentile_99", "records")
    return {"value": score.value, **{k: score.facts[k] for k in facts}}


def affinity(cell: Cell) -> Cell:
    """Score machine-learning affinity with tuned settings, which the library caches."""
    frame, schema = load(cell["table"])
    parts = split(cell["table"], frame)
    target = st.datasets.describe(cell["table"]).label
    fit = parts["fit"]
    made = learned(cell, fit, schema)(len(fit))
    started = time.process_time()
    tables = compare(fit, made, holdout=parts["test"], target=target, schema=schema)
    score = Affinity(tuned=True, n_trials=cell["trials"])(tables, np.random.default_rng(cell["seed"]))
    details = {part[0]: value for part, value in score.details.items()}
    seconds = time.process_time() - started
    kind = "number" if st.datasets.describe(cell["table"]).task == "regression" else "class"
    efficacy = Efficacy(target=kind)(tables, np.random.default_rng(cell["seed"]))
    return {
        "value": score.value,
        "details": details,
        "seconds": seconds,
        "efficacy": efficacy.value,
        "efficacy_of_real": efficacy.baselines["SELF"],
    }


def _number(epsilon: str | None) -> float:
    return math.inf if epsilon in (None, "inf") else float(epsilon)


def cells(chosen: argparse.Namespace) -> Iterator[Cell]:
    """Yield the cells to run, the smallest tables first."""
    for table, method in itertools.product(chosen.tables, chosen.methods):
        for epsilon in [None] if method.isupper() else chosen.epsilons:
            cell: Cell = {"kind": chosen.what, "table": table, "method": method, "epsilon": epsilon}
            if chosen.what == "disclosure":
                # Copies need no repetition, as each of their draws is the same.
                draws = 1 if method in ("SELF", "HALF") else chosen.draws
                yield {**cell, "shadows": chosen.shadows, "draws": draws}
                continue
            for seed in range(chosen.seeds):
                yield {**cell, "seed": seed} | (
                    {"trials": chosen.trials} if chosen.what == "affinity" else {}
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("fidelity", "queries", "disclosure", "affinity", "table"))
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--methods", nargs="+", default=("mst", "privsyn"))
    parser.add_argument("--epsilons", nargs="+", default=("1", "inf"))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=8, help="pairs of a type that are transported")
    parser.add_argument("--shadows", type=int, default=80, help="shadow models; 80 in the paper")
    parser.add_argument(
        "--draws", type=int, default=10, help="synthetic tables of each; 100 in the authors' code"
    )
    parser.add_argument(
        "--trials", type=int, default=50, help="settings tried for each evaluator; 50 in the paper"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no cell after this time")
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--again", action="store_true", help="replace cells of another commit")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
    if chosen.what == "table":
        write_tables(finished(chosen.results), HERE)
        return
    if "SYNTABULA_DATA" not in os.environ:
        parser.error("this needs the folder SYNTABULA_DATA")
    here = commit()
    done = [
        line["cell"] for line in finished(chosen.results) if not chosen.again or line.get("commit") == here
    ]
    began = time.perf_counter()
    for cell in cells(chosen):
        if cell in done or time.perf_counter() - began > chosen.seconds:
            continue
        started = time.process_time()
        found = (
            fidelity(cell, chosen.pairs)
            if chosen.what == "fidelity"
            else {"queries": queries, "disclosure": disclosure, "affinity": affinity}[chosen.what](cell)
        )
        line = {"cell": cell, **found, "processor_seconds": time.process_time() - started, "commit": here}
        lines = [*(known for known in finished(chosen.results) if known["cell"] != cell), line]
        chosen.results.write_text("".join(json.dumps(known) + "\n" for known in lines), encoding="utf-8")
        print(json.dumps(line), flush=True)


def finished(results: Path) -> list[Cell]:
    """Return the finished cells of a file."""
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def commit() -> str:
    """Return the last commit that changed the library."""
    command = ("git", "log", "-1", "--format=%h", "--", "src")
    return subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
