"""The entry point of the command."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        arguments: Words after the command's name; by default those of the process.

    Returns:
        An exit code as documented in `syntabula --help`.
    """
    try:
        from syntabula.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:
        # An interrupt while modules are still being imported.
        return 130
