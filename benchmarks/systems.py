"""Compares our whole systems with their peers on the same coded tables, in the same run.

    python benchmarks/systems.py --methods independent mst aim --peers dpmm:mst --dpmm-python ../peers/dpmm/bin/python
    python benchmarks/systems.py --tables adult_coded --methods aim --peers mbi:aim dpmm:aim --epsilons 1

Each run is a separate process, from reading the Parquet file to writing one, so that seconds and peak memory
are those of the whole job. Prints, per table, epsilon and system, means over seeds of processor seconds,
seconds and of the total variation distance (TVD) over all pairs (with its standard error) and 200 random
triples, the largest peak memory, and how many times our processor seconds a peer took (against the method of
the same name). A peer that exceeds its limit is not tried at larger epsilons, which take more rounds and larger
models. One that only exceeded twice its limit in wall-clock time is tried again the next time. With --results
every run is appended to a file of JSON lines and not repeated, so that a long study can be made in parts;
--show only prints the file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from harness import HEADER, HERE, Outcome, coded_table, line, run

from syntabula import Budget
from syntabula.bench import peers
from syntabula.bench.peers import check_peer


def main() -> None:
    """Parse arguments, run everything, print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=["adult_coded"])
    parser.add_argument("--bins", type=int, default=100, help="bins of tables that are not coded yet")
    parser.add_argument("--methods", nargs="*", default=["independent", "mst", "aim"])
    parser.add_argument("--peers", nargs="*", default=[], help="dpmm:mst, dpmm:aim, dpmm:privbayes, mbi:aim")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.2, 1.0, 5.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peer-seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1800.0, help="processor seconds given to one run")
    parser.add_argument("--dpmm-python", default=sys.executable, help="interpreter that has dpmm installed")
    parser.add_argument("--results", type=Path, help="file of JSON lines that keeps every run")
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    options = parser.parse_args()

    runs = Runs(options.results)
    print(HEADER)
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.tables:
            table = None if options.show else coded_table(name, Path(temporary), options.bins)
            for epsilon in options.epsilons:
                for system in [*options.methods, *options.peers]:
                    library, _, method = system.rpartition(":")
                    command = [sys.executable, str(HERE / "own_run.py"), method]
                    if library:
                        command = _of_peer(system.replace(":", "-"), epsilon, options)
                    title = system if library else f"syntabula:{method}"
                    for seed in range(options.peer_seeds if library else options.seeds):
                        if table and not runs.of(name, epsilon, title, seed):
                            if runs.hopeless(name, epsilon, title):
                                outcome = Outcome("not tried", options.limit, options.limit)
                            else:
                                outcome = run(command, table, epsilon, seed, options.limit)
                            runs.add(name, epsilon, title, seed, outcome)
                        if not all(o.done for o in runs.of(name, epsilon, title)):
                            break  # another seed would not finish either
                    outcomes = runs.of(name, epsilon, title)
                    against = runs.of(name, epsilon, f"syntabula:{method}") if library else None
                    if outcomes:
                        print(line(name, epsilon, title, outcomes, against), flush=True)


def _of_peer(name: str, epsilon: float, options: argparse.Namespace) -> list[str]:
    """Return the command of the adapter that studies use."""
    adapter = check_peer(name, epsilon, {})
    python = options.dpmm_python if adapter.script == "dpmm.py" else sys.executable
    script = Path(peers.__file__).parent / adapter.script
    rho = float(Budget(epsilon=epsilon, delta=1e-5, accounting="zcdp").total)
    return [python, str(HERE / "peer_codes.py"), str(script), adapter.word, repr(rho)]


class Runs:
    """Outcomes by table, epsilon, system and seed, kept in a file of JSON lines if one is given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[tuple[str, float, str, int], Outcome] = {}
        for text in path.read_text().splitlines() if path and path.exists() else []:
            facts = json.loads(text)
            if facts["ended"] == "wall limit":  # the machine was busy, which says nothing about the system
                continue
            key = (facts.pop("table"), facts.pop("epsilon"), facts.pop("system"), facts.pop("seed"))
            self._found[key] = Outcome(**facts)

    def add(self, table: str, epsilon: float, system: str, seed: int, outcome: Outcome) -> None:
        """Keep an outcome."""
        self._found[table, epsilon, system, seed] = outcome
        if self._path:
            facts = {n: v for n, v in asdict(outcome).items() if v == v and v != ""}
            with self._path.open("a") as file:
                key = {"table": table, "epsilon": epsilon, "system": system, "seed": seed}
                file.write(json.dumps({**key, **facts}) + "\n")

    def of(self, table: str, epsilon: float, system: str, seed: int | None = None) -> list[Outcome]:
        """Return the outcomes of a system on a table, by seed; of one seed if it is given."""
        key = table, epsilon, system
        return [o for k, o in sorted(self._found.items()) if k[:3] == key and seed in (None, k[3])]

    def hopeless(self, table: str, epsilon: float, system: str) -> bool:
        """Return whether a run at this epsilon or a smaller one was not done."""
        return any(
            not o.done and o.ended != "wall limit" and k[::2] == (table, system) and k[1] <= epsilon
            for k, o in self._found.items()
        )


if __name__ == "__main__":
    main()
