"""A study: which methods are compared on which tables, at which budgets, by which scores."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from syntabula._arguments import megabytes, normalise, positive, refusal, several, words
from syntabula.bench.candidate import Binning, Candidate, binning_of, budgets, candidate_of
from syntabula.bench.cell import Cell, table_and_rows, with_rows
from syntabula.bench.checks import (
    check_dataset,
    check_figure_scores,
    check_rows,
    check_space,
    check_tables,
    known_tables,
    scores_of,
)
from syntabula.bench.fields import DELTA, NAMED, WORDS, check_axis, check_names, one_or_several
from syntabula.bench.tasks import TASKS
from syntabula.errors import ArgumentError, SyntabulaError, SyntabulaWarning

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
_QUICK_ROWS = 1000
_QUICK_CELLS = 24
_QUICK_SECONDS = 60.0

AXES = ("epsilon", "method", "dataset", "discretizer", "bins", "binning", "rows", "steps", "synthesizer")
"""What an axis, a line or a panel of a figure may be; "steps" are those of training, of rows that set them."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """How a study is drawn: the scores as lines.

    Attributes:
        across: What the horizontal axis shows, one of `AXES`.
        lines: What each line is, of the same.
        panels: What each panel is, of the same; empty for one panel for each score.
        scores: The scores to draw; all if there is none.

    Raises:
        ArgumentError: If one of these is unknown (suggests similar names).
    """

    across: str = "epsilon"
    lines: str = "method"
    panels: str = "dataset"
    scores: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("across", "lines"):
            check_axis(name, getattr(self, name), AXES)
        check_axis("panels", self.panels, ("", *AXES))
        object.__setattr__(self, "scores", one_or_several(self.scores))


@dataclass(frozen=True, kw_only=True)
class Reported:
    """Where the printed figures of a study are among those that are packaged.

    Attributes:
        paper: Name of the paper.
        table: Its numbered table, such as "Table 1".
        scores: Our name of each of its scores, with the paper's name.
        methods: The paper's name of each of our labels.
        datasets: The paper's name of each of our tables; a stand-in has none.
    """

    paper: str
    table: str
    scores: Mapping[str, str]
    methods: Mapping[str, str]
    datasets: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Study:
    """Every method on every table, at every budget, with every binning and seed.

    Attributes:
        name: Its name, which its results carry.
        title: What it asks, in one line.
        task: What a cell does: "tables" learns and scores a table; see `tasks.TASKS` for others.
        datasets: Names of tables, as `syntabula.datasets.names()` lists them, or paths of files; "bank@2000" takes 2,000
            random rows.
        methods: Methods with their options.
        epsilons: Budgets; infinity switches privacy off.
        delta: Delta of all budgets.
        preprocessing: How columns are binned.
        binnings: Replaces `preprocessing` for single tables.
        seeds: A number of seeds, or the seeds themselves.
        scores: Keys of metrics, as `syntabula metrics` lists them.
        score_options: Options of some metrics, by key.
        split: Which rows are learned and which are held out: "holdout", or that of a paper; see `splits.SPLITS`.
        against: What scores of fidelity compare with: "held out", "learned", or both; the first is the main one.
        target: Column to predict; by default the label of a named table.
        overall: Name of the mean of all scores of a cell, if it is wanted.
        options: Options of the task.
        seconds: Most processor seconds for a cell; see `process.run_cell`.
        memory_mb: Most memory for a cell.
        figure: How it is drawn.
        reported: Where its printed figures are.
        finding: What a paper says of it, in words.
        note: What readers must know.

    Raises:
        ArgumentError: If something is unknown (suggests similar names) or out of range.
    """

    name: str
    title: str = ""
    task: str = "tables"
    datasets: tuple[str, ...]
    methods: tuple[Candidate, ...]
    epsilons: tuple[float, ...] = (1.0,)
    delta: float = 1e-5
    preprocessing: tuple[Binning, ...] = (Binning(),)
    binnings: Mapping[str, Binning] = field(default_factory=dict, hash=False)
    seeds: tuple[int, ...] = (0,)
    scores: tuple[str, ...] = ("tvd-2", "query-error-3")
    score_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    split: str = "holdout"
    against: tuple[str, ...] = ("held out",)
    target: str | None = None
    overall: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    seconds: float = 600.0
    memory_mb: float = 4000.0
    figure: Figure = Figure()
    reported: tuple[Reported, ...] = ()
    finding: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise refusal("name", "a name of letters, digits and the characters _.+-", self.name)
        normalise(
            self, seconds=positive, memory_mb=megabytes, scores=several("a list of metrics"),
            against=several("a list of `held out` and `learned`"), datasets=several("a list of tables"),
            title=WORDS, overall=WORDS, finding=WORDS, note=WORDS, delta=DELTA, binnings=NAMED, score_options=NAMED,
            options=NAMED, target=words("the name of a column").or_none,
        )  # fmt: skip
        change = object.__setattr__
        change(self, "methods", tuple(candidate_of(entry) for entry in _listed(self.methods)))
        change(self, "preprocessing", tuple(binning_of(entry) for entry in _listed(self.preprocessing)))
        change(self, "binnings", {name: binning_of(entry) for name, entry in self.binnings.items()})
        change(self, "epsilons", budgets(self.epsilons))
        change(self, "seeds", _seeds(self.seeds))
        check_names("task", [self.task], TASKS)
        for name in ("datasets", "methods", "epsilons", "preprocessing", "seeds", "scores", "against"):
            if not getattr(self, name):
                raise ArgumentError(f"{name} of the study {self.name!r} must name at least one")
        labels = [candidate.label for candidate in self.methods]
        if repeated := {label for label in labels if labels.count(label) > 1}:
            raise ArgumentError(
                f"the study {self.name!r} has the method {min(repeated)!r} twice; give each row its own `label`"
            )
        for dataset in self.datasets:
            check_dataset(dataset)
        for dataset in self.binnings:
            check_names("table in `binnings`", [dataset], known_tables(self.datasets))
        TASKS[self.task].check(self)
        check_figure_scores(self)
        check_rows(self)

    def check(self) -> Study:
        """Import every method, and refuse unknown ones and unknown columns, with similar names; return the study.

        Raises:
            ArgumentError: If a method, one of its options or a column does not exist.
            BudgetError: If a method does not take one of the budgets, as it has no private form.
            MissingExtraError: If the library of one is missing.
        """
        with _any_budget():
            for candidate in () if TASKS[self.task].methods else self.methods:
                for epsilon in candidate.epsilons or self.epsilons:
                    candidate.with_settings(self.datasets[0], epsilon).check(epsilon)
            check_space(self)
        check_tables(self)
        return self

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Its cells, each with what it needs: seeds last, so that every row has a first figure early."""
        return tuple(dict.fromkeys(self._cells()))

    def _cells(self) -> Iterator[Cell]:
        budgeted = dict.fromkeys([*self.epsilons, *(e for c in self.methods for e in c.epsilons)])
        every = itertools.product(self.seeds, self.datasets, budgeted, self.methods, self.preprocessing)
        for seed, dataset, epsilon, candidate, binning in every:
            if epsilon not in (candidate.epsilons or self.epsilons):
                continue
            chosen = candidate.with_settings(dataset, epsilon)
            binning = self.binnings.get(table_and_rows(dataset)[0], binning)
            if chosen.is_baseline and chosen.method != "BINS":
                epsilon, binning = math.inf, Binning()
            yield Cell(
                task=self.task,
                dataset=dataset,
                split=self.split,
                method=chosen.method,
                label=chosen.label,
                options=chosen.options,
                binning=chosen.binning or binning,
                epsilon=epsilon,
                delta=self.delta,
                seed=seed,
                scores=self.scores,
                score_options=self.score_options,
                against=self.against,
                target=self.target,
                overall=self.overall,
                task_options=self.options,
            )

    def quick(self) -> Study:
        """Return a small study of the same kind: at most 1,000 rows of one table, one seed, few cells, short fits.

        Its figures show that the study works; they are too few to compare methods.
        """
        task = TASKS[self.task]
        small = task.quick(self)
        middle = sorted(small.epsilons, key=lambda epsilon: abs(math.log(min(epsilon, 1e6))))
        # A row with budgets of its own would otherwise bring in a second one.
        shared = [c for c in small.methods if not c.epsilons or middle[0] in c.epsilons] or [*small.methods]
        dataset, rows = with_rows(_first_here(small.datasets), _QUICK_ROWS), tuple(shared[:_QUICK_CELLS])
        if not task.methods:
            with _any_budget():
                rows = tuple(candidate.quicker(dataset, middle[0], task.quick_steps) for candidate in rows)
        scores = scores_of(small, dataset) or small.scores
        small = replace(
            small,
            methods=rows,
            datasets=(dataset,),
            scores=scores,
            score_options={name: given for name, given in small.score_options.items() if name in scores},
            epsilons=tuple(middle[:1]),
            seeds=small.seeds[:1],
            seconds=min(small.seconds, _QUICK_SECONDS),
        )
        few = max(1, _QUICK_CELLS // len(small.methods))
        # Evenly from all of them, so that each discretizer is among them.
        every = small.preprocessing[:: max(1, -(-len(small.preprocessing) // few))]
        return replace(small, preprocessing=every[:few])


@contextmanager
def _any_budget() -> Iterator[None]:
    """Make methods without a warning that a budget is weak, which is what a study is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntabulaWarning)
        yield


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _seeds(value: object) -> tuple[int, ...]:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return tuple(range(value))
    if isinstance(value, list | tuple) and all(type(s) is int and s >= 0 for s in value):
        return tuple(value)
    raise refusal("seeds", "a number of seeds of at least 1, or a list of seeds", value)


def _first_here(datasets: Sequence[str]) -> str:
    """Return the first table that is here, or the first if none is."""
    from syntabula.bench.table_source import check_table

    for name in datasets:
        with suppress(SyntabulaError, OSError):
            check_table(name)
            return name
    return datasets[0]
