"""How long the cells of a run may take, and what that is known from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from syntabula.bench.cell import Cell
from syntabula.bench.costs import estimate
from syntabula.bench.store import Record


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The seconds of cells on one processor, and how many of the cells are timed in each way.

    Attributes:
        seconds: Their sum.
        n_run: Cells like which one is done in the store.
        n_measured: Cells whose method and scores were measured on another machine, on tables of other sizes.
        n_scaled: Cells of many fits, one of which was measured.
        n_guessed: Cells whose method or scores were not measured.
    """

    seconds: float = 0.0
    n_run: int = 0
    n_measured: int = 0
    n_scaled: int = 0
    n_guessed: int = 0


def timing_of(cells: Sequence[Cell], known: Iterable[Record], limit: float) -> Timing:
    """Return how long cells may take, each at most the limit of its seconds.

    Only results that are done tell how long: one that was cut off or left out took less than the cell needs.
    """
    alike: dict[tuple[object, ...], list[float]] = {}
    for record in known:
        if record.status == "done":
            alike.setdefault(_kind(record.cell), []).append(record.seconds)
    total, counts = 0.0, {"run": 0, "measured": 0, "scaled": 0, "guessed": 0}
    for cell in cells:
        if found := alike.get(_kind(cell)):
            total += sum(found) / len(found)
            counts["run"] += 1
        else:
            guess = estimate(cell, limit)
            total += guess.seconds
            counts[guess.basis] += 1
    return Timing(seconds=total, **{f"n_{name}": n for name, n in counts.items()})


def _kind(cell: Cell) -> tuple[object, ...]:
    """Return what cells of about the same length share: all but budgets, bins and seeds."""
    return (
        cell.task,
        cell.dataset,
        cell.split,
        cell.label,
        cell.scores,
        str(sorted(cell.task_options.items())),
    )
