from __future__ import annotations

import os
from pathlib import Path

import pytest

from syntabula.cli.exits import CommandError
from syntabula.cli.outputs import check_outputs, write_text


class TestWriteText:
    def test_success_replaces_the_file(self, tmp_path):
        write_text(tmp_path / "out.txt", "whole")

        assert (tmp_path / "out.txt").read_text() == "whole"
        assert os.listdir(tmp_path) == ["out.txt"]

    def test_a_missing_folder_is_a_clear_error(self, tmp_path):
        with pytest.raises(CommandError, match="cannot write"):
            write_text(tmp_path / "nowhere" / "out.txt", "text")


class TestCheckOutputs:
    def test_a_check_leaves_no_trace(self, tmp_path):
        check_outputs({"--out": tmp_path / "a.csv"}, force=False)

        assert os.listdir(tmp_path) == []

    @pytest.mark.skipif(os.name != "posix", reason="a named pipe")
    @pytest.mark.parametrize("force", [True, False])
    def test_a_pipe_or_device_is_no_file_to_write(self, tmp_path, force):
        os.mkfifo(tmp_path / "a.csv")

        for path in (tmp_path / "a.csv", Path("/dev/null"), Path("/dev/stdout")):
            with pytest.raises(CommandError, match="a device or a pipe"):
                check_outputs({"--out": path}, force=force)

    def test_a_dangling_link_counts_as_existing(self, tmp_path):
        (tmp_path / "a.csv").symlink_to(tmp_path / "nowhere.csv")

        with pytest.raises(CommandError, match="exists already"):
            check_outputs({"--out": tmp_path / "a.csv"}, force=False)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_without_leave_to_write_is_refused(self, tmp_path):
        tmp_path.chmod(0o500)

        with pytest.raises(CommandError, match="cannot be written to"):
            check_outputs({"--out": tmp_path / "a.csv"}, force=False)
