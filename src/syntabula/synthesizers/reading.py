"""How a fit reads a table in parts: when it does, what it asks of raw columns, and the engine that counts codes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import CountingEngine, engine_for
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.parts.sources import may_have_parts, needs_parts, parts_of
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Ordered
from syntabula.table.schema.schema import Schema, is_whole

if TYPE_CHECKING:
    from collections.abc import Collection

    from syntabula.prepare.preparation import Preparation
    from syntabula.synthesizers.settings import Settings
    from syntabula.table.coding.codec import Codec, Coercions
    from syntabula.table.parts.points import CountedColumns


def in_parts(
    method: Settings, source: Any, schema: Schema | None, *, judged: bool = False
) -> RawParts | None:
    """Return a table in parts; None if it is read into memory, as tables of usual size are.

    Args:
        method: The synthesizer.
        source: The table.
        schema: The declared columns.
        judged: Whether the model is measured against the table.

    Raises:
        ArgumentError: If the table can be read in parts alone, and that is not possible here.
    """
    if not may_have_parts(source):
        return None
    reason = _objection(schema, judged=judged)
    if reason is None:
        assert schema is not None
        return parts_of(source, schema, workers=method.workers)
    if needs_parts(source):
        raise ArgumentError(f"{_named(source)} {reason}, or give one table that memory holds")
    return None


def _named(source: Any) -> str:
    if isinstance(source, str | os.PathLike):
        return f"{'the folder ' if os.path.isdir(source) else ''}{os.fspath(source)!r}"
    return "a table in parts"


def _objection(schema: Schema | None, *, judged: bool) -> str | None:
    """Return why a table cannot be read in parts, with a remedy; None if it can."""
    if not is_whole(schema):
        return (
            "needs a schema of all its columns; draft one from one of its files with `syntabula schema FILE`, check it, "
            "and give it"
        )
    if schema.unit is not None:
        return (
            "cannot be limited to some rows per unit yet, since a unit's rows may lie in several parts; keep at most one "
            "row of each, and leave the unit out of the schema"
        )
    return "cannot be searched for options yet; fit one set of options" if judged else None


def counted_columns(parts: RawParts, prepared: Preparation) -> CountedColumns:
    """Return the values of the columns whose bins depend on them, by one pass that reads no others."""
    from syntabula.prepare.refinement import expected_of
    from syntabula.table.parts.points import CountedColumns, columns_of

    ordered = {n: c for n in prepared.refinements if isinstance(c := parts.schema[n], Ordered)}
    if not ordered:
        return CountedColumns({})
    return columns_of(parts, {n: expected_of(c, prepared.settings) for n, c in ordered.items()})


def encoded(
    table: RawTable | RawParts,
    codec: Codec,
    *,
    strict: bool,
    found: Collection[str],
    limit_mb: float,
    let_go: bool,
) -> tuple[CountingEngine, Coercions]:
    """Return the engine that counts the encoded table, and what did not fit the codec.

    Of a table in parts, all pairs of columns are counted now, in the pass that finds what does not fit. With `let_go`, a
    table in memory is empty afterwards.
    """
    if isinstance(table, RawTable):
        rows, coercions = codec.encode(table, strict=strict, found=found, let_go=let_go)
        if let_go:
            table.columns.clear()
        return engine_for(rows, limit_mb=limit_mb), coercions
    from syntabula.marginals.passes import PassEngine
    from syntabula.table.parts.encoded_parts import EncodedParts

    parts = EncodedParts(table, codec)
    engine = PassEngine(parts, codec.domain, limit_mb=limit_mb)
    engine.read()
    assert parts.coercions is not None
    if strict:
        parts.coercions.require_none()
    return engine, parts.coercions
