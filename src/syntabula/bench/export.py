"""Results as one tidy Parquet table."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from syntabula._files import whole_file
from syntabula.bench.store import Record
from syntabula.errors import ArgumentError


def export_parquet(records: Sequence[Record], path: str | os.PathLike[str]) -> None:
    """Write results as one tidy Parquet table: a row for each score of each cell, and one for a cell without scores.

    Raises:
        ArgumentError: If the file is not named .parquet.
        OSError: If it cannot be written.
    """
    if Path(path).suffix != ".parquet":
        raise ArgumentError(f"{str(path)!r} must end in .parquet")
    import duckdb

    rows = [row for record in records for row in _tidy(record)]
    with whole_file(path) as temporary:
        lines = temporary.with_suffix(".jsonl")
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        with duckdb.connect() as connection:
            columns = ", ".join(f"'{name}': '{kind}'" for name, kind in _COLUMNS.items())
            source = f"read_json('{lines}', format = 'newline_delimited', columns = {{{columns}}})"
            connection.execute(f"copy (select * from {source}) to '{temporary}' (format parquet)")


_COLUMNS = {
    "key": "varchar", "study": "varchar", "dataset": "varchar", "method": "varchar", "label": "varchar",
    "options": "varchar", "discretizer": "varchar", "bins": "varchar", "domain": "varchar", "epsilon": "double",
    "delta": "double", "seed": "bigint", "score": "varchar", "value": "double", "status": "varchar",
    "reason": "varchar", "epsilon_spent": "double", "seconds": "double", "processor_seconds": "double",
    "peak_mb": "double", "version": "varchar", "code": "varchar", "machine": "varchar", "finished": "varchar",
}  # fmt: skip


def _tidy(record: Record) -> Iterator[dict[str, Any]]:
    cell = record.cell
    facts = {
        "key": cell.key, "study": record.study, "dataset": cell.dataset, "method": cell.method, "label": cell.label,
        "options": json.dumps(cell.to_json()["options"]), "discretizer": cell.binning.discretizer,
        "bins": str(cell.binning.bins), "domain": cell.binning.domain,
        "epsilon": None if math.isinf(cell.epsilon) else cell.epsilon, "delta": cell.delta, "seed": cell.seed,
        "status": record.status, "reason": record.reason, "epsilon_spent": record.facts.get("epsilon_spent"),
        "seconds": record.seconds, "processor_seconds": record.processor_seconds, "peak_mb": record.peak_mb,
        "version": record.version, "code": record.code, "machine": json.dumps(record.machine),
        "finished": record.finished,
    }  # fmt: skip
    for name, value in record.scores.items() or [(None, math.nan)]:
        yield facts | {"score": name, "value": None if math.isnan(value) else value}
