"""Whether so many rows can be had at all, judged by a few of them, before the others are drawn."""

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
"""Rows are held as they were drawn, and as the frame that is made of them."""

Columns = Mapping[str, RawColumn]


def check_memory(n_rows: int, tried: Columns) -> None:
    """Refuse rows that memory cannot hold.

    Args:
        n_rows: How many are wanted.
        tried: Some of them.

    Raises:
        ResourceError: If they would take more than there is; nothing was allocated.
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
    """Refuse rows that the disk of a file cannot hold.

    Args:
        path: File that they should go to, its format given by the suffix.
        n_rows: How many are wanted.
        tried: Some of them, which are written to a temporary file of this format.
        origin: Types to write.

    Raises:
        DataError: If they would take more than is free there; no file was opened.
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
        return  # whoever writes the file says what is wrong
    n_half = next(iter(half.values())).values.size
    n_more = next(iter(tried.values())).values.size - n_half
    # What more rows take beyond the first ones, which carry the header of the file.
    needed = sizes[0] + (n_rows - n_half) * max(sizes[1] - sizes[0], 0) // max(n_more, 1)
    if needed > free:
        raise DataError(
            f"{n_rows:,} rows would take about {_in_units(needed)} in {os.fspath(path)!r}, and {_in_units(free)} are "
            "free on its disk; draw fewer rows, or name another disk"
        )


def tried_rows(
    draw: Callable[[int, int, np.random.Generator], Columns], n_rows: int, rng: np.random.Generator
) -> Columns:
    """Draw the first of some rows; by a generator of their own, so that a seed gives the same rows without them."""
    with warnings.catch_warnings():
        # What there is to say is said of all rows.
        warnings.simplefilter("ignore")
        return draw(0, min(TRIED_ROWS, n_rows), rng)


def _bytes_per_row(column: RawColumn) -> float:
    """Return what a row takes; text is shared between rows, but for identifiers and the like."""
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
