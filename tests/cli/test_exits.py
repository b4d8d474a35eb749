from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from syntabula import errors
from syntabula.cli.console import CommandError, Exit, Interrupts, report_end, report_failure


class TestReportFailure:
    def test_every_kind_of_failure_has_its_code_and_one_line(self, capsys):
        cases = [
            (errors.ArgumentError("x"), 2),
            (errors.SchemaError("x"), 2),
            (errors.BudgetError("x"), 2),
            (errors.DataError("x"), 3),
            (errors.DatasetError("x"), 3),
            (errors.BudgetExceededError("x"), 4),
            (errors.ObservedDomainError("x"), 4),
            (errors.ResourceError("x"), 5),
            (MemoryError(), 5),
            (type("OutOfMemoryException", (Exception,), {})("Out of Memory Error: a cell"), 5),
            (RuntimeError("can't start new thread"), 5),
            (OSError(errno.ENOMEM, "Cannot allocate memory"), 5),
            (errors.ReleaseFileError("x"), 6),
            (OSError(errno.ENOSPC, "No space left on device"), 6),
            (errors.MissingExtraError("x"), 7),
            (KeyboardInterrupt(), 130),
            (RuntimeError("x"), 1),
            (CommandError("x", Exit.FILE), 6),
        ]
        for error, code in cases:
            assert report_failure(error) == code
            shown = capsys.readouterr()
            assert shown.out == ""
            assert shown.err.startswith("error: ")
            assert shown.err.count("\n") == 1

    def test_every_error_of_the_library_has_a_code_of_its_own_kind(self):
        kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
        kinds = [e for e in kinds if issubclass(e, errors.SyntabulaError)]

        assert all(report_failure(kind("x")) in range(2, 8) for kind in kinds)

    def test_the_text_of_a_foreign_error_is_not_shown(self, capsys):
        """It may hold a cell of the table."""
        report_failure(KeyError("secret-cell"))

        assert "secret-cell" not in capsys.readouterr().err

    def test_a_message_of_several_lines_becomes_one(self, capsys):
        report_failure(errors.DataError("first\nsecond"))

        assert capsys.readouterr().err == "error: first second\n"


ENDING = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
class TestInterrupts:
    def test_a_signal_is_an_interrupt_and_is_remembered_even_if_a_library_swallows_it(self):
        for name in list(ENDING):
            number = getattr(signal, name)
            former = signal.getsignal(number)
            with Interrupts() as interrupts:
                before = interrupts.seen
                with pytest.raises(KeyboardInterrupt):
                    signal.raise_signal(number)

            assert (before, interrupts.seen) == (None, ENDING[name])
            assert signal.getsignal(number) is former

    def test_a_second_signal_does_not_break_off_what_clears_up_after_the_first(self):
        with Interrupts() as interrupts:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)

        assert interrupts.seen == 129

    def test_a_later_signal_interrupts_again(self, monkeypatch):
        moments = iter(range(0, 100, 2))
        monkeypatch.setattr(time, "monotonic", lambda: next(moments))
        with Interrupts() as interrupts:
            for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
                with pytest.raises(KeyboardInterrupt):
                    signal.raise_signal(number)

        assert interrupts.seen == 143

    def test_what_the_caller_ignores_stays_ignored(self):
        former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with Interrupts() as interrupts:
                signal.raise_signal(signal.SIGHUP)
            kept = signal.getsignal(signal.SIGHUP)
        finally:
            signal.signal(signal.SIGHUP, former)

        assert interrupts.seen is None
        assert kept is signal.SIG_IGN

    def test_a_terminal_that_takes_no_more_lines_does_not_change_the_code(self, monkeypatch):
        class Closed:
            def write(self, text):
                raise OSError(errno.EIO, "Input/output error")

            flush = write

        monkeypatch.setattr("sys.stderr", Closed())

        assert report_end(Exit.HUNG_UP) == 129

    @pytest.mark.parametrize("name", list(ENDING))
    def test_a_library_that_turns_it_into_its_own_error_still_gives_its_code(
        self, name, folder, run, monkeypatch
    ):
        from syntabula import Auto

        def swallow(*_, **__):
            try:
                signal.raise_signal(getattr(signal, name))
            except KeyboardInterrupt:
                raise errors.DataError("Query interrupted") from None

        monkeypatch.setattr(Auto, "fit", swallow)

        ran = run("synth", "people.csv", "-s", "schema.yaml", "-o", "out.csv")

        assert ran.code == ENDING[name]
        assert ran.err.count("error: ") == 1
        assert "no half-written file was left" in ran.err


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
class TestEndedCommand:
    """In a process of its own, ended as soon as its temporary files are there."""

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("name", "suffix"), [("SIGINT", "csv"), ("SIGTERM", "parquet"), ("SIGHUP", "arrow")]
    )
    def test_nothing_temporary_is_left_and_the_code_is_that_of_the_signal(
        self, name, suffix, released, folder
    ):
        (folder / f"out.{suffix}").write_text("old")
        before = sorted(os.listdir(folder))
        code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        code += "from syntabula.cli.main import main; sys.exit(main(sys.argv[1:]))"
        words = ["sample", "people.syn", "-n", "30000000", "-o", f"out.{suffix}", "--force"]
        process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not list(folder.glob(f".out.{suffix}.*.tmp/*/*")) + list(
            folder.glob(f".out.{suffix}.*.tmp/*.pieces")
        ):
            time.sleep(0.02)

        process.send_signal(getattr(signal, name))
        if name == "SIGHUP":
            process.send_signal(signal.SIGTERM)  # as a closing terminal does
        _, said = process.communicate(timeout=60)

        assert process.returncode == ENDING[name], said
        assert said.count("\n") == 1
        assert sorted(os.listdir(folder)) == before
        assert (folder / f"out.{suffix}").read_text() == "old"
