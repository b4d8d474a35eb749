"""Exit codes, and one line on standard error for every failure."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from enum import IntEnum
from types import FrameType
from typing import Any, Self

from syntabula import errors
from syntabula.cli.flags import in_flags


class Exit(IntEnum):
    """What a script can rely on."""

    OK = 0
    UNEXPECTED = 1
    ARGUMENTS = 2
    DATA = 3
    PRIVACY = 4
    RESOURCES = 5
    FILE = 6
    EXTRA = 7
    INTERRUPTED = 130


EXIT_HELP = (
    "Exit codes: 0 done; 1 unexpected error; 2 wrong arguments, schema or budget; 3 the table cannot be "
    "read; 4 refused for privacy; 5 not enough memory; 6 a file cannot be read or written; 7 an optional "
    "library is missing; 130 interrupted."
)

# The first class that matches decides.
_CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (errors.MissingExtraError, Exit.EXTRA),
    (errors.ReleaseFileError, Exit.FILE),
    (errors.ResourceError, Exit.RESOURCES),
    (errors.BudgetExceededError, Exit.PRIVACY),
    (errors.ResumeError, Exit.PRIVACY),
    (errors.ObservedDomainError, Exit.PRIVACY),
    (errors.PrivateDomainError, Exit.PRIVACY),
    (errors.DataError, Exit.DATA),
    (errors.DatasetError, Exit.DATA),
    (errors.SyntabulaError, Exit.ARGUMENTS),
    (KeyboardInterrupt, Exit.INTERRUPTED),
    (MemoryError, Exit.RESOURCES),
    (OSError, Exit.FILE),
)


class CommandError(Exception):
    """A failure that only the command knows: its message, remedy and exit code.

    Attributes:
        code: Exit code of the process.
    """

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code


class Interrupts:
    """Remembers that the user interrupted, as libraries turn an interrupt into errors of their own.

    Attributes:
        seen: Whether there was an interrupt since the start of the `with` block.
    """

    def __init__(self) -> None:
        self.seen = False
        self._former: Any = None

    def __enter__(self) -> Self:
        # Only the main thread may set a handler, and a caller that ignores interrupts has its reasons.
        if threading.current_thread() is threading.main_thread():
            self._former = signal.getsignal(signal.SIGINT)
            if self._former is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._former is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        signal.default_int_handler(number, frame)


def report_failure(error: BaseException) -> int:
    """Print one line about a failure to standard error and return the exit code."""
    code, message = _explained(error)
    line = " ".join(message.split())
    if line:
        print(f"error: {line}", file=sys.stderr)
    return int(code)


def _explained(error: BaseException) -> tuple[int, str]:
    if isinstance(error, CommandError):
        return error.code, str(error)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else Exit.UNEXPECTED, ""
    if type(error).__name__ == "Abort":
        return Exit.INTERRUPTED, "interrupted"
    usage: Any = getattr(error, "format_message", None)
    if usage is not None:
        # Typer brings its own copy of click from 0.16 on, so that the class has no one place to import from.
        return Exit.ARGUMENTS, f"{_one_sentence(usage())}; see `{_command_of(error)} --help`"
    code = next((code for kind, code in _CODES if isinstance(error, kind)), Exit.UNEXPECTED)
    return code, _message(error, code)


def _message(error: BaseException, code: Exit) -> str:
    if isinstance(error, errors.SyntabulaError):
        return in_flags(str(error))
    if code is Exit.INTERRUPTED:
        return "interrupted; no half-written file was left"
    if code is Exit.RESOURCES:
        return "not enough memory; use fewer --bins or --rows, or a smaller schema; see `syntabula plan`"
    if isinstance(error, OSError) and error.strerror:
        where = f" {str(error.filename)!r}" if error.filename else ""
        return f"cannot use the file{where}: {error.strerror}; choose another place"
    # The text of a foreign error may show a cell of the table, and error output is kept by log collectors.
    frame = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    place = f" at line {frame.lineno} of {frame.name}" if frame else ""
    return (
        f"unexpected {type(error).__name__}{place}; please report it. Running again with --debug shows the "
        "details, which may include values of the table"
    )


def _one_sentence(text: str) -> str:
    return text.strip().rstrip(".?").replace(". Did you mean ", "; did you mean ")


def _command_of(error: BaseException) -> str:
    context: Any = getattr(error, "ctx", None)
    return getattr(context, "command_path", None) or "syntabula"
