"""What the benchmarks of whole systems share: coded tables, runs as processes of their own, and distances."""

from __future__ import annotations

import json
import os
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
        name: What it is called in the output.
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
        seconds: From reading the file to the written synthetic file; the limit if it was not done by then.
        peak_mb: Largest memory of the process; NaN if it was not done.
        pairs: Mean total variation distance over all pairs; NaN if it was not done.
        triples: The same over random triples.
        broke_off: Seconds after which it failed; None if it did not.
    """

    seconds: float
    peak_mb: float
    pairs: float
    triples: float
    broke_off: float | None = None


def coded_table(name: str, folder: Path, bins: int = 100) -> CodedTable:
    """Return a coded table: `NAME_coded` of SYNTABULA_DATA, or another dataset coded with uniform bins."""
    data = Path(os.environ["SYNTABULA_DATA"])
    if (data / f"{name}.domain.json").exists():
        return CodedTable(name, data / f"{name}.parquet", data / f"{name}.domain.json")
    import pandas as pd

    import syntabula
    from syntabula.table.codec import Codec
    from syntabula.table.read import read

    table = read(syntabula.datasets.load(name).frame)
    schema, _ = syntabula.draft_schema(table)
    encoded, _ = Codec.plan(schema, bins=bins).encode(table, strict=False)
    coded = CodedTable(name, folder / f"{name}.parquet", folder / f"{name}.domain.json")
    pd.DataFrame(dict(zip(encoded.domain.columns, encoded.codes, strict=True))).to_parquet(coded.path)
    sizes = dict(zip(encoded.domain.columns, encoded.domain.sizes, strict=True))
    coded.domain.write_text(json.dumps(sizes))
    return coded


def run(command: Sequence[str], table: CodedTable, epsilon: float, seed: int, limit: float) -> Outcome:
    """Run a system on a table: its command gets table, domain, output, epsilon and seed as last arguments.

    A run that takes longer than the limit, or fails, counts as the limit.
    """
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "synthetic.parquet"
        last = [str(table.path), str(table.domain), str(out), str(epsilon), str(seed)]
        started = time.perf_counter()
        try:
            done = subprocess.run(
                [*command, *last], check=True, capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return Outcome(limit, float("nan"), float("nan"), float("nan"))
        except subprocess.CalledProcessError as error:
            print(f"{' '.join(command)} failed:\n{error.stderr[-2000:]}", file=sys.stderr)
            broke_off = time.perf_counter() - started
            return Outcome(limit, float("nan"), float("nan"), float("nan"), broke_off)
        figures = json.loads(done.stdout.splitlines()[-1])
        pairs, triples = distances(table, out)
        return Outcome(figures["seconds"], figures["peak_mb"], pairs, triples)


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
    "| table | epsilon | system | runs | seconds | peak MB | TVD pairs | TVD triples | times ours |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def line(table: str, epsilon: float, system: str, outcomes: Sequence[Outcome], ours: float | None) -> str:
    """Return one line of the table of results; `ours` is the mean of our seconds."""
    seconds = float(np.mean([o.seconds for o in outcomes]))
    pairs = [o.pairs for o in outcomes]
    spread = float(np.std(pairs, ddof=1) / np.sqrt(len(pairs))) if len(pairs) > 1 else float("nan")
    done = all(np.isfinite(pairs))
    ratio = "" if ours is None else f"{'' if done else '> '}{seconds / ours:.0f}"
    if not done:
        broke_off = outcomes[-1].broke_off
        how = f"not done in {seconds:.0f}" if broke_off is None else f"failed after {broke_off:.0f}"
        return f"| {table} | {epsilon:g} | {system} | {len(pairs)} | {how} | | | | {ratio} |"
    return (
        f"| {table} | {epsilon:g} | {system} | {len(pairs)} | {seconds:.2f} "
        f"| {np.max([o.peak_mb for o in outcomes]):.0f} | {np.mean(pairs):.4f} ± {spread:.4f} "
        f"| {np.mean([o.triples for o in outcomes]):.4f} | {ratio} |"
    )
