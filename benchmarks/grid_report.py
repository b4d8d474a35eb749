"""Writes the runs of grid.py as Markdown tables, with the papers' figures beside ours.

    python benchmarks/grid_report.py

Keeps the text of results/grid.md above its tables, and rewrites the tables from results/grid.jsonl.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import HERE

MARK = "## Figures"
PAIRS_OF_TAB_BENCH = {
    "independent_difference+gum": ("Table 18", "GUM"),
    "independent_difference+pgm": ("Table 18", "PGM"),
    "independent_difference+relaxed_projection": ("Table 18", "Relaxed Projection"),
    "independent_difference+genetic": ("Table 18", "Genetic Algorithm"),
    "independent_difference+neural": ("Table 18", "Generative Network"),
    "privmrf+pgm": ("Table 17", "PrivMRF selection"),
    "adaptive+pgm": ("Table 17", "AIM selection"),
    "top_q+pgm": ("Table 17", "RAP++ selection"),
}
METHODS = {
    "aim": "AIM",
    "gem": "GEM",
    "privmrf": "PrivMRF",
    "privsyn": "PrivSyn",
    "private-gsd": "Private-GSD",
    "rap++": "RAP++",
    "margnet": "MargNet",
    "margnet-q": "MargNet-q",
    "margnet-s": "MargNet-s",
    "real records": "Ground Truth",
}
DATASETS = {"bank": "Bank", "adult_margnet": "Adult", "gauss10": "Gauss10"}
# MargNet, section 6.2: the only figures from its plots that the text states.
NAMED_IN_TEXT = {
    ("gauss50", "margnet", 10.0, "fidelity_error_tvd"): 0.121,
    ("gauss50", "aim", 10.0, "fidelity_error_tvd"): 0.163,
}
SHOWN = {"fidelity_error_tvd": "fidelity", "query_error": "prefixes"}
F1 = "ml_efficiency_f1"
Row = Mapping[str, Any]
Figures = Mapping[tuple[str, str, float, str], float]


def main() -> None:
    """Parse arguments and rewrite the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--reported", type=Path, default=HERE / "grid_reported.json", help="JSON file of published figures"
    )
    parser.add_argument("--runs", type=Path, default=HERE / "results" / "grid.jsonl")
    parser.add_argument("--page", type=Path, default=HERE / "results" / "grid.md")
    options = parser.parse_args()

    figures = reported(options.reported)
    runs: dict[str, dict[tuple[float, str], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for line in options.runs.read_text().splitlines():
        row = json.loads(line)
        runs[row["table"]][row["epsilon"] or 0.0, row["method"]].append(row)
    parts = [options.page.read_text().partition(MARK)[0] + MARK + "\n"]
    for table, cells in runs.items():
        parts += [f"### {table}\n", table_of(table, cells, figures)]
    parts += ["### The automatic choice\n", choices(runs)]
    options.page.write_text("\n".join(parts))


def reported(path: Path) -> Figures:
    """Return the published figures by table, method, epsilon and metric."""
    names = {("tab_bench", *place): method for method, place in PAIRS_OF_TAB_BENCH.items()}
    for method, title in METHODS.items():
        names |= {("tab_bench", t, title): method for t in ("Table 1", "Table 15")}
        names[("MargNet", "Table 5", title)] = method
    tables = {title: table for table, title in DATASETS.items()}
    found = dict(NAMED_IN_TEXT)
    for entry in json.loads(path.read_text())["results"]:
        method = names.get((entry["paper"], entry["table"], entry["method"]))
        if method and entry["dataset"] in tables and entry["value"] is not None:
            found[tables[entry["dataset"]], method, entry["epsilon"], entry["metric"]] = entry["value"]
    return found


def table_of(table: str, cells: Mapping[tuple[float, str], Sequence[Row]], figures: Figures) -> str:
    """Return the table of one dataset, the most accurate method first for each epsilon."""
    lines = [
        "| epsilon | method | runs | fidelity error | paper | query error, prefixes | paper | 3-way "
        "| F1 | paper | seconds | processor | paper | peak MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for epsilon, method in sorted(cells, key=lambda key: (key[0], _fidelity(cells[key]), key[1])):
        rows = cells[epsilon, method]
        if not epsilon and "unseen" not in rows[0]:
            continue  # scored against themselves
        paper = {
            metric: figures.get((table, _plain(method), epsilon or 1.0, metric))
            for metric in (*SHOWN, F1, "running_time_min")
        }
        older = " (zCDP)" if any(row.get("accounting") == "rho" for row in rows) else ""
        start = f"| {epsilon:g} | {method}{older} | {len(rows)} " if epsilon else f"| | {method} | "
        if any("failed" in row for row in rows):
            wrong = next(row["failed"] for row in rows if "failed" in row).replace("|", "/")
            beside = ["" if paper[metric] is None else f"{paper[metric]:g}" for metric in SHOWN]
            lines.append(f"{start}| | {beside[0]} | | {beside[1]} | | | | {wrong} | | | |")
            continue
        shown = []
        for metric, name in SHOWN.items():
            shown += [
                _mean([_errors(r)[name] for r in rows]),
                "" if paper[metric] is None else f"{paper[metric]:g}",
            ]
        shown.append(f"{np.mean([_errors(r)['three_way'] for r in rows]):.4f}")
        learned = [_errors(r)["f1"] for r in rows if "f1" in _errors(r)]
        shown.append(_mean(learned, 3) if len(learned) == len(rows) else "")
        shown.append("" if paper[F1] is None else f"{paper[F1]:g}")
        if epsilon:
            shown += [f"{np.mean([r[name] for r in rows]):.1f}" for name in ("seconds", "processor_seconds")]
            minutes = paper["running_time_min"]
            shown += ["" if minutes is None else f"{60 * minutes:.0f}", f"{max(r['peak_mb'] for r in rows)}"]
        else:
            shown += [""] * 4
        lines.append(start + "| " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def choices(runs: Mapping[str, Mapping[tuple[float, str], Sequence[Row]]]) -> str:
    """Return a table of what `auto` chose, and how far it was behind the best named method."""
    lines = [
        "| table | epsilon | chosen | fidelity error | best method | fidelity error | behind by |",
        "|---|---|---|---|---|---|---|",
    ]
    for table, cells in runs.items():
        for epsilon in sorted({e for e, method in cells if method == "auto"}):
            own = cells[epsilon, "auto"]
            others = {
                m: _fidelity(r)
                for (e, m), r in cells.items()
                if e == epsilon and not m.partition("+")[2].strip("+") and m == _plain(m) != "auto"
            }
            best = min(others, key=lambda m: others[m])
            chosen = ", ".join(sorted({row.get("chosen", "failed") for row in own}))
            behind = _fidelity(own) / others[best] - 1
            lines.append(
                f"| {table} | {epsilon:g} | {chosen} | {_fidelity(own):.4f} | {best} | {others[best]:.4f} "
                f"| {behind:+.0%} |"
            )
    return "\n".join(lines) + "\n"


def _plain(method: str) -> str:
    """Return a method without the part after "@" or a comma, which marks other settings or an earlier version."""
    return method.partition("@")[0].partition(",")[0]


def _errors(row: Row) -> Mapping[str, float]:
    """Return the errors against unseen records, or as in MargNet against the learned ones."""
    return row["unseen"] if "unseen" in row else row["seen"]


def _fidelity(rows: Sequence[Row]) -> float:
    done = [_errors(row)["fidelity"] for row in rows if "failed" not in row]
    return float(np.mean(done)) if len(done) == len(rows) else float("inf")


def _mean(values: Sequence[float], places: int = 4) -> str:
    spread = f" ± {np.std(values, ddof=1):.{places}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{places}f}{spread}"


if __name__ == "__main__":
    main()
