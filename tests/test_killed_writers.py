"""What a killed writer leaves behind, and who removes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from syntabula._files import whole_file

posix = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and signals of POSIX")

STUCK = """
import sys, time
from syntabula._files import whole_file
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
