"""Accuracy, time and memory of selector-model pairs and named methods, one run after another.

    python benchmarks/grid.py --tables bank --methods aim privmrf adaptive+pgm --epsilons 0.2 1 5 --repeats 5
    python benchmarks/grid.py --tables bank --selectors independent_difference --models gum pgm genetic neural
    python benchmarks/grid_report.py

The set-up is that of Chen, Li, Gong, McKenna, Wang, tab_bench (figures 3 and 4, tables 17 and 18), and, for the
Gaussian tables and MargNet's Adult, of Chen, Gong, Wang, MargNet: see `grid_tables.prepared`. Each run is a separate
process, from reading the Parquet file to writing one. It is scored by the fidelity error (total variation distance over
pairs of columns in 100 levels), and by the query error over prefixes of 1 to 3 conditions, as the papers' figures are,
and over 3 conditions: against the records that were learned, and against those that were not where the table has some.
On these the macro F1 of XGBoost with its own settings is taken as well, trained on the synthetic table to predict the
label; tab_bench takes the mean of four models that it tunes.

Each finished run is appended as a line to a file, and runs already there are skipped, so that a long list can be
interrupted and resumed. A run that exceeds --limit seconds is recorded as not done; one that --total cuts off sooner
is left for the next call.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from grid_tables import Prepared, in_levels, prepared, schema_of_levels
from harness import HERE

from syntabula import Schema
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.queries import QueryError
from syntabula.metrics.reading import compare
from syntabula.metrics.total_variation import TotalVariation
from syntabula.metrics.utility.evaluators import evaluator
from syntabula.metrics.utility.learning import Encoding, class_scores, predictions

REAL, BINNED = "real records", "real records in bins"
Key = tuple[str, str, float | None, int]


def main() -> None:
    """Parse arguments and make the runs that are not in the file yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=["bank"])
    parser.add_argument("--methods", nargs="*", default=[], help="keys of methods, or selector+model")
    parser.add_argument("--selectors", nargs="*", default=[], help="with --models: every pair of both")
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.2, 1.0, 5.0])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds given to one run")
    parser.add_argument("--total", type=float, default=float("inf"), help="seconds given to all of them")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "grid.jsonl")
    options = parser.parse_args()

    ends = time.monotonic() + options.total
    done, tables = _done(options.results), {}
    with tempfile.TemporaryDirectory() as folder:
        for key in _wanted(options):
            limit = min(options.limit, ends - time.monotonic())
            if key in done:
                continue
            if limit < 1:
                break
            if key[0] not in tables:
                tables[key[0]] = prepared(key[0], Path(folder))
            found = _run(key, tables[key[0]], limit, Path(folder) / "out.parquet")
            if found is None and limit < 0.9 * options.limit:
                continue  # cut off by the total: left for the next call
            found = found or {"failed": f"not done in {options.limit:.0f} s"}
            names = ("table", "method", "epsilon", "repeat")
            row = dict(zip(names, key, strict=True)) | found | {"commit": _commit()}
            with options.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)


def _wanted(options: argparse.Namespace) -> Iterator[Key]:
    methods = [*options.methods, *(f"{s}+{m}" for s, m in product(options.selectors, options.models))]
    for table in options.tables:
        yield table, REAL, None, 0
        yield table, BINNED, None, 0
    for repeat, epsilon, table, method in product(
        range(options.repeats), options.epsilons, options.tables, methods
    ):
        yield table, method, epsilon, repeat


def _done(results: Path) -> set[Key]:
    lines = results.read_text().splitlines() if results.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(row["table"], row["method"], row["epsilon"], row["repeat"]) for row in rows}


def _commit() -> str:
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _run(key: Key, files: Prepared, limit: float, out: Path) -> dict[str, Any] | None:
    """Run a method in a separate process and score its output; None if it was not done in time."""
    _, method, epsilon, repeat = key
    if method in (REAL, BINNED):
        return _scores(files, files.train, in_bins=method == BINNED)
    words = [files.train, files.schema, out, method, epsilon, repeat, files.discretizer, files.bins(epsilon)]
    command = [sys.executable, str(HERE / "grid_cell.py"), *map(str, words)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    except subprocess.CalledProcessError as error:
        return {"failed": error.stderr.strip().splitlines()[-1][:300]}
    return _scores(files, out) | json.loads(done.stdout.splitlines()[-1])


def _scores(files: Prepared, out: Path, *, in_bins: bool = True) -> dict[str, dict[str, float]]:
    schema = Schema.from_yaml(files.schema)
    binned = in_bins and files.discretizer == "uniform"
    synthetic = in_levels(out, schema, binned=binned)
    scores = {}
    for name, path in (("seen", files.train), ("unseen", files.unseen)):
        if path is not None:
            real = in_levels(path, schema, binned=False)
            scores[name] = _errors(compare(real, synthetic, schema=schema_of_levels(schema)))
    if files.unseen is not None and files.label is not None:
        seen, unseen = (in_levels(path, schema, binned=False) for path in (files.train, files.unseen))
        tables = compare(seen, synthetic, holdout=unseen, target=files.label, schema=schema_of_levels(schema))
        scores["unseen"]["f1"] = round(_f1(tables), 5)
    return scores


def _f1(tables: Comparison) -> float:
    """Return the macro F1, on records kept apart, of untuned XGBoost trained on the synthetic table."""
    encoding = Encoding(tables)
    test = encoding.sample(tables.holdout)
    model = evaluator("xgboost").make(encoding.task, {}, 0)
    said = predictions(model, encoding.task, encoding.sample(tables.synthetic), test)
    return class_scores(encoding.task, test, said)["f1"]


def _errors(tables: Comparison) -> dict[str, float]:
    """Return the fidelity error and the errors of the same queries for every synthetic table."""
    rng = np.random.default_rng(0)
    queries = QueryError(prefixes=True)(tables, rng)
    errors = {
        "fidelity": TotalVariation()(tables, rng).value,
        "prefixes": queries.value,
        "three_way": queries.details[("3-way",)],
    }
    return {name: round(float(value), 5) for name, value in errors.items()}


if __name__ == "__main__":
    main()
