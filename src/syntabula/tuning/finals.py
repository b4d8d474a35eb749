"""The finals of a search: its best trials and the method as it is given are fitted again, with other seeds.

The least of many noisy values is too good, and often not that of the best options. So the few best are compared by
values that took no part in their choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any

from syntabula._planning import Progress
from syntabula.errors import SyntabulaError
from syntabula.tuning.job import DEFAULT, Job, repeat
from syntabula.tuning.result import State, Trial

FITS = 3
"""Times that each finalist is fitted."""
FAILURES = (SyntabulaError, ValueError, ArithmeticError, MemoryError, RuntimeError)
"""What a trial may raise without an end of the search."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Finals:
    """The finals of a search, kept fit by fit in its study of Optuna.

    Attributes:
        study: The study, whose attributes hold the fits that are finished.
        job: What is fitted and scored.
    """

    study: Any
    job: Job

    def play(self, finalists: Sequence[Trial], pool: Executor, workers: int, report: Progress) -> None:
        """Fit those that have not been fitted yet; failures are kept as such."""
        known = self.study.user_attrs
        places = range(self.job.repeats, self.job.repeats + FITS)
        waiting = [
            (trial, place) for place in places for trial in finalists if _key(trial, place) not in known
        ]
        running: dict[Future[Any], str] = {}
        n_fits = FITS * len(finalists)
        while waiting or running:
            report("fit the best again, with other seeds", 1 - (len(waiting) + len(running)) / n_fits)
            while waiting and len(running) < workers:
                trial, place = waiting.pop(0)
                running[pool.submit(repeat, trial.values, trial.number, place)] = _key(trial, place)
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                key, failed = running.pop(future), future.exception()
                if failed is not None and (
                    key.startswith(_name(DEFAULT)) or not isinstance(failed, FAILURES)
                ):
                    raise failed
                self.study.set_user_attr(key, None if failed is not None else future.result()[1:])

    def result(self, finalists: Sequence[Trial]) -> tuple[Trial, ...]:
        """Return the finalists with the means of these fits; one of which a fit failed, or has no score, has failed."""
        found = []
        for trial in finalists:
            places = range(self.job.repeats, self.job.repeats + FITS)
            fits = [self.study.user_attrs.get(_key(trial, place)) for place in places]
            done = [fit for fit in fits if fit]
            seconds = math.fsum(seconds for _, seconds in done)
            scores = mean_scores([scores for scores, _ in done]) if len(done) == FITS else {}
            given, _ = self.study.user_attrs["default"]
            value = self.job.objective.value(scores, given) if scores else math.nan
            state: State = "failed" if math.isnan(value) else "done"
            found.append(replace(trial, state=state, value=value, scores=scores, seconds=seconds))
        return tuple(found)


def mean_scores(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each score over fits."""
    return {key: math.fsum(scores[key] for scores in found) / len(found) for key in found[0]}


def _key(trial: Trial, place: int) -> str:
    return f"{_name(trial.number)} {place}"


def _name(number: int) -> str:
    return f"final of {number}:"
