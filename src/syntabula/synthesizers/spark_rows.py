"""Synthetic rows as a Spark frame: each partition is a part of the table, which a worker of Spark draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from syntabula._arguments import refusal
from syntabula._extras import require
from syntabula.synthesizers.release_bytes import Saved, from_bytes, to_bytes
from syntabula.table.files.row_parts import RowPart
from syntabula.table.frames.frames import to_frame
from syntabula.table.parts.spark_tasks import Batches, on_workers
from syntabula.table.raw import Container, Origin, RawColumn


class Drawable(Saved, Protocol):
    """What is asked of a release."""

    def rows_of(
        self, part: RowPart, *, where: Mapping[str, Any] | None, seed: int
    ) -> Iterator[dict[str, RawColumn]]:
        """Yield the rows of a part, in pieces."""
        ...

    def stored_in(self, container: Container) -> Origin:
        """Return the types of its columns in a library."""
        ...


Load = Callable[[Path], Drawable]

_ROWS = 25_000
"""Rows that are handed to Spark at a time."""


def spark_frame(
    release: Drawable,
    session: Any,
    n_rows: int,
    *,
    parts: int,
    where: Mapping[str, Any] | None,
    seed: int,
    load: Load,
) -> Any:
    """Return rows of a release as a Spark frame, which are drawn when it is used; see `Release.sample_on`.

    Args:
        release: The release.
        session: A session of Spark.
        n_rows: Number of rows of all parts.
        parts: Number of parts.
        where: What the rows satisfy.
        seed: The seed of all parts.
        load: Reads a release file, on a worker.

    Raises:
        ArgumentError: If the session is not one of Spark.
    """
    if not all(hasattr(session, name) for name in ("range", "createDataFrame", "sql")):
        raise refusal("session", "a session of Spark", session)
    kinds = ", ".join(
        "`" + field.name.replace("`", "``") + "` " + _spark_type(field.type)
        for field in _table(release, next(release.rows_of(RowPart(1, 1, 0), where=None, seed=0))).schema
    )
    task = DrawTask(to_bytes(release), n_rows, parts, where, seed, load)
    return session.range(1, parts + 1, 1, parts).mapInArrow(on_workers(task), kinds)


@dataclass(frozen=True, eq=False, repr=False)
class DrawTask:
    """Draws the parts whose numbers are the records of a partition.

    A part that is drawn again, because a worker was lost, is the same.

    Attributes:
        release: The bytes of the release's file.
        n_rows: Number of rows of all parts.
        parts: Number of parts.
        where: What the rows satisfy.
        seed: The seed of all parts.
        load: Reads a release file.
    """

    release: bytes
    n_rows: int
    parts: int
    where: Mapping[str, Any] | None
    seed: int
    load: Load

    def __call__(self, batches: Batches) -> Batches:
        """Yield the rows as Arrow batches."""
        release = from_bytes(self.release, self.load)
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            part = RowPart(number, self.parts, self.n_rows)
            for piece in release.rows_of(part, where=self.where, seed=self.seed):
                yield from _table(release, piece).to_batches(max_chunksize=_ROWS)


def _table(release: Drawable, columns: Mapping[str, RawColumn]) -> Any:
    """Return rows as an Arrow table of types that Spark has; a time of day is text."""
    arrow = require("pyarrow", "arrow")
    table = to_frame(columns, release.stored_in("pyarrow"))
    types = [_plain_type(kind) for kind in table.schema.types]
    fields = [arrow.field(name, kind) for name, kind in zip(table.column_names, types, strict=True)]
    return table.cast(arrow.schema(fields))


def _plain_type(kind: Any) -> Any:
    arrow = require("pyarrow", "arrow")
    types = arrow.types
    if types.is_uint64(kind):
        return arrow.decimal128(20, 0)
    if types.is_integer(kind):
        return arrow.int64()
    if types.is_floating(kind):
        return arrow.float64()
    if types.is_timestamp(kind):
        return arrow.timestamp("us", tz=None if kind.tz is None else "UTC")
    if types.is_boolean(kind) or types.is_decimal128(kind) or types.is_date32(kind):
        return kind
    return arrow.string()


def _spark_type(kind: Any) -> str:
    """Return the name that Spark has for one of the types above."""
    types = require("pyarrow", "arrow").types
    if types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    return {"int64": "bigint", "double": "double", "bool": "boolean", "date32[day]": "date"}.get(
        str(kind), "string"
    )
