"""Seconds of fits and scores from the committed results, for the estimates of `syntabula bench run --dry-run`.

    python benchmarks/costs.py

Writes src/syntabula/bench/costs.json. Seconds are processor seconds. A cell's fit is what it took beyond a table of known
quality with the same scores on the same table. Each method and score has a power law over the number of cells of the
table (rows times columns), or the usual power if it was measured on tables of one size.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from syntabula.bench.candidate import BASELINES
from syntabula.bench.costs import cells_of_table
from syntabula.bench.store import Record, Store

RESULTS = Path(__file__).parent / "results"
STORES = ("synmeter-ranks", "tab_bench-t1-bank", "libraries", "libraries_without_privacy")
TARGET = Path(__file__).parents[1] / "src" / "syntabula" / "bench" / "costs.json"
LEAST = 0.2
"""Seconds of a fit that is lost in the spread of the scores."""
ROWS_OF_METRICS = 1_000_000
COLUMNS_OF_METRICS = 15

Points = Sequence[tuple[float, float]]


def main() -> None:
    """Write the file."""
    records = [
        r
        for name in STORES
        for r in Store(RESULTS / f"{name}.jsonl").records().values()
        if r.status == "done"
    ]
    # Scores whose options name few models take less than others of these names.
    few = {
        r.cell.scores
        for r in records
        if any("evaluators" in given for given in r.cell.score_options.values())
    }
    known = defaultdict(list)
    for record in records:
        if record.cell.method in ("SELF", "HALF", "HISTOGRAM"):
            known[record.cell.scores, record.cell.dataset].append(_seconds(record))
    fits: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for record in records:
        cell = record.cell
        if cell.method not in BASELINES and not cell.options and (cell.scores, cell.dataset) in known:
            scoring = statistics.median(known[cell.scores, cell.dataset])
            fits[cell.method].append((cells_of_table(cell.dataset), max(LEAST, _seconds(record) - scoring)))
    for method, point in _grid():
        if method not in fits:  # cells of studies come first, as they are of this version
            fits.setdefault(f"grid {method}", []).append(point)
    fits = {name.removeprefix("grid "): points for name, points in fits.items()}
    lists: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (scores, dataset), seconds in known.items():
        if scores in few:
            continue
        lists[" ".join(sorted(scores))].append((cells_of_table(dataset), statistics.median(seconds)))
    powers = [power for points in fits.values() if (power := _power(points)) is not None]
    usual = round(statistics.median(powers), 2)
    found = {
        "sources": [f"{name}.jsonl" for name in (*STORES, "grid", "metrics")],
        "power": usual,
        "fits": {name: _law(points, usual) for name, points in sorted(fits.items())},
        "smaller": max(_power(points) or 0.0 for points in lists.values()),
        "lists": {name: _law(points, usual) for name, points in sorted(lists.items())},
        "scores": dict(sorted(_scores().items())),
    }
    TARGET.write_text(_written(found), encoding="utf-8")


def _seconds(record: Record) -> float:
    return record.processor_seconds or record.seconds


def _grid() -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield fits of methods by name and of pairs, which have neither options nor scores in their seconds."""
    for line in (RESULTS / "grid.jsonl").read_text(encoding="utf-8").splitlines():
        facts = json.loads(line)
        table = {"adult": "adult_margnet"}.get(facts["table"], facts["table"])
        if facts.get("processor_seconds") and not {"@", ","} & {*facts["method"]}:
            yield facts["method"], (cells_of_table(table), facts["processor_seconds"])


def _scores() -> dict[str, dict[str, float]]:
    """Return the law of each metric, and of each model that one trains."""
    seconds: dict[str, dict[bool, float]] = defaultdict(lambda: defaultdict(float))
    for line in (RESULTS / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        facts = json.loads(line)
        if facts["seconds"]:
            seconds[facts["metric"]][facts["rows"] is not None] += facts["seconds"]
    adult = cells_of_table("adult")
    return {
        name: {"seconds": round(found[False], 3), "cells": adult, "power": _between(found)}
        for name, found in seconds.items()
        if False in found
    }


def _between(found: Mapping[bool, float]) -> float:
    if True not in found:
        return 1.0
    ratio = ROWS_OF_METRICS * COLUMNS_OF_METRICS / cells_of_table("adult")
    return round(min(1.5, max(0.0, math.log(found[True] / found[False]) / math.log(ratio))), 2)


def _power(points: Points) -> float | None:
    """Return the power of the least squares in logarithms; None for tables of about one size."""
    x = [math.log(cells) for cells, _ in points]
    if len(points) < 4 or max(x) - min(x) < math.log(8):
        return None
    y = [math.log(seconds) for _, seconds in points]
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum(
        (a - mean_x) ** 2 for a in x
    )
    return round(min(1.5, max(0.0, slope)), 2)


def _law(points: Points, usual: float) -> dict[str, float]:
    power = _power(points)
    middle = math.exp(statistics.fmean(math.log(cells) for cells, _ in points))
    used = usual if power is None else power
    # The mean of what each point says of a table of the middle size.
    seconds = statistics.fmean(s * (middle / cells) ** used for cells, s in points)
    return {"seconds": round(seconds, 3), "cells": round(middle), "power": used, "n": len(points)}


def _written(found: Mapping[str, Any]) -> str:
    lines = []
    for name, value in found.items():
        if isinstance(value, dict):
            inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            lines.append(f" {json.dumps(name)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
