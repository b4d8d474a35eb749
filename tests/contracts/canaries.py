"""Values that cannot arise by chance, planted in a table, and a search for them in whatever a run leaves."""

from __future__ import annotations

import base64
import gzip
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator

import numpy as np

COUNT = 50
TEXTS = tuple(f"Zq{i:02d}canary{(i * 7919 + 13) % 9973:04d}" for i in range(COUNT))
# So long that no new key of their shape, which may be found, is one of them.
NAMES = tuple(f"Vx{i:03d}person{(i * 6007 + 29) * 982_451_653 % 10**12:012d}" for i in range(400))
# Reals with all 53 bits in use, within the bounds of their column; no draw within a bin hits one of them.
REALS = tuple(float(v) for v in np.random.default_rng(7731).uniform(0.0, 1000.0, COUNT))
WHOLES = tuple(int(v) for v in np.random.default_rng(1377).integers(2**50, 2**52, COUNT))  # of 16 digits

_TEXT = re.compile(rb"Zq\d{2}canary\d{4}|Vx\d{3}person\d{12}")
_KNOWN = {*TEXTS, *NAMES}
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{12,}={0,2}")


def found_in(data: bytes) -> list[str]:
    """Return the canaries that some bytes hold, as text, as numbers or in arrays, packed or not."""
    needles = _needles()
    return sorted({name for part in _unpacked(data) for name in _search(part, needles)})


def _needles() -> list[tuple[str, bytes]]:
    needles = []
    for real in REALS:
        # Ten decimals, cut and not rounded: a thousand rows draw one of fifty by chance with odds of 1e-8.
        needles += [(repr(real), repr(real)[:14].encode())]
        needles += [(repr(real), struct.pack(f"{order}d", real)) for order in "<>"]
    for whole in WHOLES:
        needles += [(repr(whole), str(whole).encode())]
        needles += [(repr(whole), struct.pack(f"{order}{kind}", whole)) for order in "<>" for kind in "qd"]
    return needles


def _search(part: bytes, needles: list[tuple[str, bytes]]) -> Iterator[str]:
    yield from (name for name, needle in needles if needle in part)
    # Without its zero bytes, text in UTF-16 looks like any other.
    texts = {text.decode() for text in _TEXT.findall(part) + _TEXT.findall(part.replace(b"\0", b""))}
    yield from texts & _KNOWN
    if part.startswith(b"\x93NUMPY"):
        values = np.lib.format.read_array(io.BytesIO(part), allow_pickle=False)
        if values.dtype == np.float32:
            yield from (repr(v) for v in REALS if np.float32(v) in values)


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Yield the bytes themselves, and what is packed in them."""
    yield data
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield name.encode()
                yield from _unpacked(archive.read(name))
        return
    if data.startswith(b"\x1f\x8b"):
        yield gzip.decompress(data)
    # What stands before a word may look like base64 too, so that it is decoded from each of four places.
    decoded = [_decoded(word[start:]) for word in _BASE64.findall(data) for start in range(4)]
    yield b"\n".join(decoded)
    yield from (zlib.decompress(part) for part in decoded if part[:1] == b"x" and _is_packed(part))


def _decoded(word: bytes) -> bytes:
    """Decode all whole groups of four characters, and what two or three more stand for."""
    bare = word.rstrip(b"=")
    return base64.b64decode(bare[:-1] if len(bare) % 4 == 1 else bare + b"=" * (-len(bare) % 4))


def _is_packed(part: bytes) -> bool:
    try:
        zlib.decompress(part)
    except zlib.error:
        return False
    return True
