"""Reproduce Ganev et al., "The Importance of Being Discrete": each figure by one command, beside the paper's findings.

    python benchmarks/discretization.py figure5|figure6|figure7|figure12|readings|domains|speed [--out FOLDER]
    python benchmarks/discretization.py us3 [--models mst aim] [--tables wine gas adult] [--show]

Prints tables and, with --out, writes the rows as JSON lines and the figure as SVG. Noise is seeded: these are
experiments, not releases. `us3` and `domains` need SYNTABULA_DATA (adult, gas, wine). `us3` appends every finished
cell to a file and skips those already there; --show runs nothing. The set-up and its departures from the paper are
in discretization_columns.py and discretization_tables.py; PS1 is in attacks.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from discretization_columns import DISCRETIZERS, FITTED, WHOLE, ZERO, Row, grid, rules, with_best
from discretization_figures import draw, mean_of, pivot
from discretization_tables import COUNTS, EPSILONS, KEY, TABLES, domains, read_rows, us3

import syntabula as st
from syntabula.bins.uniform import UniformBins
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SecureNoise

RESULTS = Path(__file__).parent / "results" / "discretization-us3.jsonl"


@dataclass(frozen=True, kw_only=True)
class Study:
    """One experiment: how its rows are made and shown.

    Attributes:
        rows: Makes the rows, given the number of repeats.
        paper: The paper's findings.
        tables: For each table the facts of its rows, the fact of its columns, and the value.
        repeats: Default number of seeds for every setting.
        figure: The facts for the lines, the horizontal axis and the panels of the figure; None for no figure.
    """

    rows: Callable[[int], list[Row]]
    paper: str
    tables: tuple[tuple[tuple[str, ...], str, str], ...]
    repeats: int = 3
    figure: tuple[str, str, str] | None = None


def both_settings(repeats: int) -> list[Row]:
    """Return US1 and US2 at epsilon 0.1; each row names its setting."""
    rows = []
    for model in (False, True):
        title = "bins and noisy counts (US2)" if model else "bins alone (US1)"
        rows += [row | {"setting": title} for row in grid(repeats, model=model, epsilons=(0.1,))]
    return rows


def readings(repeats: int) -> list[Row]:
    """Return US2 in our reading of the paper and in others that its text allows, for the data and the scores."""
    rows = []
    for stretched in (True, False):
        for row in grid(repeats, model=True, stretched=stretched):
            data = "stretched to [-10, 10]" if stretched else "clipped to [-10, 10]"
            for scores, name in (("whole range", "utility"), ("records", "other_reading")):
                kept = {k: row[k] for k in ("method", "bins", "epsilon")}
                rows.append(kept | {"data": data, "scores": scores, "utility": row[name]})
    return rows


def speed(repeats: int) -> list[Row]:
    """Return the least processor seconds, over repeats, of each discretiser for 250 bins with secure noise."""
    values = np.random.default_rng(0).lognormal(8, 1, 50_000)
    upper = float(values.max())
    rows = []
    for method, n in itertools.product(DISCRETIZERS, (50_000, 10_000_000)):
        points = np.tile(values, n // values.size)
        seconds = []
        for _ in range(repeats):
            started = time.process_time()
            column = ColumnCurator(points, Ledger(st.Budget(1.0, 1e-5)), SecureNoise())
            if method == "uniform":
                bins = UniformBins(250).bins(0.0, upper, integer=False)
            else:
                bins = FITTED[method].fit(
                    column, 0.0, upper, count=250, n_estimated=float(n), share=WHOLE / 10, step="bins"
                )
            seconds.append(time.process_time() - started)
        rows.append({"method": method, "n": n, "found": bins.size, "seconds": min(seconds)})
    return rows


BY_BINS = (("epsilon", "method"), "bins", "utility")
STUDIES = {
    "figure5": Study(
        rows=lambda repeats: grid(repeats, model=False),
        paper="More bins help every discretiser; at 250 all are within 5 % of the best score, even at epsilon 0.1. "
        "k-means is best without privacy and loses most by it; PrivTree hardly changes.",
        tables=(BY_BINS,),
        figure=("method", "bins", "epsilon"),
    ),
    "figure6": Study(
        rows=both_settings,
        paper="At epsilon 0.1 more bins always help bins alone, but past a point they harm a model of noisy counts.",
        tables=((("setting", "method"), "bins", "utility"),),
        figure=("method", "bins", "setting"),
    ),
    "figure7": Study(
        rows=lambda repeats: grid(repeats, model=True),
        paper="Under privacy all but PrivTree level off or fall with many bins; PrivTree is the most promising, but "
        "for k-means up to 25 bins without privacy, where all go on rising. Figure 18: the scores agree.",
        tables=(BY_BINS, *((("epsilon", "method"), "bins", s) for s in ("mpd", "ds", "qs"))),
        figure=("method", "bins", "epsilon"),
    ),
    "figure12": Study(
        rows=lambda repeats: with_best(rules(repeats)),
        paper="Of the four rules Shimazaki-Shinomoto's is best on average; more budget wants more bins. On real "
        "tables the budget-aware Rice rule is best and closes 41 % of the gap from 20 even bins to the best.",
        tables=((("rule",), "epsilon", "utility"), (("rule",), "n", "utility")),
        figure=("rule", "n", "epsilon"),
    ),
    "readings": Study(
        rows=readings,
        paper="PrivTree is best on average throughout. Neither the stretching of the data nor the largest percentile "
        "nor the ends of random intervals are settled by the text.",
        tables=((("data", "scores", "method"), "epsilon", "utility"),),
    ),
    "domains": Study(
        rows=domains,
        paper="Finding the domain costs 2.5 % with even, quantile and k-means bins and 8 % with PrivTree, which stays "
        "ahead (Figure 14).",
        tables=((("epsilon", "method"), "domain", "utility"),),
        repeats=1,
        figure=("method", "domain", "epsilon"),
    ),
    "speed": Study(
        rows=speed,
        paper="Quantile and k-means take 40 to 100 s at 250 bins, even bins and PrivTree less than one.",
        tables=((("method",), "n", "seconds"),),
    ),
    "us3": Study(
        rows=lambda _: [],
        paper="PrivTree is best in 63 % of the cases and k-means in 16 %; utility first rises and then falls with the "
        "number of bins (Figures 1 and 8); the budget-aware Rice rule is the best of the rules (Figure 13).",
        tables=((("model", "epsilon", "method"), "bins", "utility"),),
        repeats=1,
        figure=("method", "bins", "model and epsilon"),
    ),
}


def complete(rows: list[Row]) -> list[Row]:
    """Return the rows with the numbers of bins and seeds that a model has for every table, epsilon and discretiser."""
    cells: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row["method"] in DISCRETIZERS:
            cells.setdefault((row["model"], row["bins"], row["seed"]), []).append(row)
    whole = len(TABLES) * len(EPSILONS) * len(DISCRETIZERS)
    return [row for mine in cells.values() if len(mine) == whole for row in mine]


def thresholds(rows: list[Row]) -> str:
    """Return a table of PrivTree's thresholds over the cells that were run with both."""
    names = [k for k in KEY if k != "method"]
    both = {m: {tuple(r[k] for k in names) for r in rows if r["method"] == m} for m in ("privtree", ZERO)}
    shared = both["privtree"] & both[ZERO]
    kept = [r for r in rows if r["method"] in both and tuple(r[k] for k in names) in shared]
    return pivot(kept, ["table", "method"], "epsilon") if kept else ""


def in_order(rows: list[Row]) -> list[Row]:
    """Return rows sorted by model, epsilon, discretiser and number of bins, rules last, each with its panel."""

    def place(row: Row) -> tuple[object, ...]:
        bins = row["bins"]
        number = (0, bins, "") if isinstance(bins, int) else (1, 0, bins)
        return row["model"], row["epsilon"], DISCRETIZERS.index(row["method"]), number

    named = [r | {"model and epsilon": f"{r['model']}, {r['epsilon']:g}"} for r in rows]
    return sorted(named, key=place)


def summary(rows: list[Row]) -> str:
    """Return how often each discretiser is best, and the loss of each number of bins against the best one."""
    lines, wins = [], []
    for model in dict.fromkeys(r["model"] for r in rows):
        losses: dict[object, list[float]] = {}
        for table, epsilon in itertools.product(TABLES, EPSILONS):
            mine = [r for r in rows if (r["model"], r["table"], r["epsilon"]) == (model, table, epsilon)]
            counts = list(dict.fromkeys(r["bins"] for r in mine))
            by_count = {
                b: [mean_of(mine, "utility", {"method": m, "bins": b}) for m in DISCRETIZERS] for b in counts
            }
            wins += [DISCRETIZERS[int(np.argmax(found))] for found in by_count.values()]
            best = np.max(list(by_count.values()), axis=0)
            for count, found in by_count.items():
                losses.setdefault(count, []).append(float(np.mean(best - found)))
        lost = sorted((float(np.mean(v)), str(b)) for b, v in losses.items())
        lines.append(f"{model}: lost against the best number: " + ", ".join(f"{b} {v:.4f}" for v, b in lost))
    shares = ", ".join(f"{m} {wins.count(m) / len(wins):.0%}" for m in DISCRETIZERS)
    return "\n".join([f"Best in {len(wins)} cells: {shares}", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("experiment", choices=STUDIES)
    parser.add_argument("--out", type=Path, help="folder for the rows and the figure")
    parser.add_argument("--repeats", type=int, help="seeds of every setting")
    parser.add_argument("--models", nargs="+", default=["mst", "aim"], help="us3: methods")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), help="us3: tables")
    parser.add_argument("--methods", nargs="+", default=list(DISCRETIZERS), help="us3: discretisers")
    parser.add_argument("--bins", nargs="+", default=list(COUNTS), help="us3: numbers, auto, or rules")
    parser.add_argument("--results", type=Path, default=RESULTS, help="us3: file of JSON lines")
    parser.add_argument(
        "--total", type=float, default=math.inf, help="us3: start no cell after so many seconds"
    )
    parser.add_argument("--show", action="store_true", help="us3: print what the file holds, run nothing")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
    study = STUDIES[chosen.experiment]
    repeats = chosen.repeats or study.repeats
    needs_data = chosen.experiment == "domains" or (chosen.experiment == "us3" and not chosen.show)
    if needs_data and "SYNTABULA_DATA" not in os.environ:
        parser.error("this experiment needs the folder SYNTABULA_DATA")
    if chosen.experiment == "us3":
        counts = [int(b) if str(b).isdigit() else b for b in chosen.bins]
        if not chosen.show:
            wanted = {
                "models": chosen.models,
                "tables": chosen.tables,
                "methods": chosen.methods,
                "counts": counts,
            }
            for row in us3(chosen.results, **wanted, seeds=repeats, total=chosen.total):
                print(json.dumps(row), flush=True)
        every = read_rows(chosen.results)
        whole = complete(every)
        rows = in_order(whole or [row for row in every if row["method"] in DISCRETIZERS])
    else:
        rows = study.rows(repeats)
    for down, across, value in study.tables:
        print(f"\n{value}, by {across}\n\n{pivot(rows, down, across, value)}")
    if chosen.experiment == "us3" and whole:
        print(f"\n{summary(rows)}\n\nPrivTree by its threshold\n\n{thresholds(every)}")
    print(f"\nThe paper: {study.paper}")
    if chosen.out is not None:
        chosen.out.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(r).replace("Infinity", '"inf"').replace("NaN", "null") + "\n" for r in rows)
        (chosen.out / f"{chosen.experiment}.jsonl").write_text(text, encoding="utf-8")
        if study.figure is not None:
            lines, across, panels = study.figure
            draw(
                rows, lines=lines, across=across, panels=panels, path=chosen.out / f"{chosen.experiment}.svg"
            )


if __name__ == "__main__":
    main()
