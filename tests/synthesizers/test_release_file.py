import json
import os
import zipfile

import numpy as np
import pytest

from syntabula.errors import ReleaseFileError
from syntabula.synthesizers.release_file import read_release, write_release

FACTS = {"method": "mst", "nested": {"a": [1, 2.5, None, "é"]}}
ARRAYS = {"x": np.arange(1000.0), "empty": np.zeros((0, 3)), "codes": np.arange(5, dtype=np.uint8)}


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "release.syn"
    write_release(target, FACTS, ARRAYS)
    return target


class TestRoundTrip:
    def test_facts_and_arrays_come_back(self, path):
        facts, arrays = read_release(path)

        assert facts == FACTS
        assert set(arrays) == set(ARRAYS)
        for name, array in ARRAYS.items():
            assert arrays[name].dtype == array.dtype
            assert np.array_equal(arrays[name], array)

    def test_the_bytes_depend_on_the_content_alone(self, path, tmp_path):
        other = tmp_path / "other.syn"
        write_release(other, FACTS, ARRAYS)

        assert other.read_bytes() == path.read_bytes()

    def test_numbers_of_numpy_are_written_as_numbers(self, tmp_path):
        write_release(tmp_path / "x.syn", {"n": np.int64(3), "x": np.float32(0.5)}, {})

        assert read_release(tmp_path / "x.syn")[0] == {"n": 3, "x": 0.5}

    def test_no_temporary_file_is_left(self, path):
        assert os.listdir(path.parent) == [path.name]

    def test_object_arrays_are_refused(self, tmp_path):
        with pytest.raises(ValueError):
            write_release(tmp_path / "x.syn", {}, {"x": np.array([{}], dtype=object)})


class TestDamage:
    def test_every_truncation_is_refused(self, path):
        whole = path.read_bytes()
        for length in np.linspace(0, len(whole) - 1, 40).astype(int):
            path.write_bytes(whole[:length])
            with pytest.raises(ReleaseFileError):
                read_release(path)

    @pytest.mark.thorough
    def test_a_flipped_bit_is_refused_or_changes_nothing(self, path):
        whole = path.read_bytes()
        rng = np.random.default_rng(0)
        for _ in range(500):
            damaged = bytearray(whole)
            damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
            path.write_bytes(bytes(damaged))
            try:
                facts, arrays = read_release(path)
            except ReleaseFileError:
                continue
            assert facts == FACTS
            assert all(np.array_equal(arrays[k], v) for k, v in ARRAYS.items())

    def test_random_bytes_are_refused(self, path):
        path.write_bytes(np.random.default_rng(1).bytes(5000))

        with pytest.raises(ReleaseFileError, match="not a complete release file"):
            read_release(path)

    def test_a_missing_file_is_named(self, tmp_path):
        with pytest.raises(ReleaseFileError, match=r"nowhere\.syn"):
            read_release(tmp_path / "nowhere.syn")

    def test_a_directory_is_refused(self, tmp_path):
        with pytest.raises(ReleaseFileError):
            read_release(tmp_path)


def rewrite(path, change):
    """Rebuild the zip with some members changed, as a forger without our writer would."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members = change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def with_manifest(members, **changes):
    return signed(members, json.dumps(json.loads(members["manifest.json"]) | changes).encode())


def signed(members, text):
    """Return members with another manifest and its right checksum."""
    import hashlib

    return members | {
        "manifest.json": text,
        "manifest.sha256": hashlib.sha256(text).hexdigest().encode(),
    }


class TestHostileFiles:
    def test_a_newer_format_says_upgrade(self, path):
        rewrite(path, lambda m: with_manifest(m, format_version=99))

        with pytest.raises(ReleaseFileError, match="newer"):
            read_release(path)

    def test_a_format_version_that_was_never_written_is_refused(self, path):
        for version in [0, -1, True, 1.0, "1", None]:
            rewrite(path, lambda m, version=version: with_manifest(m, format_version=version))

            with pytest.raises(ReleaseFileError, match="not valid"):
                read_release(path)

    @pytest.mark.parametrize("text", ['"\\ud800"', "NaN", "-Infinity", '{"a\\udfff": 1}'])
    def test_what_json_and_unicode_do_not_have_is_refused(self, path, text):
        rewrite(path, lambda m: signed(m, m["manifest.json"].replace(b'"mst"', text.encode())))

        with pytest.raises(ReleaseFileError, match="not a complete release file"):
            read_release(path)

    def test_escapes_of_whole_characters_are_read(self, path):
        rewrite(path, lambda m: signed(m, m["manifest.json"].replace(b'"mst"', rb'"\ud83d\ude00 \\ud800"')))

        assert read_release(path)[0]["method"] == "\U0001f600 \\ud800"

    def test_a_foreign_zip_is_refused(self, path):
        rewrite(path, lambda m: with_manifest(m, format="something else"))

        with pytest.raises(ReleaseFileError, match="not a syntabula release"):
            read_release(path)

    def test_a_changed_manifest_is_refused(self, path):
        rewrite(path, lambda m: m | {"manifest.json": m["manifest.json"].replace(b"mst", b"aim")})

        with pytest.raises(ReleaseFileError, match="altered"):
            read_release(path)

    def test_a_changed_array_is_refused(self, path):
        rewrite(path, lambda m: m | {"arrays/0.npy": m["arrays/0.npy"][:-1] + b"\x07"})

        with pytest.raises(ReleaseFileError, match="altered"):
            read_release(path)

    def test_a_missing_member_is_refused(self, path):
        rewrite(path, lambda m: {k: v for k, v in m.items() if k != "arrays/1.npy"})

        with pytest.raises(ReleaseFileError):
            read_release(path)

    def test_a_member_with_a_path_out_of_the_archive_is_refused(self, path):
        rewrite(path, lambda m: m | {"../../evil.py": b"print()"})

        with pytest.raises(ReleaseFileError, match="does not name"):
            read_release(path)

    def test_a_pickle_inside_is_never_opened(self, path):
        import hashlib
        import pickle

        class Bomb:
            def __reduce__(self):
                return (os.abort, ())

        bomb = b"\x93NUMPY" + pickle.dumps(Bomb())
        digest = hashlib.sha256(bomb).hexdigest()

        def change(members):
            arrays = {"x": {"member": "arrays/0.npy", "sha256": digest}}
            kept = {k: members[k] for k in ("manifest.json", "manifest.sha256")}
            return with_manifest(kept | {"arrays/0.npy": bomb}, arrays=arrays)

        rewrite(path, change)

        with pytest.raises(ReleaseFileError):
            read_release(path)


class TestWriting:
    def test_an_unwritable_folder_gives_a_clear_error(self, tmp_path):
        with pytest.raises(ReleaseFileError, match="cannot write"):
            write_release(tmp_path / "no such folder" / "x.syn", FACTS, ARRAYS)

    def test_a_full_disk_leaves_the_old_file(self, path, monkeypatch):
        before = path.read_bytes()

        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ReleaseFileError, match="No space left"):
            write_release(path, {"other": 1}, ARRAYS)

        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]
