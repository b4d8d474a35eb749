"""Hostile release files: refused by name, in memory that does not follow what they claim."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import syntabula as st
from syntabula.errors import ReleaseFileError, ResourceError
from syntabula.models.base import model_array_bytes, model_state
from syntabula.synthesizers import release_archive, release_file
from syntabula.synthesizers.release_file import read_release, write_release

FACTS = {"method": "mst"}
ARRAYS = {"x": np.arange(1000.0), "codes": np.arange(5, dtype=np.uint8)}
Members = dict[str, bytes]

# Prints what loading raised, and by how many MB the process grew to do so, numpy and all of syntabula loaded before.
LOAD = """
import sys
from pathlib import Path
import syntabula
from syntabula.errors import SyntabulaError
from syntabula.synthesizers import release
import syntabula.models.pgm, syntabula.models.gum
def peak():
    # Not getrusage, which counts what the parent process held.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
before = peak()
try:
    syntabula.load(sys.argv[1])
except SyntabulaError as error:
    print(type(error).__name__, (peak() - before) // 1024)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "release.syn"
    write_release(target, FACTS, ARRAYS)
    return target


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of GUM, whose rows may be many."""
    target = tmp_path_factory.mktemp("release") / "release.syn"
    schema = st.Schema({"a": st.Numeric(0, 3, integer=True), "b": st.Categorical(("x", "y"))})
    frame = {"a": [0, 1, 2, 3] * 50, "b": ["x", "y"] * 100}
    pandas = pytest.importorskip("pandas")
    st.PrivSyn(epsilon=5.0, seed=1).fit(pandas.DataFrame(frame), schema).save(target)
    return target


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(path: Path, members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> None:
    # Hundreds of megabytes of one character shrink enough at the lowest level too, in a fraction of the time.
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def signed(members: Members, change: Callable[[dict[str, Any]], object]) -> Members:
    """Return members with a changed manifest and its right checksum."""
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    text = json.dumps(manifest).encode()
    return members | {"manifest.json": text, "manifest.sha256": hashlib.sha256(text).hexdigest().encode()}


def as_npy(array: np.ndarray, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **{"version": (1, 0)} | options)
    return buffer.getvalue()


def with_array(members: Members, data: bytes) -> Members:
    """Return members of which the first array is another, with its right checksum."""
    digest = hashlib.sha256(data).hexdigest()

    def change(manifest: dict[str, Any]) -> None:
        for entry in manifest["arrays"].values():
            if entry["member"] == "arrays/0.npy":
                entry["sha256"] = digest

    return signed(members | {"arrays/0.npy": data}, change)


class TestLayout:
    def test_bytes_before_or_after_the_zip_are_refused(self, path: Path) -> None:
        for n_bytes in [1, 22, 70_000]:
            whole = path.read_bytes()

            for bent in (
                b"\0" * n_bytes + whole,
                whole + b"\0" * n_bytes,
                whole + whole[-22:],
                whole[:22] + whole,
            ):
                path.write_bytes(bent)
                with pytest.raises(ReleaseFileError, match="not a complete release file"):
                    read_release(path)

    def test_a_comment_is_refused(self, path: Path) -> None:
        with zipfile.ZipFile(path, "a") as archive:
            archive.comment = b"more"

        with pytest.raises(ReleaseFileError):
            read_release(path)

    def test_bytes_between_members_and_before_the_directory_are_refused(self, path: Path) -> None:
        members = members_of(path)
        for hidden in (range(len(members)), [len(members) - 1]):
            with path.open("wb") as file, zipfile.ZipFile(file, "w") as archive:
                for place, (name, data) in enumerate(members.items()):
                    archive.writestr(name, data)
                    if place in hidden:
                        file.write(b"hidden")
                        archive.start_dir = file.tell()

            assert members_of(path) == members
            with pytest.raises(ReleaseFileError):
                read_release(path)

    def test_a_program_before_the_zip_with_offsets_that_know_it_is_refused(self, path: Path) -> None:
        members = members_of(path)
        with path.open("wb") as file:
            file.write(b"#!/bin/sh\n")
            with zipfile.ZipFile(file, "w") as archive:
                for name, data in members.items():
                    archive.writestr(name, data)

        assert members_of(path) == members
        with pytest.raises(ReleaseFileError):
            read_release(path)

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_other_methods_of_compression_are_refused(self, method: int, path: Path) -> None:
        """The dictionary of LZMA may take gigabytes."""
        zipped(path, members_of(path), method)

        with pytest.raises(ReleaseFileError):
            read_release(path)

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_two_members_of_one_name_are_refused(self, path: Path) -> None:
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("arrays/0.npy", b"other")

        with pytest.raises(ReleaseFileError):
            read_release(path)

    def test_one_member_for_two_arrays_is_refused(self, path: Path) -> None:
        members = signed(members_of(path), lambda m: m["arrays"].update({"again": m["arrays"]["x"]}))
        zipped(path, members)

        with pytest.raises(ReleaseFileError, match="altered"):
            read_release(path)

    def test_a_file_of_large_offsets_is_read(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = read_release(path)[1]
        monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
        write_release(path, FACTS, ARRAYS)
        monkeypatch.undo()

        arrays = read_release(path)[1]

        assert b"PK\x06\x06" in path.read_bytes()
        assert all(np.array_equal(arrays[name], before[name]) for name in ARRAYS)
        path.write_bytes(path.read_bytes() + b"\0")
        with pytest.raises(ReleaseFileError):
            read_release(path)


class TestArrays:
    def test_what_is_no_plain_array_is_refused(self, path: Path) -> None:
        cases = [
            as_npy(np.arange(4.0))[:-8],
            as_npy(np.arange(4.0)) + bytes(8),
            as_npy(np.asfortranarray(np.ones((2, 3)))),
            as_npy(np.array([{}], dtype=object), allow_pickle=True),
            as_npy(np.array(["text"])),
            as_npy(np.array([1 + 2j])),
            as_npy(np.arange(4.0), version=(2, 0)),
            as_npy(np.arange(4.0)).replace(b"(4,)", b"-4,0"),
            as_npy(np.arange(4.0)).replace(b"'<f8'", b"'|V8'"),
            b"no array",
            b"",
        ]
        for data in cases:
            zipped(path, with_array(members_of(path), data))

            with pytest.raises(ReleaseFileError, match="not a complete release file"):
                read_release(path)

    def test_an_array_beyond_what_its_model_says_is_refused(self, path: Path) -> None:
        with pytest.raises(ReleaseFileError, match="above the limit"):
            read_release(path, lambda facts: {"x": 7999, "codes": 5})

        assert set(read_release(path, lambda facts: {"x": 8000, "codes": 5})[1]) == set(ARRAYS)

    def test_an_array_that_its_model_does_not_have_is_refused(self, path: Path) -> None:
        with pytest.raises(ReleaseFileError, match="arrays that its model does not have"):
            read_release(path, lambda facts: {"x": 8000})

    @pytest.mark.thorough
    def test_no_array_is_held_twice(self, tmp_path: Path) -> None:
        import tracemalloc

        path, array = tmp_path / "x.syn", np.random.default_rng(0).random(4_000_000)
        write_release(path, FACTS, {"x": array})
        tracemalloc.start()

        read_release(path)

        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.25 * array.nbytes


class TestExpansion:
    @pytest.mark.thorough
    @pytest.mark.parametrize("n_bytes", [10**5, 3 * 10**7])
    def test_what_shrinks_too_much_is_stored_and_comes_back(self, n_bytes: int, tmp_path: Path) -> None:
        path, array = tmp_path / "x.syn", np.zeros(n_bytes, dtype=np.uint8)

        write_release(path, FACTS, {"x": array})

        assert np.array_equal(read_release(path)[1]["x"], array)
        assert (path.stat().st_size > n_bytes) == (n_bytes > release_archive.FREE_BYTES)

    def test_what_cannot_be_read_again_is_not_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, facts in (("MAX_BYTES", {}), ("MAX_VALUES", {"list": [0] * 2000})):
            monkeypatch.setattr(release_file, name, 1000)
            with pytest.raises(ReleaseFileError, match="too large for a release file"):
                write_release(tmp_path / "x.syn", facts, {"x": np.zeros(1000)})
            monkeypatch.undo()

        assert os.listdir(tmp_path) == []

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", ["mst", "privbayes", "privsyn", "private-gsd", "gem", "rap"])
    def test_every_model_says_how_large_its_arrays_are(self, method: str) -> None:
        pandas = pytest.importorskip("pandas")
        if method in ("gem", "rap"):
            pytest.importorskip("torch")
        schema = st.Schema(
            {"a": st.Numeric(0.0, 3.0), "b": st.Categorical(tuple("uvwxyz")), "c": st.Boolean()}
        )
        frame = pandas.DataFrame({"a": [0.5, 1, 2, 3] * 50, "b": ["x", "y"] * 100, "c": [True, False] * 100})
        options = {"iterations": 5} if method in ("gem", "rap") else {}
        release = (
            st.synthesizer(method)(epsilon=5.0, seed=1, bins=8).with_options(**options).fit(frame, schema)
        )

        facts, arrays = model_state(release.model)

        most = model_array_bytes(json.loads(json.dumps(facts, default=float)))
        assert most is not None
        assert set(most) == set(arrays)
        assert all(array.nbytes <= most[name] for name, array in arrays.items())
        exact = [name for name in arrays if not name.endswith("rows") or method in ("gem", "rap")]
        assert [arrays[name].nbytes for name in exact] == [most[name] for name in exact]


def bomb_beside_the_model(members: Members) -> Members:
    """Far more zeros than the process may grow by, where the model has a few rows."""
    return with_array(members, zeros((2**28,), "|u1"))


def zeros(shape: tuple[int, ...], dtype: str) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize)


def bomb_as_the_model_says(members: Members) -> Members:
    """The model is said to have so many rows."""
    bent = with_array(members, zeros((2**27, 2), "|u1"))
    return signed(bent, lambda m: m["content"]["model"].update({"max_rows": 2**27}))


def manifest_of(text: bytes) -> Members:
    return {"manifest.json": text, "manifest.sha256": hashlib.sha256(text).hexdigest().encode()}


BOMBS: dict[str, Callable[[Members], Members]] = {
    "an array beside the model": bomb_beside_the_model,
    "an array that the model is said to have": bomb_as_the_model_says,
    "a manifest of spaces": lambda members: manifest_of(b" " * (300 * 2**20)),
    "a manifest of lists": lambda members: manifest_of(b"[" + b"[]," * (20 * 2**20) + b"[]]"),
    "a manifest of mappings": lambda members: manifest_of(b"[" + b'{"":1},' * (8 * 2**20) + b"[]]"),
    "a manifest of wide text": lambda members: manifest_of(
        ('["' + "a" * 60_000_000 + '\U0001f600"]').encode()
    ),
    "nested lists": lambda members: manifest_of(b"[" * 10**7),
    "a checksum": lambda members: members | {"manifest.sha256": bytes(3 * 10**8)},
    "very many members": lambda members: members | {f"m{i}": b"" for i in range(70_000)},
}


def manifest_with(members: Members, text: bytes) -> Members:
    """Return members whose manifest begins with a text that is no content of a release."""
    manifest = members["manifest.json"].lstrip(b"{")
    return members | manifest_of(b'{"more": ' + text + b"," + manifest)


# The most that a manifest may hold, in a file long enough for it.
LARGE: dict[str, Callable[[Members], Members]] = {
    "lists": lambda members: manifest_with(members, b"[" + b"[]," * 1_990_000 + b"[]]"),
    "mappings": lambda members: manifest_with(members, b"[" + b'{"":1},' * 1_990_000 + b"[]]"),
    "numbers": lambda members: manifest_with(members, b"[" + b"1e9," * 3_900_000 + b"1]"),
    "text": lambda members: manifest_with(members, ('["' + "a" * 66_000_000 + '\U0001f600"]').encode()),
}


def refused(path: Path) -> int:
    """Return by how many MB a process grew while it refused to load a file."""
    ran = subprocess.run([sys.executable, "-c", LOAD, path], capture_output=True, text=True, check=True)
    kind, grown = ran.stdout.split()
    assert kind == "ReleaseFileError"
    return int(grown)


def test_a_model_that_this_machine_cannot_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever limit the file states: a hostile one may join all columns by their pairs."""
    pandas = pytest.importorskip("pandas")
    schema = st.Schema({"a": st.Numeric(0, 3, integer=True), "b": st.Categorical(("x", "y"))})
    frame = pandas.DataFrame({"a": [0, 1, 2, 3] * 50, "b": ["x", "y"] * 100})
    st.MST(epsilon=5.0, seed=1).fit(frame, schema).save(tmp_path / "x.syn")
    monkeypatch.setattr("syntabula.models.pgm.available_bytes", lambda: 30)

    with pytest.raises(ResourceError):
        st.load(tmp_path / "x.syn")


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
class TestMemory:
    @pytest.mark.thorough
    @pytest.mark.parametrize("name", list(BOMBS))
    def test_a_bomb_is_refused_before_it_is_unpacked(self, name: str, fitted: Path, tmp_path: Path) -> None:
        path = tmp_path / "bomb.syn"
        zipped(path, BOMBS[name](members_of(fitted)))
        assert path.stat().st_size < 10 * 2**20

        assert refused(path) < 150

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", list(LARGE))
    def test_a_manifest_takes_no_more_than_is_said(self, name: str, fitted: Path, tmp_path: Path) -> None:
        path = tmp_path / "large.syn"
        members = LARGE[name](members_of(fitted))
        # Wrong at the very end, so that all else is read first.
        zipped(path, signed_as_foreign(members), zipfile.ZIP_STORED)

        assert refused(path) < 700

    @pytest.mark.thorough
    def test_an_array_of_random_numbers_beside_the_model_is_not_read(
        self, fitted: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "large.syn"
        numbers = np.random.default_rng(0).integers(0, 2, (50_000_000, 2), dtype=np.uint8)
        zipped(path, with_array(members_of(fitted), as_npy(numbers)), zipfile.ZIP_STORED)

        assert refused(path) < 150


def signed_as_foreign(members: Members) -> Members:
    text = members["manifest.json"].replace(b'"syntabula release"', b'"some other thing"')
    return members | manifest_of(text)
