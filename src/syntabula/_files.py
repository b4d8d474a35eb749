"""Checks of file names before they are opened, locks, and files that are written completely or not at all."""

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
"""How many bytes of the target's name its temporary folder keeps; file systems allow 255 in all."""


@contextmanager
def whole_file(path: str | os.PathLike[str], *, mode: int = 0o666, replace: bool = True) -> Iterator[Path]:
    """Yield an empty file beside the target; it takes the target's name once it is safely on disk.

    The name itself is replaced. A symbolic link becomes a file, and the file that it pointed at stays as it is;
    another hard link keeps the old content.

    A killed process leaves its folder `.NAME.????????.tmp` behind. Nothing reads it, and the next writer of the same
    name removes it.

    Args:
        path: Final path of the file.
        mode: Permissions of the file, less the user's umask.
        replace: Whether to replace a file of that name. If not, the name is taken in one atomic step, so that
            only one of two writers succeeds.

    Yields:
        A file of the target's name in a new folder beside it. The folder and all else in it are removed.

    Raises:
        FileExistsError: If a file or link of that name exists and must not be replaced.
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
        # The file exists by now, even if this fails.
        with suppress(OSError):
            sync_folder(target.parent)


def check_is_file(path: str | os.PathLike[str]) -> None:
    """Refuse a name of anything but a file: a folder, a device, a pipe, or a link to one.

    Raises:
        OSError: If it is one of these; its `strerror` can be shown to the user.
    """
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    # If output is redirected to a file, /dev/stdout is a link to it, and would be replaced for everybody.
    special = folder == "/dev" or folder.startswith("/proc/")
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file in it", os.fspath(path))
    if special or not stat.S_ISREG(kind):
        raise OSError(errno.EINVAL, "it is a device or a pipe; name a regular file", os.fspath(path))


def sync_folder(folder: Path) -> None:
    """Force the folder's entry for a new file to disk, if the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cut_on_disk(descriptor: int, size: int, folder: Path) -> None:
    """Cut an open file off after some bytes, and force it and its folder's entry to disk; raises OSError."""
    os.ftruncate(descriptor, size)
    os.fsync(descriptor)
    sync_folder(folder)


def _take_name(temporary: Path, target: Path) -> None:
    """Rename a file unless the new name is taken; raises FileExistsError if it is."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links. Creating an empty file reserves the name in one step too.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            os.replace(temporary, target)
        except BaseException:
            target.unlink()
            raise


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Yield a folder that only its owner can read; a lock in it shows other processes that this one is running."""
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
            # A second signal may follow: a terminal that closes sends two.
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _locked(folder: str) -> int:
    """Return a lock file in a new folder, open and locked.

    It gets its name only once it is locked; earlier, another writer could take the lock and treat the folder as a
    leftover. Windows cannot rename an open file.
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
        os.close(lock)  # first, because Windows cannot remove an open file
    shutil.rmtree(folder, ignore_errors=True)


def not_a_file(path: str | os.PathLike[str], *, standard_input: bool = False) -> str | None:
    """Say what a path names if it is not a file, without opening it.

    Args:
        path: Path to look at.
        standard_input: Whether to accept this process's own standard input, whatever it is.

    Returns:
        "a folder", "a pipe", "a socket" or "a device"; None for a file, or if the path does not exist.
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
"""Windows locks bytes, and a locked byte cannot be read; this one lies beyond any content."""


def lock_exclusively(descriptor: int) -> bool:
    """Try to lock an open file without waiting.

    The lock excludes every other open handle of the same file, in this process or another.

    Args:
        descriptor: Descriptor of a file that is open for writing.

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
