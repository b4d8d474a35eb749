"""Files: what a name stands for before it is opened, locks, and files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOCK = ".lock"
_LONGEST_NAME = 100
"""Bytes of a target's name in that of its temporary folder; file systems allow 255 in all."""


@contextmanager
def whole_file(path: str | os.PathLike[str], *, mode: int = 0o666, replace: bool = True) -> Iterator[Path]:
    """Give an empty file beside the target that takes the target's name once it lies safely on the disk.

    The name itself is replaced. Where it is a symbolic link, the link becomes a file and what it pointed at stays
    as it is; another hard link keeps the old content.

    A killed process leaves its folder `.NAME.????????.tmp` behind. Nothing reads it, and the next writer of the same
    name removes it.

    Args:
        path: Where the file should be in the end.
        mode: Permissions of the file, less the user's umask.
        replace: Whether a file that is there at the end is replaced. If not, the name is taken in one step that
            fails where it is taken already, so that of two writers one succeeds.

    Yields:
        A file of the target's name in a new folder beside it. The folder and all else in it are removed.

    Raises:
        FileExistsError: If there is such a file, or link, and it must not be replaced.
        OSError: If the file cannot be written, or the name stands for a folder, a device or a pipe; an old file
            is unchanged.
    """
    target = Path(path)
    check_is_file(target)
    with _folder_beside(target) as folder:
        temporary = folder / target.name
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if replace:
            os.replace(temporary, target)
        else:
            _take_name(temporary, target)
        # The file is there by now, whatever a failure here would say.
        with suppress(OSError):
            sync_folder(target.parent)


def check_is_file(path: str | os.PathLike[str]) -> None:
    """Refuse a name that stands for something else than a file: a folder, a device, a pipe, or a link to one.

    Raises:
        OSError: In that case; its `strerror` is for the reader of a message.
    """
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    # /dev/stdout is a link to a file where the output is redirected to one, and would be replaced for everybody.
    special = folder == "/dev" or folder.startswith("/proc/")
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, so name a file in it", os.fspath(path))
    if special or not stat.S_ISREG(kind):
        raise OSError(
            errno.EINVAL, "it is a device or a pipe, and only files are written whole", os.fspath(path)
        )


def sync_folder(folder: Path) -> None:
    """Force the folder's entry of a new file to disk, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _take_name(temporary: Path, target: Path) -> None:
    """Give a file its name unless there is one of that name; raises FileExistsError."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links. An empty file takes the name first, as that too is one step.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            os.replace(temporary, target)
        except BaseException:
            target.unlink()
            raise


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Give a folder for the owner alone; a lock in it shows to other processes that its own is running."""
    name = target.name.encode("utf-8", "surrogateescape")[:_LONGEST_NAME].decode("utf-8", "ignore")
    _remove_leftovers(target.parent, f".{name}.")
    folder = tempfile.mkdtemp(prefix=f".{name}.", suffix=".tmp", dir=target.parent)
    lock = -1
    try:
        lock = _locked(folder)
        yield Path(folder)
    finally:
        try:
            _remove(folder, lock)
        except BaseException:
            # One signal may follow another: a terminal that closes sends two.
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _locked(folder: str) -> int:
    """Return a lock file in a new folder, open and locked.

    It takes its name when it is locked: before, another writer would take the lock, and the folder for a leftover.
    Windows renames no open file.
    """
    place = os.path.join(folder, _LOCK)
    made = place if sys.platform == "win32" else f"{place}.new"
    lock = os.open(made, os.O_RDWR | os.O_CREAT, 0o600)
    lock_exclusively(lock)
    if made != place:
        os.rename(made, place)
    return lock


def _remove_leftovers(place: Path, prefix: str) -> None:
    """Remove the temporary folders of processes that are gone."""
    try:
        names = [e.name for e in os.scandir(place) if e.name.startswith(prefix) and e.name.endswith(".tmp")]
    except OSError:
        return
    for folder in (os.path.join(place, name) for name in names if len(name) == len(prefix) + 12):
        try:
            lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR)
        except OSError:
            continue
        if lock_exclusively(lock):
            _remove(folder, lock)
        else:
            os.close(lock)


def _remove(folder: str, lock: int) -> None:
    if lock >= 0:
        os.close(lock)  # first, as Windows removes no open file
    shutil.rmtree(folder, ignore_errors=True)


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
