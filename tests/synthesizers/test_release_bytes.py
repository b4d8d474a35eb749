"""A release as the bytes of its file: pickled, copied, and in another process."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import syntabula as st
from syntabula.errors import ReleaseFileError
from syntabula.synthesizers.release_bytes import from_bytes, to_bytes


@pytest.fixture(scope="module")
def release() -> st.Release:
    rules = st.Rules(derive={"double": "2 * a"})
    schema = st.Schema(
        {"a": st.Numeric(0, 9, integer=True), "b": st.Categorical(("x", "y")), "double": st.Numeric(0, 18)},
        rules=rules,
    )
    frame = pytest.importorskip("pandas").DataFrame({"a": [1, 2, 3] * 50, "b": ["x", "y", "x"] * 50})
    return st.MST(epsilon=5.0, seed=0).fit(frame.assign(double=2.0 * frame["a"]), schema)


def test_a_pickled_or_copied_release_is_that_of_its_file(release: st.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "release.syn")
    file = (tmp_path / "release.syn").read_bytes()

    for other in pickle.loads(pickle.dumps(release)), copy.copy(release), copy.deepcopy(release):
        assert to_bytes(other) == file
        assert other.sample(50, seed=1).equals(release.sample(50, seed=1))


def test_changed_bytes_are_refused(release: st.Release) -> None:
    content = to_bytes(release)

    with pytest.raises(ReleaseFileError):
        from_bytes(content[:-30], st.load)
