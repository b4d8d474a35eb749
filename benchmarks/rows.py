"""What a reader of rows sees: heavy values, roundness, tails, missing and invented cells, on tables of business columns.

    python benchmarks/rows.py [--tables bank shoppers ...] [--methods mst aim] [--epsilons 0.5 1 5 inf] [--seeds 0 1 2]
    python benchmarks/rows.py --checkout ../older --version older   # the package of another checkout
    python benchmarks/rows.py --peer sdv --python ../peers/sdv/bin/python
    python benchmarks/rows.py --peer fresh --seeds 0 1 2 3 4   # the table's own records, drawn with replacement
    python benchmarks/rows.py --show

Needs SYNTABULA_DATA. With `declared`, every numeric column has bounds that an honest custodian would state without
looking: 0 or the mirrored upper bound below, and above the next of 1, 2 or 5 times a power of ten beyond twice the
largest value. With `found`, nothing is declared. With `ruled`, rules are declared beside the bounds: those of rules.py
whose columns are here; tables without any are left out. Every run counts the rows that break them. Each run is a
process from the Parquet file to the written table; it is scored afterwards by this checkout's scores of the group
"rows", pairs (tvd-2) and associations. Each finished run is a line of --results and is not run again. Peers see the
same bounds where they take any: dpmm's MST and AIM, and SDV's Gaussian copula, which has no privacy and is listed at an
infinite epsilon.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rows_shown import EPSILONS, FRESH, IMPOSSIBLE, TABLES, WITHIN, ZEROS, show
from rules import RULES

import syntabula as st
from syntabula.bench import peers
from syntabula.bench.peers.rows import facts_of
from syntabula.metrics import compare
from syntabula.metrics.evaluate import choose_metrics, score_tables
from syntabula.table.schema.columns import Categorical, Numeric

HERE = Path(__file__).parent
FOUND = HERE / "results" / "rows.jsonl"
METHODS = ("mst", "aim")
PEERS = {"sdv": ("copula",), "dpmm": METHODS, FRESH: ("records",)}
SCRIPTS = {"sdv": Path(peers.__file__).parent / "sdv.py", "dpmm": HERE / "peer_rows.py"}
MOST_ROWS = 50_000
"""Rows of the largest tables, drawn with seed 0."""

SCORES = ("rows", "tvd-2", "association")


def main() -> None:
    """Parse arguments, run what is missing, and show all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--methods", nargs="+", help="all of the peer, or mst and aim")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument(
        "--domains", nargs="+", choices=["declared", "found", "ruled"], default=["declared", "found"]
    )
    parser.add_argument("--checkout", type=Path, default=HERE.parent, help="whose package runs")
    parser.add_argument("--version", default="now", help="its name in the results")
    parser.add_argument("--peer", choices=PEERS, help="run a peer instead")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the peer")
    parser.add_argument("--limit", type=float, default=600.0, help="processor seconds of one run")
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    options = parser.parse_args()
    for run in [] if options.show else planned(options):
        line = json.dumps(run | {"day": time.strftime("%Y-%m-%d")} | outcome(run, options))
        print(line, flush=True)
        with options.results.open("a") as file:
            file.write(line + "\n")
    show(found(options.results))


def planned(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the runs that the file of results lacks."""
    asked = ("version", "table", "domains", "method", "epsilon", "seed")
    finished = {tuple(f[key] for key in asked) for f in found(options.results)}
    methods = options.methods or (PEERS[options.peer] if options.peer else METHODS)
    for table in options.tables:
        for domains in ["declared"] if options.peer else options.domains:
            if domains == "ruled" and not {"order", "require"} & set(RULES.get(table, {})):
                continue
            for method in methods:
                for epsilon in [math.inf] if options.peer in ("sdv", FRESH) else options.epsilons:
                    for seed in options.seeds:
                        version = options.peer or options.version
                        run = (version, table, domains, method, epsilon, seed)
                        if run not in finished:
                            yield dict(zip(asked, run, strict=True))


def real_table(name: str) -> tuple[Any, st.Schema, st.Schema]:
    """Return a table without empty columns, its schema as read, and one with honest round bounds."""
    frame = st.datasets.load(name).frame
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0).reset_index(drop=True)
    drafted = st.draft_schema(frame)[0].columns
    # Free text and keys are another matter.
    kept = [n for n, c in drafted.items() if not (isinstance(c, Categorical) and len(c.categories) > 200)]
    kept = [n for n in kept if drafted[n].kind != "identifier"]
    as_read = {n: replace(drafted[n], provenance="public") for n in kept}
    return frame[kept], st.Schema(as_read), st.Schema({n: honest(c) for n, c in as_read.items()})


def honest(column: Any) -> Any:
    """Return a column with bounds that need no look at the data."""
    if not isinstance(column, Numeric) or (column.integer and column.upper - column.lower < 100):
        return column
    upper = round_above(2 * max(abs(column.lower), abs(column.upper), 0.5))
    lower = 0 if column.lower >= 0 else -upper
    # As many decimals as a million steps on either side allow; others are left out.
    decimals = column.decimals if column.decimals is not None and upper * 10**column.decimals < 1e12 else None
    return Numeric(lower, upper, integer=column.integer, decimals=decimals, nullable=column.nullable)


def round_above(least: float) -> int | float:
    """Return the next of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    found = next(step * power for step in (1, 2, 5, 10) if step * power >= least)
    return int(found) if found >= 1 else found


def outcome(run: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Run one method on one table in a process of its own, and return seconds, memory and scores."""
    frame, as_read, declared = real_table(run["table"])
    rules = known_rules(run["table"], declared)
    if run["domains"] == "ruled":
        declared = st.Schema(declared.columns, rules=rules)
    if options.peer == FRESH:
        drawn = frame.sample(len(frame), replace=True, random_state=run["seed"]).reset_index(drop=True)
        with tempfile.TemporaryDirectory() as folder:
            drawn.to_parquet(Path(folder) / "drawn.parquet")
            told = scores(frame, Path(folder) / "drawn.parquet", as_read, rules)
        return {"seconds": 0.0, "processor_seconds": 0.0} | told
    with tempfile.TemporaryDirectory() as folder:
        table, schema, drawn = (Path(folder) / n for n in ("table.parquet", "schema.yaml", "drawn.parquet"))
        frame.to_parquet(table)
        declared.to_yaml(schema)
        own = {"PYTHONPATH": str(options.checkout.resolve() / "src")}
        command = [sys.executable, "-m", "syntabula", "synth", str(table), "--out", str(drawn)]
        command += ["--method", run["method"], "--epsilon", str(run["epsilon"]), "--seed", str(run["seed"])]
        command += ["--rows", str(len(frame))]
        command += ["--schema", str(schema)] if run["domains"] != "found" else []
        if options.peer:
            own = {}
            facts = Path(folder) / "columns.json"
            facts.write_text(json.dumps({n: facts_of(c) for n, c in declared.columns.items()}))
            command = [
                options.python,
                "-P",
                str(SCRIPTS[options.peer]),
                run["method"],
                str(table),
                str(facts),
            ]
            command += [str(drawn), str(run["epsilon"]), "1e-5", "inf", str(run["seed"])]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        limits = (int(options.limit), int(options.limit))
        ended = subprocess.run(
            command,
            env=os.environ | own,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limits),
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        facts = {"seconds": round(time.perf_counter() - began, 1), "processor_seconds": round(used, 1)}
        if ended.returncode:
            words = ended.stderr.strip().splitlines()
            return facts | {"failed": words[-1][:200] if words else f"exit {ended.returncode}"}
        return facts | scores(frame, drawn, as_read, rules)


def known_rules(table: str, schema: st.Schema) -> st.Rules | None:
    """Return the rules of a table whose columns it has; None if it has none."""
    stated = RULES.get(table, {})
    orders = [order for order in stated.get("order", []) if set(order) <= set(schema.columns)]
    required = list(stated.get("require", []))
    return st.Rules(order=orders, require=required) if orders or required else None


def scores(frame: Any, drawn: Path, schema: st.Schema, rules: st.Rules | None) -> dict[str, Any]:
    """Return each score and the worst column of those that have any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Bounds and categories of the schema only say how columns are read.
        evaluation = st.evaluate(frame, drawn, schema=schema, metrics=SCORES, baselines=(), seed=0, workers=1)
    found: dict[str, Any] = {"scores": {}, "worst": {}}
    for result in evaluation.results:
        score = result.score
        found["scores"][score.metric] = None if math.isnan(score.value) else round(score.value, 5)
        if worst := score.worst(1):
            found["worst"][score.metric] = [" x ".join(worst[0][0]), round(worst[0][1], 4)]
    held = pd.read_parquet(drawn)
    found["scores"][WITHIN] = round(pairs_within(frame, held, schema), 5)
    if (zeros := zeros_kept(frame, held, schema)) is not None:
        found["scores"][ZEROS] = round(zeros, 5)
    if rules is not None:
        tables = compare(frame, held, schema=st.Schema(schema.columns, rules=rules))
        chosen = choose_metrics(["broken-rules"], has_target=False, has_holdout=False, has_rules=True)
        broken = score_tables(tables, chosen)[0].score
        found["scores"][IMPOSSIBLE] = round(
            max(broken.value - float(broken.facts["of the real rows"]), 0.0), 5
        )
    return found


def zeros_kept(frame: Any, drawn: Any, schema: st.Schema) -> float | None:
    """Return the mean part of the zeros that is kept; None if no column has enough of them."""
    kept = []
    for name, column in schema.columns.items():
        if isinstance(column, Numeric):
            real, made = (
                float((table[name] == 0).sum() / table[name].notna().sum()) for table in (frame, drawn)
            )
            if 0.02 <= real <= 0.98:
                kept.append(min(made, real) / real)
    return float(np.mean(kept)) if kept else None


def pairs_within(frame: Any, drawn: Any, schema: st.Schema) -> float:
    """Return the TVD of pairs in levels of the real range, which absurd values do not widen."""
    held = drawn.copy()
    for name, column in schema.columns.items():
        if isinstance(column, Numeric):
            held[name] = held[name].clip(frame[name].min(), frame[name].max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = st.evaluate(
            frame, held, schema=schema, metrics=("tvd-2",), baselines=(), seed=0, workers=1
        )
    return evaluation.results[0].score.value


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished runs."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


if __name__ == "__main__":
    main()
