"""Whole systems of ours against their peers on the same coded tables, in the same run.

    python benchmarks/systems.py --methods independent mst aim --peers dpmm:mst --dpmm-python peers/bin/python
    python benchmarks/systems.py --tables adult_coded --methods aim --peers mbi:aim dpmm:aim --epsilons 1

Each run is a process of its own, from reading the Parquet file to the written Parquet file, so that seconds
and peak memory are those of the whole job. Prints, per table, epsilon and system, means over seeds of seconds
and of the total variation distance (TVD) over all pairs (with its standard error) and 200 random triples, the
largest peak memory, and how many times our seconds a peer took (against the method of the same name).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import HEADER, HERE, Outcome, coded_table, line, run


def main() -> None:
    """Parse arguments, run everything, print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=["adult_coded"])
    parser.add_argument("--bins", type=int, default=100, help="bins of tables that are not coded yet")
    parser.add_argument("--methods", nargs="+", default=["independent", "mst", "aim"])
    parser.add_argument("--peers", nargs="*", default=[], help="dpmm:mst, dpmm:aim, dpmm:privbayes, mbi:aim")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.2, 1.0, 5.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peer-seeds", type=int, default=1)
    parser.add_argument("--peer-limit", type=float, default=1800.0, help="seconds given to one run of a peer")
    parser.add_argument("--dpmm-python", default=sys.executable, help="interpreter that has dpmm installed")
    options = parser.parse_args()

    print(HEADER)
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.tables:
            table = coded_table(name, Path(temporary), options.bins)
            for epsilon in options.epsilons:
                ours: dict[str, float] = {}
                for system in [*options.methods, *options.peers]:
                    library, _, method = system.rpartition(":")
                    command = {
                        "": [sys.executable, str(HERE / "own_run.py"), method],
                        "dpmm": [options.dpmm_python, str(HERE / "peer_dpmm.py"), method],
                        "mbi": [sys.executable, str(HERE / "peer_mbi.py")],
                    }[library]
                    outcomes: list[Outcome] = []
                    for seed in range(options.peer_seeds if library else options.seeds):
                        outcomes.append(run(command, table, epsilon, seed, options.peer_limit))
                        if not np.isfinite(outcomes[-1].pairs):
                            break  # another seed would not be done either
                    if not library:
                        ours[method] = float(np.mean([o.seconds for o in outcomes]))
                    against = ours.get(method) if library else None
                    title = system if library else f"syntabula:{method}"
                    print(line(name, epsilon, title, outcomes, against), flush=True)


if __name__ == "__main__":
    main()
