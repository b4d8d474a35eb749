from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from syntabula.cli.console import CommandError, Exit
from syntabula.cli.outputs import check_outputs, check_rows, output, sample_command, write_text
from syntabula.errors import DataError


class TestOutput:
    def test_what_another_program_wrote_in_the_meantime_stays(self, tmp_path):
        def both() -> None:
            with output(tmp_path / "out.csv", force=False) as temporary:
                temporary.write_text("mine")
                (tmp_path / "out.csv").write_text("theirs")

        with pytest.raises(CommandError, match="written by another program") as caught:
            both()

        assert caught.value.code == Exit.FILE
        assert (tmp_path / "out.csv").read_text() == "theirs"
        assert os.listdir(tmp_path) == ["out.csv"]

    @pytest.mark.parametrize("force", [True, False])
    def test_force_or_a_file_of_its_own_is_replaced(self, tmp_path, force):
        path = tmp_path / "out.csv"
        path.write_text("old")

        with output(path, force=force, replaceable=() if force else {path}) as temporary:
            temporary.write_text("new")

        assert path.read_text() == "new"

    def test_the_finished_file_is_shown_before_it_takes_its_name(self, tmp_path):
        path, seen = tmp_path / "out.csv", []

        def look(file: Path) -> None:
            seen.append((file.read_text(), path.exists()))

        with output(path, force=False, before_naming=look) as temporary:
            temporary.write_text("whole")

        assert seen == [("whole", False)]
        assert path.read_text() == "whole"

    def test_a_failure_names_the_output_and_not_where_it_was_being_written(self, tmp_path):
        path = tmp_path / "out.csv"

        def fail() -> None:
            with output(path, force=False) as temporary:
                raise DataError(f"cannot write {str(temporary)!r}: No space left on device")

        with pytest.raises(CommandError) as caught:
            fail()

        assert str(caught.value) == f"cannot write {str(path)!r}: No space left on device"
        assert caught.value.code == Exit.FILE
        assert os.listdir(tmp_path) == []

    def test_a_missing_folder_is_a_clear_error(self, tmp_path):
        with pytest.raises(CommandError, match="cannot write"):
            write_text(tmp_path / "nowhere" / "out.txt", "text", force=False)


def test_the_command_that_draws_is_quoted_for_a_shell():
    command = sample_command(Path("my release.syn"), Path("x.csv"), rows=3, seed=None)

    assert command == "syntabula sample 'my release.syn' -o x.csv --rows 3"


class TestCheckRows:
    def test_more_rows_of_text_than_free_bytes_are_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))

        check_rows(1000, tmp_path / "a.csv")
        check_rows(1001, tmp_path / "a.parquet")
        for name in ["a.csv", "a.tsv", "a.jsonl", "a.ndjson"]:
            with pytest.raises(CommandError, match="1,000 bytes are free") as caught:
                check_rows(1001, tmp_path / name)
            assert caught.value.code == Exit.FILE


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

    @pytest.mark.skipif(os.name != "posix", reason="makes links and pipes")
    @pytest.mark.parametrize("force", [True, False])
    @pytest.mark.parametrize("target", ["/dev/null", "/dev/stdout", "pipe"])
    def test_devices_pipes_and_links_to_them_are_refused(self, tmp_path, target, force):
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to(target)

        places = [tmp_path / "link", tmp_path / "pipe", Path("/dev/stdout")]
        # What standard output is depends on who runs this test; a link to a file is a file.
        for place in places if target != "/dev/stdout" else places[1:]:
            with pytest.raises(CommandError, match="device or a pipe") as caught:
                check_outputs({"--out": place}, force=force)
            assert caught.value.code == Exit.FILE
