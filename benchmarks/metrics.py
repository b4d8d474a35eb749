"""Seconds and peak memory of each metric on real tables, without baselines.

    python benchmarks/metrics.py
    python benchmarks/metrics.py --table adult --rows 1000000 --metrics tvd-2 wasserstein ks

Four fifths of the rows are the real table, the rest is the holdout; the synthetic table has the columns of the
real one, each resampled on its own. With --rows, all are resampled to that length, a fifth of it for the holdout,
with a little noise on numbers, so that they stay as finely resolved as a table of that length would be. Each
metric runs in a process of its own, forked after the tables are read, so that peak memory is what the metric
takes beyond the tables and imported libraries. Seconds are the least of --repeats; "processor" leaves out the
time that the process waited for others. A metric that takes --limit seconds of processor time is given up.
Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from syntabula import datasets, list_metrics
from syntabula.metrics import Comparison, MetricInfo, View, compare


def main() -> None:
    """Parse arguments, run everything, print the table."""
    usual = [info.key for info in list_metrics() if info.key not in ("efficacy-rmse", "affinity-tuned")]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="adult")
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--metrics", nargs="+", default=usual)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--limit", type=int, default=120)
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    frame = datasets.load(options.table).frame.sample(frac=1, random_state=0)
    schema = datasets.schema_of(options.table) if options.table == "adult" else None
    target = datasets.describe(options.table).label
    real, holdout = (p.reset_index(drop=True) for p in (frame[len(frame) // 5 :], frame[: len(frame) // 5]))
    tables = compare(real, real, holdout=holdout, target=target, schema=schema)
    if options.rows is not None:
        tables = lengthened(tables, options.rows, rng)
    tables = tables.histogram(rng)
    for library in ("ot", "scipy.sparse", "sklearn.ensemble", "sklearn.linear_model", "sklearn.metrics"):
        import_module(library)
    for library in ("sklearn.neural_network", "sklearn.svm", "xgboost", "catboost", "torch"):
        import_module(library)

    print(f"{options.table}: {tables.real.n_rows} rows, {len(tables.columns)} columns\n")
    print("| metric | value | seconds | processor | peak MB |\n|---|---|---|---|---|")
    for info in list_metrics():
        if info.key in options.metrics:
            runs = [apart(info, tables, options.limit) for _ in range(options.repeats)]
            if not all(runs):
                print(f"| {info.key} | | | not done in {options.limit} | |", flush=True)
                continue
            seconds, processor = (min(run[name] for run in runs) for name in ("seconds", "processor"))
            peak = max(run["megabytes"] for run in runs)
            print(
                f"| {info.key} | {runs[0]['value']:.4f} | {seconds:.2f} | {processor:.2f} | {peak:.0f} |",
                flush=True,
            )


def lengthened(tables: Comparison, n: int, rng: np.random.Generator) -> Comparison:
    """Return tables of n resampled rows, numbers moved by up to a thousandth of their range."""

    def longer(view: View, n: int) -> View:
        taken = view.take(rng.integers(view.n_rows, size=n))
        numbers = {}
        for name, values in taken.numbers.items():
            low, high = tables.bounds[name]
            numbers[name] = values + rng.uniform(-1e-3, 1e-3, size=n) * (high - low)
        return View(numbers, taken.codes, n)

    real = longer(tables.real, n)
    return replace(tables, real=real, synthetic=real, holdout=longer(tables.holdout, n // 5))


def apart(info: MetricInfo, tables: Comparison, limit: int) -> dict[str, float]:
    """Run a metric in a fork; return its value, seconds, processor seconds and peak megabytes, or nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
        before = resident("VmRSS")
        wall, processor = time.perf_counter(), time.process_time()
        score = info.make()(tables, np.random.default_rng(0))
        facts = {
            "value": score.value,
            "seconds": time.perf_counter() - wall,
            "processor": time.process_time() - processor,
            "megabytes": resident("VmHWM") - before,
        }
        os.write(writing, json.dumps(facts).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        found: dict[str, float] = json.loads(stream.read() or b"{}")
    os.waitpid(child, 0)
    return found


def resident(what: str) -> float:
    """Return a figure of /proc/self/status in megabytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"this system does not say {what}")


if __name__ == "__main__":
    main()
