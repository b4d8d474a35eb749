"""Checks that memory and disk can hold the requested rows, extrapolating from a few of them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from syntabula._memory import available_bytes
from syntabula.errors import DataError, ResourceError
from syntabula.table.raw import Origin, RawColumn

TRIED_ROWS = 10_000
_COPIES = 2
"""Rows are held twice: as drawn, and in the resulting frame."""

Columns = Mapping[str, RawColumn]


def check_memory(n_rows: int, tried: Columns) -> None:
    """Refuse more rows than memory can hold.

    Args:
        n_rows: Number of rows requested.
        tried: Some of them, already drawn.

    Raises:
        ResourceError: If they would need more than is available; nothing was allocated.
    """
    available = available_bytes()
    needed = _COPIES * n_rows * sum(map(_bytes_per_row, tried.values()))
    if available is not None and needed > available:
        raise ResourceError(
            f"{n_rows:,} rows of {len(tried)} columns would take about {_in_units(needed)} of memory, and "
            f"{_in_units(available)} are free; draw fewer rows, or write them to a file (sample_to), which takes no more "
            "memory for more rows"
        )


def check_disk(path: str | os.PathLike[str], n_rows: int, tried: Columns, origin: Origin) -> None:
    """Refuse more rows than the disk of a file can hold.

    Args:
        path: File for the rows; its suffix sets the format.
        n_rows: Number of rows requested.
        tried: Some of them, which are written to a temporary file of this format.
        origin: Types to write.

    Raises:
        DataError: If they would need more than is free there; no file was opened.
    """
    from syntabula.table.files.files import write_table

    place = Path(path)
    half = {name: column.take(np.arange(column.values.size // 2)) for name, column in tried.items()}
    try:
        free = shutil.disk_usage(place.parent).free
        with tempfile.TemporaryDirectory(prefix="syntabula-") as folder:
            sizes = []
            for part, columns in (("half", half), ("whole", tried)):
                file = Path(folder) / f"{part}{''.join(place.suffixes[-2:])}"
                write_table(columns, file, origin)
                sizes.append(file.stat().st_size)
    except (OSError, DataError):
        return  # the writer of the file reports what is wrong
    n_half = next(iter(half.values())).values.size
    n_more = next(iter(tried.values())).values.size - n_half
    # The cost of further rows, without that of the file's header.
    needed = sizes[0] + (n_rows - n_half) * max(sizes[1] - sizes[0], 0) // max(n_more, 1)
    if needed > free:
        raise DataError(
            f"{n_rows:,} rows would take about {_in_units(needed)} in {os.fspath(path)!r}, and {_in_units(free)} are "
            "free on its disk; draw fewer rows, or name another disk"
        )


def tried_rows(
    draw: Callable[[int, int, np.random.Generator], Columns], n_rows: int, rng: np.random.Generator
) -> Columns:
    """Draw a few rows with a separate generator, so that the rows of a seed do not depend on this check."""
    with warnings.catch_warnings():
        # Warnings are issued when all rows are drawn.
        warnings.simplefilter("ignore")
        return draw(0, min(TRIED_ROWS, n_rows), rng)


def _bytes_per_row(column: RawColumn) -> float:
    """Return the bytes of a row; rows share equal texts, except for identifiers and the like."""
    values = column.values
    own = 0.0
    if values.dtype == object and values.size:
        listed = values.tolist()
        if len({id(value) for value in listed}) == values.size:
            own = sum(map(sys.getsizeof, listed)) / values.size
    return values.dtype.itemsize + column.missing.dtype.itemsize + own


def _in_units(n_bytes: float) -> str:
    unit = 0
    while n_bytes >= 1000 and unit < 6:
        n_bytes, unit = n_bytes / 1000, unit + 1
    return f"{n_bytes:,.3g} {('bytes', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB')[unit]}"
