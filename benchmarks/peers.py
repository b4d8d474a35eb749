"""Compares our methods with the public code of their papers on one coded table, in one run, at the same settings.

    MARGNET=margnet PRIVATE_GSD=private_gsd RAP=relaxed-adaptive-projection \\
        python benchmarks/peers.py --pairs margnet gem private-gsd rap++ privsyn --table adult_margnet --epsilons 1

The checkouts are those that peer_margnet.py, peer_gem.py, peer_gsd.py, peer_rap.py and peer_privsyn.py name, and each
tells what its public code needs. Rounds, marginals, rows, units and iterations are the same on both sides, except for
the steps and the learning rate of RAP++; each side keeps its own stopping rule. Runs are separate processes, from the
Parquet file to the written one, one after another and in turn. Prints seconds, processor seconds, peak memory and the
total variation distance (TVD) over all pairs and 200 triples of columns, and the ratio of the other side's processor
seconds to ours.
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
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import HERE, CodedTable, coded_table, distances

PUBLIC = {
    "margnet": "peer_margnet.py",
    "gem": "peer_gem.py",
    "private-gsd": "peer_gsd.py",
    "rap++": "peer_rap.py",
    "privsyn": "peer_privsyn.py",
}
ITERATED = ("margnet", "gem")


def main() -> None:
    """Parse arguments, run each pair in turn, print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", nargs="+", choices=PUBLIC, default=list(PUBLIC))
    parser.add_argument("--table", default="adult_coded")
    parser.add_argument("--columns", type=int, help="only so many, the first ones")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0])
    parser.add_argument("--iterations", type=int, default=200, help="of each round of MargNet and GEM")
    parser.add_argument("--records", type=int, default=1000, help="that Private-GSD evolves")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds given to one run")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has what the peers need")
    options = parser.parse_args()

    print(
        "| method | epsilon | whose | steps | seconds | processor seconds | peak MB | TVD pairs | TVD triples "
        "| times ours |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        table = coded_table(options.table, Path(temporary))
        if options.columns:
            table = _narrowed(table, options.columns, Path(temporary))
        for epsilon in options.epsilons:
            for method in options.pairs:
                extra = _extra(method, options, len(table.sizes))
                for seed in range(options.runs):
                    commands = {
                        "ours": [sys.executable, __file__, "own", method],
                        "ours, seeded noise": [sys.executable, __file__, "seeded", method],
                        "ours, all iterations": [sys.executable, __file__, "full", method],
                        "public": [options.python, str(HERE / PUBLIC[method])],
                    }
                    if method not in ITERATED:
                        del commands["ours, all iterations"]
                    if method != "gem":
                        del commands["ours, seeded noise"]
                    words = [str(epsilon), str(seed), *extra]
                    ours = None
                    for whose, command in commands.items():
                        found = _run(command, table, words, options.limit)
                        ours = found if whose == "ours" else ours
                        print(_line([method, f"{epsilon:g}", whose], found, ours), flush=True)


def own(*, every_iteration: bool, seeded: bool) -> None:
    """Run our method at the settings of the public code, with the same arguments.

    Args:
        every_iteration: Whether the network continues training where ours would stop, as in the public codes.
        seeded: Whether noise comes from a numpy generator, as in the public codes, which is much faster.
    """
    method, table, domain, out, epsilon, seed, *extra = sys.argv[2:9]
    started = time.perf_counter()
    import syntabula
    from syntabula.models import soft_rows
    from syntabula.models.genetic import Genetic
    from syntabula.models.neural import NeuralRows

    steps, fit_rows = [], soft_rows.fit_rows

    def counted(*arguments: Any, **options: Any) -> int:
        steps.append(fit_rows(*arguments, **options))
        return steps[-1]

    soft_rows.fit_rows = counted
    sizes = json.loads(Path(domain).read_text())
    settings: dict[str, Any] = {"epsilon": float(epsilon), "bins": max(sizes.values()), "rare": None}
    if seeded:
        settings["seed"] = int(seed)
    if method in ITERATED:
        if method == "margnet":
            network = NeuralRows(n_rows=512, units=256, iterations=int(extra[0]))
        else:
            network = NeuralRows(
                n_rows=1024, units=512, iterations=int(extra[0]), loss="halved", start="gaussian"
            )
        stops = {"stop_at_noise": False, "tolerance": 1e-12} if every_iteration else {}
        settings["model"] = replace(network, **stops)
    elif method == "private-gsd":
        settings["model"] = Genetic(max_rows=int(extra[0]))
    elif method == "rap++":
        whole = syntabula.RAPPlusPlus()
        settings["selector"] = replace(whole.selector, chosen_per_round=int(extra[0]))
        settings["model"] = whole.model
    # Without ordered categories: the public codes only support pairs here.
    columns = {name: syntabula.Numeric(0, size - 1, integer=True) for name, size in sizes.items()}
    kind = syntabula.Marginal if method == "rap++" else syntabula.synthesizer(method)
    release = kind(**settings).fit(table, syntabula.Schema(columns))
    release.sample_to(out, seed=int(seed))
    cost = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": sum(os.times()[:2]),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if steps:
        cost["steps"] = sum(steps)
    print(json.dumps(cost))


def _extra(method: str, options: argparse.Namespace, n_columns: int) -> list[str]:
    """Return a method's arguments besides budget and seed: iterations, records, or pairs per round."""
    if method in ITERATED:
        return [str(options.iterations)]
    if method == "private-gsd":
        return [str(options.records)]
    if method == "rap++":
        # One round per column, with some pairs left to choose from in the last one.
        return [str(max(1, min(5, n_columns // 2 - 1)))]
    return []


def _narrowed(table: CodedTable, n_columns: int, folder: Path) -> CodedTable:
    """Return the first columns of a table."""
    import pandas as pd

    sizes = dict(list(table.sizes.items())[:n_columns])
    path, domain = folder / "narrowed.parquet", folder / "narrowed.domain.json"
    pd.read_parquet(table.path)[list(sizes)].to_parquet(path, index=False)
    domain.write_text(json.dumps(sizes))
    return CodedTable(table.name, path, domain)


def _run(
    command: list[str], table: CodedTable, words: list[str], limit: float
) -> dict[str, float] | float | str:
    """Run one side and score its output; return its processor seconds if it was not done, or the error."""
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "synthetic.parquet"
        before = _processor_seconds()
        whole = [*command, str(table.path), str(table.domain), str(out), *words]
        try:
            done = subprocess.run(whole, check=True, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return _processor_seconds() - before
        except subprocess.CalledProcessError as error:
            return error.stderr.strip().splitlines()[-1][:200]
        pairs, triples = distances(table, out)
        return json.loads(done.stdout.splitlines()[-1]) | {"pairs": pairs, "triples": triples}


def _processor_seconds() -> float:
    """Return the processor seconds of all processes that have been run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _line(names: list[str], found: dict[str, float] | float | str, ours: object) -> str:
    start = "| " + " | ".join(names)
    known = isinstance(ours, dict) and found is not ours
    if isinstance(found, str):
        return f"{start} | | {found} | | | | | |"
    if isinstance(found, float):
        ratio = f"> {found / ours['processor_seconds']:.1f}" if known else ""
        return f"{start} | | not done | {found:.1f} | | | | {ratio} |"
    ratio = f"{found['processor_seconds'] / ours['processor_seconds']:.1f}" if known else ""
    return (
        f"{start} | {found.get('steps', '')} | {found['seconds']:.1f} | {found['processor_seconds']:.1f} "
        f"| {found['peak_mb']:.0f} | {found['pairs']:.4f} | {found['triples']:.4f} | {ratio} |"
    )


if __name__ == "__main__":
    if sys.argv[1:2] in (["own"], ["full"], ["seeded"]):
        own(every_iteration=sys.argv[1] == "full", seeded=sys.argv[1] == "seeded")
    else:
        main()
