"""Shared parts of the benchmarks of whole systems: coded tables, runs as separate processes, and distances."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


@dataclass(frozen=True)
class CodedTable:
    """A table of integer codes on disk, which every system reads.

    Attributes:
        name: Its name in the output.
        path: Parquet file of codes.
        domain: JSON file with the number of codes of each column.
    """

    name: str
    path: Path
    domain: Path

    @property
    def sizes(self) -> dict[str, int]:
        """Number of codes of each column."""
        return json.loads(self.domain.read_text())


@dataclass(frozen=True)
class Outcome:
    """One run.

    Attributes:
        ended: "done", "processor limit", "wall limit", "failed", or "not tried" after a smaller run was not done.
        seconds: From reading the file to writing the synthetic one, or until it ended if it was not done.
        processor_seconds: Time of the process on all processors, or up to the limit.
        peak_mb: Largest memory of the process; NaN if it was not done.
        pairs: Mean total variation distance over all pairs; NaN if it was not done.
        triples: The same over random triples.
        currency: Unit in which the budget was counted, if the run states it.
    """

    ended: str
    seconds: float
    processor_seconds: float
    peak_mb: float = math.nan
    pairs: float = math.nan
    triples: float = math.nan
    currency: str = ""

    @property
    def done(self) -> bool:
        """Whether it wrote a synthetic table within the limits."""
        return self.ended == "done"


def coded_table(name: str, folder: Path, bins: int = 100) -> CodedTable:
    """Return a table of codes: one stored as codes, or another dataset coded with uniform bins.

    Stored are `NAME.parquet` beside `NAME.domain.json` in the folder SYNTABULA_DATA, such as `adult_coded`, and
    `adult_margnet` in the checkout of KaiChen9909/margnet that the environment variable MARGNET names.
    """
    data = Path(os.environ.get("SYNTABULA_DATA", "no folder"))
    if (data / f"{name}.domain.json").exists():
        return CodedTable(name, data / f"{name}.parquet", data / f"{name}.domain.json")
    if name == "adult_coded":
        sys.exit("adult_coded: SYNTABULA_DATA must name the folder that holds it; gauss10 needs no file")
    import pandas as pd

    import syntabula
    from syntabula.bench.table_source import CODED_ADULT, load_table, schema_of_table
    from syntabula.table.coding.codec import Codec
    from syntabula.table.read import read

    if name == CODED_ADULT:
        table = load_table(name)
        schema = schema_of_table(name, table)
    else:
        table = read(syntabula.datasets.load(name).frame)
        schema, _ = syntabula.draft_schema(table)
    encoded, _ = Codec.plan(schema, bins=bins).encode(table, strict=False)
    coded = CodedTable(name, folder / f"{name}.parquet", folder / f"{name}.domain.json")
    pd.DataFrame(dict(zip(encoded.domain.columns, encoded.codes, strict=True))).to_parquet(coded.path)
    sizes = dict(zip(encoded.domain.columns, encoded.domain.sizes, strict=True))
    coded.domain.write_text(json.dumps(sizes))
    return coded


def run(command: Sequence[str], table: CodedTable, epsilon: float, seed: int, limit: float) -> Outcome:
    """Run a system on a table; its command gets table, domain, output, epsilon and seed as the last arguments.

    Args:
        command: Command to run.
        table: Table to run it on.
        epsilon: Budget, at a delta of 1e-5.
        seed: Seed of the run.
        limit: Limit in processor seconds; it is also stopped after twice as many wall-clock seconds.
    """
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "synthetic.parquet"
        last = [str(table.path), str(table.domain), str(out), str(epsilon), str(seed)]
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        before, started = _processor_seconds(), time.perf_counter()
        try:
            done = subprocess.run(
                ["bash", "-c", f'ulimit -t {math.ceil(limit)}; exec "$@"', "bash", *command, *last],
                check=True,
                capture_output=True,
                text=True,
                timeout=2 * limit,
                env={**os.environ, **one_thread},
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            seconds, processor_seconds = time.perf_counter() - started, _processor_seconds() - before
            if isinstance(error, subprocess.TimeoutExpired):
                ended = "wall limit"
            elif (
                error.returncode in (-signal.SIGXCPU, -signal.SIGKILL) and processor_seconds > 0.95 * limit
            ):  # the limit counts slightly more than the usage
                ended = "processor limit"
            else:
                ended = "failed"
                print(f"{' '.join(command)} failed:\n{error.stderr[-2000:]}", file=sys.stderr)
            return Outcome(ended, seconds, processor_seconds)
        figures = json.loads(done.stdout.splitlines()[-1])
        pairs, triples = distances(table, out)
        return Outcome("done", **figures, pairs=pairs, triples=triples)


def _processor_seconds() -> float:
    """Return the processor seconds of all finished children of this process."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def distances(table: CodedTable, synthetic: Path, n_triples: int = 200) -> tuple[float, float]:
    """Return the mean TVD of a synthetic table over all pairs and over random triples."""
    import pandas as pd

    names, sizes = list(table.sizes), list(table.sizes.values())
    real_rows = pd.read_parquet(table.path)[names].to_numpy().astype(np.int64)
    rows = pd.read_parquet(synthetic)[names].to_numpy().astype(np.int64)
    every = list(combinations(range(len(sizes)), 3))
    order = np.random.default_rng(0).permutation(len(every))[:n_triples]
    groups = (list(combinations(range(len(sizes)), 2)), [every[i] for i in order])
    pairs, triples = (float(np.mean([tvd(real_rows, rows, sizes, c) for c in some])) for some in groups)
    return pairs, triples


def tvd(real: np.ndarray, synthetic: np.ndarray, sizes: Sequence[int], clique: tuple[int, ...]) -> float:
    """Return half the L1 distance between two tables' joint frequencies of some columns."""
    shape = tuple(sizes[i] for i in clique)
    cells = int(np.prod(shape))
    one, other = (
        np.bincount(np.ravel_multi_index(t[:, clique].T, shape), minlength=cells) / max(len(t), 1)
        for t in (real, synthetic)
    )
    return float(np.abs(one - other).sum() / 2)


HEADER = (
    "| table | epsilon | system | runs | processor s | seconds | peak MB | TVD pairs | TVD triples | times ours |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def line(
    table: str, epsilon: float, system: str, outcomes: Sequence[Outcome], ours: Sequence[Outcome] | None
) -> str:
    """Return one line of the table of results; a peer's last figure is its processor seconds over those of ours."""
    processor, seconds = (_mean(outcomes, figure) for figure in ("processor_seconds", "seconds"))
    done = all(o.done for o in outcomes)
    ratio = ""
    if ours and all(o.done for o in ours):
        ratio = f"{'' if done else '> '}{processor / _mean(ours, 'processor_seconds'):.0f}"
    head = f"| {table} | {epsilon:g} | {system} "
    if not done:
        last = outcomes[-1]
        if last.ended == "not tried":
            return f"{head}| 0 | not tried: not done at a smaller epsilon | | | | | {ratio} |"
        how = "failed after" if last.ended == "failed" else "not done in"
        return f"{head}| {len(outcomes)} | {how} {last.processor_seconds:.0f} | {last.seconds:.0f} | | | | {ratio} |"
    pairs = [o.pairs for o in outcomes]
    spread = f" ± {np.std(pairs, ddof=1) / np.sqrt(len(pairs)):.4f}" if len(pairs) > 1 else ""
    return (
        f"{head}| {len(pairs)} | {processor:.2f} | {seconds:.2f} | {max(o.peak_mb for o in outcomes):.0f} "
        f"| {np.mean(pairs):.4f}{spread} | {_mean(outcomes, 'triples'):.4f} | {ratio} |"
    )


def _mean(outcomes: Sequence[Outcome], figure: str) -> float:
    return float(np.mean([getattr(o, figure) for o in outcomes]))
