"""Two stores side by side: versions, machines or settings."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from syntabula.bench.cell import Cell
from syntabula.bench.store import Record, Store
from syntabula.bench.tasks import badness
from syntabula.metrics.comparison import Floats

COSTS = {"processor seconds": "processor_seconds", "peak MB": "peak_mb"}
"""What else is compared, and the attribute of a record that has it."""
_CLEARLY = 3.0
"""How many standard errors apart two means are called different; by chance one in 370 is, if seeds are many."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One score of one row in both stores.

    Attributes:
        dataset: Name of the table.
        label: Name of the method's row.
        binning: How columns were binned.
        epsilon: Budget.
        score: Name of the score, "processor seconds" or "peak MB".
        first: Mean in the first store.
        second: Mean in the second store.
        n: Seeds of both.
        verdict: "better" or "worse" if the second differs by more than three standard errors, else "same"; empty if
            there are too few seeds to say.
    """

    dataset: str
    label: str
    binning: str
    epsilon: float
    score: str
    first: float
    second: float
    n: tuple[int, int]
    verdict: str


def compare(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> list[Difference]:
    """Return every score of the rows that both stores have, in the order of the first.

    Rows are matched by what their cells are, whatever the version or machine that ran them. A row that the other store
    lacks is matched with the only one there that differs in the study's options alone, such as the accounting.

    Raises:
        StudyError: If a store holds something else.
        OSError: If one cannot be read.
    """
    ours, theirs = (_by_row(Store(Path(path)).records().values()) for path in (first, second))
    left = [
        {place: rows for place, rows in a.items() if place not in b}
        for a, b in ((ours, theirs), (theirs, ours))
    ]
    alike, others = (_by_rest(side) for side in left)
    found = []
    for place, rows in ours.items():
        rest = _without_options(rows)
        only = others.get(rest, []) if len(alike.get(rest, [])) == 1 else []
        partner = theirs.get(place) or (only[0] if len(only) == 1 else None)
        if partner is not None:
            found += _differences(rows, partner)
    return found


Place = tuple[str, str]


def _by_row(records: Iterable[Record]) -> dict[Place, list[Record]]:
    rows: dict[Place, list[Record]] = {}
    for record in records:
        if record.status == "done":
            rows.setdefault(_place(record.cell, ("seed",)), []).append(record)
    return rows


def _by_rest(rows: Mapping[Place, list[Record]]) -> dict[Place, list[list[Record]]]:
    """Return rows by what they are but for the study's options."""
    found: dict[Place, list[list[Record]]] = {}
    for records in rows.values():
        found.setdefault(_without_options(records), []).append(records)
    return found


def _without_options(records: Sequence[Record]) -> Place:
    return _place(records[0].cell, ("seed", "task_options"))


def _place(cell: Cell, ignored: Sequence[str]) -> Place:
    facts = {name: value for name, value in cell.to_json().items() if name not in ignored}
    return cell.label, repr(sorted(facts.items()))


def _differences(ours: Sequence[Record], theirs: Sequence[Record]) -> list[Difference]:
    cell, sides = ours[0].cell, (ours, theirs)
    names = [name for name in ours[0].scores if name in theirs[0].scores]
    found = []
    for name in names:
        first, second = (np.array([r.scores.get(name, math.nan) for r in side]) for side in sides)
        found.append(_difference(cell, name, first, second))
    for name, attribute in COSTS.items():
        first, second = (np.array([getattr(r, attribute) or math.nan for r in side]) for side in sides)
        found.append(_difference(cell, name, first, second))
    return found


def _difference(cell: Cell, score: str, first: Floats, second: Floats) -> Difference:
    means = float(first.mean()), float(second.mean())
    bad = means if score in COSTS else tuple(badness(cell.task, score, mean) for mean in means)
    verdict = ""
    if min(first.size, second.size) > 1:
        error = math.sqrt(first.var(ddof=1) / first.size + second.var(ddof=1) / second.size)
        clear = abs(means[1] - means[0]) > _CLEARLY * error
        verdict = "same" if not clear or bad[0] == bad[1] else "better" if bad[1] < bad[0] else "worse"
    return Difference(
        dataset=cell.dataset,
        label=cell.label,
        binning=cell.binning.label,
        epsilon=cell.epsilon,
        score=score,
        first=means[0],
        second=means[1],
        n=(first.size, second.size),
        verdict=verdict,
    )
