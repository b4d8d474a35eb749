"""Seconds and peak memory of each metric on a real table and on a million rows, without baselines.

    python benchmarks/metrics.py [--rows 1000000] [--metrics tvd-2 wasserstein ks] [--limit 600]
    python benchmarks/metrics.py --show

Needs SYNTABULA_DATA. Four fifths of the rows are the real table, the rest is the holdout; the synthetic table has
the columns of the real one, each resampled independently. With --rows, all are resampled to that length, a fifth
of it for the holdout, with a little noise on numbers, so that they have as many distinct values as a table of that
length would. Each metric runs in a separate process, forked after the tables are read, so that its peak memory
excludes the tables and imported libraries. Seconds are processor seconds. A metric that exceeds --limit is
aborted. Each measurement is a line of --results and is not repeated, unless it was aborted under a smaller limit.
At the end the whole file is printed as Markdown tables; --show does nothing else.

Metrics that train models are measured model by model, and shown as the sum. "efficacy-rmse" predicts age, as the
target of adult is not a number. "affinity-tuned" tries 2 settings of each model instead of 50, and reads no cache.
"mds", the membership disclosure score, uses 2 shadow models of MST with 2 draws each instead of 20 with 10, and 2,000
records of a table of more than 100,000 rows.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import syntabula as st
from syntabula import datasets, list_metrics
from syntabula.metrics import Comparison, Metric, compare
from syntabula.metrics.utility.affinity import Affinity
from syntabula.metrics.utility.efficacy import TAB_BENCH, Efficacy
from syntabula.metrics.utility.evaluators import EVALUATORS

FOUND = Path(__file__).parent / "results" / "metrics.jsonl"
LIBRARIES = (
    "ot",
    "scipy.sparse",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.metrics",
)
LIBRARIES += ("sklearn.model_selection", "sklearn.neighbors", "sklearn.neural_network", "sklearn.svm")
LIBRARIES += ("sklearn.tree", "xgboost", "catboost", "torch")
NUMBER = "age"
TRIALS, SHADOWS, DRAWS, SCORED = 2, 2, 2, 2_000
MODELS = {
    "efficacy": TAB_BENCH,
    "efficacy-rmse": TAB_BENCH,
    "affinity": tuple(EVALUATORS),
    "affinity-tuned": tuple(EVALUATORS),
}

Line = dict[str, Any]
Job = Callable[[], float]


def main() -> None:
    """Parse arguments, then measure or show."""
    known = [*(info.key for info in list_metrics()), "mds"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="adult")
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--metrics", nargs="+", choices=known, default=known, metavar="METRIC")
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    options = parser.parse_args()
    if not options.show:
        measure(options)
    show(known, found(options.results))


def measure(options: argparse.Namespace) -> None:
    """Append the missing measurements to the file."""
    done = {
        line["metric"]: line for line in found(options.results) if is_of(line, options.table, options.rows)
    }
    missing = [
        part
        for key in options.metrics
        for part in parts_of(key)
        if part not in done or ("seconds" not in done[part] and done[part]["limit"] < options.limit)
    ]
    if not missing:
        return
    frame, tables = tables_of(options.table, options.rows)
    for library in LIBRARIES:
        import_module(library)
    for key in missing:
        line = {"table": options.table, "rows": options.rows, "metric": key, "limit": options.limit}
        line |= apart(job_of(key, frame, tables), options.limit)
        with options.results.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")
        print(line, flush=True)


def parts_of(key: str) -> list[str]:
    """Return the parts to measure separately: the metric, or each model that it trains."""
    return [f"{key} {model}" for model in MODELS[key]] if key in MODELS else [key]


def tables_of(name: str, n_rows: int | None) -> tuple[Any, Comparison]:
    """Return the real table, as a frame, and the comparison with one of independent columns."""
    rng = np.random.default_rng(0)
    frame = datasets.load(name).frame.sample(frac=1, random_state=0).reset_index(drop=True)
    if n_rows is not None:
        frame = lengthened(frame, n_rows * 5 // 4, rng)
    n_holdout = len(frame) // 5
    real, holdout = (part.reset_index(drop=True) for part in (frame[n_holdout:], frame[:n_holdout]))
    schema = datasets.schema_of(name) if name == "adult" else None
    target = datasets.describe(name).label
    return real, compare(real, real, holdout=holdout, target=target, schema=schema).histogram(rng)


def lengthened(frame: Any, n_rows: int, rng: np.random.Generator) -> Any:
    """Return n resampled rows, with numbers moved by up to a thousandth of their range."""
    longer = frame.iloc[rng.integers(len(frame), size=n_rows)].reset_index(drop=True)
    for column in longer.select_dtypes("number"):
        reach = 1e-3 * float(frame[column].max() - frame[column].min())
        longer[column] = longer[column] + rng.uniform(-reach, reach, size=n_rows)
    return longer


def job_of(key: str, frame: Any, tables: Comparison) -> Job:
    """Return a function that computes a metric."""
    if key == "mds":
        most = None if len(frame) < 100_000 else SCORED
        given: dict[str, Any] = {
            "n_shadows": SHADOWS,
            "n_draws": DRAWS,
            "max_records": most,
            "baselines": False,
        }
        mst = st.MST(epsilon=1.0, allow_observed=True)
        return lambda: st.membership_disclosure(frame, mst, **given).value
    name, _, model = key.partition(" ")
    metric: Metric
    if name == "affinity-tuned":
        metric = Affinity(evaluators=(model,), tuned=True, n_trials=TRIALS, cache=tempfile.mkdtemp())
    elif name == "affinity":
        metric = Affinity(evaluators=(model,))
    elif name in MODELS:
        metric = Efficacy(evaluators=(model,), target="class" if name == "efficacy" else "number")
    else:
        metric = next(info for info in list_metrics() if info.key == key).make()
    seen = replace(tables, target=NUMBER) if name == "efficacy-rmse" else tables
    return lambda: metric(seen, np.random.default_rng(0)).value


def apart(job: Job, limit: int) -> Line:
    """Run a job in a fork; return its value, processor seconds and peak megabytes, or an empty line if it is
    aborted."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        ctypes.CDLL(None).malloc_trim(
            0
        )  # memory freed after reading the tables would hide the metric's own use
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # reset the peak
        before, started = resident("VmRSS"), time.process_time()
        try:
            value = job()
            seconds, megabytes = time.process_time() - started, resident("VmHWM") - before
            facts = {"value": value, "seconds": seconds, "megabytes": megabytes}
            os.write(writing, json.dumps(facts).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        measured: Line = json.loads(stream.read() or b"{}")
    _, status = os.waitpid(child, 0)
    if status and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        raise RuntimeError("a metric ended in an error")
    return measured


def resident(what: str) -> float:
    """Return a figure of /proc/self/status in megabytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"this system does not say {what}")


def found(results: Path) -> list[Line]:
    """Return all measurements of a file, later ones of the same metric after earlier ones."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def is_of(line: Line, table: str, n_rows: int | None) -> bool:
    """Return whether a measurement is of a table of that name and length."""
    return bool(line["table"] == table and line["rows"] == n_rows)


def show(known: list[str], measured: list[Line]) -> None:
    """Print a table in Markdown for each table that was measured."""
    for table, n_rows in dict.fromkeys((line["table"], line["rows"]) for line in measured):
        done = {line["metric"]: line for line in measured if is_of(line, table, n_rows)}
        print(f"\n{table}, {'as it is' if n_rows is None else f'{n_rows:,} rows'}\n")
        print("| metric | value | processor seconds | peak MB |\n|---|---|---|---|")
        for key in known:
            lines = [done[part] for part in parts_of(key) if part in done]
            whole = len(lines) == len(parts_of(key))
            if whole and all("seconds" in line for line in lines):
                value, seconds = np.mean([x["value"] for x in lines]), sum(x["seconds"] for x in lines)
                print(f"| {key} | {value:.4f} | {seconds:.2f} | {max(x['megabytes'] for x in lines):.0f} |")
            for line in lines:
                if key in MODELS or "seconds" not in line:
                    taken = f"{line['seconds']:.2f}" if "seconds" in line else f"not done in {line['limit']}"
                    print(f"| {line['metric']} | | {taken} | {line.get('megabytes', 0):.0f} |")


if __name__ == "__main__":
    main()
