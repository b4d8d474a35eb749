"""MST and Independent against dpmm's MST on the same coded table, in the same run.

    python benchmarks/mst.py --table adult_coded --epsilons 0.2 1 5 --seeds 5 --peer-python peers/bin/python

Each run is a process of its own, from reading the Parquet file to the written Parquet file, so that seconds
and peak memory are those of the whole job. Prints, per method and epsilon, the mean over seeds of seconds,
peak memory, and the total variation distance (TVD) over all pairs and 200 random triples.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def own_run(
    table: Path, sizes: dict[str, int] | None, out: Path, method: str, epsilon: float, seed: int
) -> dict:
    """Run our command on a table and return seconds and peak memory of the process."""
    command = [
        sys.executable,
        str(HERE / "own_run.py"),
        str(table),
        str(out),
        method,
        str(epsilon),
        str(seed),
    ]
    command.append(json.dumps(sizes))
    return json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def peer_run(
    python: str, table: Path, domain: Path, out: Path, epsilon: float, seed: int, limit: int
) -> dict:
    """Run dpmm's MST on a coded table; a run that takes longer than the limit counts as the limit."""
    command = [python, str(HERE / "peer_dpmm.py"), str(table), str(domain), str(out), str(epsilon), str(seed)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"seconds": float(limit), "peak_mb": float("nan")}
    return json.loads(done.stdout.splitlines()[-1])


def distances(
    real: np.ndarray, synthetic: np.ndarray, sizes: list[int], triples: int = 200
) -> tuple[float, float]:
    """Return the mean TVD over all pairs and over random triples of two coded tables [rows, columns]."""
    rng = np.random.default_rng(0)
    pairs = list(combinations(range(len(sizes)), 2))
    every = list(combinations(range(len(sizes)), 3))
    chosen = [every[i] for i in rng.permutation(len(every))[:triples]]
    return tuple(float(np.mean([tvd(real, synthetic, sizes, c) for c in some])) for some in (pairs, chosen))


def tvd(real: np.ndarray, synthetic: np.ndarray, sizes: list[int], clique: tuple[int, ...]) -> float:
    """Return half the L1 distance between two tables' joint frequencies of some columns."""
    shape = tuple(sizes[i] for i in clique)
    cells = int(np.prod(shape))
    one, other = (
        np.bincount(np.ravel_multi_index(t[:, clique].T, shape), minlength=cells) / max(len(t), 1)
        for t in (real, synthetic)
    )
    return float(np.abs(one - other).sum() / 2)


def main() -> None:
    """Parse arguments, run everything, print a table in Markdown."""
    import pandas as pd

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="adult_coded")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.2, 1.0, 5.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peer-python")
    parser.add_argument("--peer-seeds", type=int, default=1)
    parser.add_argument("--peer-limit", type=int, default=1800, help="seconds given to one run of the peer")
    options = parser.parse_args()

    folder = Path(os.environ["SYNTABULA_DATA"])
    table = folder / f"{options.table}.parquet"
    domain_path = folder / f"{options.table}.domain.json"
    sizes = json.loads(domain_path.read_text())
    real = pd.read_parquet(table)[list(sizes)].to_numpy()

    print("| method | epsilon | runs | seconds | peak MB | TVD pairs | TVD triples |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "synthetic.parquet"
        for epsilon in options.epsilons:
            methods = [("syntabula independent", options.seeds), ("syntabula mst", options.seeds)]
            if options.peer_python:
                methods.append(("dpmm mst", options.peer_seeds))
            for name, n_runs in methods:
                rows = []
                for seed in range(n_runs):
                    if name.startswith("dpmm"):
                        figures = peer_run(
                            options.peer_python, table, domain_path, out, epsilon, seed, options.peer_limit
                        )
                    else:
                        figures = own_run(table, sizes, out, name.split()[1], epsilon, seed)
                    synthetic = pd.read_parquet(out)[list(sizes)].to_numpy().astype(np.int64)
                    rows.append(
                        (
                            figures["seconds"],
                            figures["peak_mb"],
                            *distances(real, synthetic, list(sizes.values())),
                        )
                    )
                seconds, peak, pairs, triples = np.mean(rows, axis=0)
                spread = np.std(rows, axis=0)[2]
                print(
                    f"| {name} | {epsilon:g} | {n_runs} | {seconds:.2f} | {peak:.0f} | {pairs:.4f} ± {spread:.4f} "
                    f"| {triples:.4f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
