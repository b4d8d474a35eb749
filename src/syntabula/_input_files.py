"""What an input names if it is no file: opening a pipe that nobody writes to would wait for ever."""

from __future__ import annotations

import os
import stat


def not_a_file(path: str | os.PathLike[str], *, standard_input: bool = False) -> str | None:
    """Say what a path names if that is no file; it is not opened.

    Args:
        path: Path to look at.
        standard_input: Whether this process's own standard input is taken too, whatever it is.

    Returns:
        "a folder", "a pipe", "a socket" or "a device"; None for a file, and where nothing is there.
    """
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    mode = found.st_mode
    if stat.S_ISREG(mode) or (standard_input and _is_standard_input(found)):
        return None
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _is_standard_input(found: os.stat_result) -> bool:
    try:
        return os.path.samestat(found, os.fstat(0))
    except OSError:
        return False
