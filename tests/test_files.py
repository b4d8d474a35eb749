"""Every writer of the library, and the helper that they share: whole or not at all, and never through a link."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import _files
from syntabula._files import check_is_file, whole_file
from syntabula.errors import SyntabulaError
from syntabula.metrics import Comparison, compare
from syntabula.report.marginal_picture import draw_marginals
from syntabula.synthesizers.release_file import write_release

pytestmark = pytest.mark.skipif(os.name != "posix", reason="makes links and pipes")


def write(path: Path, text: str = "new", **options: bool) -> None:
    with whole_file(path, **options) as temporary:
        temporary.write_text(text)


class TestWholeOrNotAtAll:
    @pytest.mark.parametrize("replace", [True, False])
    def test_a_file_appears_when_it_is_whole(self, replace: bool, tmp_path: Path) -> None:
        with whole_file(tmp_path / "out.csv.gz", replace=replace) as temporary:
            temporary.write_text("half")
            assert temporary.name == "out.csv.gz"
            assert not (tmp_path / "out.csv.gz").exists()
            temporary.write_text("whole")

        assert (tmp_path / "out.csv.gz").read_text() == "whole"
        assert os.listdir(tmp_path) == ["out.csv.gz"]

    @pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError, OSError])
    def test_a_failure_leaves_the_old_file_and_nothing_else(self, failure: type, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("old")

        def fail() -> None:
            with whole_file(tmp_path / "out") as temporary:
                temporary.write_text("half")
                temporary.with_name("more").write_text("of it")
                raise failure

        with pytest.raises(failure):
            fail()

        assert (tmp_path / "out").read_text() == "old"
        assert os.listdir(tmp_path) == ["out"]

    def test_it_is_forced_to_disk_before_it_takes_its_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[str] = []
        for name in ("fsync", "replace", "link"):
            real = getattr(os, name)
            monkeypatch.setattr(os, name, lambda *given, n=name, f=real: (calls.append(n), f(*given))[1])

        write(tmp_path / "a")
        write(tmp_path / "b", replace=False)

        assert calls == ["fsync", "replace", "fsync", "fsync", "link", "fsync"]

    @pytest.mark.parametrize(("mode", "seen"), [(0o600, 0o600), (0o666, 0o640)])
    def test_permissions_are_those_that_were_asked_for_less_the_umask(
        self, mode: int, seen: int, tmp_path: Path
    ) -> None:
        former = os.umask(0o027)
        try:
            with whole_file(tmp_path / "out", mode=mode) as temporary:
                assert stat.S_IMODE(temporary.parent.stat().st_mode) == 0o700
                temporary.write_text("x")
        finally:
            os.umask(former)
        assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == seen

    def test_the_longest_name_can_be_written(self, tmp_path: Path) -> None:
        name = "\u00e9" * 125 + ".csv"
        write(tmp_path / name)
        assert os.listdir(tmp_path) == [name]


class TestOneOfTwoWriters:
    @pytest.fixture(params=["links", "no links"])
    def tmp_path(self, request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder of a file system with hard links, or without."""

        def refuse(*_: object) -> None:
            raise PermissionError(errno.EPERM, "Operation not permitted")

        if request.param == "no links":
            monkeypatch.setattr(os, "link", refuse)
        return tmp_path

    @pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
    def test_a_name_that_is_taken_by_the_end_is_left_alone(self, kind: str, tmp_path: Path) -> None:
        target, other = tmp_path / "out", tmp_path / "other"
        if kind == "link":
            other.write_text("old")

        def write_both() -> None:
            with whole_file(target, replace=False) as temporary:
                temporary.write_text("new")
                if kind == "file":
                    target.write_text("old")
                else:
                    target.symlink_to(other)

        with pytest.raises(FileExistsError):
            write_both()

        assert target.is_symlink() == (kind != "file")
        assert kind == "dangling link" or target.read_text() == "old"
        assert sorted(os.listdir(tmp_path)) == (["other", "out"] if kind == "link" else ["out"])

    def test_a_folder_that_was_just_made_is_no_leftover(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lock_exclusively = _files.lock_exclusively

        def after_another_writer(descriptor: int) -> bool:
            monkeypatch.setattr(_files, "lock_exclusively", lock_exclusively)
            with whole_file(tmp_path / "out"):
                pass
            return lock_exclusively(descriptor)

        monkeypatch.setattr(_files, "lock_exclusively", after_another_writer)
        write(tmp_path / "out")

        assert (tmp_path / "out").read_text() == "new"
        assert os.listdir(tmp_path) == ["out"]

    def test_one_of_many_at_a_time_wins(self, tmp_path: Path) -> None:
        ready, won = threading.Barrier(8), []

        def compete(number: int) -> None:
            try:
                with whole_file(tmp_path / "out", replace=False) as temporary:
                    temporary.write_text(str(number))
                    ready.wait(20)
            except FileExistsError:
                return
            won.append(number)

        threads = [threading.Thread(target=compete, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(won) == 1
        assert (tmp_path / "out").read_text() == str(won[0])

    def test_a_failure_at_the_end_leaves_no_empty_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(os, "link", fail)
        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="output error"):
            write(tmp_path / "out", replace=False)
        assert os.listdir(tmp_path) == []


class TestWhatIsNoFile:
    def test_only_files_links_to_files_and_new_names_are_accepted(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        (tmp_path / "link").symlink_to("file")
        (tmp_path / "dangling").symlink_to("nowhere")
        for name in ("file", "link", "dangling", "new"):
            check_is_file(tmp_path / name)
        (tmp_path / "folder").mkdir()
        (tmp_path / "link to folder").symlink_to("folder")
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link to device").symlink_to("/dev/null")
        refused = [tmp_path / n for n in ("folder", "link to folder", "pipe", "link to device")]
        for path in [*refused, "/dev/null", "/dev/stdout", "/dev/new", "/proc/self/fd/1", "/dev/fd/1"]:
            with pytest.raises(OSError, match="it is a"):
                check_is_file(path)

    def test_a_redirected_output_is_not_taken_for_a_file(self, tmp_path: Path) -> None:
        with (tmp_path / "redirected").open("w") as file:
            for folder in ("/dev/fd", "/proc/self/fd"):
                if os.path.exists(folder):
                    with pytest.raises(OSError, match="device"):
                        check_is_file(f"{folder}/{file.fileno()}")


def _tables() -> Comparison:
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["u", "u"]})
    return compare(frame, frame)


def _picture(path: Path) -> None:
    draw_marginals(path, _tables(), title="x")


def _schema(path: Path) -> None:
    st.Schema({"a": st.Numeric(0, 1)}).to_yaml(path)


def _report(path: Path) -> None:
    st.Report(html="<p>", title="x", overview=()).write(path)


def _release(path: Path) -> None:
    write_release(path, {"a": 1}, {"x": np.zeros(3)})


def _rows(path: Path) -> None:
    import pandas as pd

    from syntabula.table.files.files import write_table
    from syntabula.table.frames.frames import from_frame

    write_table(from_frame(pd.DataFrame({"a": [1, 2]})).columns, path)


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "release": ("x.syn", _release),
    "csv": ("x.csv", _rows),
    "gzip": ("x.jsonl.gz", _rows),
    "parquet": ("x.parquet", _rows),
    "arrow": ("x.arrow", _rows),
    "schema": ("x.yaml", _schema),
    "report": ("x.html", _report),
    "picture": ("x.png", _picture),
}


@pytest.mark.parametrize("kind", WRITERS)
class TestEveryWriter:
    def test_replaces_a_link_and_not_what_it_points_at(self, kind: str, tmp_path: Path) -> None:
        name, writer = WRITERS[kind]
        (tmp_path / "precious").write_text("old")
        (tmp_path / name).symlink_to("precious")

        writer(tmp_path / name)

        assert (tmp_path / "precious").read_text() == "old"
        assert not (tmp_path / name).is_symlink()
        assert (tmp_path / name).stat().st_size > 0
        assert sorted(os.listdir(tmp_path)) == sorted(["precious", name])

    def test_refuses_a_link_to_a_device_and_leaves_it(self, kind: str, tmp_path: Path) -> None:
        name, writer = WRITERS[kind]
        (tmp_path / name).symlink_to("/dev/null")

        with pytest.raises((SyntabulaError, OSError), match="device"):
            writer(tmp_path / name)

        assert os.readlink(tmp_path / name) == "/dev/null"
        assert os.listdir(tmp_path) == [name]

    def test_that_fails_leaves_the_old_file_and_nothing_else(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name, writer = WRITERS[kind]
        (tmp_path / name).write_text("old")

        def full(_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises((SyntabulaError, OSError), match="space"):
            writer(tmp_path / name)

        assert (tmp_path / name).read_text() == "old"
        assert os.listdir(tmp_path) == [name]
