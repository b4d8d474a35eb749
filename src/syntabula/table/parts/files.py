"""Folders, patterns and large files as tables in parts."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from syntabula._extras import require
from syntabula.errors import DataError
from syntabula.table.files.formats import check_readable, file_format
from syntabula.table.parts.arrow_parts import ArrowPart, ParquetPart
from syntabula.table.parts.part_reading import Part, Snapshot, failures_of
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import TEXT_FORMATS, Container
from syntabula.table.schema.schema import Schema

_LEAST_PER_PROCESS = 2**24
"""Bytes of Parquet that take about as long to read and count as a process to start."""


def usual_workers(source: str | os.PathLike[str]) -> int:
    """Return how many processes should read files: one for each processor, if there is enough for each to do."""
    snapshot = Snapshot.of(partial(listed, os.path.abspath(os.fspath(source))))
    counted = getattr(os, "sched_getaffinity", None)
    processors = (os.cpu_count() or 1) if counted is None else len(counted(0))
    most = min(processors, snapshot.size // _LEAST_PER_PROCESS)
    paths = snapshot.paths
    if any(file_format(path).container in TEXT_FORMATS for path in paths):
        # A process that begins within a text file reads what is before it, which others read too.
        most = min(most, len(paths))
    return max(1, most)


def file_parts(source: str | os.PathLike[str], schema: Schema | None, *, workers: int) -> RawParts:
    """Return the table that a folder, a pattern or one file holds.

    The files of a folder count, and those of folders in it, but not those whose names begin with a dot or an
    underscore, which other programs write beside tables.

    Args:
        source: The folder, the pattern or the file; all files have one format and the same columns.
        schema: Declares all columns, or some; None for none.
        workers: Number of processes that read.

    Raises:
        ArgumentError: If a file has an unsupported suffix.
        DataError: If there is no file, or files differ in format or cannot be opened.
    """
    place = os.path.abspath(os.fspath(source))
    snapshot = Snapshot.of(partial(listed, place))
    paths = snapshot.paths
    if not paths:
        what = "the folder" if os.path.isdir(place) else "the pattern"
        raise DataError(f"{what} {os.fspath(source)!r} holds no file of a table; check the path")
    formats = {file_format(path).container: path for path in paths}
    if len(formats) > 1:
        shown = " and ".join(repr(path) for path in [*formats.values()][:2])
        raise DataError(f"the files of a table must have one format, but {shown} differ; give one of them")
    container = next(iter(formats))
    if container == "jsonl":
        from syntabula.table.parts.json_parts import json_parts

        return json_parts(snapshot, schema, workers=workers)
    if container in TEXT_FORMATS:
        from syntabula.table.parts.text_parts import text_parts

        return text_parts(snapshot, container, schema, workers=workers)
    parts = [part for path in paths for part in _parts(path, container, schema)]
    return RawParts(container, schema, tuple(parts), workers, snapshot)


def listed(place: str) -> list[str]:
    """Return the paths of all files of a table, in order."""
    if os.path.isfile(place):
        return [place]
    if not os.path.isdir(place):
        return [*_below(sorted(glob.glob(place)))]
    found = list[str]()
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if _counts(name))
        if keyed := [name for name in folders if "=" in name]:
            raise DataError(
                f"the folder {os.path.join(folder, keyed[0])!r} holds a column in its name, which its files lack; give "
                "a dataset of pyarrow with hive partitioning instead"
            )
        found += [os.path.join(folder, name) for name in names if _counts(name)]
    return sorted(found)


def _below(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if os.path.isdir(path):
            yield from listed(path)
        elif _counts(os.path.basename(path)):
            yield path


def _counts(name: str) -> bool:
    return not name.startswith((".", "_"))


def _parts(path: str, container: Container, schema: Schema | None) -> list[Part]:
    check_readable(path)
    if container == "arrow":
        return [ArrowPart(path)]
    parquet = require("pyarrow.parquet", "arrow")
    try:
        metadata = parquet.read_metadata(path)
        names = metadata.schema.to_arrow_schema().names
    except Exception:
        raise DataError(
            f"{path!r} cannot be read as Parquet: it is truncated, damaged or in another format; check the file"
        ) from None
    part = ParquetPart(path)
    if schema is not None:
        with failures_of(part):
            schema.check_names(names)
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    return [replace(part, groups=(i,), n_rows=n) for i, n in enumerate(sizes)] or [replace(part, n_rows=0)]
