"""What a study asks: its fields, how it is drawn, and where its printed figures are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from syntabula.bench.candidate import Binning, Candidate
from syntabula.bench.fields import check_axis, one_or_several

AXES = (
    "epsilon", "method", "dataset", "discretizer", "bins", "binning", "within", "rows", "steps", "pairs", "synthesizer",
)  # fmt: skip
"""What an axis, a line or a panel of a figure may be; "steps" are those of training, of rows that set them, "pairs" those
that a row measures, and a "synthesizer" is the name of a row up to its first comma."""


ALL_TABLES = "all tables"
"""In place of a table: the mean over those of a study."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """How a study is drawn: the scores as lines.

    Attributes:
        across: What the horizontal axis shows, one of `AXES`.
        lines: What each line is, of the same.
        panels: What each panel is, of the same; empty for one panel for each score.
        scores: The scores to draw and to print; all if there is none. What results record may stand here too, as in
            `recorded.RECORDED`, such as "fit seconds" and "peak MB".

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
        datasets: The paper's name of each of our tables; a stand-in has none. `ALL_TABLES` stands for the mean over all.
    """

    paper: str
    table: str
    scores: Mapping[str, str]
    methods: Mapping[str, str]
    datasets: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class StudyFields:
    """The fields of a study, which are checked when a `Study` is made of them.

    Attributes:
        name: Its name, which its results carry.
        title: What it asks, in one line.
        task: What a cell does: "tables" learns and scores a table; see `tasks.TASKS` for others.
        datasets: Names of tables, as `syntabula.datasets.names()` lists them, or paths of files; "bank@2000" takes 2,000
            random rows, and of a file that has fewer all.
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
