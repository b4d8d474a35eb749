"""Processor seconds and memory of the methods that learn from records, beside what `plan` says before.

    python benchmarks/record_costs.py [--table adult] [--epsilons inf 1] [--methods tvae argn ...] [--rows 100000] [--gpu]
    python benchmarks/record_costs.py --show [--results FILE]

Needs SYNTABULA_DATA. Each run is a process of one thread with usual options and public bounds and categories: it plans,
learns the whole table and draws rows. Seconds are processor seconds, those by the clock come beside them; the peak is the
largest memory of the process after drawing, libraries and table included. Runs that a method has no form for are left
out. Each finished run is a line of --results and is not run again. Networks are trained by the processor, or with --gpu
on the first GPU, whose largest memory comes beside.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

FOUND = Path(__file__).parent / "results" / "record_costs.jsonl"
WITHOUT = ("synthpop", "tvae", "argn", "circuit", "ctgan", "tabddpm", "great")
PRIVATE = (
    "synthpop", "dp-merf", "tab-pe", "tvae", "ctgan", "argn", "tablediffusion", "pategan", "tabddpm",
)  # fmt: skip
ASKED = ("table", "epsilon", "method", "rows", "gpu")


def main() -> None:
    """Parse arguments, run what is missing, and show all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="adult")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[math.inf, 1.0])
    parser.add_argument("--methods", nargs="+", help="default: all that have a form for the budget")
    parser.add_argument("--rows", type=int, default=100_000, help="rows to draw")
    parser.add_argument(
        "--releases", type=Path, help="folder that keeps the fitted models, for record_draws.py"
    )
    parser.add_argument("--gpu", action="store_true", help="train on the first GPU")
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(costs(**json.loads(options.one), releases=options.releases)))
        return
    finished = {tuple(run.get(key, False) for key in ASKED) for run in found(options.results)}
    for epsilon in [] if options.show else options.epsilons:
        for method in options.methods or (WITHOUT if epsilon == math.inf else PRIVATE):
            run = dict(zip(ASKED, (options.table, epsilon, method, options.rows, options.gpu), strict=True))
            if tuple(run.values()) in finished:
                continue
            one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            kept = [] if options.releases is None else ["--releases", str(options.releases)]
            command = [sys.executable, __file__, "--one", json.dumps(run), *kept]
            without = {} if options.gpu else {"CUDA_VISIBLE_DEVICES": ""}
            done = subprocess.run(
                command, env=os.environ | one_thread | without, stdout=subprocess.PIPE, text=True
            )
            if done.returncode:
                print(f"{method} at epsilon {epsilon:g} failed", file=sys.stderr)
                continue
            line = json.dumps(run | json.loads(done.stdout.splitlines()[-1]))
            print(line, flush=True)
            with options.results.open("a") as file:
                file.write(line + "\n")
    show(found(options.results))


def costs(
    table: str, epsilon: float, method: str, rows: int, gpu: bool = False, releases: Path | None = None
) -> dict[str, Any]:
    """Plan, learn and draw, and return what each took; the fitted model is kept in the folder, if there is one."""
    warnings.simplefilter("ignore")
    import torch

    import syntabula as st
    from syntabula.bench.machine import this_machine

    if gpu and not torch.cuda.is_available():
        raise SystemExit("there is no GPU")

    frame = st.datasets.load(table).frame
    columns = st.draft_schema(frame)[0].columns
    schema = st.Schema({name: replace(column, provenance="public") for name, column in columns.items()})
    synthesizer = st.synthesizer(method)(epsilon=epsilon, seed=0)
    times = [(time.process_time(), time.perf_counter())]
    plan = synthesizer.plan(schema, len(frame))
    times.append((time.process_time(), time.perf_counter()))
    release = synthesizer.fit(frame, schema)
    times.append((time.process_time(), time.perf_counter()))
    after_fit = _peak_mb()
    release.sample(rows, seed=1000)
    times.append((time.process_time(), time.perf_counter()))
    peak = _peak_mb()
    if releases is not None:
        releases.mkdir(parents=True, exist_ok=True)
        release.save(releases / f"{table}-{method}-{epsilon:g}.release")
    (planning, _), (fitting, fitting_clock), (drawing, drawing_clock) = (
        (b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(times)
    )
    machine = this_machine()
    return {
        "machine": ", ".join([machine["processor"], *(machine.get("gpus", [])[:1] if gpu else [])]),
        "planned_seconds": plan.seconds,
        "planned_mb": plan.memory_mb,
        "planning": planning,
        "fitting": fitting,
        "fitting_clock": fitting_clock,
        "drawing": drawing,
        "drawing_clock": drawing_clock,
        "gpu_peak_mb": torch.cuda.max_memory_allocated() / 2**20 if gpu else 0.0,
        "fit_peak_mb": after_fit,
        "peak_mb": peak,
    }


def _peak_mb() -> float:
    """Return the largest memory of this process so far, which Linux counts in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished runs."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def show(runs: list[dict[str, Any]]) -> None:
    """Print the runs as a Markdown table."""
    print(
        "| epsilon | method | fit s | said before | fit s by the clock | draw s | peak MB after fit | after drawing | "
        "peak MB of the GPU | machine |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for run in sorted(runs, key=lambda r: (r.get("machine", ""), -r["epsilon"], r["fitting"])):
        times = " | ".join(
            f"{run[key]:.1f}" for key in ("fitting", "planned_seconds", "fitting_clock", "drawing")
        )
        memory = f"{run['fit_peak_mb']:,.0f} | {run['peak_mb']:,.0f} | {run.get('gpu_peak_mb', 0):,.0f}"
        print(f"| {run['epsilon']:g} | {run['method']} | {times} | {memory} | {run.get('machine', '')} |")


if __name__ == "__main__":
    main()
