"""Searches the options of a method: fits, draws and scores one set of options after the other.

Suggestions, pruning and storage are Optuna's (Akiba et al. 2019): the tree-structured Parzen estimator, the median rule,
and a journal in a file.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from syntabula._arguments import count, flag, function, instance_of, path, positive, words
from syntabula._extras import require
from syntabula._planning import Progress
from syntabula._register import synthesizer
from syntabula._spaces import Value
from syntabula.errors import ArgumentError, PrivacyWarning, SyntabulaError, warn_caller
from syntabula.synthesizers.synthesizer import Synthesizer
from syntabula.table.schema.schema import SchemaSource
from syntabula.tuning.chosen import AUTO, chosen_by
from syntabula.tuning.finals import FAILURES, FITS, Finals, mean_scores
from syntabula.tuning.job import DEFAULT, Job, check_target, pool_of, repeat, tables_of
from syntabula.tuning.objective import Objective
from syntabula.tuning.presets import space_for
from syntabula.tuning.result import NOT_PRIVATE, State, Trial, Tuning
from syntabula.tuning.space import check_space, plain_options
from syntabula.tuning.store import opened_study


def tune(
    method: Synthesizer | str,
    table: Any,
    validation: Any = None,
    *,
    schema: SchemaSource | None = None,
    target: str | None = None,
    space: str | Mapping[str, Any] = "usual",
    objective: Objective | None = None,
    trials: int = 50,
    repeats: int = 1,
    finalists: int = 3,
    seconds: float | None = None,
    workers: int = 1,
    storage: str | os.PathLike[str] | None = None,
    seed: int = 0,
    is_public: bool = False,
    progress: Progress | None = None,
) -> Tuning:
    """Search the options of a method that score best on validation rows (Du and Li, SynMeter, 2024, Section 6).

    The search looks at the validation rows without noise, so its result is not private; a PrivacyWarning says so. A
    private way is to tune on a public table of the same kind, with `is_public`.

    Args:
        method: A method with its budget, or the key of one, such as "ctgan". For auto, the one that it chooses, which a
            fit to the rows to learn shows.
        table: The table to learn from: path, data frame, Arrow table or relation.
        validation: Rows that the method does not see, of the same columns; by default a fifth of the table's, chosen
            at random, with all rows of a unit if the schema names one.
        schema: Columns and domains, as `fit` takes them; also says how columns are compared.
        target: Column to predict, for machine-learning affinity; without one it is left out of the usual objective.
        space: "usual", which is what the options of the method's parts declare, "synmeter" (the paper's), or what to try
            for each option, by name: a `Range`, a `Choice`, or plain values as in YAML.
        objective: What to minimise.
        trials: Number of sets of options to try, beside the method as it is given.
        repeats: Times that each is fitted, with other seeds. A trial whose first repeats are worse than the median of
            the others is given up.
        finalists: Number of the best sets of options that are fitted three times more, with other seeds, as is the method
            as it is given; the least mean of these is the best. 0 takes the best trial as it is, which flatters it.
        seconds: Time after which no further trial starts; the finals still do.
        workers: Number of processes. The suggestions of a single one are repeatable; of several they depend on which
            trial ends first.
        storage: File in which trials are kept, so that the same call goes on after an interruption.
        seed: Makes suggestions, fits, draws and scores repeatable. Trials do not use a seed that the method has.
        is_public: States that the rows are public, so that no warning is needed.
        progress: Called with a step and the fraction of its trials or fits that are done.

    Returns:
        All trials and the best options.

    Raises:
        ArgumentError: If an argument is invalid, the space has an option that the method has not, the storage holds
            another search or is in use, a metric predicts a target that has a single value, a score has no value for the
            method as given, or all sets of options failed.
        DataError: If a table cannot be read, or has too few rows.
        SchemaError: If the validation rows have other columns.
        MissingExtraError: If Optuna is not installed: `pip install "syntabula[tune]"`.
        SyntabulaError: If the method as it was given fails on this table.
    """
    optuna = require("optuna", "tune")
    given = synthesizer(method)() if isinstance(method, str) else method
    if not isinstance(given, Synthesizer):
        raise ArgumentError(f"method must be a method or the key of one, not {type(method).__name__}")
    if given.journal is not None or given.noise is not None:
        raise ArgumentError("the method of a search takes neither journal nor noise; leave them out")
    if given.key != AUTO:
        check_space(given, space_for(given, space))
    target = words("the name of a column").or_none("target", target)
    asked = instance_of(Objective, "a syntabula.Objective").or_none("objective", objective)
    wanted = (asked or Objective()).check(has_target=target is not None)
    n_trials, n_repeats = count()("trials", trials), count()("repeats", repeats)
    n_finalists, n_workers = count(0)("finalists", finalists), count()("workers", workers)
    seed = count(0)("seed", seed)
    limit = positive.or_none("seconds", seconds)
    stored = path.or_none("storage", storage)
    report = function("a function of a step's name and the fraction done").or_none("progress", progress)
    public = flag("is_public", is_public)
    tables = tables_of(table, validation, schema, target, seed)
    check_target(tables, wanted)
    if not public:
        warn_caller(PrivacyWarning(NOT_PRIVATE))
    why = ""
    if given.key == AUTO:
        if report is not None:
            report("see which method auto chooses", 0.0)
        given, why = chosen_by(given, tables, seed)
    tried = space_for(given, space)
    check_space(given, tried)
    job = Job(
        method=replace(given, progress=None),
        tables=tables,
        objective=wanted,
        space=tried,
        repeats=n_repeats,
        seed=seed,
    )
    with opened_study(optuna, stored, job) as study:
        search = Search(optuna=optuna, study=study, job=job, report=report or (lambda step, done: None))
        search.run(n_trials, n_finalists, n_workers, limit)
        return replace(search.result(n_finalists), chosen_because=why)


@dataclass(kw_only=True, eq=False, repr=False)
class Search:
    """A search under way."""

    optuna: Any
    study: Any
    job: Job
    report: Progress

    def run(self, n_trials: int, n_finalists: int, workers: int, seconds: float | None) -> None:
        """Try the method as it is given, then sets of options until there are as many as asked for, then the finals."""
        started = time.monotonic()
        earlier = len(self._timed()) if "default" in self.study.user_attrs else 0
        stale = [t for t in self.study.get_trials(deepcopy=False) if not t.state.is_finished()]
        with pool_of(self.job, workers) as pool:
            if "default" not in self.study.user_attrs:
                self.report("the method as it is given", 0.0)
                _, scores, used = pool.submit(repeat, {}, DEFAULT, 0).result()
                more = [pool.submit(repeat, {}, DEFAULT, n).result() for n in range(1, self.job.repeats)]
                every = [scores, *(m[1] for m in more)]
                self.study.set_user_attr("default", [mean_scores(every), used + sum(m[2] for m in more)])
            self._check_default()
            self.report(self._to_come(n_trials, n_finalists, workers, earlier), 0.0)
            running: dict[Future[Any], _Running] = {}
            while True:
                finished = self._finished()
                late = seconds is not None and time.monotonic() - started > seconds
                while len(running) < workers and len(finished) + len(running) < n_trials and not late:
                    trial = self._next(stale)
                    values = {name: tried.suggested(trial, name) for name, tried in self.job.space.items()}
                    state = _Running(trial=trial, values=values)
                    running[pool.submit(repeat, values, trial.number, 0)] = state
                if not running:
                    break
                to_come = self._to_come(n_trials, n_finalists, workers, earlier)
                told = f"try options, best so far {self._least(finished):.4g}; {to_come}"
                self.report(told, len(finished) / n_trials)
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    state = running.pop(future)
                    again = self._told(state, future)
                    if again is not None:
                        running[pool.submit(repeat, state.values, state.trial.number, again)] = state
            self._check_some_ended()
            if n_finalists:
                finals = Finals(study=self.study, job=self.job)
                finals.play(self._finalists(n_finalists), pool, workers, self.report)
        self.report("done", 1.0)

    def _timed(self) -> list[float]:
        """Return the seconds of the method as given and of each trial that is done."""
        return [t.seconds for t in (self._default(), *self._trials()) if t.state == "done"]

    def _to_come(self, n_trials: int, n_finalists: int, workers: int, earlier: int) -> str:
        """Return how many fits are left, and how long they take if each is as long as those so far.

        The first `earlier` of those were timed before this run.
        """
        trials = max(0, n_trials - len(self._finished()))
        n_fits = trials * self.job.repeats + (FITS * (min(n_finalists, n_trials) + 1) if n_finalists else 0)
        several = f"at most {n_fits} fit{'' if n_fits == 1 else 's'} to come"
        every = self._timed()
        # The first fit of each process imports libraries, which can take longer than the rest of it.
        timed = every[workers:earlier] + every[earlier + workers :]
        if not timed:
            return several
        seconds = n_fits * math.fsum(timed) / len(timed) / self.job.repeats / min(workers, max(1, n_fits))
        took = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
        return f"{several}, about {took} if each takes as long as those so far"

    def _check_default(self) -> None:
        """Refuse a search whose objective has no value for the method as given, with which all others are compared."""
        lost = [key for key, score in self._default().scores.items() if math.isnan(score)]
        if lost:
            raise ArgumentError(
                f"{' and '.join(map(repr, lost))} {'has' if len(lost) == 1 else 'have'} no value for this table, so "
                "that there is nothing to search by; choose other metrics by weight, or another target"
            )

    def _check_some_ended(self) -> None:
        """Refuse a result in which no set of options could be compared, as of a space whose values are not allowed."""
        ended = self._trials()
        if ended and all(trial.state == "failed" for trial in ended):
            what = "the only set of options" if len(ended) == 1 else f"all {len(ended)} sets of options"
            raise ArgumentError(
                f"{what} failed, the first because: {ended[0].reason}; change what the space has to try"
            )

    def _next(self, stale: list[Any]) -> Any:
        """Return the next trial: first those that an interruption left unfinished, with the options they had."""
        if stale:
            found = stale.pop(0)
            return self.optuna.trial.Trial(self.study, found._trial_id)
        number = len(self.study.get_trials(deepcopy=False))
        # A sampler of its own for each trial, so that a search that was interrupted goes on as it would have.
        state = np.random.SeedSequence([self.job.seed, number, 1]).generate_state(1)
        self.study.sampler = self.optuna.samplers.TPESampler(seed=int(state[0]))
        return self.study.ask()

    def _told(self, state: _Running, future: Future[Any]) -> int | None:
        """Take the result of a repeat; return the number of the next one, or None if the trial has ended."""
        trial, ended = state.trial, self.optuna.trial.TrialState
        try:
            _, scores, used = future.result()
        except FAILURES as error:
            # A message of the library holds no cell; others' may.
            told = str(error) if isinstance(error, SyntabulaError) else type(error).__name__
            trial.set_user_attr("reason", told)
            trial.set_user_attr("seconds", state.seconds)
            self.study.tell(trial, state=ended.FAIL)
            return None
        state.found.append(scores)
        state.seconds += used
        place, mean = len(state.found), mean_scores(state.found)
        value = self.job.objective.value(mean, self.study.user_attrs["default"][0])
        trial.set_user_attr("scores", mean)
        trial.set_user_attr("seconds", state.seconds)
        if math.isnan(value):
            trial.set_user_attr("reason", "a score has no value for the rows drawn")
            self.study.tell(trial, state=ended.FAIL)
            return None
        if place == self.job.repeats:
            self.study.tell(trial, value)
            return None
        trial.report(value, place)
        if trial.should_prune():
            trial.set_user_attr("value", value)
            self.study.tell(trial, state=ended.PRUNED)
            return None
        return place

    def _finished(self) -> list[Any]:
        return [t for t in self.study.get_trials(deepcopy=False) if t.state.is_finished()]

    def _least(self, finished: list[Any]) -> float:
        default = self._default().value
        done: list[float] = [t.value for t in finished if t.state.name == "COMPLETE"]
        return min([default, *done])

    def _default(self) -> Trial:
        scores, seconds = self.study.user_attrs["default"]
        value = self.job.objective.value(scores, scores)
        return Trial(number=DEFAULT, values={}, state="done", value=value, scores=scores, seconds=seconds)

    def _trials(self) -> tuple[Trial, ...]:
        return tuple(_trial(t) for t in sorted(self._finished(), key=lambda t: t.number))

    def _finalists(self, n: int) -> list[Trial]:
        """Return the method as it is given and the best trials, be they better or not: one fit says little."""
        done = [trial for trial in self._trials() if trial.state == "done"]
        return [self._default(), *sorted(done, key=lambda trial: (trial.value, trial.number))[:n]]

    def result(self, n_finalists: int) -> Tuning:
        """Return what was found."""
        finalists = self._finalists(n_finalists) if n_finalists else []
        found = Tuning(
            method=self.job.method.name,
            objective=self.job.objective.in_words(),
            default=self._default(),
            trials=self._trials(),
            finals=Finals(study=self.study, job=self.job).result(finalists),
            options={},
            unit=self.job.tables.unit,
        )
        options = plain_options(self.job.method, found.best.values, self.job.tables.train.n_rows)
        return replace(found, options=options)


@dataclass(kw_only=True, eq=False)
class _Running:
    trial: Any
    values: dict[str, Value]
    found: list[dict[str, float]]
    seconds: float

    def __init__(self, *, trial: Any, values: dict[str, Value]) -> None:
        self.trial, self.values, self.found, self.seconds = trial, values, [], 0.0


_STATES: dict[str, State] = {"COMPLETE": "done", "PRUNED": "pruned", "FAIL": "failed"}


def _trial(found: Any) -> Trial:
    attributes = found.user_attrs
    value = attributes.get("value", found.value)
    return Trial(
        number=found.number,
        values=found.params,
        state=_STATES[found.state.name],
        value=math.nan if value is None else float(value),
        scores=attributes.get("scores", {}),
        seconds=float(attributes.get("seconds", 0.0)),
        reason=attributes.get("reason", ""),
    )
