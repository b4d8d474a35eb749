"""The release file: a zip of one JSON manifest and raw arrays, safe to open.

Nothing in it is ever executed or joined to a path. Every member is bounded before it is read, carries a
SHA-256 checksum, and must be named in the manifest. The bytes depend on the content alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from syntabula._arguments import shown
from syntabula._files import not_a_file, whole_file
from syntabula._memory import above_limit, memory_for, ran_out
from syntabula._version import __version__
from syntabula.errors import ReleaseFileError
from syntabula.synthesizers.release_archive import (
    MAX_BYTES,
    MAX_MEMBERS,
    ReleaseArchive,
    expands_too_much,
    open_archive,
)

FORMAT = "syntabula release"
FORMAT_VERSION = 1
LATER_FORMAT_VERSION = 2
"""Version of a release whose rows have rules, or whose numbers have texts beside them: earlier versions of this library
would not know of these, and refuse it."""
_MANIFEST = "manifest.json"
_CHECKSUM = "manifest.sha256"
MAX_MANIFEST_BYTES = 64 * 2**20
MAX_VALUES = 4_000_000
"""Most values in the manifest: each may take a hundred bytes in memory."""
_EPOCH = (1980, 1, 1, 0, 0, 0)

Facts = Mapping[str, Any]
MostBytes = Callable[[Facts], Mapping[str, int] | None]
"""Returns, from a release's facts, the most bytes of each of its arrays; None if that is not known."""


def write_release(
    path: str | os.PathLike[str],
    facts: Facts,
    arrays: Mapping[str, np.ndarray],
    *,
    version: int | None = None,
) -> None:
    """Write facts and arrays to a file, whole or not at all.

    Args:
        path: Where to write; an existing file is replaced at the very end.
        facts: JSON-able facts.
        arrays: Named numeric arrays.
        version: Version of the format; None for the one that most releases have.

    Raises:
        ReleaseFileError: If the file cannot be written, or could not be read back; an existing file is left
            unchanged.
    """
    members: dict[str, bytes] = {}
    for position, (_, array) in enumerate(sorted(arrays.items())):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
        members[f"arrays/{position}.npy"] = buffer.getvalue()
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION if version is None else version,
        "library_version": __version__,
        "arrays": {
            name: {"member": member, "sha256": hashlib.sha256(content).hexdigest()}
            for name, (member, content) in zip(sorted(arrays), members.items(), strict=True)
        },
        "content": facts,
    }
    try:
        text = json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=1, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise ReleaseFileError(f"the release cannot be written as JSON: {error}") from None
    if len(text) > MAX_MANIFEST_BYTES or _values(text) > MAX_VALUES:
        raise ReleaseFileError(
            "the schema is too large for a release file, as JSON of "
            f"{above_limit(len(text) / 2**20, MAX_MANIFEST_BYTES / 2**20)}; use fewer bins or shorten its categories"
        )
    total = sum(map(len, members.values()))
    if total > MAX_BYTES or len(members) + 2 > MAX_MEMBERS:
        raise ReleaseFileError(
            f"the model is too large for a release file: {len(members):,} arrays of {total / 2**20:,.0f} MB; use "
            "fewer bins, or a smaller memory_mb"
        )
    content = {_MANIFEST: text, _CHECKSUM: hashlib.sha256(text).hexdigest().encode(), **members}
    zipped = _zipped(content, zipfile.ZIP_DEFLATED)
    if expands_too_much(sum(map(len, content.values())), len(zipped)):
        zipped = _zipped(content, zipfile.ZIP_STORED)
    try:
        with whole_file(path, mode=0o600) as temporary:
            temporary.write_bytes(zipped)
    except OSError as error:
        raise ReleaseFileError(
            f"cannot write {str(path)!r}: {error.strerror}; choose another place"
        ) from None


def _plain(value: object) -> object:
    """Return a numpy number, which options may be, as a plain Python number for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be stored in a release file")


def _values(text: bytes) -> int:
    """Return an upper bound on the number of values in a JSON text."""
    return sum(text.count(mark) for mark in (b",", b"[", b"{"))


def _zipped(content: Mapping[str, bytes], method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in content.items():
            info = zipfile.ZipInfo(name, date_time=_EPOCH)
            info.compress_type = method
            info.external_attr = 0o600 << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def read_release(
    path: str | os.PathLike[str], most_bytes: MostBytes | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read facts and arrays back, after checking every byte.

    Args:
        path: A file that `write_release` wrote.
        most_bytes: Returns which arrays are allowed and the most bytes of each; None allows any within the file's
            bounds.

    Returns:
        The facts and the arrays.

    Raises:
        ReleaseFileError: If the file is missing, truncated, altered, foreign or from a newer version.
        ResourceError: If there is too little memory for it.
    """
    name = str(path)
    if kind := not_a_file(path):
        raise ReleaseFileError(f"{name!r} is {kind}, not a file; give the path of a release file")
    with memory_for(f"read {name!r}"):
        try:
            with open_archive(path) as archive:
                return _read(archive, most_bytes)
        except ReleaseFileError:
            raise
        except OSError as error:
            raise ReleaseFileError(
                f"cannot read {name!r}: {error.strerror or 'not a readable file'}"
            ) from None
        except Exception as error:
            if ran_out(error):
                raise
            # zipfile, zlib, json and numpy raise many kinds of error on malicious bytes; all mean the same here.
            raise ReleaseFileError(
                f"{name!r} is not a complete release file: it is truncated, altered or of another kind; "
                "get it again from where it was made"
            ) from None


def _read(
    archive: ReleaseArchive, most_bytes: MostBytes | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    manifest = _read_manifest(archive)
    entries = {str(key): (str(e["member"]), str(e["sha256"])) for key, e in manifest["arrays"].items()}
    named = [_MANIFEST, _CHECKSUM, *(member for member, _ in entries.values())]
    if sorted(named) != sorted(archive.names):
        raise ReleaseFileError(
            f"{archive.name!r} holds members that its manifest does not name; it was altered"
        )
    facts = dict(manifest["content"])
    known = None if most_bytes is None else most_bytes(facts)
    limits = dict.fromkeys(entries, MAX_BYTES) if known is None else known
    if set(entries) - set(limits):
        raise ReleaseFileError(f"{archive.name!r} holds arrays that its model does not have; it was altered")
    return facts, {key: archive.read_array(*entry, most=limits[key]) for key, entry in entries.items()}


def _read_manifest(archive: ReleaseArchive) -> dict[str, Any]:
    name = archive.name
    text = archive.read(_MANIFEST, MAX_MANIFEST_BYTES)
    if hashlib.sha256(text).hexdigest().encode() != archive.read(_CHECKSUM, 1024):
        raise ReleaseFileError(f"{name!r} was altered: the checksum of its manifest does not match")
    if _values(text) > MAX_VALUES:
        raise ReleaseFileError(f"the manifest of {name!r} holds more values than a release can have")
    manifest = json.loads(text, parse_constant=_no_number)
    if b"\\u" in text:
        # Half of a surrogate pair is not text: it could be neither printed nor written.
        json.dumps(manifest, ensure_ascii=False).encode()
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ReleaseFileError(f"{name!r} is not a syntabula release")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ReleaseFileError(
            f"{name!r} has a format version of {shown(version)}, which is not valid; the file was altered"
        )
    newest = max(FORMAT_VERSION, LATER_FORMAT_VERSION)
    if version > newest:
        raise ReleaseFileError(
            f"{name!r} has format version {version}, newer than this library reads ({newest}); "
            "upgrade syntabula"
        )
    return manifest


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
