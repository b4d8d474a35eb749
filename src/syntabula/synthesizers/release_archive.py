"""The zip file of a release. It is not trusted: every member's size is bounded before it is read.

Reading needs memory for one copy of the arrays, and at most 600 MB for everything else (a few MB for most files).
The arrays together have at most MAX_BYTES, and at most MAX_EXPANSION times the length of the file if that is more
than FREE_BYTES. Each has at most the size that the model in the manifest allows.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from syntabula.errors import ReleaseFileError

MAX_BYTES = 4 * 2**30
MAX_EXPANSION = 100
"""Random numbers hardly compress, and texts and codes to a tenth; members that would compress more are stored
uncompressed."""
FREE_BYTES = 16 * 2**20
MAX_MEMBERS = 65_535
_CHUNK = 2**20
_HEADER_BYTES = 4096
_BYTES_PER_MEMBER = 128
"""Of an entry in the directory at the end: 46 and a short name."""

_END = struct.Struct("<4s4H2LH")
_END_LOCATOR = struct.Struct("<4sLQL")
_END_OF_LARGE = struct.Struct("<4sQ2H2L4Q")
_LOCAL = struct.Struct("<26x2H")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_FOREIGN = "it is truncated, altered or of another kind; get it again from where it was made"


class ReleaseArchive:
    """The members of a release file.

    Attributes:
        names: Names of all members, in order; distinct.
        name: Name of the file, for messages.
    """

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive = archive
        self.name = name
        self.names = archive.namelist()

    def read(self, member: str, most: int) -> bytes:
        """Return the bytes of a member; raises ReleaseFileError if it has more than `most`."""
        info = self._bounded(member, most)
        with self._archive.open(info) as file:
            return b"".join(iter(lambda: file.read(_CHUNK), b""))

    def read_array(self, member: str, sha256: str, most: int) -> np.ndarray:
        """Return an array of plain numbers, filled as its bytes arrive.

        Args:
            member: Name of a member, a `.npy` file.
            sha256: Digest of its bytes.
            most: Most bytes that its numbers may have.

        Raises:
            ReleaseFileError: If it has more bytes, its digest differs, or it is not such an array.
        """
        info = self._bounded(member, most + _HEADER_BYTES)
        digest = hashlib.sha256()
        with self._archive.open(info) as file:
            stream = _Hashed(file, digest)
            if np.lib.format.read_magic(stream) != (1, 0):
                raise ValueError("another version of the format")
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
            n_bytes = math.prod(shape) * dtype.itemsize
            if dtype.kind not in "biuf" or is_fortran or any(type(n) is not int or n < 0 for n in shape):
                raise ValueError("no plain array")
            if n_bytes > most:
                raise ReleaseFileError(f"an array in {self.name!r} is above the limit that its model sets")
            if n_bytes != info.file_size - stream.n_read:
                raise ValueError("an array of another length")
            array = np.empty(shape, dtype)
            room: memoryview = array.reshape(-1).view(np.uint8).data
            while room:
                data = stream.read(min(len(room), _CHUNK))
                if not data:
                    raise ValueError("an array is cut short")
                room[: len(data)] = data
                room = room[len(data) :]
            if stream.read(1):
                raise ValueError("an array is longer than it declares")
        if digest.hexdigest() != sha256:
            raise ReleaseFileError(f"{self.name!r} was altered: a checksum does not match")
        return array

    def _bounded(self, member: str, most: int) -> zipfile.ZipInfo:
        info = self._archive.getinfo(member)
        if info.file_size > most:
            raise ReleaseFileError(
                f"a member of {self.name!r} declares {info.file_size} bytes, above the limit of {most}"
            )
        return info


class _Hashed:
    """A stream whose bytes are counted and digested as they are read."""

    def __init__(self, file: Any, digest: Any) -> None:
        self._file, self._digest, self.n_read = file, digest, 0

    def read(self, size: int = -1, /) -> bytes:
        data: bytes = self._file.read(size)
        self._digest.update(data)
        self.n_read += len(data)
        return data


@contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[ReleaseArchive]:
    """Open a release file; its members must be contiguous, fill the whole file and expand within bounds.

    Raises:
        ReleaseFileError: If the file is not like that.
        OSError: If it cannot be read.
        zipfile.BadZipFile, ValueError: If it is not a zip file.
    """
    name = str(path)
    with open(path, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        directory = _directory(file, length)
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            end = 0
            for info in members:
                if info.header_offset != end or info.compress_type not in _METHODS:
                    raise ValueError("members do not lie side by side")
                file.seek(end)
                end += _LOCAL.size + sum(_LOCAL.unpack(file.read(_LOCAL.size))) + info.compress_size
            if end != directory or len({info.filename for info in members}) < len(members):
                raise ValueError("bytes that belong to no member, or two members of one name")
            if expands_too_much(sum(info.file_size for info in members), length):
                raise ReleaseFileError(
                    f"{name!r} would take far more memory than a release of its length, above the limit; {_FOREIGN}"
                )
            yield ReleaseArchive(archive, name)


def expands_too_much(content: int, length: int) -> bool:
    """Return whether so many bytes of members are too many for a file of this length."""
    return content > FREE_BYTES + MAX_EXPANSION * length


def _directory(file: BinaryIO, length: int) -> int:
    """Return where the directory begins; only the end record may follow it."""

    def unpacked(kind: struct.Struct, signature: bytes, place: int) -> tuple[int, ...]:
        if place < 0:
            raise ValueError("too short for a zip file")
        file.seek(place)
        found, *numbers = kind.unpack(file.read(kind.size))
        if found != signature:
            raise ValueError("no zip file, or something follows its end")
        return tuple(numbers)

    end = length - _END.size
    *_, size, offset, comment = unpacked(_END, b"PK\x05\x06", end)
    if offset + size != end:
        # Files of more than 2 GiB have a second end record before the first.
        _, place, _ = unpacked(_END_LOCATOR, b"PK\x06\x07", end - _END_LOCATOR.size)
        end -= _END_LOCATOR.size + _END_OF_LARGE.size
        *_, size, offset = unpacked(_END_OF_LARGE, b"PK\x06\x06", end)
        if place != end:
            raise ValueError("something follows the end of a zip file")
    if comment or offset + size != end or size > MAX_MEMBERS * _BYTES_PER_MEMBER:
        raise ValueError("something before or after a zip file, or too many members")
    return offset
