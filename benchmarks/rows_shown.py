"""Tables of what rows.py measured, as the page of its results has them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

TABLES = ("bank", "adult", "shoppers", "california", "kddcup99", "lending_club_2018", "news_part")
EPSILONS = (0.5, 1, 5, math.inf)
FRESH = "fresh"
"""What no method can beat but by chance: as many of the table's own records, drawn with replacement."""
WITHIN = "tvd-2-within"
"""Pairs again, in levels of the real range: values beyond count as its ends."""
ZEROS = "zeros"
"""Part of the zeros that is kept, as a mean over numeric columns of which zero is 2 to 98 %."""
IMPOSSIBLE = "impossible"
"""Share of rows that break a rule of rules.py, beyond that of the real rows."""
WORST_SPREAD, SECONDS = "worst spread", "processor seconds"
PERCENT = ("far-out", "missing-cells", "invented-values", IMPOSSIBLE)
SHOWN = (
    "spikes",
    ZEROS,
    "round-values",
    "spread",
    WORST_SPREAD,
    "far-out",
    "missing-cells",
    "invented-values",
    IMPOSSIBLE,
    "tvd-2",
    WITHIN,
    "association",
    SECONDS,
)
LINES = {
    "AIM, before": ("aim", "before"),
    "AIM": ("aim", "now"),
    "MST, before": ("mst", "before"),
    "MST": ("mst", "now"),
    "auto": ("auto", "now"),
    "dpmm's MST": ("mst", "dpmm"),
    "dpmm's AIM": ("aim", "dpmm"),
    "SDV": ("copula", "sdv"),
    "own records": ("records", FRESH),
}
"""Methods and versions, by the words of the tables."""
MEAN = "mean"

Groups = dict[tuple[Any, ...], list[dict[str, Any]]]


def show(runs: Sequence[dict[str, Any]]) -> None:
    """Print, for each kind of domains and score, a Markdown table of methods and tables."""
    groups = grouped(runs)
    for domains in ("declared", "found", "ruled"):
        for score in SHOWN:
            if told := table_of(groups, domains, score):
                print(f"\n{score}{', %' if score in PERCENT else ''}, {domains}\n\n{told}")


def grouped(runs: Sequence[dict[str, Any]]) -> Groups:
    """Return the runs by domains, version, method, table and budget."""
    groups: Groups = defaultdict(list)
    for run in runs:
        groups[run["domains"], run["version"], run["method"], run["table"], run["epsilon"]].append(run)
    return groups


def table_of(groups: Groups, domains: str, score: str, lines: Sequence[str] = tuple(LINES)) -> str:
    """Return a Markdown table of one score, each cell at epsilon 0.5, 1, 5 and infinity; empty if nothing has it."""
    tables = TABLES if score == WORST_SPREAD else (*TABLES, MEAN)
    rows = []
    for label in lines:
        method, version = LINES[label]
        cells = [cell(groups, (domains, version, method, table), score) for table in tables]
        if any(cells) and not (score == SECONDS and version == FRESH):
            rows.append(f"| {label} | " + " | ".join(told or "–" for told in cells) + " |")
    head = ["| | " + " | ".join(tables) + " |", "|" + "---|" * (len(tables) + 1)]
    return "\n".join(head + rows) if rows else ""


def cell(groups: Groups, line: tuple[str, ...], score: str) -> str:
    """Return a score at each budget, with a star where the code is older; its mean over the tables that have it.

    Methods without a budget have a single number. Means say of how many tables they are if that is not all.
    """
    *kind, table = line
    newest = max((run["day"] for key, done in groups.items() if key[1] == "now" for run in done), default="")
    shown = []
    most = max(n_tables(groups, kind[0], score, epsilon) for epsilon in EPSILONS)
    for epsilon in EPSILONS:
        means, days = [], set()
        for name in TABLES if table == MEAN else (table,):
            done = groups.get((*kind, name, epsilon), [])
            if values := [v for run in done if (v := value(run, score)) is not None]:
                means.append(float(np.mean(values)))
                days |= {run["day"] for run in done}
        if not means:
            shown.append("–")
            continue
        star = "*" if kind[1] == "now" and table != MEAN and days != {newest} else ""
        few = f" ({len(means)})" if table == MEAN and len(means) < most else ""
        shown.append(written(float(np.mean(means)), score) + star + few)
    if set(shown) == {"–"}:
        return ""
    return shown[-1] if kind[1] in ("sdv", FRESH) else " · ".join(shown)


def n_tables(groups: Groups, domains: str, score: str, epsilon: float) -> int:
    """Return how many tables have a score with MST at a budget."""
    having = [
        groups.get((domains, "now", method, name, epsilon), [])
        for method in ("mst", "aim")
        for name in TABLES
    ]
    has = [any(value(run, score) is not None for run in done) for done in having]
    return max(sum(has[: len(TABLES)]), sum(has[len(TABLES) :]))


def written(number: float, score: str) -> str:
    """Return a score with the digits that matter."""
    if score in PERCENT:
        number *= 100
        return f"{number:.0f}" if number >= 10 else f"{number:.2g}"
    if score in ("spread", WORST_SPREAD):
        return f"{number:.3g}" if number >= 10 else f"{number:.2f}"
    return f"{number:.0f}" if score == SECONDS else f"{number:.3f}"


def value(run: dict[str, Any], score: str) -> float | None:
    """Return a score of a run, the spread of its worst column, or its processor seconds; None if it has none."""
    found: float | None
    if score == SECONDS:
        found = run["processor_seconds"]
    elif score == WORST_SPREAD:
        found = run.get("worst", {}).get("spread", (None, None))[1]
    else:
        found = run.get("scores", {}).get(score)
    return found
