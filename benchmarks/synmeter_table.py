"""Writes the tables of `synmeter.py` in Markdown, with the paper's figures beside ours."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean, variance
from typing import Any

Line = dict[str, Any]
# Our method, and the paper's name for its nearest one.
COLUMNS = (
    ("mst", "1", "PGM"),
    ("mst", "inf", "PGM"),
    ("privsyn", "1", "PrivSyn"),
    ("privsyn", "inf", "PrivSyn"),
)
IN_BINS = (
    ("mst-bins", "inf", "PGM"),
    ("pairs-bins", "inf", "PGM"),
    ("triples-bins", "inf", "PGM"),
    ("privsyn-bins", "inf", "PrivSyn"),
)
# Baseline tables beside them.
KNOWN = {
    "SELF": "SELF",
    "HALF": "HALF",
    "HISTOGRAM": "HISTOGRAM",
    "QUANTILES": "real in 10 quantile bins",
    "EVEN": "real in 20 even bins",
}
# Methods whose disclosure is the same in each draw.
COPIES = ("SELF", "HALF")
ORDER = (
    "adult",
    "shoppers",
    "phishing",
    "magic",
    "faults",
    "bean",
    "obesity",
    "robot",
    "abalone",
    "news_part",
)
ORDER += ("insurance", "wine")


def write_tables(lines: Sequence[Line], folder: Path) -> None:
    """Rewrite the tables of results/synmeter.md from the finished cells; its text is kept.

    The table with a name follows the comment `<!-- NAME -->` and an empty line.
    """
    reported = json.loads((folder / "synmeter_reported.json").read_text(encoding="utf-8"))
    path = folder / "results" / "synmeter.md"
    page = path.read_text(encoding="utf-8")
    sections: dict[str, tuple[str, Callable[[Line], tuple[float, float]]]] = {
        "fidelity train": ("fidelity", lambda line: (line["train"]["value"], line["train"]["error"])),
        "fidelity test": ("fidelity", lambda line: (line["test"]["value"], line["test"]["error"])),
        "query error": ("queries", lambda line: (line["mean"], 0.0)),
        "query error, three": ("queries", lambda line: (line["three"], 0.0)),
        "disclosure": ("disclosure", lambda line: (line["value"], line.get("standard_error", 0.0))),
        "affinity": ("affinity", lambda line: (line["value"], 0.0)),
        "efficacy": ("affinity", lambda line: (line["efficacy"] / line["efficacy_of_real"], 0.0)),
    }
    for title, (kind, read) in sections.items():
        chosen = _fullest(line for line in lines if line["cell"]["kind"] == kind)
        table = _table(
            chosen,
            reported.get(title, {}),
            read,
            COLUMNS,
            _baselines(chosen),
            with_settings=kind == "disclosure",
        )
        page = _with_table(page, title, table)
    in_bins = {column[0] for column in IN_BINS}
    binned = [line for line in lines if line["cell"]["method"] in in_bins]
    table = _table(binned, reported["disclosure"], sections["disclosure"][1], IN_BINS, (), with_settings=True)
    path.write_text(_with_table(page, "disclosure in bins", table), encoding="utf-8")


def _with_table(page: str, title: str, table: str) -> str:
    mark = f"<!-- {title} -->\n\n"
    written, places = re.subn(re.escape(mark) + r"(\|.*\n)*", lambda _: f"{mark}{table}\n", page)
    if places != 1:
        raise SystemExit(f"results/synmeter.md must say {mark.strip()} once, followed by an empty line")
    return written


def _fullest(lines: Iterable[Line]) -> list[Line]:
    """Among runs that differ only in shadow models and draws, keep the one with the most."""
    kept: dict[str, Line] = {}
    for line in sorted(
        lines, key=lambda line: (line["cell"].get("shadows", 0), line["cell"].get("draws", 0))
    ):
        what = {name: value for name, value in line["cell"].items() if name not in ("shadows", "draws")}
        kept[json.dumps(what, sort_keys=True)] = line
    return list(kept.values())


def _baselines(lines: Sequence[Line]) -> list[str]:
    found = {line["cell"]["method"] for line in lines}
    return [name for name in KNOWN if name in found]


def _table(
    lines: Sequence[Line],
    reported: dict[str, dict[str, float]],
    read: Callable[[Line], tuple[float, float]],
    columns: Sequence[tuple[str, str, str]],
    baselines: Sequence[str],
    *,
    with_settings: bool,
) -> str:
    """Return one row per table: ours, the paper's in brackets, and the baselines."""
    occurring = [c for c in columns if any(_is(line, c[0], c[1]) for line in lines)]
    heads = ["table", *(f"{ours} {_epsilon(e)} ({theirs})" for ours, e, theirs in occurring)]
    heads += [KNOWN[name] for name in baselines]
    if with_settings:
        heads.insert(1, "models × draws")
    rows = [heads, ["---"] * len(heads)]
    for table in ORDER:
        of_table = [line for line in lines if line["cell"]["table"] == table]
        for setting, mine in _by_setting(of_table) if with_settings else [("", of_table)]:
            if not mine:
                continue
            row = [table]
            if with_settings:
                row.append(setting)
            for ours, epsilon, theirs in occurring:
                value = _mean(mine, ours, epsilon, read)
                paper = reported.get(f"{theirs} {epsilon}", {}).get(table)
                missing = value == "–" and with_settings  # it may be in the row of another setting
                row.append(value if missing else f"{value} ({'–' if paper is None else f'{paper:.3f}'})")
            row += [_mean(mine, name, None, read) for name in baselines]
            if set(row[1 + with_settings :]) != {
                "–"
            }:  # otherwise the row belongs to the methods of another table
                rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _by_setting(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    """Return the lines for each number of shadow models and draws, the most first; copies are listed with the
    most."""
    settings = sorted(
        {
            (line["cell"]["shadows"], line["cell"]["draws"])
            for line in lines
            if line["cell"]["method"] not in COPIES
        },
        reverse=True,
    )
    found = []
    for place, setting in enumerate(settings):
        chosen = [
            line
            for line in lines
            if (line["cell"]["shadows"], line["cell"]["draws"]) == setting
            or (place == 0 and line["cell"]["method"] in COPIES)
        ]
        found.append((f"{setting[0]} × {setting[1]}", chosen))
    return found


def _mean(
    lines: Sequence[Line], method: str, epsilon: str | None, read: Callable[[Line], tuple[float, float]]
) -> str:
    """Return the mean over seeds with its standard error: that of each seed and that of the spread over seeds."""
    found = [read(line) for line in lines if _is(line, method, epsilon)]
    if not found:
        return "–"
    value, error = fmean(v for v, _ in found), fmean(e for _, e in found)
    if len(found) > 1:
        error = math.hypot(error, math.sqrt(variance(v for v, _ in found) / len(found)))
    return f"{value:.3f}" + (f" ± {error:.3f}" if error >= 0.0005 else "")


def _is(line: Line, method: str, epsilon: str | None) -> bool:
    return line["cell"]["method"] == method and line["cell"]["epsilon"] == epsilon


def _epsilon(text: str) -> str:
    return "ε = " + {"inf": "∞"}.get(text, text)
