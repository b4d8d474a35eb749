"""Output of the commands: results on standard output; progress, notes and warnings on standard error."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from syntabula._planning import Progress
from syntabula.errors import PrivacyWarning, SyntabulaWarning


@dataclass(frozen=True, kw_only=True)
class Console:
    """Prints results, notes, progress and warnings.

    Attributes:
        quiet: Omit progress and notes, but not results, errors and privacy warnings.
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
        if not self.quiet or issubclass(category, PrivacyWarning):
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
    "folder": "--folder",
    "n": "--rows",
    "n_rows": "--assume-rows",
    "plane": "--plane",
    "rho": "--rho",
    "seed": "--seed",
    "share": "--preprocessing-share",
    "target": "--target",
    "title": "--title",
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
    r"\b(max_memory_mb|max_model_mb|max_rows)\b(?! must)": r"--option \1",
    r"\bn_shadows\b": "--shadows",
    r"\b(n_records|max_records)\b": "--records",
    r"\b(with|without) resume\b": r"\1 --resume",
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
