"""One safe file per release: a zip of one JSON manifest and raw arrays.

Nothing in it is ever executed or joined to a path. Every member is bounded before it is read, carries a
SHA-256 checksum, and must be named in the manifest. The bytes depend on the content alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from syntabula._version import __version__
from syntabula._whole_file import whole_file
from syntabula.errors import ReleaseFileError

FORMAT = "syntabula release"
FORMAT_VERSION = 1
_MANIFEST = "manifest.json"
_CHECKSUM = "manifest.sha256"
MAX_MANIFEST_BYTES = 256 * 2**20
MAX_ARRAY_BYTES = 4 * 2**30
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_release(
    path: str | os.PathLike[str], facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write facts and arrays to a file, whole or not at all.

    Args:
        path: Where to write; an existing file is replaced at the very end.
        facts: JSON-able facts.
        arrays: Named numeric arrays.

    Raises:
        ReleaseFileError: If the file cannot be written; an old file stays as it was.
    """
    target = Path(path)
    members: dict[str, bytes] = {}
    for position, (_, array) in enumerate(sorted(arrays.items())):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
        members[f"arrays/{position}.npy"] = buffer.getvalue()
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "arrays": {
            name: {"member": member, "sha256": hashlib.sha256(content).hexdigest()}
            for name, (member, content) in zip(sorted(arrays), members.items(), strict=True)
        },
        "content": facts,
    }
    text = json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=1, default=_plain).encode()
    if len(text) > MAX_MANIFEST_BYTES:
        raise ReleaseFileError(
            f"the schema is too large for a release file: {len(text) / 2**20:.0f} MB of JSON"
        )
    content = {_MANIFEST: text, _CHECKSUM: hashlib.sha256(text).hexdigest().encode(), **members}
    _write(target, _zipped(content))


def _plain(value: object) -> object:
    """Return a number of numpy, as options may be, as one that JSON has."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a release file")


def _zipped(content: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            info = zipfile.ZipInfo(name, date_time=_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def _write(target: Path, data: bytes) -> None:
    try:
        with whole_file(target, mode=0o600) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise ReleaseFileError(
            f"cannot write {str(target)!r}: {error.strerror}; choose another place"
        ) from None


def read_release(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read facts and arrays back, after checking every byte.

    Args:
        path: A file that `write_release` wrote.

    Returns:
        The facts and the arrays.

    Raises:
        ReleaseFileError: If the file is missing, truncated, altered, foreign or from a newer version.
    """
    name = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _read_manifest(archive, name)
            arrays = {
                key: _read_array(archive, entry, name) for key, entry in dict(manifest["arrays"]).items()
            }
            expected = {_MANIFEST, _CHECKSUM} | {e["member"] for e in manifest["arrays"].values()}
            if len(archive.namelist()) != len(expected) or set(archive.namelist()) != expected:
                raise ReleaseFileError(
                    f"{name!r} holds members that its manifest does not name; it was altered"
                )
    except ReleaseFileError:
        raise
    except OSError as error:
        raise ReleaseFileError(f"cannot read {name!r}: {error.strerror or 'not a readable file'}") from None
    except Exception:
        # zipfile, zlib, json and numpy raise many kinds of error on hostile bytes; all mean the same here.
        raise ReleaseFileError(
            f"{name!r} is not a whole release file: it is truncated, altered or of another kind; "
            "get it again from where it was made"
        ) from None
    return dict(manifest["content"]), arrays


def _read_manifest(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    text = _bounded(archive, _MANIFEST, MAX_MANIFEST_BYTES)
    checksum = _bounded(archive, _CHECKSUM, 1024)
    if hashlib.sha256(text).hexdigest().encode() != checksum:
        raise ReleaseFileError(f"{name!r} was altered: the checksum of its manifest does not match")
    manifest = json.loads(text)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ReleaseFileError(f"{name!r} is not a syntabula release")
    version = manifest.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise ReleaseFileError(
            f"{name!r} has format version {version}, newer than this library reads ({FORMAT_VERSION}); "
            "upgrade syntabula"
        )
    return manifest


def _read_array(archive: zipfile.ZipFile, entry: Mapping[str, Any], name: str) -> np.ndarray:
    data = _bounded(archive, str(entry["member"]), MAX_ARRAY_BYTES)
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise ReleaseFileError(f"{name!r} was altered: a checksum does not match")
    array: np.ndarray = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return array


def _bounded(archive: zipfile.ZipFile, member: str, limit: int) -> bytes:
    """Read a member, at most `limit` bytes and never more than its own header declares."""
    info = archive.getinfo(member)
    if info.file_size > limit:
        raise ReleaseFileError(f"a member of the release declares {info.file_size} bytes, above the limit")
    with archive.open(info) as file:
        data = file.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise ReleaseFileError("a member of the release is longer than it declares")
    return data
