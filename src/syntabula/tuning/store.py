"""The file in which a search keeps its trials."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from syntabula._extras import require
from syntabula._files import check_is_file, lock_exclusively
from syntabula.errors import ArgumentError
from syntabula.tuning.job import Job

_FIRST_BYTES = b'{"op_code"'
_NO_SEARCH = "{!r} holds no search; choose another file for the storage"


@contextmanager
def opened_study(optuna: Any, stored: Any, job: Job) -> Iterator[Any]:
    """Open the study of Optuna in its file, which no other process may use meanwhile; without a file in memory.

    Raises:
        ArgumentError: If the file holds another search or something else, or another process uses it.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name = f"syntabula {job.method.key} {job.fingerprint}"
    pruner = optuna.pruners.MedianPruner(n_startup_trials=5)
    if stored is None:
        yield optuna.create_study(study_name=name, pruner=pruner, direction="minimize")
        return
    place = os.fspath(stored)
    check_is_file(Path(place))
    lock = Path(f"{place}.lock")
    if lock.exists() and not lock.is_symlink():
        raise ArgumentError(
            f"the file {str(lock)!r} has the name of the lock of the storage; choose another storage, or rename it"
        )
    descriptor = os.open(place, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if not lock_exclusively(descriptor):
            raise ArgumentError(f"another search uses {place!r}; wait for it, or choose another file")
        if not _may_hold_a_search(Path(place)):
            raise ArgumentError(_NO_SEARCH.format(place))
        _drop_cut_line(descriptor)
        # Optuna marks each write by this name and waits half a minute for one that a killed search left behind.
        lock.unlink(missing_ok=True)
        yield _opened(optuna, place, name, pruner)
    finally:
        os.close(descriptor)


def _drop_cut_line(descriptor: int) -> None:
    """Remove a last line without an end, left by a killed search: the next entry would be written into it."""
    with open(descriptor, "rb", closefd=False) as file:
        text = file.read()
    whole = text.rfind(b"\n") + 1
    if whole < len(text):
        os.ftruncate(descriptor, whole)


def _may_hold_a_search(place: Path) -> bool:
    """Return whether a file is empty or begins with an entry of Optuna's journal; another one would be written into."""
    with place.open("rb") as file:
        return _FIRST_BYTES.startswith(file.read(len(_FIRST_BYTES)))


def _opened(optuna: Any, stored: str, name: str, pruner: Any) -> Any:
    journal = require("optuna.storages.journal", "tune")
    try:
        storage = optuna.storages.JournalStorage(journal.JournalFileBackend(stored))
        others = {study.study_name for study in storage.get_all_studies()} - {name}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ArgumentError(_NO_SEARCH.format(stored)) from None
    if others:
        raise ArgumentError(
            f"{stored!r} holds a search of another method, table, schema, space, objective, seed or version; choose "
            "another file"
        )
    return optuna.create_study(
        study_name=name, storage=storage, pruner=pruner, direction="minimize", load_if_exists=True
    )
