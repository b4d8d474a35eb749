"""Damaged and hostile release files, and outputs that cannot be written."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest

import syntabula as st
from bad_input.matrix import base, case, fit, refuses
from syntabula.errors import (
    DataError,
    ReleaseFileError,
    SchemaError,
)


def saved(folder: Path) -> Path:
    path = folder / "release.syn"
    fit(*base()).save(path)
    return path


@case("files", "truncated at 20 offsets")
def _(folder):
    path = saved(folder)
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 20).astype(int):
        path.write_bytes(whole[:length])
        with pytest.raises(ReleaseFileError):
            st.load(path)


@case("files", "random bytes")
@refuses(ReleaseFileError, "release.syn")
def _(folder):
    path = folder / "release.syn"
    path.write_bytes(np.random.default_rng(0).bytes(9999))
    st.load(path)


@case("files", "bits flipped everywhere")
def _(folder):
    path = saved(folder)
    whole = path.read_bytes()
    expected = st.load(path).sample(20, seed=1)
    for position in np.linspace(0, len(whole) - 1, 120).astype(int):
        damaged = bytearray(whole)
        damaged[position] ^= 16
        path.write_bytes(bytes(damaged))
        try:
            release = st.load(path)
        except ReleaseFileError:
            continue
        assert release.sample(20, seed=1).equals(expected)


@case("files", "a member is missing")
@refuses(ReleaseFileError)
def _(folder):
    path = saved(folder)
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()[:-1]}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    st.load(path)


@case("files", "a zip bomb")
@refuses(ReleaseFileError)
def _(folder):
    path = folder / "release.syn"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * (300 * 2**20))
    st.load(path)


@case("files", "a path out of the archive")
@refuses(ReleaseFileError)
def _(folder):
    path = saved(folder)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../../escaped.txt", b"x")
    st.load(path)


@case("files", "a pickle instead of a release")
@refuses(ReleaseFileError)
def _(folder):
    import pickle

    class Bomb:
        def __reduce__(self):
            return (os.abort, ())

    path = folder / "release.syn"
    path.write_bytes(pickle.dumps(Bomb()))
    st.load(path)


@case("files", "a newer version")
@refuses(ReleaseFileError, "newer")
def _(folder):
    from syntabula.synthesizers import release_file

    patch = pytest.MonkeyPatch()
    patch.setattr(release_file, "FORMAT_VERSION", 7)
    path = saved(folder)
    patch.undo()
    st.load(path)


@case("files", "the file of this version loads the same")
def _(folder):
    release = fit(*base())
    release.save(folder / "release.syn")
    loaded = st.load(folder / "release.syn")
    assert loaded.sample(50, seed=1).equals(release.sample(50, seed=1))
    assert loaded.privacy.text() == release.privacy.text()


@case("files", "disk full while writing the table leaves the old file")
def _(folder):
    release = fit(*base())
    path = folder / "out.csv"
    path.write_text("old")
    patch = pytest.MonkeyPatch()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    patch.setattr(os, "fsync", full)
    try:
        with pytest.raises(DataError, match="No space left"):
            release.sample_to(path, 20)
    finally:
        patch.undo()
    assert path.read_text() == "old"
    assert os.listdir(folder) == ["out.csv"]


@case("files", "a folder that does not exist")
@refuses(DataError, "missing")
def _(folder):
    fit(*base()).sample_to(folder / "missing" / "out.csv", 20)


@case("files", "files of the owner only where they hold state")
def _(folder):
    fit(*base(), journal=folder / "spends.journal")
    assert stat.S_IMODE((folder / "spends.journal").stat().st_mode) == 0o600


SPECIAL = {"a pipe": os.mkfifo, "a device": lambda path: path.symlink_to("/dev/zero"), "a folder": Path.mkdir}
USES = {
    "a table": ("table.csv", lambda path, folder: fit(path, base()[1])),
    "a compressed table": ("table.jsonl.gz", lambda path, folder: fit(path, base()[1])),
    "a Parquet file": ("table.parquet", lambda path, folder: fit(path, base()[1])),
    "an Arrow file": ("table.arrow", lambda path, folder: fit(path, base()[1])),
    "a schema": ("schema.yaml", lambda path, folder: fit(base()[0], path)),
    "a release": ("x.syn", lambda path, folder: st.load(path)),
    "a journal": ("spends", lambda path, folder: fit(*base(), journal=path)),
    "a release to write": ("x.syn", lambda path, folder: fit(*base()).save(path)),
    "a table to write": ("out.csv", lambda path, folder: fit(*base()).sample_to(path, 5)),
    "a schema to write": ("schema.yaml", lambda path, folder: base()[1].to_yaml(path)),
}


def special_case(what: str, kind: str) -> None:
    name, use = USES[what]

    @case("files", f"{kind} for {what}")
    def _(folder):
        SPECIAL[kind](folder / name)
        with pytest.raises((DataError, SchemaError, ReleaseFileError, OSError), match=kind.split()[1]):
            use(folder / name, folder)
        assert os.listdir(folder) == [name]


for used in USES:
    for sort in SPECIAL:
        special_case(used, sort)


@case("files", "bytes before, after and between the members of a release")
def _(folder):
    path = saved(folder)
    whole = path.read_bytes()
    at = whole.index(b"PK\x03\x04", 10)
    for bent in (b"\0" + whole, whole + b"\0", whole[:at] + b"\0" + whole[at:]):
        path.write_bytes(bent)
        with pytest.raises(ReleaseFileError):
            st.load(path)


@case("files", "an array larger than the model of a release has it")
@refuses(ReleaseFileError, "release.syn")
def _(folder):
    path = saved(folder)
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    name = "arrays/0.npy"
    members[name] = members[name] + bytes(30 * 2**20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    st.load(path)
