"""An exclusive lock on an open file, held until the file is closed or the process ends."""

from __future__ import annotations

import os
import sys

_FAR = 2**31 - 2
"""Windows locks bytes, and nobody may read a locked one; this one lies beyond any content."""


def lock_exclusively(descriptor: int) -> bool:
    """Take the lock of an open file without waiting.

    Another opening of the same file does not get it, be it in this process or in another.

    Args:
        descriptor: Of a file that is open for writing.

    Returns:
        Whether the lock was free.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
