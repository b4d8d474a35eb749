"""Convert Arrow tables to raw columns and back, type by type, and write them to files, in one piece or many."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.table.files.pieces import drained, release_each
from syntabula.table.frames.conform import as_integers, is_null
from syntabula.table.frames.object_columns import in_microseconds, object_array, to_objects
from syntabula.table.raw import PhysicalType, RawColumn, RepeatedTexts, parts_of

_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=(.+))?\]")
_DURATION = re.compile(r"duration\[(s|ms|us|ns)\]")
_DECIMAL = re.compile(r"decimal(32|64|128|256)\((\d+), (-?\d+)\)")
_DICTIONARY = re.compile(r"dictionary<values=(.+), indices=(u?int\d+), ordered=[01]>")
_ALIASES = {"halffloat": "float16", "date32[day]": "date32", "date64[ms]": "date64"}
_MS_PER_DAY = 86_400_000


def read_chunks(name: str, chunks: Any) -> RawColumn:
    """Read an Arrow chunked array of any type; nested and binary types are of kind "other"."""
    pa = require("pyarrow", "arrow")
    types, arrow_type = pa.types, chunks.type
    if types.is_dictionary(arrow_type):
        decoded = read_chunks(name, chunks.cast(arrow_type.value_type))
        physical = decoded.physical
        order = _order(chunks) if physical.kind == "text" else ()
        printed = str(arrow_type)
        named = PhysicalType(
            physical.kind,
            # Categories are found in their order, and so come out in it, only where it is known.
            printed if order else printed.replace("ordered=1>", "ordered=0>"),
            timezone=physical.timezone,
            scale=physical.scale,
            order=order,
        )
        return RawColumn(decoded.cells, decoded.missing, named)
    printed = str(arrow_type)
    missing = chunks.is_null().to_numpy().astype(np.bool_)
    if types.is_boolean(arrow_type):
        return RawColumn(_numbers(chunks, False, np.bool_), missing, PhysicalType("boolean", printed))
    if types.is_integer(arrow_type):
        wide = np.uint64 if types.is_uint64(arrow_type) else np.int64
        return RawColumn(_numbers(chunks, 0, wide), missing, PhysicalType("integer", printed))
    if types.is_floating(arrow_type):
        reals = chunks.cast(pa.float64()).fill_null(float("nan")).to_numpy()
        return RawColumn(reals, missing | np.isnan(reals), PhysicalType("float", printed))
    if types.is_decimal(arrow_type):
        physical = PhysicalType("decimal", printed, scale=arrow_type.scale)
        return RawColumn(object_array(chunks.to_pylist()), missing, physical)
    if types.is_string(arrow_type) or types.is_large_string(arrow_type):
        return RawColumn(_texts(chunks), missing, PhysicalType("text", printed))
    if types.is_null(arrow_type) or printed == "string_view":
        texts = RepeatedTexts.of(chunks.to_pylist(), missing)
        return RawColumn(texts, missing, PhysicalType("text", printed))
    if types.is_date32(arrow_type):
        return RawColumn(
            _numbers(chunks.cast(pa.int32()), 0, np.int64), missing, PhysicalType("date", printed)
        )
    if types.is_date64(arrow_type):
        days = _numbers(chunks.cast(pa.int64()), 0, np.int64) // _MS_PER_DAY
        return RawColumn(days, missing, PhysicalType("date", printed))
    if types.is_time(arrow_type):
        # Widths differ: 32 bits up to milliseconds.
        bits = pa.int32() if types.is_time32(arrow_type) else pa.int64()
        clock = in_microseconds(_numbers(chunks.cast(bits), 0, np.int64), arrow_type.unit)
        return RawColumn(clock, missing, PhysicalType("time", printed))
    if types.is_timestamp(arrow_type) or types.is_duration(arrow_type):
        return _read_times(chunks, missing, printed)
    return RawColumn(object_array(chunks.to_pylist()), missing, PhysicalType("other", printed))


def _read_times(chunks: Any, missing: NDArray[np.bool_], printed: str) -> RawColumn:
    pa = require("pyarrow", "arrow")
    values = in_microseconds(_numbers(chunks.cast(pa.int64()), 0, np.int64), chunks.type.unit)
    if pa.types.is_duration(chunks.type):
        return RawColumn(values, missing, PhysicalType("duration", printed))
    return RawColumn(values, missing, PhysicalType("datetime", printed, timezone=chunks.type.tz))


def _texts(chunks: Any) -> RepeatedTexts:
    """Return texts without a Python object for each cell."""
    united = chunks.dictionary_encode().unify_dictionaries()
    if not united.num_chunks:
        return RepeatedTexts.placed([], np.empty(0, dtype=np.int32))
    places = [chunk.indices.fill_null(0).to_numpy(zero_copy_only=False) for chunk in united.chunks]
    return RepeatedTexts.placed(united.chunk(0).dictionary.to_pylist(), np.concatenate(places))


def _numbers(chunks: Any, gap: Any, dtype: Any) -> NDArray[Any]:
    array: NDArray[Any] = chunks.fill_null(gap).to_numpy().astype(dtype)
    return array


def _order(chunks: Any) -> tuple[str, ...]:
    """Return the distinct texts of a dictionary in its order; none if it does not rank them."""
    if not chunks.type.ordered or not chunks.num_chunks:
        return ()
    texts = chunks.unify_dictionaries().chunk(0).dictionary.to_pylist()
    return tuple(dict.fromkeys(text for text in texts if text is not None))


def parse_type(printed: str) -> Any:
    """Return the Arrow type with this printed form; None if raw columns do not support it."""
    pa = require("pyarrow", "arrow")
    if matched := _TIMESTAMP.fullmatch(printed):
        return pa.timestamp(matched[1], tz=matched[2])
    if matched := _DURATION.fullmatch(printed):
        return pa.duration(matched[1])
    if matched := _DECIMAL.fullmatch(printed):
        return getattr(pa, f"decimal{matched[1]}")(int(matched[2]), int(matched[3]))
    if matched := _DICTIONARY.fullmatch(printed):
        inner, index = parse_type(matched[1]), parse_type(matched[2])
        # Not ordered, even if the original was: without stated categories they come in the order of cells.
        return None if inner is None else pa.dictionary(index, inner)
    if printed == "string_view":
        return pa.string_view()
    try:
        return pa.type_for_alias(_ALIASES.get(printed, printed))
    except ValueError:
        return None


def make_array(column: RawColumn, categories: Sequence[Any] | None = None) -> Any:
    """Return a column as an Arrow array, of the physical type if that can hold it.

    Args:
        column: The column.
        categories: Its categories in order, for a dictionary that ranks them; None if they are not known.
    """
    pa = require("pyarrow", "arrow")
    if is_null(column.physical):
        return pa.nulls(column.missing.size)
    plain = _plain_array(column)
    target = parse_type(column.physical.name)
    if target is None or target == plain.type:
        return plain
    try:
        if pa.types.is_dictionary(target) and categories and column.physical.name.endswith("ordered=1>"):
            return _ranked(plain, target, categories)
        if pa.types.is_dictionary(target):
            return plain.cast(target.value_type).dictionary_encode().cast(target)
        safe = not pa.types.is_floating(target)
        return plain.cast(target, safe=safe)
    except pa.ArrowInvalid:
        return plain
    except pa.ArrowNotImplementedError:
        return plain


def _ranked(plain: Any, target: Any, categories: Sequence[Any]) -> Any:
    """Return values as a dictionary in the order of some categories, and of values that are none behind them."""
    pa, compute = require("pyarrow", "arrow"), require("pyarrow.compute", "arrow")
    others = [value for value in compute.unique(plain).to_pylist() if value is not None]
    known = pa.array([*dict.fromkeys([*categories, *others])], target.value_type)
    places = compute.index_in(plain.cast(target.value_type), value_set=known).cast(target.index_type)
    if isinstance(places, pa.ChunkedArray):
        places = places.combine_chunks()
    return pa.DictionaryArray.from_arrays(places, known, ordered=True)


def _plain_array(column: RawColumn) -> Any:
    pa, missing = require("pyarrow", "arrow"), column.missing
    match column.physical.kind:
        case "integer":
            return pa.array(as_integers(column, column.values.dtype), mask=missing)
        case "float":
            return pa.array(np.where(missing, 0.0, column.values), mask=missing)
        case "boolean":
            return pa.array(column.values.astype(np.bool_), mask=missing)
        case "date":
            days = np.where(missing, 0, column.values).astype(np.int32)
            return pa.array(days, mask=missing).cast(pa.date32())
        case "datetime":
            times = pa.array(np.where(missing, 0, column.values), mask=missing)
            return times.cast(pa.timestamp("us", tz=column.physical.timezone))
        case "time":
            return pa.array(np.where(missing, 0, column.values), mask=missing).cast(pa.time64("us"))
        case "duration":
            return pa.array(np.where(missing, 0, column.values), mask=missing).cast(pa.duration("us"))
        case "text":
            parts = [*map(_text_array, parts_of(column))]
            return parts[0] if len(parts) == 1 else pa.chunked_array(parts)
    return pa.array(to_objects(column).tolist())


def _text_array(column: RawColumn) -> Any:
    pa = require("pyarrow", "arrow")
    if not isinstance(column.cells, RepeatedTexts):
        return pa.array(to_objects(column).tolist(), type=pa.string())
    places = pa.array(column.cells.places.astype(np.int32, copy=False), mask=column.missing)
    distinct = pa.array(column.cells.distinct.tolist(), type=pa.string())
    return pa.DictionaryArray.from_arrays(places, distinct).cast(pa.string())


_ROWS_OF_A_BATCH = 65_536
"""The default of `pyarrow.feather`."""


def write_arrow(pieces: Iterable[Mapping[str, RawColumn]], path: str) -> None:
    """Write an Arrow file, compressed by LZ4, from the pieces of a table; at least one.

    The file holds the categories of a column once, before its first row. So several pieces are gathered in a file
    beside the target until all categories are known, and memory holds only a few pieces.
    """
    arrow, ipc = require("pyarrow", "arrow"), require("pyarrow.ipc", "arrow")
    tables = map(_table, pieces)
    begun = list(islice(tables, 2))
    lz4 = ipc.IpcWriteOptions(compression="lz4")
    if len(begun) == 1:
        with ipc.new_file(path, begun[0].schema, options=lz4) as writer:
            writer.write_table(begun[0], max_chunksize=_ROWS_OF_A_BATCH)
        return
    gathered = f"{path}.pieces"
    try:
        categories = _gather(drained(begun, tables), gathered, begun[0].schema)
        # Read as a file and not memory-mapped, because each mapped page that was read would count as memory.
        with (
            arrow.OSFile(gathered, "rb") as source,
            ipc.open_stream(source) as batches,
            ipc.new_file(path, categories.schema, options=lz4) as writer,
        ):
            for batch in batches:
                united = _united(categories, arrow.Table.from_batches([batch]))
                writer.write_table(united.combine_chunks(), max_chunksize=_ROWS_OF_A_BATCH)
    finally:
        if os.path.lexists(gathered):
            os.unlink(gathered)


def _table(columns: Mapping[str, RawColumn]) -> Any:
    return require("pyarrow", "arrow").table({n: make_array(c) for n, c in columns.items()})


def _gather(tables: Iterator[Any], path: str, schema: Any) -> Any:
    """Write pieces to a stream; return an empty table with the categories of all pieces."""
    arrow, ipc = require("pyarrow", "arrow"), require("pyarrow.ipc", "arrow")
    categories = schema.empty_table()

    def keep(table: Any) -> None:
        nonlocal categories
        categories = _united(categories, table.slice(0, 0)).slice(0, 0)
        writer.write_table(table, max_chunksize=_ROWS_OF_A_BATCH)

    with arrow.OSFile(path, "wb") as sink, ipc.new_stream(sink, schema) as writer:
        release_each(keep, tables)
    return categories


def _united(categories: Any, table: Any) -> Any:
    """Return a table whose categories are the given ones, followed by new ones of its own."""
    return require("pyarrow", "arrow").concat_tables([categories, table]).unify_dictionaries()
