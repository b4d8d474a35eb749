"""One trial of a search: a set of options is fitted, drawn from and scored, in this process or in another."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np

from syntabula._arguments import near
from syntabula._spaces import Space, Value
from syntabula._version import __version__
from syntabula.errors import ArgumentError, DataError
from syntabula.metrics.reading import check_columns, compare
from syntabula.synthesizers.synthesizer import Synthesizer
from syntabula.table.raw import RawTable
from syntabula.table.read import read
from syntabula.table.schema.schema import Schema, SchemaSource, as_schema
from syntabula.table.unit_rows import parted, units_of_rows, warn_of_shared_units
from syntabula.tuning.objective import Objective
from syntabula.tuning.space import with_values

DEFAULT = -1
"""The number of the method as it was given."""

_HELD_OUT = 5
"""Without validation rows, one in so many rows is held out for them."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tables:
    """What is learned, and the rows that a method does not see.

    Attributes:
        train: Rows to learn from.
        validation: Rows to score against.
        schema: The declared columns, if any.
        target: Column to predict, if any.
    """

    train: RawTable
    validation: RawTable
    schema: Schema | None
    target: str | None

    @property
    def unit(self) -> str | None:
        """Column whose values name units, all rows of which are on one side; None if each row is its own unit."""
        return None if self.schema is None else self.schema.unit


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Job:
    """All that a process needs to try a set of options."""

    method: Synthesizer
    tables: Tables
    objective: Objective
    space: Space
    repeats: int
    seed: int

    def repeat(self, values: Mapping[str, Value], number: int, place: int) -> dict[str, float]:
        """Fit a set of options once, and return the scores of rows drawn.

        Args:
            values: The values to try; none for the method as it is given.
            number: Number of the trial; the method as it is given is -1.
            place: Which of its repeats this is, from 0.
        """
        fits, draws, scores = np.random.SeedSequence([self.seed, number + 1, place]).generate_state(3)
        # Whatever seed the method has: with one for all fits, options would be chosen by the noise that they share.
        seeded = replace(self.method, seed=int(fits))
        method = with_values(seeded, values, self.tables.train.n_rows)
        release = method.fit(self.tables.train, self.tables.schema)
        drawn = release.sample(self.tables.train.n_rows, seed=int(draws))
        tables = compare(
            self.tables.train,
            drawn,
            holdout=self.tables.validation,
            schema=self.tables.schema,
            target=self.tables.target,
        )
        return self.objective.scores(tables, int(scores))

    @property
    def fingerprint(self) -> str:
        """Digest of all that determines the trials, the cells of the tables included."""
        facts = {
            "version": __version__,
            "method": repr(self.method),
            "space": {name: repr(tried) for name, tried in self.space.items()},
            "objective": repr(self.objective),
            "train": _digest(self.tables.train),
            "validation": _digest(self.tables.validation),
            "target": self.tables.target,
            "repeats": self.repeats,
            "seed": self.seed,
            "schema": None if self.tables.schema is None else self.tables.schema.to_json(),
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def tables_of(
    table: Any, validation: Any, schema: SchemaSource | None, target: str | None, seed: int
) -> Tables:
    """Read the rows to learn from and those to score against; see `search.tune`.

    Rows that are held out here are those of whole units, if the schema names one; if units have rows on both sides of a
    split that was given, a SplitWarning says so.

    Raises:
        ArgumentError: If the target is not a column.
        DataError: If a table cannot be read, or has too few rows to hold some out, or none to score against.
        SchemaError: If the tables differ in their columns.
    """
    declared = None if schema is None else as_schema(schema)
    train = read(table, declared)
    if target is not None and target not in train.columns:
        raise ArgumentError(f"target {target!r} is not a column{near(target, train.columns)}")
    if validation is None:
        if train.n_rows < 2 * _HELD_OUT:
            raise DataError(f"a search needs {2 * _HELD_OUT} rows or more, or validation rows of its own")
        rng, units = np.random.default_rng([seed, 0]), units_of_rows(train, declared)
        held, rest = parted(train.n_rows // _HELD_OUT, train.n_rows, units, rng)
        train, unseen = _taken(train, rest), _taken(train, held)
    else:
        unseen = read(validation, declared)
        if not unseen.n_rows:
            raise DataError("the validation table has no rows")
        check_columns({"first": train, "validation": unseen})
        warn_of_shared_units({"first": train, "validation": unseen}, declared)
    return Tables(train=train, validation=unseen, schema=declared, target=target)


def check_target(tables: Tables, objective: Objective) -> None:
    """Refuse a target of one value, by which no score of prediction could compare options; raises ArgumentError."""
    if tables.target is None or not objective.predicts:
        return
    column = tables.train.columns[tables.target]
    present = column.values[~column.missing]
    if not present.size or bool((present == present[0]).all()):
        raise ArgumentError(
            f"target {tables.target!r} has a single value in the rows to learn from, so that there is nothing to "
            "predict; name another column, or leave it out"
        )


def _digest(table: RawTable) -> str:
    """Return a digest of a table: a search does not go on with trials of a file that was changed since."""
    digest = hashlib.sha256()
    for name, column in table.columns.items():
        digest.update(repr((name, column.physical)).encode())
        values = column.values
        digest.update(repr(values.tolist()).encode() if values.dtype == object else values.tobytes())
        digest.update(column.missing.tobytes())
    return digest.hexdigest()


def _taken(table: RawTable, rows: Any) -> RawTable:
    """Return some rows of a table, in its own order."""
    kept = np.sort(rows)
    return RawTable(
        {name: column.take(kept) for name, column in table.columns.items()}, kept.size, table.origin
    )


_job: Job | None = None


def begin(job: Job) -> None:
    """Give a process the job whose options it will try."""
    global _job
    _job = job


def repeat(values: Mapping[str, Value], number: int, place: int) -> tuple[int, dict[str, float], float]:
    """Try a set of options once in this process; return the place, the scores and the seconds."""
    assert _job is not None
    started = time.perf_counter()
    with warnings.catch_warnings():
        # What a fit warns of concerns the release, and a search makes none.
        warnings.simplefilter("ignore")
        scores = _job.repeat(values, number, place)
    return place, scores, time.perf_counter() - started


@contextmanager
def pool_of(job: Job, workers: int) -> Iterator[Executor]:
    """Open so many processes, or, for one, run in this process."""
    if workers == 1:
        begin(job)
        yield _Here()
        return
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=begin, initargs=(job,)
    ) as pool:
        yield pool


class _Here(Executor):
    """Runs calls at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Run a call and return its result as a future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future
