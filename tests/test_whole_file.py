"""What is written appears whole, whatever ends the writer."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from syntabula._whole_file import whole_file

posix = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and signals of POSIX")

STUCK = """
import sys, time
from syntabula._whole_file import whole_file
with whole_file(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("open", flush=True)
    time.sleep(600)
"""


def temporaries(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".tmp"))


def stuck(target: Path) -> subprocess.Popen[str]:
    """Return a process that has a file half written."""
    process = subprocess.Popen([sys.executable, "-c", STUCK, target], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


class TestWholeFile:
    def test_the_file_takes_the_place_of_the_old_one(self, tmp_path: Path) -> None:
        target = tmp_path / "out.txt"
        target.write_text("old")

        with whole_file(target) as temporary:
            temporary.write_text("new")
            (temporary.parent / "piece").write_text("more that is temporary")
            assert target.read_text() == "old"

        assert target.read_text() == "new"
        assert os.listdir(tmp_path) == ["out.txt"]

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_a_failure_leaves_the_old_file_and_nothing_else(
        self, error: type[BaseException], tmp_path: Path
    ) -> None:
        target = tmp_path / "out.txt"
        target.write_text("old")

        def fail() -> None:
            with whole_file(target) as temporary:
                temporary.write_text("half")
                raise error

        with pytest.raises(error):
            fail()

        assert target.read_text() == "old"
        assert os.listdir(tmp_path) == ["out.txt"]

    def test_a_name_of_any_length_and_alphabet_works(self, tmp_path: Path) -> None:
        for name in ("x" * 255, "ä" * 127):
            with whole_file(tmp_path / name) as temporary:
                temporary.write_text("whole")

        assert sorted(os.listdir(tmp_path)) == ["x" * 255, "ä" * 127]

    @posix
    def test_permissions_follow_the_mode_and_the_umask(self, tmp_path: Path) -> None:
        former = os.umask(0o027)
        try:
            for mode in (0o666, 0o600):
                with whole_file(tmp_path / f"{mode:o}", mode=mode) as temporary:
                    temporary.write_text("text")
        finally:
            os.umask(former)

        assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("666", "600")] == [0o640, 0o600]

    @posix
    def test_a_pipe_or_device_is_no_target(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "null").symlink_to("/dev/null")

        for target in (tmp_path / "pipe", tmp_path / "null", Path("/dev/null"), Path("/dev/stdout")):
            with pytest.raises(OSError, match="a device or a pipe"), whole_file(target):
                pass

        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
        assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@posix
class TestKilledWriters:
    def test_the_next_writer_of_the_name_removes_what_is_left(self, tmp_path: Path) -> None:
        target = tmp_path / "out.txt"
        target.write_text("old")
        process = stuck(target)
        process.kill()
        process.wait(60)
        (left,) = temporaries(tmp_path)

        with whole_file(tmp_path / "other.txt") as temporary:
            temporary.write_text("of another name")
        assert temporaries(tmp_path) == [left]
        with whole_file(target) as temporary:
            temporary.write_text("new")

        assert left.startswith(".out.txt.")
        assert sorted(os.listdir(tmp_path)) == ["other.txt", "out.txt"]
        assert target.read_text() == "new"

    def test_a_running_writer_is_left_alone(self, tmp_path: Path) -> None:
        target = tmp_path / "out.txt"
        process = stuck(target)

        with whole_file(target) as temporary:
            temporary.write_text("new")
        kept = temporaries(tmp_path)
        process.send_signal(signal.SIGINT)
        process.wait(60)

        assert len(kept) == 1
        assert os.listdir(tmp_path) == ["out.txt"]
        assert target.read_text() == "new"

    def test_nothing_but_temporary_folders_of_that_name_is_removed(self, tmp_path: Path) -> None:
        (tmp_path / ".out.txt.precious.tmp").write_text("a file")
        (tmp_path / ".out.txt.abcdefgh.tmp").mkdir()
        (tmp_path / ".out.txt.abcdefgh.tmp" / "precious").write_text("in a folder without a lock")

        with whole_file(tmp_path / "out.txt") as temporary:
            temporary.write_text("new")

        assert temporaries(tmp_path) == [".out.txt.abcdefgh.tmp", ".out.txt.precious.tmp"]
        assert (tmp_path / ".out.txt.abcdefgh.tmp" / "precious").exists()
