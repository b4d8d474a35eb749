"""A cell that tunes a method and scores what that gains (Du and Li, SynMeter, Table 6)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from syntabula.bench import task_tables
from syntabula.bench.candidate import Candidate
from syntabula.bench.cell import Cell
from syntabula.bench.splits import declared, load_split
from syntabula.bench.tasks import TASKS, Outcome
from syntabula.metrics.registry import describe_metric
from syntabula.tuning.objective import Objective
from syntabula.tuning.presets import space_for
from syntabula.tuning.search import tune

_OF_BINNING = ("bins", "discretizer")
_APART = 10_000
"""Between the seeds of two fits, so that those of no two cells of a study are the same."""


def run(cell: Cell) -> Outcome:
    """Search options on a fifth of the learned rows, and score the method with them and without.

    The option `trials` is the number of sets of options that are tried, `finalists` how many of them are compared again,
    and `space` what is tried, as `tune` takes them; `spaces` has another space for some methods, by their keys; with
    `relative` the objective is. Options that the row sets keep their values. Scores are those of the tuned method, means
    of as many fits as `fits` says; beside each is what it gained, in percent of the mean without tuning. The rows that
    the scores compare with take no part in the search, except for those that are learned.
    """
    options: dict[str, Any] = {**TASKS["tuning"].options, **cell.task_options}
    given = replace(cell, task="tables", task_options={})
    found = _best(cell, options)
    binned = {name: value for name, value in found.items() if name in _OF_BINNING}
    others = {name: value for name, value in found.items() if name not in _OF_BINNING}
    tuned = replace(given, options={**cell.options, **others}, binning=replace(cell.binning, **binned))
    before = _scores(given, int(options["fits"]))
    after = before if tuned == given else _scores(tuned, int(options["fits"]))
    named = [name for name in after if name.partition(" [")[0] in cell.scores]
    scores = {name: after[name] for name in named}
    scores |= {f"gain of {name} %": _gain(name, before[name], after[name]) for name in named}
    return Outcome(scores=scores, facts={"options": found, "without tuning": {n: before[n] for n in named}})


def _scores(cell: Cell, fits: int) -> dict[str, float]:
    """Return the means over fits: a gain in percent of one noisy score is too low on average."""
    found = [task_tables.run(replace(cell, seed=cell.seed + n * _APART)).scores for n in range(fits)]
    return {name: math.fsum(scores[name] for scores in found) / fits for name in found[0]}


def _best(cell: Cell, options: Mapping[str, Any]) -> Mapping[str, Any]:
    split = load_split(cell.split, cell.dataset, {}, cell.target)
    settings = task_tables.settings_of(cell, split)
    settings.pop("seed")  # each trial has its own
    method = Candidate(method=cell.method, options=cell.options).synthesizer(**settings)
    space = space_for(method, options["spaces"].get(cell.method, options["space"]))
    found = tune(
        method,
        split.fit,
        schema=declared(split, cell.binning, cell.epsilon),
        target=split.target,
        space={name: values for name, values in space.items() if name not in cell.options},
        trials=int(options["trials"]),
        finalists=int(options["finalists"]),
        objective=Objective(is_relative=bool(options["relative"])),
        seed=cell.seed,
        is_public=True,  # a study is an experiment
    )
    return found.options


def _gain(name: str, before: float, after: float) -> float:
    """Return how much better a score has become, in percent of what it was; NaN if it was 0."""
    if before == 0:
        return math.nan
    sign = 1 if describe_metric(name.partition(" [")[0]).direction == "lower" else -1
    return sign * 100 * (before - after) / abs(before)
