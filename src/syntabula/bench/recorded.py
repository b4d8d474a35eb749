"""What a result records beside its scores, by the names under which tables and figures show it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from syntabula.bench.store import Record

_STRONG = 0.5
"""Least association of a pair that counts as strong."""


def _fact(name: str) -> Callable[[Record], float | None]:
    def read(record: Record) -> float | None:
        value = record.facts.get(name)
        return None if value is None else float(value)

    return read


def _kept(name: str, summarise: Callable[[Any], float]) -> Callable[[Record], float | None]:
    """Return what reads a number off what a cell keeps for pictures; NaN where it has none to tell."""

    def read(record: Record) -> float | None:
        found = record.facts.get("kept", {}).get(name)
        return None if not found else summarise(found)

    return read


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _distance(measured: bool) -> Callable[[Any], float]:
    return lambda pairs: _mean([error for *_, error, chosen in pairs if chosen is measured])


def _own_neighbours(plane: Mapping[str, Sequence[Sequence[float]]]) -> float:
    """Return the share of points whose nearest other point is of the same table."""
    points = np.array([*plane["real"], *plane["synthetic"]])
    table = np.repeat([0, 1], [len(plane["real"]), len(plane["synthetic"])])
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, math.inf)
    return float(np.mean(table[distances.argmin(axis=1)] == table))


RECORDED: Mapping[str, Callable[[Record], float | None]] = {
    "fit seconds": _fact("fit_seconds"),
    "processor seconds": lambda record: record.processor_seconds,
    "peak MB": lambda record: record.peak_mb,
    "cells of a pair": _fact("mean cells of a pair"),
    "pairs measured": _kept("marginals", lambda pairs: float(sum(chosen for *_, chosen in pairs))),
    "measured pairs": _kept("marginals", _distance(measured=True)),
    "other pairs": _kept("marginals", _distance(measured=False)),
    "first loss": _kept("rounds", lambda losses: float(losses[0])),
    "last loss": _kept("rounds", lambda losses: float(losses[-1])),
    "mean association": _kept("associations", lambda pairs: _mean([abs(p[2]) for p in pairs])),
    "strong pairs": _kept("associations", lambda pairs: _mean([abs(p[2]) >= _STRONG for p in pairs])),
    "own neighbours": _kept("plane", _own_neighbours),
}
"""Each is better the lower it is; None where a result does not have it. Distances of pairs are means of their TVD, losses
are in variances of the noise, associations are of the real table, and `own neighbours` is about a half on a plane where
both tables are mixed."""
