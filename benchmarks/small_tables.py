"""What noise leaves of the categories of small tables of which nothing is declared.

    python benchmarks/small_tables.py [--tables adult bank ...] [--methods auto aim] [--rows 1000 5000] [--epsilons 1 5]
    PYTHONPATH=../older/src python benchmarks/small_tables.py --version older    # the package of another checkout
    python benchmarks/small_tables.py --show

Needs SYNTABULA_DATA. Each run draws so many rows of a table (seed by seed), learns them without a schema, and draws
20,000 synthetic rows. For each text column it compares the share of cells that say "other" with the least share that
any search of the same price could expect: the optimal partition selection (Desfontaines, Voss, Gipson and Mandayam,
2022) carried over from pure epsilon to Gaussian privacy, see `least_lost`. A column whose categories are all hidden
counts as lost whole. TVD-1 is the mean over columns and TVD-2 over pairs of columns, in 20 levels; nobody has the value
"other". Each finished run is a line of --results and is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

import syntabula as st
from syntabula.privacy.events import ThresholdEvent
from syntabula.privacy.statement import domain_step
from syntabula.table.schema.columns import Categorical

FOUND = Path(__file__).parent / "results" / "small_tables.jsonl"
TABLES = ("adult", "bank", "ma2019", "acs_employ_alabama")
DRAWN = 20_000
SCORES = ("tvd-1", "tvd-2")
ASKED = ("version", "table", "rows", "method", "epsilon", "seed")


def main() -> None:
    """Parse arguments, run what is missing, and show all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--rows", nargs="+", type=int, default=[1000, 5000])
    parser.add_argument("--methods", nargs="+", default=["auto", "aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1, 5])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--version", default="now", help="name of the package in the results")
    parser.add_argument("--results", type=Path, default=FOUND, help="file of JSON lines")
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    options = parser.parse_args()
    for run in [] if options.show else planned(options):
        line = json.dumps(run | outcome(run))
        with options.results.open("a") as file:
            file.write(line + "\n")
    show(found(options.results))


def planned(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the runs that the file of results lacks."""
    finished = {tuple(run[key] for key in ASKED) for run in found(options.results)}
    every = product(options.tables, options.rows, options.methods, options.epsilons, options.seeds)
    for table, rows, method, epsilon, seed in every:
        run = (options.version, table, rows, method, epsilon, seed)
        if run not in finished:
            yield dict(zip(ASKED, run, strict=True))


def outcome(run: dict[str, Any]) -> dict[str, Any]:
    """Learn the rows, and return seconds, scores, and what became of the cells of each text column."""
    whole = st.datasets.load(run["table"]).frame
    frame = whole.sample(min(run["rows"], len(whole)), random_state=run["seed"]).reset_index(drop=True)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            release = st.synthesizer(run["method"])(epsilon=run["epsilon"], seed=run["seed"]).fit(frame)
        except st.errors.PrivateDomainError:
            return {"failed": "noise hides what all columns hold"}
        drawn = release.sample(DRAWN, seed=run["seed"])
        seconds = time.process_time() - began
        evaluation = st.evaluate(frame, drawn, metrics=SCORES, baselines=(), seed=0, workers=1)
    asked = {line.step: stated.event for line in release.privacy.lines for stated in line.events or ()}
    texts = {}
    for name, column in release.schema.columns.items():
        event = asked.get(domain_step(name))
        if isinstance(event, ThresholdEvent):
            counts = frame[name].value_counts().to_numpy()
            is_other = drawn[name] == column.other_label if isinstance(column, Categorical) else [True]
            texts[name] = {
                "other": round(float(np.mean(is_other)), 4),
                "least": round(least_lost(counts, event), 4),
                "threshold": round(event.threshold, 1),
                "sigma": round(event.sigma, 2),
            }
    scores = {r.score.metric: round(r.score.value, 5) for r in evaluation.results}
    return {"processor_seconds": round(seconds, 1), "scores": scores, "texts": texts}


def least_lost(counts: Iterable[int], event: ThresholdEvent) -> float:
    """Return the expected share of records whose category the best search of this price hides.

    Let p(c) be the probability with which a category of c records is released. With Gaussian noise of mu = 1 / sigma
    and a probability of failure delta, p(0) = 0 and p(c + 1) <= min(F(p(c)) + delta, F(p(c) + delta)) with
    F(p) = Phi(Phi^-1(p) + mu): the trade-off curves of Dong, Roth and Su (2022) where Desfontaines et al. have
    exp(epsilon) p. Equality gives the most at every count, as F grows.
    """
    present = np.array([c for c in counts if c > 0])
    chances = np.zeros(int(present.max(initial=0)) + 1)
    for count in range(1, chances.size):
        before = chances[count - 1]
        through = min(before + event.delta, 1.0)
        moved = ndtr(ndtri(np.array([before, through])) + 1 / event.sigma)
        chances[count] = min(moved[0] + event.delta, moved[1], 1.0)
    return float(np.sum(present * (1 - chances[present])) / present.sum())


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished runs."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def show(runs: Iterable[dict[str, Any]]) -> None:
    """Print means over seeds as a table in Markdown."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        groups[tuple(run[key] for key in ("table", "rows", "epsilon", "method", "version"))].append(run)
    heads = (
        "table",
        "rows",
        "epsilon",
        "method",
        "version",
        "threshold",
        "other, %",
        "least, %",
        "worst column",
    )
    print("| " + " | ".join([*heads, *SCORES, "failed", "processor seconds"]) + " |")
    print("|" + "---|" * (len(heads) + len(SCORES) + 2))
    for key in sorted(groups):
        done = [run for run in groups[key] if "failed" not in run]
        cells = [*map(str, key)]
        if done:
            cells += [
                f"{mean_of(done, 'threshold'):.0f}",
                *(f"{mean_of(done, k):.1%}" for k in ("other", "least")),
            ]
            # Noise may hide that a column of texts is no key.
            everywhere = set.intersection(*(set(run["texts"]) for run in done))
            columns = {name: np.mean([run["texts"][name]["other"] for run in done]) for name in everywhere}
            worst = max(sorted(columns), key=lambda name: columns[name], default=None)
            cells.append("-" if worst is None else f"{worst} {columns[worst]:.0%}")
            cells += [f"{np.mean([run['scores'][score] for run in done]):.4f}" for score in SCORES]
        else:
            cells += ["-"] * (4 + len(SCORES))
        seconds = [run["processor_seconds"] for run in done]
        cells += [str(len(groups[key]) - len(done)), f"{np.mean(seconds):.1f}" if seconds else "-"]
        print("| " + " | ".join(cells) + " |")


def mean_of(runs: Iterable[dict[str, Any]], what: str) -> float:
    """Return the mean of a fact over the text columns and runs."""
    return float(np.mean([facts[what] for run in runs for facts in run["texts"].values()]))


if __name__ == "__main__":
    main()
