"""Seconds and peak memory of each metric on real tables, without baselines.

    python benchmarks/metrics.py
    python benchmarks/metrics.py --table adult --rows 1000000 --metrics tvd-2 wasserstein ks

The synthetic table has the columns of the real one, each resampled on its own. With --rows, both tables are
resampled to that length with a little noise on numbers, so that they stay as finely resolved as a table of
that length would be. Each metric runs in a process of its own, forked after the tables are read, so that peak
memory is what the metric takes beyond the tables and imported libraries. Seconds are the least of --repeats;
"processor" leaves out the time that the process waited for others. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from importlib import import_module
from pathlib import Path

import numpy as np

from syntabula import datasets, list_metrics
from syntabula.metrics import Comparison, MetricInfo, View, compare


def main() -> None:
    """Parse arguments, run everything, print the table."""
    quick = [info.key for info in list_metrics() if info.group in ("fidelity", "queries")]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="adult")
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--metrics", nargs="+", default=quick)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()

    path = datasets.load(options.table).path
    schema = datasets.schema_of(options.table) if options.table == "adult" else None
    tables = compare(path, path, schema=schema)
    rng = np.random.default_rng(0)
    if options.rows is not None:
        tables = lengthened(tables, options.rows, rng)
    tables = tables.histogram(rng)
    for library in ("ot", "scipy.sparse", "sklearn.ensemble", "sklearn.linear_model", "sklearn.metrics"):
        import_module(library)

    print(f"{options.table}: {tables.real.n_rows} rows, {len(tables.columns)} columns\n")
    print("| metric | value | seconds | processor | peak MB |\n|---|---|---|---|---|")
    for info in list_metrics():
        if info.key in options.metrics:
            runs = [apart(info, tables) for _ in range(options.repeats)]
            seconds, processor = (min(run[name] for run in runs) for name in ("seconds", "processor"))
            peak = max(run["megabytes"] for run in runs)
            print(f"| {info.key} | {runs[0]['value']:.4f} | {seconds:.2f} | {processor:.2f} | {peak:.0f} |")


def lengthened(tables: Comparison, n: int, rng: np.random.Generator) -> Comparison:
    """Return tables of n resampled rows, numbers moved by up to a thousandth of their range."""
    view = tables.real.take(rng.integers(tables.real.n_rows, size=n))
    numbers = {}
    for name, values in view.numbers.items():
        low, high = tables.bounds[name]
        numbers[name] = values + rng.uniform(-1e-3, 1e-3, size=n) * (high - low)
    longer = View(numbers, view.codes, n)
    return Comparison(real=longer, synthetic=longer, columns=tables.columns, categories=tables.categories)


def apart(info: MetricInfo, tables: Comparison) -> dict[str, float]:
    """Run a metric in a fork; return its value, seconds, processor seconds and peak megabytes."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
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
        found: dict[str, float] = json.loads(stream.read())
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
