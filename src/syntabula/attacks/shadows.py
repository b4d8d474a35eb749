"""Shadow models: many fits in parallel workers, each saved to disk as soon as it is done."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula._extras import require
from syntabula._files import whole_file
from syntabula._planning import Progress
from syntabula._version import __version__
from syntabula.attacks.base import Fitted, Synthesizer
from syntabula.errors import ArgumentError, SyntabulaWarning
from syntabula.table.frames.conform import conform
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema.schema import Schema

Floats = NDArray[np.float64]
Job = Callable[[int], Floats]

STEP = "shadow models"
_IDENTITY = "shadows.json"
_ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, eq=False)
class Shadows:
    """The results of all shadow models.

    Attributes:
        values: One row of numbers per shadow model [shadows, numbers].
        seconds: Total time of each, including fit and sample, in its worker [shadows].
        resumed: Number of shadow models that were already done.
    """

    values: Floats
    seconds: Floats
    resumed: int


def run_shadows(
    job: Job,
    n_shadows: int,
    *,
    workers: int = 1,
    folder: str | os.PathLike[str] | None = None,
    identity: Callable[[], str],
    progress: Progress | None = None,
) -> Shadows:
    """Run a job for each shadow model that is not done yet.

    Args:
        job: Trains the shadow model with a number and returns its result; must be picklable for workers > 1.
        n_shadows: Number of shadow models.
        workers: Processes that train in parallel; 1 uses only the current one.
        folder: Where each result is saved as soon as it is done, so that an interrupted run can resume;
            created if necessary. Its files are as sensitive as the table. None keeps nothing.
        identity: Returns a digest that must match for results to be reused; called only with a folder.
        progress: Called with "shadow models", how long the rest will take if each takes as long as those so far, and
            the fraction done.

    Raises:
        ArgumentError: If numbers are out of range, or the folder holds other results.
        MissingExtraError: If there is more than one worker and joblib, which comes with scikit-learn, is not
            installed.
    """
    workers, n_shadows = count()("workers", workers), count()("n_shadows", n_shadows)
    report = progress or (lambda step, done: None)
    place = None if folder is None else _opened(Path(folder), identity())
    done: dict[int, tuple[Floats, float]] = {}
    for number in range(n_shadows):
        found = None if place is None else _stored(place, number)
        if found is not None:
            done[number] = found
    resumed, missing = len(done), [number for number in range(n_shadows) if number not in done]
    report(STEP, resumed / n_shadows)
    began = time.perf_counter()
    for number, values, seconds in _results(job, missing, place, workers):
        done[number] = values, seconds
        left = (time.perf_counter() - began) / (len(done) - resumed) * (n_shadows - len(done))
        report(f"{STEP}, about {left:,.0f} s left" if round(left) else STEP, len(done) / n_shadows)
    return Shadows(
        values=np.stack([done[number][0] for number in range(n_shadows)]),
        seconds=np.array([done[number][1] for number in range(n_shadows)]),
        resumed=resumed,
    )


def _results(job: Job, numbers: list[int], place: Path | None, workers: int) -> Any:
    if workers == 1 or len(numbers) < 2:
        return (_run(job, number, place) for number in numbers)
    joblib = require("joblib", "evaluate")
    parallel = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")
    with _children_without_interrupts():
        return parallel(joblib.delayed(_run)(job, number, place) for number in numbers)


@contextmanager
def _children_without_interrupts() -> Iterator[None]:
    """Let only this process handle a keyboard interrupt; it ends its workers in order.

    The terminal sends it to all of them, and each would print a traceback. Processes started in this context
    inherit that the signal is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if former is None else former)


def _run(job: Job, number: int, place: Path | None) -> tuple[int, Floats, float]:
    start = time.perf_counter()
    values = job(number)
    seconds = time.perf_counter() - start
    if place is not None:
        stored = io.BytesIO()
        np.save(stored, np.concatenate([[seconds], values]), allow_pickle=False)
        with whole_file(_file(place, number)) as temporary:
            # NumPy does not say of a file that it writes itself that the disk is full.
            temporary.write_bytes(stored.getvalue())
    return number, values, seconds


def _file(place: Path, number: int) -> Path:
    return place / f"shadow-{number:05d}.npy"


def _stored(place: Path, number: int) -> tuple[Floats, float] | None:
    path = _file(place, number)
    if not path.exists():
        return None
    try:
        numbers = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise ArgumentError(f"{str(path)!r} is damaged; remove it, and it will be computed again") from None
    return numbers[1:], float(numbers[0])


def _opened(folder: Path, identity: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _IDENTITY
    if path.exists():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))["identity"]
        except (ValueError, KeyError, TypeError):
            known = None
        if known != identity:
            raise ArgumentError(
                f"the folder {str(folder)!r} holds shadow models of another table, method or setting; name "
                "another folder, or remove it"
            )
    elif any(folder.glob("shadow-*.npy")):
        raise ArgumentError(f"the folder {str(folder)!r} holds shadow models of unknown origin; remove them")
    else:
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps({"identity": identity}) + "\n", encoding="utf-8")
    return folder


def identity_of(table: RawTable, schema: Schema | None, *settings: object) -> str:
    """Return a digest of a table, its schema and settings that depends only on their content, in any process.

    Raises:
        ArgumentError: If an object among the settings has a repr that does not show its settings.
    """
    kinds = None if schema is None else schema.to_json()
    shown = repr((__version__, kinds, settings))
    if _ADDRESS.search(shown):
        raise ArgumentError(
            "shadow models of this method cannot be told from those with other settings: a part of it has no "
            "repr that shows its settings; give it one, as a dataclass has, or leave out folder"
        )
    digest = hashlib.sha256(shown.encode())
    for name, column in table.columns.items():
        values = column.values
        digest.update(repr((name, column.physical)).encode())
        digest.update(repr(values.tolist()).encode() if values.dtype == object else values.tobytes())
        digest.update(column.missing.tobytes())
    return digest.hexdigest()


def fitted(synthesizer: Synthesizer, table: RawTable, schema: Schema | None, seed: int) -> Fitted:
    """Fit a synthesizer with repeatable noise; warnings about values outside the schema are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntabulaWarning)
        return seeded(synthesizer, seed).fit(table, schema)


def drawn(release: Fitted, table: RawTable, n: int, seed: int) -> dict[str, RawColumn]:
    """Draw a synthetic table with the stored types of the original; warnings about these rows are ignored."""
    with warnings.catch_warnings():
        # They would be as many as there are shadow models, and concern rows that nobody keeps.
        warnings.simplefilter("ignore", SyntabulaWarning)
        columns = release.sample_columns(n, seed=seed)
    known = table.columns
    return {n: conform(c, known[n].physical if n in known else None) for n, c in columns.items()}


def seeded(synthesizer: Synthesizer, seed: int) -> Synthesizer:
    """Return a synthesizer with its own seed, if it takes one, and without progress and journal.

    Raises:
        ArgumentError: If it has a repeatable noise source: every shadow model would then draw the same
            noise.
    """
    if not dataclasses.is_dataclass(synthesizer):
        return synthesizer
    noise = getattr(synthesizer, "noise", None)
    if noise is not None and not noise.is_private:
        raise ArgumentError(
            "the synthesizer must not have a seeded noise; leave out noise, as each shadow model needs its own"
        )
    wanted = {"seed": seed, "journal": None, "resume": False, "progress": None}
    names = {field.name for field in dataclasses.fields(synthesizer)}
    given = {name: value for name, value in wanted.items() if name in names}
    changed: Synthesizer = dataclasses.replace(synthesizer, **given)
    return changed


def seeds_of(seed: int, number: int) -> tuple[int, int, np.random.Generator]:
    """Return the seeds of a shadow model's noise and sample, and a generator for its records."""
    sequence = np.random.SeedSequence([seed, number])
    noise, sample = (int(word) for word in sequence.generate_state(2))
    return noise, sample, np.random.default_rng(sequence.spawn(1)[0])
