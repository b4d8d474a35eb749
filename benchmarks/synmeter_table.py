"""The tables of `synmeter.py` in Markdown, with the paper's figures beside ours."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean, variance
from typing import Any

Line = dict[str, Any]
# Our method, and the paper's name of the nearest of its own.
COLUMNS = (
    ("mst", "1", "PGM"),
    ("mst", "inf", "PGM"),
    ("privsyn", "1", "PrivSyn"),
    ("privsyn", "inf", "PrivSyn"),
)
IN_BINS = (("mst-bins", "inf", "PGM"), ("pairs-bins", "inf", "PGM"), ("privsyn-bins", "inf", "PrivSyn"))
# Known tables beside them.
KNOWN = {
    "SELF": "SELF",
    "HALF": "HALF",
    "HISTOGRAM": "HISTOGRAM",
    "QUANTILES": "real in 10 quantile bins",
    "EVEN": "real in 20 even bins",
}
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


def write_table(lines: Sequence[Line], folder: Path) -> None:
    """Write results/synmeter.md from the finished cells; prose comes from synmeter_template.md."""
    reported = json.loads((folder / "synmeter_reported.json").read_text(encoding="utf-8"))
    notes = (folder / "synmeter_template.md").read_text(encoding="utf-8")
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
        notes = notes.replace(f"<!-- {title} -->", table)
    binned = [
        line
        for line in _fullest(lines)
        if (line["cell"]["method"], "inf") in {column[:2] for column in IN_BINS}
    ]
    table = _table(binned, reported["disclosure"], sections["disclosure"][1], IN_BINS, (), with_settings=True)
    notes = notes.replace("<!-- disclosure in bins -->", table)
    (folder / "results" / "synmeter.md").write_text(notes, encoding="utf-8")


def _fullest(lines: Iterable[Line]) -> list[Line]:
    """Keep of the runs that differ in shadow models and draws alone the one with the most."""
    kept: dict[str, Line] = {}
    for line in sorted(lines, key=lambda line: line["cell"].get("shadows", 0) * line["cell"].get("draws", 0)):
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
        mine = [line for line in lines if line["cell"]["table"] == table]
        if not mine:
            continue
        row = [table]
        if with_settings:
            row.append(_settings(mine))
        for ours, epsilon, theirs in occurring:
            paper = reported.get(f"{theirs} {epsilon}", {}).get(table)
            row.append(f"{_mean(mine, ours, epsilon, read)} ({'–' if paper is None else f'{paper:.3f}'})")
        row += [_mean(mine, name, None, read) for name in baselines]
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _mean(
    lines: Sequence[Line], method: str, epsilon: str | None, read: Callable[[Line], tuple[float, float]]
) -> str:
    """Return the mean over seeds, with its standard error: of each, and of their differing."""
    found = [read(line) for line in lines if _is(line, method, epsilon)]
    if not found:
        return "–"
    value, error = fmean(v for v, _ in found), fmean(e for _, e in found)
    if len(found) > 1:
        error = math.hypot(error, math.sqrt(variance(v for v, _ in found) / len(found)))
    return f"{value:.3f}" + (f" ± {error:.3f}" if error >= 0.0005 else "")


def _settings(lines: Sequence[Line]) -> str:
    cells = [line["cell"] for line in lines if line["cell"]["epsilon"] is not None]
    return " or ".join(sorted({f"{cell['shadows']} × {cell['draws']}" for cell in cells}))


def _is(line: Line, method: str, epsilon: str | None) -> bool:
    return line["cell"]["method"] == method and line["cell"]["epsilon"] == epsilon


def _epsilon(text: str) -> str:
    return "ε = " + {"inf": "∞"}.get(text, text)
