"""Fetch a table from its provider: a zip file over https, which is parsed, checked, and stored as Parquet."""

from __future__ import annotations

import csv
import hashlib
import http.client
import io
import os
import time
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from syntabula._files import whole_file
from syntabula._memory import memory_for, ran_out
from syntabula._version import __version__
from syntabula.datasets.frames import literal_path
from syntabula.datasets.info import FOLDER_VARIABLE, Archive, DatasetInfo, looked_for
from syntabula.errors import DatasetError

TIMEOUT_SECONDS = 30.0
DEADLINE_SECONDS = 300.0
MAX_BYTES = 256 * 2**20
_CHUNK = 2**20
# The text of a missing cell on the way to Parquet; no table has it as a value.
_NULL = "\\N"
_LAYOUT = """header = true, auto_detect = false, delim = ',', quote = '"', escape = '"'"""
# Errors raised for a zip file that is damaged, encrypted, of an unknown kind, or without the member.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    RuntimeError,
    NotImplementedError,
    UnicodeError,
)


def fetch(info: DatasetInfo, archive: Archive) -> Path:
    """Return the cached Parquet file of a table, downloading and parsing it the first time.

    Args:
        info: The table.
        archive: How its provider publishes it.

    Returns:
        Path of the file, which has the expected columns and number of rows.

    Raises:
        DatasetError: If it cannot be downloaded or is not as expected.
    """
    with memory_for(f"make dataset {info.name!r}"):
        return _fetched(info, archive)


def _fetched(info: DatasetInfo, archive: Archive) -> Path:
    path = cache_folder() / f"{info.name}.parquet"
    if path.is_file() and _has_shape(info, path):
        return path
    content = _download(info, archive.url)
    if archive.sha256 is not None and hashlib.sha256(content).hexdigest() != archive.sha256:
        raise DatasetError(_failure(info, "its SHA-256 differs from the expected one"))
    rows = parse_archive(info, archive, content)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_parquet(info, rows, path)
    except OSError as error:
        reason = f"the cache folder {path.parent} cannot be written: {error.strerror}"
        raise DatasetError(_failure(info, reason)) from None
    if not _has_shape(info, path):
        path.unlink(missing_ok=True)
        raise DatasetError(_failure(info, "the table could not be kept as Parquet"))
    return path


def cache_folder() -> Path:
    """Return the folder for downloaded tables: below XDG_CACHE_HOME if that is absolute, else ~/.cache."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(stated) if os.path.isabs(stated) else Path.home() / ".cache"
    return base / "syntabula" / "datasets"


def parse_archive(info: DatasetInfo, archive: Archive, content: bytes) -> list[list[str | None]]:
    """Parse the rows of a table from its provider's zip file.

    Args:
        info: The table, with its expected columns and number of rows.
        archive: How to read the zip file.
        content: The bytes of the zip file.

    Returns:
        One list per row, cells in the order of `info.columns`, None where missing; numbers are still text.

    Raises:
        DatasetError: If the zip file is damaged, or the table differs from what is expected.
    """
    try:
        texts = [_member(content, member).decode("utf-8") for member in archive.members]
    except _DAMAGE:
        raise DatasetError(_failure(info, "the zip file is damaged or lacks the expected files")) from None
    file_columns = archive.file_columns or tuple(info.columns)
    order = [file_columns.index(name) for name in info.columns]
    rows = []
    for text in texts:
        for row in _rows(text, archive):
            if len(row) != len(file_columns):
                raise DatasetError(_failure(info, f"a row has {len(row)} cells, not {len(file_columns)}"))
            rows.append([row[i] for i in order])
    if len(rows) != info.n_rows:
        raise DatasetError(_failure(info, f"the provider's table has {len(rows)} rows, not {info.n_rows}"))
    if info.label is not None and archive.label_suffix:
        at = list(info.columns).index(info.label)
        rows = [[*r[:at], (r[at] or "").removesuffix(archive.label_suffix), *r[at + 1 :]] for r in rows]
    return [[None if cell == archive.missing else cell for cell in row] for row in rows]


def _rows(text: str, archive: Archive) -> Iterator[list[str]]:
    lines = iter(text.splitlines())
    if archive.header:
        next(lines, None)
    kept = (ln for ln in lines if ln.strip() and not (archive.comment and ln.startswith(archive.comment)))
    for row in csv.reader(kept, delimiter=archive.delimiter, skipinitialspace=True):
        yield [cell.strip() for cell in row]


def _member(content: bytes, member: str) -> bytes:
    """Return one file of a zip file, by its name in any folder; raises KeyError if there is none."""
    outer, inside, inner = member.partition(".zip/")
    wanted = f"{outer}.zip" if inside else member
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        for entry in opened.infolist():
            if PurePosixPath(entry.filename).name == wanted:
                if entry.file_size > MAX_BYTES:
                    raise zipfile.BadZipFile
                found = opened.read(entry)
                return _member(found, inner) if inside else found
    raise KeyError(wanted)


def _download(info: DatasetInfo, url: str) -> bytes:
    try:
        if not url.startswith("https://"):
            raise ValueError("it is not served over https")
        request = urllib.request.Request(url, headers={"User-Agent": f"syntabula/{__version__}"})
        deadline = time.monotonic() + DEADLINE_SECONDS
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            if not response.url.startswith("https://"):
                raise ValueError("it is redirected away from https")
            chunks: list[bytes] = []
            while chunk := response.read(_CHUNK):
                chunks.append(chunk)
                if len(chunks) * _CHUNK > MAX_BYTES + _CHUNK or time.monotonic() > deadline:
                    raise ValueError("it is too large or too slow")
        return b"".join(chunks)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DatasetError(_failure(info, f"{url} cannot be read: {error or type(error).__name__}")) from None


def _failure(info: DatasetInfo, reason: str) -> str:
    return (
        f"dataset {info.name!r} {looked_for()} and cannot be downloaded: {reason}. Set {FOLDER_VARIABLE} to a folder "
        f"that holds {info.file}, or get the table from {info.page} ({info.provider}) and read it like any other table"
    )


def _write_parquet(info: DatasetInfo, rows: list[list[str | None]], path: Path) -> None:
    """Write rows as Parquet, whole numbers as BIGINT, others as DOUBLE; the file appears when complete."""
    import duckdb

    types = {name: _type_of(info, name, [row[i] for row in rows]) for i, name in enumerate(info.columns)}
    with whole_file(path) as done:
        plain = done.with_name("table.csv")
        with plain.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
            writer.writerow(info.columns)
            writer.writerows([_NULL if cell is None else cell for cell in row] for row in rows)
        columns = ", ".join(f"{_quoted(name)}: '{stored}'" for name, stored in types.items())
        source = _quoted(literal_path(plain))
        read = f"read_csv({source}, columns = {{{columns}}}, nullstr = '{_NULL}', {_LAYOUT})"
        try:
            with duckdb.connect() as connection:
                connection.execute(f"COPY (SELECT * FROM {read}) TO {_quoted(str(done))} (FORMAT parquet)")
        except duckdb.Error:
            raise DatasetError(_failure(info, "the table could not be stored as Parquet")) from None


def _quoted(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _type_of(info: DatasetInfo, name: str, cells: list[str | None]) -> str:
    if info.columns[name] != "numeric":
        return "VARCHAR"
    for convert, stored in ((int, "BIGINT"), (float, "DOUBLE")):
        try:
            for cell in cells:
                if cell is not None:
                    convert(cell)
        except ValueError:
            continue
        return stored
    raise DatasetError(
        _failure(info, f"column {name!r} of the provider's table holds something that is not a number")
    )


def _has_shape(info: DatasetInfo, path: Path) -> bool:
    """Return whether a Parquet file has the expected columns and number of rows."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            source = [literal_path(path)]
            rows = connection.execute("SELECT count(*) FROM read_parquet(?)", source).fetchall()
            found = connection.execute("SELECT * FROM read_parquet(?) LIMIT 0", source).description
        return rows == [(info.n_rows,)] and [field[0] for field in found] == list(info.columns)
    except duckdb.Error as error:
        if ran_out(error):
            raise
        return False
