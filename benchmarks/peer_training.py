"""Compares trainings with the public code of their papers on one table, in one run, at equal steps and sizes.

    SYNTABULA_PEER_TABDDPM=../peers/tabddpm/bin/python SYNTABULA_PEER_TABDDPM_CODE=tab-ddpm ... \\
        python benchmarks/peer_training.py --methods tabddpm tablediffusion dp-merf --repeats 2

Needs SYNTABULA_DATA, and for each method the Python and the checkout that docs/studies.md says; for synthpop
SYNTABULA_PEER_DPART, a Python 3.9 with dpart and pyarrow; for great SYNTABULA_PEER_GREAT, a Python with be-great and
pyarrow. Each run is a process of one thread, and the sides take turns. Training is timed from the frame to the trained
model, preparation included and imports not; so many rows are drawn then. Where more rows are to be learned than the table
has, they are drawn from it with replacement. Seconds are processor seconds, of the process and those that it started, the
least of the repeats; the peak is the largest memory of the process, libraries included. "Others" are the peer's seconds
over ours.

What is equal: the steps; the records of a step, on average with a budget; the width of two layers; the levels of noise;
the number of features of DP-MERF. Rows that DP-MERF's step generates are each side's own, as ours are distributions.
dpart's DPsynthpop and our Synthpop have no steps, nor have arfpy and our Synthpop without privacy ("trees"). MOSTLY AI's
network has a small one for each column, and ours one for all, about as large together.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from peer_training_sides import OURS, THEIRS, VARIABLES, Side


def main() -> None:
    """Parse arguments, run each side in turn, print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=list(OURS), choices=list(OURS))
    parser.add_argument("--table", default="adult")
    parser.add_argument("--learned", type=int, help="rows that are learned; all of them if not set")
    parser.add_argument("--rows", type=int, default=200, help="rows to draw")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        side, method, table, facts, rows = options.one
        sides = OURS if side == "ours" else THEIRS
        sys.path.pop(0)  # a script beside this one has the name of a package that the public code looks for
        print(json.dumps(timed(sides[method], Path(table), Path(facts), int(rows))))
        return
    import syntabula as st
    from syntabula.bench.peers.rows import facts_of

    with tempfile.TemporaryDirectory() as place:
        table, facts = Path(place) / "rows.parquet", Path(place) / "columns.json"
        frame = st.datasets.load(options.table).frame
        if options.learned is not None:
            more = options.learned > len(frame)
            frame = frame.sample(options.learned, replace=more, random_state=0).reset_index(drop=True)
        frame.astype(dict.fromkeys(frame.select_dtypes("str").columns, object)).to_parquet(table)
        columns = st.datasets.schema_of(options.table).columns
        facts.write_text(json.dumps({"name": options.table, **{k: facts_of(c) for k, c in columns.items()}}))
        print("| method | side | train s | draw s | peak MB after training | after drawing | others / ours |")
        print("|---|---|---|---|---|---|---|")
        for method in options.methods:
            pythons = {"ours": sys.executable, "public": os.environ[f"SYNTABULA_PEER_{VARIABLES[method]}"]}
            found: dict[str, list[dict[str, float]]] = {side: [] for side in pythons}
            for _ in range(options.repeats):
                for side, python in pythons.items():
                    one = [side, method, str(table), str(facts), str(options.rows)]
                    found[side].append(run([python, "-W", "ignore", __file__, "--one", *one]))
            ours = min(run["training"] for run in found["ours"])
            for side, runs in found.items():
                least = {key: min(run[key] for run in runs) for key in runs[0]}
                others = "" if side == "ours" else f"{least['training'] / ours:.1f}"
                print(
                    f"| {method} | {side} | {least['training']:.1f} | {least['drawing']:.1f} | "
                    f"{least['trained_mb']:,.0f} | {least['peak_mb']:,.0f} | {others} |",
                    flush=True,
                )


def run(command: list[str]) -> dict[str, float]:
    """Run one side, and return what it printed last."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(command, env=os.environ | one_thread, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def timed(prepare: Side, table: Path, facts: Path, rows: int) -> dict[str, float]:
    """Train and draw, and return processor seconds and memory."""
    import pandas

    columns: dict[str, Any] = json.loads(facts.read_text())
    train = prepare(pandas.read_parquet(table), columns)
    times = [_processor_seconds()]
    draw = train()
    times.append(_processor_seconds())
    trained_mb = _peak_mb()
    draw(rows)
    times.append(_processor_seconds())
    return {
        "training": times[1] - times[0],
        "drawing": times[2] - times[1],
        "trained_mb": trained_mb,
        "peak_mb": _peak_mb(),
    }


def _processor_seconds() -> float:
    """Return those of all threads of this process, and of those that it started and that have ended."""
    started = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + started.ru_utime + started.ru_stime


def _peak_mb() -> float:
    """Return the largest memory of this process; what `resource` says counts that of the one that started it, too."""
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
