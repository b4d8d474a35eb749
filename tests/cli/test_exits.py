from __future__ import annotations

import errno
import signal

import pytest

from syntabula import errors
from syntabula.cli.exits import CommandError, Exit, Interrupts, report_failure


class TestReportFailure:
    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (errors.ArgumentError("x"), 2),
            (errors.SchemaError("x"), 2),
            (errors.BudgetError("x"), 2),
            (errors.DataError("x"), 3),
            (errors.DatasetError("x"), 3),
            (errors.BudgetExceededError("x"), 4),
            (errors.ObservedDomainError("x"), 4),
            (errors.ResourceError("x"), 5),
            (MemoryError(), 5),
            (errors.ReleaseFileError("x"), 6),
            (OSError(errno.ENOSPC, "No space left on device"), 6),
            (errors.MissingExtraError("x"), 7),
            (KeyboardInterrupt(), 130),
            (RuntimeError("x"), 1),
            (CommandError("x", Exit.FILE), 6),
        ],
    )
    def test_every_kind_of_failure_has_its_code_and_one_line(self, error, code, capsys):
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


class TestInterrupts:
    def test_an_interrupt_is_remembered_even_if_a_library_swallows_it(self):
        with Interrupts() as interrupts:
            before = interrupts.seen
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)

        assert (before, interrupts.seen) == (False, True)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_a_library_that_turns_it_into_its_own_error_still_gives_130(self, folder, run, monkeypatch):
        from syntabula import MST

        def swallow(*_, **__):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise errors.DataError("Query interrupted") from None

        monkeypatch.setattr(MST, "fit", swallow)

        ran = run("synth", "people.csv", "-s", "schema.yaml", "-o", "out.csv")

        assert ran.code == 130
        assert "interrupted" in ran.err
