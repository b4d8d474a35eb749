"""What the cells of a study can do; each task is imported when a cell runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from syntabula._arguments import Rule, even
from syntabula.bench.fields import NAMED, OPTIONS, check_names
from syntabula.errors import ArgumentError

if TYPE_CHECKING:
    from syntabula.bench.cell import Cell
    from syntabula.bench.study_fields import StudyFields
    from syntabula.metrics.metric import Metric
    from syntabula.metrics.score import Direction

_Study = TypeVar("_Study", bound="StudyFields")

ROLES = ("held out", "learned")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a cell found.

    Attributes:
        scores: Its numbers by name; NaN where a score cannot be computed.
        facts: Further facts, such as the total of the privacy statement.
    """

    scores: Mapping[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One kind of cell.

    Attributes:
        home: Module with a function `run` from a `Cell` to its `Outcome`.
        summary: What it does, in one line.
        options: Options of the task, with their defaults.
        rules: What its options may be, where that differs from `checks.OPTIONS`.
        quick_options: Options of a quick study.
        quick_steps: Most steps of training in a quick study; fewer where a cell has many fits.
        scores: Direction of each of its scores; empty if they are metrics.
        methods: What stands in the place of methods; empty if methods do.
        others: What may stand beside methods, of tables of known quality and "peer" for code of others.
        pictures: What its cells can keep for pictures.
    """

    home: str
    summary: str
    options: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    quick_options: Mapping[str, Any] = field(default_factory=dict)
    quick_steps: int = 200
    scores: Mapping[str, Direction] = field(default_factory=dict)
    methods: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()

    def check(self, study: StudyFields) -> None:
        """Refuse what the task does not know, with similar names."""
        from syntabula.bench.levels import KINDS
        from syntabula.bench.splits import SPLITS

        check_names("split", [study.split], SPLITS)
        check_names("role of real rows in `against`", study.against, ROLES)
        check_names("option of this task", study.options, self.options)
        for name, value in study.options.items():
            {**OPTIONS, **self.rules}[name](f"the option {name}", value)
        self._check_methods(study)
        if "keep" in study.options:
            check_names("picture in `keep`", study.options["keep"], self.pictures)
        if "levels" in study.options:
            check_names("kind of levels", study.options["levels"], KINDS)
        if self.scores:
            check_names("score of this task", study.scores, self.scores)
            check_names("score of this task that has options", study.score_options, ())
        else:
            _check_metrics(study)

    def _check_methods(self, study: StudyFields) -> None:
        for candidate in study.methods:
            if self.methods:
                check_names("method of this task", [candidate.method], self.methods)
                check_names(f"option of {candidate.method!r}", candidate.options, ())
            elif candidate.is_baseline or candidate.peer is not None:
                kind = "peer" if candidate.peer is not None else candidate.method
                if kind not in self.others:
                    raise ArgumentError(
                        f"the task {study.task!r} takes methods of this library, not {candidate.method!r}"
                    )
        if self.methods and any(binning.bins in ("auto", "pairs") for binning in study.preprocessing):
            raise ArgumentError("this task needs a number of bins in `preprocessing`, or the name of a rule")

    def quick(self, study: _Study) -> _Study:
        """Return the study with small options, and cheaper scores of the same names."""
        cheaper = {name: _CHEAPER[name] for name in study.scores if name in _CHEAPER}
        scores = {**study.score_options, **cheaper} if not self.scores else {}
        # What a study says in a word, such as a target, holds for few rows too.
        said = {name for name, value in study.options.items() if isinstance(value, str)}
        smaller = {name: value for name, value in self.quick_options.items() if name not in said}
        return replace(study, options={**study.options, **smaller}, score_options=scores)

    def run(self, cell: Cell) -> Outcome:
        """Do what a cell says; raises what its parts raise."""
        run: Callable[[Cell], Outcome] = import_module(self.home).run
        return run(cell)


_FEW = ("linear", "tree")
_CHEAPER: Mapping[str, Mapping[str, Any]] = {
    "wasserstein": {"max_rows": 200, "max_pairs": 2},
    "affinity": {"evaluators": _FEW},
    "affinity-tuned": {"evaluators": _FEW, "n_trials": 2},
    "efficacy": {"evaluators": ("xgboost", "forest")},
}
"""Options of scores in quick studies, whose names stay the same."""


def direction_of(task: str, score: str) -> Direction:
    """Return whether lower or higher is better for a score of a task; parts of a score have its direction."""
    from syntabula.bench.recorded import RECORDED
    from syntabula.metrics.registry import describe_metric

    if score in RECORDED:
        return "lower"
    base = score.partition(" ")[0]
    if scores := TASKS[task].scores:
        return scores.get(base, "higher")
    try:
        return describe_metric(base).direction
    except ArgumentError:
        return "higher"  # the mean of similarities


_AT_HALF = ("discriminator-similarity auc", "dcr nearer", "own neighbours")
"""What is best at one half: who tells rows apart, or asks where the nearest record is, can only guess."""


def badness(task: str, score: str, value: float) -> float:
    """Return a number that is lower the better the value of a score is."""
    name = score.partition(" [")[0]
    if name in _AT_HALF:
        return abs(value - 0.5)
    return value if direction_of(task, name) == "lower" else -value


def better_in_words(task: str, score: str) -> str:
    """Return which values of a score are better, such as "lower is better"."""
    name = score.partition(" [")[0]
    return "nearer to 0.5 is better" if name in _AT_HALF else f"{direction_of(task, name)} is better"


def metric_of(score: str, options: Mapping[str, Any]) -> Metric:
    """Return a metric with options; raises ArgumentError if there is none, or it does not have one of them."""
    from syntabula.metrics.registry import describe_metric

    made: Any = describe_metric(score).make()
    NAMED(f"the options of the score {score!r}", options)
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    try:
        chosen: Metric = replace(made, **given)
    except TypeError:
        raise ArgumentError(f"the score {score!r} has no option {' or '.join(map(repr, options))}") from None
    return chosen


def _check_metrics(study: StudyFields) -> None:
    from syntabula.metrics.registry import describe_metric

    for score in study.scores:
        describe_metric(score)
    check_names("score in `score_options`", study.score_options, study.scores)
    for score, options in study.score_options.items():
        metric_of(score, options)


_SIMILARITIES = ("percentile-similarity", "discriminator-similarity", "query-similarity")

TASKS: Mapping[str, Task] = {
    "tables": Task(
        home="syntabula.bench.task_tables",
        summary="learn a table, draw a synthetic one and score it",
        options={"holdout": 0.2, "keep": (), "levels": ("fixed",), "accounting": "gdp"},
        others=("SELF", "HALF", "HISTOGRAM", "BINS", "peer"),
        pictures=("marginals", "plane", "associations", "rounds"),
    ),
    "tuning": Task(
        home="syntabula.bench.task_tuning",
        summary="search options of a method, and score it with them and without",
        options={
            "trials": 50,
            "finalists": 3,
            "fits": 3,
            "relative": False,
            "space": "synmeter",
            "spaces": {},
        },
        quick_options={"trials": 2, "finalists": 0, "fits": 1},
    ),
    "disclosure": Task(
        home="syntabula.bench.task_disclosure",
        summary="membership disclosure by shadow models",
        options={"shadows": 20, "draws": 10, "records": None},
        quick_options={"shadows": 4, "draws": 1},
        quick_steps=50,
        scores={"membership-disclosure": "lower", "mean-disclosure": "lower"},
        others=("SELF", "HALF", "HISTOGRAM"),
    ),
    "risks": Task(
        home="syntabula.bench.task_risks",
        summary="distance to closest records, an attack on one record, and membership disclosure",
        options={"shadows": 20, "draws": 10, "records": None},
        rules={"shadows": even(8)},
        quick_options={"shadows": 8, "draws": 1},
        quick_steps=20,
        scores={
            "dcr": "higher",
            "membership-disclosure": "lower",
            "attack-accuracy": "lower",
            "attack-tpr": "lower",
        },
        others=("SELF", "HALF", "HISTOGRAM"),
    ),
    "membership": Task(
        home="syntabula.bench.task_membership",
        summary="attack one record by shadow models",
        options={"shadows": 200, "target": "outlier", "bins_epsilon": 0.0, "without": ()},
        rules={"shadows": even(8)},
        quick_options={"shadows": 8, "target": "extreme"},  # few rows may not have the numbered one
        scores={"range": "lower", "groundhog": "lower", "querybased": "lower"},
    ),
    "columns": Task(
        home="syntabula.bench.task_columns",
        summary="bin one numeric column, and measure a noisy histogram of it",
        options={"keep": ()},
        scores={**dict.fromkeys(_SIMILARITIES, "higher"), "record-similarity": "higher"},
        methods=("bins", "histogram"),
        pictures=("bins",),
    ),
    "points": Task(
        home="syntabula.bench.task_points",
        summary="bin points of the plane, and tell their classes from the bins",
        options={"keep": ()},
        scores={"accuracy": "higher"},
        methods=("raw", "bins"),
        pictures=("regions",),
    ),
}
"""Tasks by name."""
