"""Seconds and memory of drawing many rows from models that were fitted before.

    python benchmarks/record_costs.py --releases FOLDER
    python benchmarks/record_draws.py --releases FOLDER [--rows 1000000] [--threads 1 2] [--models adult-tvae-1 ...]
    python benchmarks/record_draws.py --show

Each draw is a process of its own that loads the release and draws all rows into one frame, with so many threads for
products, in which rows are drawn, too. Seconds are by the processor and by the clock, without loading; the peak is the
largest memory of the process, libraries and drawn frame included. Each finished draw is a line of --results and is not
made again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

FOUND = Path(__file__).parent / "results" / "record_draws.jsonl"
ASKED = ("model", "rows", "threads")
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Parse arguments, draw what is missing, and show all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--releases", type=Path, help="folder of fitted models, as record_costs.py keeps them"
    )
    parser.add_argument("--models", nargs="+", help="default: all in the folder")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--show", action="store_true", help="print what the file holds, draw nothing")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(drawn(Path(options.one), options.rows)))
        return
    finished = {tuple(draw[key] for key in ASKED) for draw in found(options.results)}
    if not options.show:
        if options.releases is None:
            parser.error("name the folder of the fitted models by --releases")
        for model in options.models or sorted(path.stem for path in options.releases.glob("*.release")):
            for threads in options.threads:
                draw = dict(zip(ASKED, (model, options.rows, threads), strict=True))
                if tuple(draw.values()) in finished:
                    continue
                path = options.releases / f"{model}.release"
                command = [sys.executable, __file__, "--one", str(path), "--rows", str(options.rows)]
                environment = os.environ | dict.fromkeys(VARIABLES, str(threads))
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
                line = json.dumps(draw | json.loads(done.stdout.splitlines()[-1]))
                print(line, flush=True)
                with options.results.open("a") as file:
                    file.write(line + "\n")
    show(found(options.results))


def drawn(path: Path, rows: int) -> dict[str, Any]:
    """Load a release and draw rows, and return what it took."""
    warnings.simplefilter("ignore")
    import syntabula as st
    from syntabula.bench.machine import this_machine

    release = st.load(path)
    release.sample(1, seed=0)  # imports are not timed
    processor, clock = time.process_time(), time.perf_counter()
    release.sample(rows, seed=1000)
    return {
        "processor": time.process_time() - processor,
        "clock": time.perf_counter() - clock,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "machine": this_machine()["processor"],
    }


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished draws."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def show(draws: list[dict[str, Any]]) -> None:
    """Print the draws as a Markdown table."""
    print("| model | rows | threads | processor s | clock s | peak MB | machine |")
    print("|---|---|---|---|---|---|---|")
    for draw in draws:
        seconds = f"{draw['processor']:.1f} | {draw['clock']:.1f}"
        print(
            f"| {draw['model']} | {draw['rows']:,} | {draw['threads']} | {seconds} | {draw['peak_mb']:,.0f} | "
            f"{draw['machine']} |"
        )


if __name__ == "__main__":
    main()
