"""Which rows and binnings a quick study keeps of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from syntabula.bench.candidate import FEW, Binning, Candidate

_Value = TypeVar("_Value")
_LONG = 4
"""A row that sets more than so many times the length of a quick fit is left out, if its method has another."""


def without_long(rows: Sequence[Candidate], steps: int) -> tuple[Candidate, ...]:
    """Return the rows without those that set a long fit, where another row of the method is short.

    Args:
        rows: Rows of a study.
        steps: Most steps of training of a quick fit.
    """
    few = {**FEW, "steps": steps}
    long = [any(row.options.get(name, 0) > _LONG * most for name, most in few.items()) for row in rows]
    short = {row.method for row, is_long in zip(rows, long, strict=True) if not is_long}
    return tuple(
        row for row, is_long in zip(rows, long, strict=True) if not is_long or row.method not in short
    )


def spread(binnings: Sequence[Binning], most: int) -> tuple[Binning, ...]:
    """Return at most so many binnings: as many of each discretizer and domain, from the first number of bins to the last.

    If there are more kinds than `most`, one binning of kinds that lie evenly among them.
    """
    if len(binnings) <= most:
        return tuple(binnings)
    kinds: dict[tuple[str, ...], list[Binning]] = {}
    for binning in binnings:
        options = sorted(map(str, binning.options.items()))
        kinds.setdefault((binning.discretizer, binning.domain, binning.within, *options), []).append(binning)
    chosen = _evenly([*kinds.values()], most)
    return tuple(binning for kind in chosen for binning in _evenly(kind, max(1, most // len(chosen))))


def _evenly(values: Sequence[_Value], most: int) -> list[_Value]:
    """Return at most so many values at even distances, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    if most == 1:
        return [values[0]]
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]
