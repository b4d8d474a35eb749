"""A table of 20 columns beside public systems that read tables beyond memory: processor seconds and memory of all.

    python benchmarks/big_tables.py --rows 1000000 --sides ours dpsynth tumult smartnoise \\
        --dpsynth-python ../peers/beam/bin/python --dpsynth ../peers/dpsynth \\
        --tumult-python ../peers/tumult/bin/python --smartnoise-python ../peers/smartnoise/bin/python

Sides: `ours` is MST with 32 bins, as the peers have, from a folder of Parquet files to as many synthetic rows; `dpsynth`
is MST through the Beam adapter of google/dpsynth; `smartnoise` is MST of smartnoise-synth; `tumult` asks Tumult
Analytics, on Spark, for noisy counts of `--pairs` pairs. The scripts of the peers, peer_*.py, say how to install each.

Each side is a process with children of its own, and they run one after the other. Processor seconds are those of all
processes that a side starts, Java included; memory is the most that they take together, with shared pages once. A side
that takes more than `--limit` processor seconds or `--most-mb` is ended, and what it took is a lower bound.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SIZES = (5, 8, 12, 20, 30, 50, 3)
TOPS = (100, 10, 1000, 50_000)
ROWS_OF_FILE = 1_000_000


def main() -> None:
    """Parse arguments, write the table, run each side and print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5])
    parser.add_argument(
        "--folder", type=Path, help="where the table stays for the next run; temporary by default"
    )
    sides = ("ours", "dpsynth", "tumult", "smartnoise")
    parser.add_argument("--sides", nargs="+", choices=sides, default=["ours"])
    parser.add_argument(
        "--pairs", type=int, default=10, help="that Tumult counts; its seconds grow with them"
    )
    parser.add_argument("--limit", type=float, default=600.0, help="processor seconds given to one side")
    parser.add_argument("--most-mb", type=float, default=8000.0)
    parser.add_argument("--dpsynth", type=Path, help="checkout of google/dpsynth")
    parser.add_argument("--dpsynth-python", default=sys.executable, help="interpreter that has what it needs")
    parser.add_argument("--tumult-python", default=sys.executable, help="the same of Tumult Analytics")
    parser.add_argument("--smartnoise-python", default=sys.executable, help="the same of smartnoise-synth")
    options = parser.parse_args()

    print("| rows | side | processor seconds | seconds | peak MB | times ours | stages |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        for rows in map(int, options.rows):
            folder = (options.folder or Path(temporary)) / str(rows)
            schema = written(folder, rows)
            ours = None
            for side in options.sides:
                out = Path(temporary) / f"{side}.parquet"
                found = measured(
                    _command(side, options),
                    [folder, schema, out],
                    options.limit,
                    options.most_mb,
                    options.dpsynth,
                )
                ours = found.processor_seconds if side == "ours" else ours
                print(_line(rows, side, found, ours), flush=True)


def _command(side: str, options: argparse.Namespace) -> list[str]:
    if side == "ours":
        return [sys.executable, str(HERE / "big_tables_own.py")]
    return [
        vars(options)[f"{side}_python"],
        str(HERE / f"peer_{side}.py"),
        *([str(options.pairs)] if side == "tumult" else []),
    ]


def written(folder: Path, n_rows: int) -> Path:
    """Write the table, unless it is there, and return the path of its schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    schema = folder.with_suffix(".yaml")
    if schema.exists():
        return schema
    for number in range(-(-n_rows // ROWS_OF_FILE)):
        n = min(n_rows - number * ROWS_OF_FILE, ROWS_OF_FILE)
        rng = np.random.default_rng(number)
        base = rng.integers(0, 8, n)
        columns: dict[str, pa.Array] = {}
        for i, size in enumerate(SIZES):
            codes = (base * (i + 1) + rng.integers(0, size, n) // 2) % size
            words = pa.array([f"text {i} {j}" for j in range(size)])
            columns[f"t{i}"] = words.take(pa.array(codes))
        for i, top in enumerate(TOPS):
            columns[f"i{i}"] = pa.array(np.minimum((rng.gamma(2, top / 8, n) + base).astype(np.int64), top))
        for i in range(6):
            values = (rng.normal(size=n) * 10 + base * 3).round(2 if i < 3 else 6)
            columns[f"f{i}"] = pa.array(values, mask=(rng.random(n) < 0.05) if i == 5 else None)
        columns["b"] = pa.array(rng.random(n) < 0.3)
        columns["d"] = pa.array((19_000 + rng.integers(0, 1000, n)).astype(np.int32)).cast(pa.date32())
        moments = (1_700_000_000 + rng.integers(0, 10**7, n)) * 10**6
        columns["at"] = pa.array(moments).cast(pa.timestamp("us"))
        path = folder / f"p{number:03}.parquet"
        pq.write_table(pa.table(columns), path, compression="zstd", row_group_size=250_000)
    schema.write_text(SCHEMA)
    return schema


def _schema() -> str:
    lines = ["version: 1", "columns:"]
    for i, size in enumerate(SIZES):
        words = ", ".join(f"text {i} {j}" for j in range(size))
        lines.append(f"  t{i}: {{kind: categorical, categories: [{words}]}}")
    for i, top in enumerate(TOPS):
        lines.append(f"  i{i}: {{kind: numeric, lower: 0, upper: {top}, integer: true}}")
    for i in range(6):
        missing = ", nullable: true" if i == 5 else ""
        lines.append(f"  f{i}: {{kind: numeric, lower: -60, upper: 90{missing}}}")
    lines += [
        "  b: {kind: boolean}",
        "  d: {kind: date, lower: 2022-01-01, upper: 2025-01-01}",
        "  at: {kind: datetime, lower: '2023-11-14 00:00:00', upper: '2024-04-01 00:00:00', resolution: second}",
    ]
    return "\n".join(lines) + "\n"


SCHEMA = _schema()


@dataclass(frozen=True)
class Measured:
    """What the processes of a side took.

    Attributes:
        ended: "done", or why it was ended.
        stages: What it printed of its stages.
    """

    ended: str
    seconds: float
    processor_seconds: float
    peak_mb: float
    stages: str


def measured(
    command: list[str], paths: list[Path], limit: float, most_mb: float, checkout: Path | None
) -> Measured:
    """Run a side in a session of its own and add up what its processes take."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {
        **os.environ,
        **one_thread,
        "DPSYNTH": str(checkout.resolve()) if checkout else "",
        "PYTHONWARNINGS": "ignore",
    }
    used: dict[int, float] = {}
    peak_mb, ended, started = 0.0, "done", time.perf_counter()
    words = [*command, *(str(path.resolve()) for path in paths)]
    with (
        tempfile.TemporaryDirectory() as folder,  # Spark leaves files where it runs
        tempfile.TemporaryFile("w+") as said,
        tempfile.TemporaryFile("w+") as errors,
    ):
        process = subprocess.Popen(
            words, stdout=said, stderr=errors, env=environment, start_new_session=True, cwd=folder
        )
        while process.poll() is None:
            together = 0.0
            for pid in _of_session(process.pid):
                together += _take(pid, used)
            peak_mb = max(peak_mb, together)
            if sum(used.values()) > limit or peak_mb > most_mb:
                ended = "not done"
                _end(process.pid)
                process.wait()
                break
            time.sleep(0.2)
        seconds = time.perf_counter() - started
        _end(process.pid)
        if process.returncode and ended == "done":
            errors.seek(0)
            ended = "failed: " + (errors.read().strip().splitlines() or ["no message"])[-1][:200]
        said.seek(0)
        stages = "; ".join(line[6:].strip() for line in said if line.startswith("stage "))
    return Measured(ended, seconds, sum(used.values()), peak_mb, stages)


def _of_session(leader: int) -> list[int]:
    """Return the processes of a session, whatever their parents are."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(") ")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == leader:
            found.append(int(path.parent.name))
    return found


def _take(pid: int, used: dict[int, float]) -> float:
    """Note the processor seconds of a process, and return its memory in MB, of shared pages its part."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        used[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _end(leader: int) -> None:
    """End what is left of a session that this process started."""
    for pid in _of_session(leader):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _line(rows: int, side: str, found: Measured, ours: float | None) -> str:
    more = "" if found.ended == "done" else "> "
    ratio = (
        f"{more}{found.processor_seconds / ours:.1f}" if ours and not found.ended.startswith("failed") else ""
    )
    return (
        f"| {rows:,} | {side} | {more}{found.processor_seconds:.1f} | {found.seconds:.0f} | {found.peak_mb:.0f} "
        f"| {ratio} | {found.stages if found.ended == 'done' else f'{found.ended}; {found.stages}'} |"
    )


if __name__ == "__main__":
    main()
