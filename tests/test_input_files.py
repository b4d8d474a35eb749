"""What is no file is named without being opened."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from syntabula._files import not_a_file
from syntabula.errors import ArgumentError
from syntabula.table.files.formats import file_format

posix = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and sockets of POSIX")


class TestNotAFile:
    def test_files_and_what_is_not_there_are_let_through(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("x")

        assert not_a_file(tmp_path / "x") is None
        assert not_a_file(tmp_path / "nothing") is None
        assert not_a_file("a\0b") is None

    @posix
    def test_everything_else_is_named(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("pipe")
        with socket.socket(socket.AF_UNIX) as listening:
            here = os.getcwd()
            os.chdir(tmp_path)  # a socket's path has a hundred characters at most
            try:
                listening.bind("socket")
            finally:
                os.chdir(here)

            found = [not_a_file(tmp_path / name) for name in ("", "pipe", "link", "socket")]

        assert found == ["a folder", "a pipe", "a pipe", "a socket"]
        assert not_a_file("/dev/null") == "a device"

    @posix
    def test_a_name_without_a_format_is_told_as_such(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")

        for path in (tmp_path / "pipe", "/dev/fd/63"):
            with pytest.raises(ArgumentError, match="a pipe or a device, whose name shows no format"):
                file_format(path)

    @posix
    def test_the_standard_input_may_be_a_pipe_where_that_is_said(self, tmp_path: Path) -> None:
        script = (
            "from syntabula._files import not_a_file; "
            "print(not_a_file('/dev/stdin'), not_a_file('/dev/stdin', standard_input=True))"
        )

        ran = subprocess.run(
            [sys.executable, "-c", script], input="text", capture_output=True, text=True, check=True
        )

        assert ran.stdout == "a pipe None\n"
