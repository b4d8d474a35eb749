"""What a command prints: results, notes, progress and failures, each of which ends it with an exit code."""

from __future__ import annotations

import errno
import json
import math
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from types import FrameType
from typing import Any, Self

from syntabula import errors
from syntabula._memory import ran_out
from syntabula._planning import Progress
from syntabula.errors import SyntabulaWarning


@dataclass(frozen=True, kw_only=True)
class Console:
    """Prints results, notes, progress and warnings.

    Attributes:
        quiet: Omit progress and notes, but not results, errors and warnings.
        as_json: Print results as one JSON document.
    """

    quiet: bool = False
    as_json: bool = False

    def result(self, text: str, facts: Mapping[str, Any] | Sequence[Any]) -> None:
        """Print a result to standard output, as text or as JSON."""
        shown = (
            json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)
            if self.as_json
            else text.rstrip("\n")
        )
        print(printable(shown))

    def note(self, text: str) -> None:
        """Print a remark to standard error."""
        if not self.quiet:
            print(printable(text), file=sys.stderr)

    def wrote(self, text: str, facts: Mapping[str, Any]) -> None:
        """Say what was written to a file: as JSON a result, else a remark."""
        if self.as_json:
            self.result(text, facts)
        else:
            self.note(text)

    @contextmanager
    def if_interrupted(self, text: str) -> Iterator[None]:
        """Print a remark on how to go on if the block is interrupted."""
        try:
            yield
        except KeyboardInterrupt:
            # A closed terminal accepts no more output.
            with suppress(OSError):
                self.note(text)
            raise

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Show steps as a bar on a terminal, else as one plain line per step."""
        if self.quiet:
            yield lambda step, fraction: None
        elif sys.stderr.isatty():
            with _bar() as show:
                yield show
        else:
            yield _plain_lines()

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Show our warnings as one line each; suppress those of other libraries, whose text may show a cell."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", SyntabulaWarning)
            warnings.showwarning = self._show_warning
            yield

    def _show_warning(self, message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        # Also under --quiet: a warning may be the only word on a column whose values are lost.
        line = in_flags(" ".join(str(message).split()))
        print(f"warning: {printable(line)}", file=sys.stderr)


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Return a text with its control characters written out, but for tabs and line ends.

    Release files and tables come from anywhere, and some of these characters command the terminal.
    """
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console as RichConsole
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.percentage:>3.0f}%"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with RichProgress(*columns, console=RichConsole(stderr=True), transient=True) as bars:
        task = bars.add_task("start", total=1.0)
        yield lambda step, fraction: bars.update(task, description=step, completed=fraction)


def _plain_lines() -> Progress:
    last, shown = "", 0.0

    def show(step: str, fraction: float) -> None:
        nonlocal last, shown
        # Report every tenth of a long step, so that a log shows that work continues.
        if step != last or fraction >= shown + 0.1:
            last, shown = step, fraction
            print(f"{fraction:4.0%}  {step}", file=sys.stderr, flush=True)

    return show


# The command-line option for each argument that a message of the library may begin with.
_ARGUMENTS = {
    "accounting": "--accounting",
    "atoms": "--atoms",
    "bins": "--bins",
    "delta": "--delta",
    "discretizer": "--discretizer",
    "epsilon": "--epsilon",
    "finalists": "--finalists",
    "folder": "--folder",
    "n": "--rows",
    "n_rows": "--assume-rows",
    "plane": "--plane",
    "repeats": "--repeats",
    "rho": "--rho",
    "seed": "--seed",
    "share": "--preprocessing-share",
    "target": "--target",
    "title": "--title",
    "trials": "--trials",
    "where": "--where",
    "within": "--within",
    "workers": "--workers",
}
_BEGINS = re.compile(rf"({'|'.join(_ARGUMENTS)})(?= (must|is|asks|gives|cannot|allows)\b)")
# Python names within a message, the longest first.
_NAMES = {
    r"allow_observed=True \(--observed-domain\)": "--observed-domain",
    r"`others: find` in the schema file \(Schema\(\.\.\., others='find'\)\)": "`others: find` in the schema file",
    r"use Budget\.none\(\) \(--epsilon inf\)": "use --epsilon inf",
    r"Budget\.pure\(epsilon\)": "--pure",
    r"Budget\.none\(\)": "--epsilon inf",
    r"\bgiven=": "--given",
    r"a list of values, a range as a tuple \(first, last\), None for missing or \.\.\. for present": (
        "a range such as 30..40, or nothing for missing"
    ),
    r"release\.schema\[[^\]]*\]": "`syntabula info`",
    r"\bmemory_mb\b": "--memory",
    # In a list of options they are names among others.
    r"(?<!, )\b(max_memory_mb|max_model_mb|max_rows)\b(?! must|,)": r"--option \1",
    r"\bneeds (target|holdout) \(": r"needs --\1 (",
    r"\bleave out the baseline HALF\b": "name others, such as --baseline HISTOGRAM",
    r"\bn_shadows\b": "--shadows",
    r"\b(n_records|max_records)\b": "--records",
    r"\b(with|without) resume\b": r"\1 --resume",
    r'\bdevice="cpu"': "--option device=cpu",
    r"\bthe share of preprocessing\b": "--preprocessing-share",
}
_VALUES = {r"\bor None\b": "or null", r"\bTrue or False\b": "true or false"}


def in_flags(message: str) -> str:
    """Return a message of the library with arguments replaced by command-line options."""
    if begins := _BEGINS.match(message):
        message = _ARGUMENTS[begins[1]] + message[begins.end() :]
    for name, flag in _NAMES.items():
        message = re.sub(name, flag, message)
    return in_yaml(message)


def in_yaml(message: str) -> str:
    """Return a message of the library about a YAML file, whose fields have the library's names."""
    for name, word in _VALUES.items():
        message = re.sub(name, word, message)
    return message


class Exit(IntEnum):
    """Exit codes that scripts can rely on."""

    OK = 0
    UNEXPECTED = 1
    ARGUMENTS = 2
    DATA = 3
    PRIVACY = 4
    RESOURCES = 5
    FILE = 6
    EXTRA = 7
    NO_RESULT = 8
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_HELP = (
    "Exit codes: 0 done; 1 unexpected error; 2 wrong arguments, schema or budget; 3 the table cannot be "
    "read; 4 refused for privacy; 5 not enough memory; 6 a file cannot be read or written; 7 an optional "
    "library is missing; 8 no cell of a study, or not every metric, gave a result; 130 interrupted; "
    "143 ended by SIGTERM; 129 the terminal was closed (SIGHUP)."
)

# The first class that matches decides.
_CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (errors.MissingExtraError, Exit.EXTRA),
    (errors.ReleaseFileError, Exit.FILE),
    (errors.StudyError, Exit.FILE),
    (errors.ResourceError, Exit.RESOURCES),
    (errors.BudgetExceededError, Exit.PRIVACY),
    (errors.ResumeError, Exit.PRIVACY),
    (errors.ObservedDomainError, Exit.PRIVACY),
    (errors.PrivateDomainError, Exit.PRIVACY),
    (errors.DataError, Exit.DATA),
    (errors.DatasetError, Exit.DATA),
    (errors.SyntabulaError, Exit.ARGUMENTS),
    (KeyboardInterrupt, Exit.INTERRUPTED),
    (OSError, Exit.FILE),
)


class CommandError(Exception):
    """A failure of the command itself: its message, remedy and exit code.

    Attributes:
        code: Exit code of the process.
    """

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code


class Terminated(KeyboardInterrupt):
    """A signal asked the process to end. It derives from KeyboardInterrupt, so that the same cleanup runs."""


class Interrupts:
    """Turns termination signals into interrupts, so that cleanup runs, and remembers the first signal.

    Libraries may replace an interrupt with their own error or swallow it. Signals often come in pairs, as when a
    terminal is closed, and the second would only interrupt the cleanup after the first.

    Attributes:
        seen: Exit code of the first signal since the start of the `with` block; None if there was none.
    """

    def __init__(self) -> None:
        self.seen: Exit | None = None
        self._last = -math.inf
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Self:
        # Only the main thread may set a handler. A signal that the caller ignores stays ignored, as under nohup.
        if threading.current_thread() is threading.main_thread():
            for number, default in _ENDING.items():
                if signal.getsignal(number) is default:
                    self._former[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = self.seen or Exit(128 + number)
        since, self._last = time.monotonic() - self._last, time.monotonic()
        if since < _PAIR_SECONDS:
            return
        if number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        raise Terminated


_PAIR_SECONDS = 1.0

# The termination signals, with Python's default handler of each.
_ENDING: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
if sys.platform != "win32":
    _ENDING[signal.SIGHUP] = signal.SIG_DFL


def report_failure(error: BaseException) -> int:
    """Print one line about a failure to standard error and return the exit code."""
    code, message = _code_and_message(error)
    line = " ".join(message.split())
    if line:
        print(f"error: {printable(line)}", file=sys.stderr)
    return int(code)


def report_end(code: Exit) -> int:
    """Print one line about the signal that ended a command and return its exit code."""
    # A closed terminal accepts no more output.
    with suppress(OSError):
        print(f"error: {_ENDINGS[code]}; no half-written file was left", file=sys.stderr)
    return int(code)


_ENDINGS = {
    Exit.INTERRUPTED: "interrupted",
    Exit.TERMINATED: "ended by SIGTERM",
    Exit.HUNG_UP: "the terminal was closed",
}


def _code_and_message(error: BaseException) -> tuple[int, str]:
    if isinstance(error, CommandError):
        return error.code, str(error)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else Exit.UNEXPECTED, ""
    if type(error).__name__ == "Abort":
        return Exit.INTERRUPTED, "interrupted"
    usage: Any = getattr(error, "format_message", None)
    if usage is not None:
        # Typer has bundled its own click since 0.16, so the class has no single import path.
        return Exit.ARGUMENTS, f"{_one_sentence(usage())}; see `{_command_of(error)} --help`"
    code = code_of(error)
    if not isinstance(error, errors.SyntabulaError) and ran_out(error):
        code = Exit.RESOURCES
    return code, _message(error, code)


def code_of(error: BaseException) -> Exit:
    """Return the exit code for an error of the library."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.UNEXPECTED)


def _message(error: BaseException, code: Exit) -> str:
    if isinstance(error, errors.SyntabulaError):
        return in_flags(str(error))
    if code is Exit.INTERRUPTED:
        return f"{_ENDINGS[code]}; no half-written file was left"
    if code is Exit.RESOURCES:
        return "not enough memory; use fewer --bins or --rows, or a smaller schema; see `syntabula plan`"
    if isinstance(error, OSError) and error.strerror:
        where = f" {str(error.filename)!r}" if error.filename else ""
        remedy = "choose another place"
        if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
            remedy = "free some space there and run the command again, with --resume if it had a --journal"
        elif error.errno == errno.ENOENT:
            remedy = "check the path"
        return f"cannot use the file{where}: {error.strerror}; {remedy}"
    # Another library's error may show a cell of the table, and log collectors keep error output.
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
