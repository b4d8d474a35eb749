"""The entry point of the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        arguments: Words after the command's name; by default those of the process.

    Returns:
        An exit code as documented in `syntabula --help`.
    """
    _open_streams()
    try:
        from syntabula.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:
        # An interrupt while modules are still being imported.
        return 130


def _open_streams() -> None:
    """Put the null device in place of standard streams that the caller closed, as a job without a terminal may do."""
    # Python has no object for such a stream, and the next file that is opened would take its number, with all that a
    # library then writes to standard error. The lowest free number is given first.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
