"""Two stores side by side: versions, machines or settings."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from syntabula.bench.cell import Cell
from syntabula.bench.store import Record, Store
from syntabula.bench.tasks import direction_of
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

    Rows are matched by what their cells are, whatever the version or machine that ran them.

    Raises:
        StudyError: If a store holds something else.
        OSError: If one cannot be read.
    """
    both = [_by_row(Store(Path(path)).records().values()) for path in (first, second)]
    found = []
    for place, ours in both[0].items():
        theirs = both[1].get(place)
        if theirs is not None:
            found += _differences(ours, theirs)
    return found


Place = tuple[str, str]


def _by_row(records: Iterable[Record]) -> dict[Place, list[Record]]:
    rows: dict[Place, list[Record]] = {}
    for record in records:
        if record.status == "done":
            facts = {k: v for k, v in record.cell.to_json().items() if k != "seed"}
            rows.setdefault((record.cell.label, repr(sorted(facts.items()))), []).append(record)
    return rows


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
    lower = score in COSTS or direction_of(cell.task, score.partition(" [")[0]) == "lower"
    verdict = ""
    if min(first.size, second.size) > 1:
        error = math.sqrt(first.var(ddof=1) / first.size + second.var(ddof=1) / second.size)
        apart = means[1] - means[0]
        verdict = (
            "same" if not abs(apart) > _CLEARLY * error else "better" if (apart < 0) == lower else "worse"
        )
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
