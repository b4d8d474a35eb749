"""What a result records beside its scores, by the names under which tables and figures show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from syntabula.bench.store import Record


def _fact(name: str) -> Callable[[Record], float | None]:
    def read(record: Record) -> float | None:
        value = record.facts.get(name)
        return None if value is None else float(value)

    return read


RECORDED: Mapping[str, Callable[[Record], float | None]] = {
    "fit seconds": _fact("fit_seconds"),
    "processor seconds": lambda record: record.processor_seconds,
    "peak MB": lambda record: record.peak_mb,
    "cells of a pair": _fact("mean cells of a pair"),
}
"""Each is better the lower it is; None where a result does not have it."""
