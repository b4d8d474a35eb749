"""The results of a study as rows that readers compare, beside the figures that the papers print."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

import numpy as np

from syntabula.bench.candidate import Binning
from syntabula.bench.matching import changed_files, results_of, states_of_code
from syntabula.bench.recorded import RECORDED
from syntabula.bench.store import Record
from syntabula.bench.study import Study
from syntabula.bench.tasks import badness, better_in_words


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: a method with a binning on a table at a budget, over its seeds.

    Attributes:
        dataset: Name of the table.
        label: Name of the method's row.
        binning: How columns were binned.
        epsilon: Budget.
        method: Its method.
        options: Options of the method.
        n: Seeds that are done.
        n_wanted: Seeds of the study.
        means: Mean of each score over the seeds that are done, and of what the study's figure draws of `RECORDED`.
        spreads: Standard deviation of each score over these seeds; NaN for one.
        ranks: Rank of the row among all of its table and budget, 1 for the best; equal means share a rank.
        paper: The papers' figure for each score that has one.
        fit_seconds: Mean seconds by the clock of the method alone, without scores; NaN if none is done.
        processor_seconds: Mean processor seconds; NaN if none is done.
        peak_mb: Largest memory; NaN if none is done.
        epsilon_spent: Largest total of the privacy statements; None where there is none.
        kept: What the first seed keeps for pictures; see `kept.KEPT`.
        problems: Why seeds are not done, and scores have no value, each once.
    """

    dataset: str
    label: str
    binning: Binning
    epsilon: float
    method: str
    options: Mapping[str, Any]
    n: int
    n_wanted: int
    means: Mapping[str, float] = field(default_factory=dict)
    spreads: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, float] = field(default_factory=dict)
    paper: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float = math.nan
    processor_seconds: float = math.nan
    peak_mb: float = math.nan
    epsilon_spent: float | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def bins(self) -> str:
        """The name of its bins; "none" if it has none, as a table of known quality."""
        return "none" if self.method in _UNBINNED else self.binning.label


_UNBINNED = ("SELF", "HALF", "HISTOGRAM", "raw")
"""What stands in the place of methods and is not binned, whatever the study's bins."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All rows of a study.

    Attributes:
        study: The study.
        scores: Names of its scores, the main ones first.
        rows: Its rows, by table and budget, the best first; rows that have no result yet are last.
        average_ranks: For each score and budget, the mean rank over tables of every method; only tables on which all of
            them have a result count.
        versions: Versions of the results.
        machines: Machines of the results, in words.
        codes: States of the code that the results are of, each with how many; see `Record.code`.
        changed: Files that have changed, each with the number of cells whose results are of what it held before; these
            are left out.
    """

    study: Study
    scores: tuple[str, ...]
    rows: tuple[Row, ...]
    average_ranks: Mapping[tuple[str, float], Mapping[str, float]]
    versions: tuple[str, ...]
    machines: tuple[str, ...]
    codes: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)

    @property
    def main(self) -> str:
        """The score that rows are ordered by: the first that is drawn; empty if there is none."""
        return _main(self.study, self.scores)

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows of tables and budgets of which some cell was run; all of them, if none was."""
        run = {(row.dataset, row.epsilon) for row in self.rows if row.n or row.problems}
        return tuple(row for row in self.rows if (row.dataset, row.epsilon) in run) or self.rows

    def better(self, score: str) -> str:
        """Return which values of a score are better, in words."""
        return better_in_words(self.study.task, score)


Group = tuple[str, float]


def summarize(study: Study, records: Mapping[str, Record]) -> Summary:
    """Return the table of a study.

    Args:
        study: The study.
        records: Results by the key of their cell, as `run` and `Store.records` return; others are ignored.
    """
    groups: dict[tuple[str, float, str, Binning], list[Record | None]] = {}
    options: dict[tuple[str, float, str, Binning], tuple[str, Mapping[str, Any]]] = {}
    mine: list[Record] = []
    for cell, record in results_of(study, records):
        mine += [] if record is None else [record]
        place = (cell.dataset, cell.epsilon, cell.label, cell.binning)
        groups.setdefault(place, []).append(record)
        options.setdefault(place, (cell.method, cell.options))
    recorded = [name for name in study.figure.scores if name in RECORDED and mine]
    scores = tuple(dict.fromkeys([name for record in mine for name in record.scores] + recorded))
    figures = reported_figures(study)
    rows = [_row(study, place, options[place], found, figures) for place, found in groups.items()]
    ranked = _ranked(study, rows, scores)
    main = _main(study, scores)
    return Summary(
        study=study,
        scores=scores,
        rows=tuple(sorted(ranked, key=lambda row: _place(study, row, main))),
        average_ranks=_average_ranks(study, ranked, scores),
        versions=tuple(sorted({record.version for record in mine})),
        machines=tuple(sorted({_in_words(record) for record in mine})),
        codes=states_of_code({record.cell.key: record for record in mine}),
        changed=changed_files(study, records),
    )


def _row(
    study: Study,
    place: tuple[str, float, str, Binning],
    made: tuple[str, Mapping[str, Any]],
    found: Sequence[Record | None],
    figures: Mapping[tuple[str, str, str, float], float],
) -> Row:
    dataset, epsilon, label, binning = place
    done = [record for record in found if record is not None and record.status == "done"]
    names = dict.fromkeys(name for record in done for name in record.scores)
    values = {name: np.array([record.scores.get(name, math.nan) for record in done]) for name in names}
    for name in RECORDED:
        known = [value for record in done if (value := RECORDED[name](record)) is not None]
        if name in study.figure.scores and known:
            values[name] = np.array(known)
    spent = [s for record in done if (s := record.facts.get("epsilon_spent")) is not None]
    problems = [f"{r.status}: {r.reason}" for r in found if r is not None and r.status != "done"]
    for record in done:
        problems += [f"no {key}: {why}" for key, why in record.facts.get("without_value", {}).items()]
    return Row(
        dataset=dataset,
        label=label,
        binning=binning,
        epsilon=epsilon,
        method=made[0],
        options=made[1],
        n=len(done),
        n_wanted=len(found),
        means={name: float(np.mean(array)) for name, array in values.items()},
        spreads={n: float(np.std(a, ddof=1)) if a.size > 1 else math.nan for n, a in values.items()},
        paper={
            score: value
            for (of, table, method, budget), value in figures.items()
            if (table, method, budget) == (dataset, label, epsilon)
            for score in [of]
        },
        fit_seconds=_mean([float(r.facts["fit_seconds"]) for r in done if "fit_seconds" in r.facts]),
        processor_seconds=_mean([r.processor_seconds for r in done if r.processor_seconds is not None]),
        peak_mb=max([r.peak_mb for r in done if r.peak_mb is not None], default=math.nan),
        epsilon_spent=max((float(s) for s in spent), default=None),
        kept=next((r.facts["kept"] for r in done if "kept" in r.facts), {}),
        problems=tuple(dict.fromkeys(problems)),
    )


def _ranked(study: Study, rows: Sequence[Row], scores: Sequence[str]) -> list[Row]:
    """Return the rows with their ranks among those of the same table and budget, which baselines do not have."""
    baselines = {candidate.label for candidate in study.methods if candidate.is_baseline}
    by_group: dict[Group, list[Row]] = {}
    for row in rows:
        by_group.setdefault((row.dataset, row.epsilon), []).append(row)
    ranked = []
    for group in by_group.values():
        ranks: dict[int, dict[str, float]] = {id(row): {} for row in group}
        for score in scores:
            rated = [
                (badness(study.task, score, row.means[score]), row)
                for row in group
                if _counts(row, score, baselines)
            ]
            for value, row in rated:
                better = sum(other < value for other, _ in rated)
                equal = sum(other == value for other, _ in rated)
                ranks[id(row)][score] = better + (equal + 1) / 2
        ranked += [replace(row, ranks=ranks[id(row)]) for row in group]
    return ranked


def _counts(row: Row, score: str, baselines: set[str]) -> bool:
    return row.label not in baselines and not math.isnan(row.means.get(score, math.nan))


def _average_ranks(
    study: Study, rows: Sequence[Row], scores: Sequence[str]
) -> dict[tuple[str, float], dict[str, float]]:
    names = [c.label for c in study.methods if not c.is_baseline]
    several = len(study.preprocessing) > 1
    found: dict[tuple[str, float], dict[str, float]] = {}
    for score in scores:
        for epsilon in dict.fromkeys(row.epsilon for row in rows):
            by_table: dict[str, dict[str, float]] = {}
            for row in rows:
                if row.epsilon == epsilon and score in row.ranks and row.label in names:
                    name = f"{row.label}, {row.binning.label}" if several else row.label
                    by_table.setdefault(row.dataset, {})[name] = row.ranks[score]
            whole = max((len(ranks) for ranks in by_table.values()), default=0)
            full = [ranks for ranks in by_table.values() if len(ranks) == whole > 1]
            if full:
                found[score, epsilon] = {
                    name: float(np.mean([ranks[name] for ranks in full if name in ranks])) for name in full[0]
                }
    return found


def _main(study: Study, scores: Sequence[str]) -> str:
    return next((name for name in (*study.figure.scores, *scores) if name in scores), "")


def _place(study: Study, row: Row, main: str) -> tuple[int, float, int, float]:
    value = badness(study.task, main, row.means.get(main, math.nan))
    return study.datasets.index(row.dataset), row.epsilon, int(math.isnan(value)), value


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def _in_words(record: Record) -> str:
    machine = record.machine
    parts = [str(machine.get("processor", "")), f"{machine.get('processors', '?')} processors"]
    return ", ".join([*parts, f"{machine.get('memory_gb', '?')} GB", f"Python {machine.get('python', '?')}"])


Figures = Mapping[tuple[str, str, str, float], float]


def reported_figures(study: Study) -> Figures:
    """Return the printed figures of a study by score, table, label and budget; empty if there are none."""
    found: dict[tuple[str, str, str, float], float] = {}
    exact = {c.label for c in study.methods if c.is_baseline and c.method != "BINS"}
    for place in study.reported:
        printed = _papers()[place.paper]["tables"].get(place.table, {})
        for score, theirs in place.scores.items():
            for dataset, title in place.datasets.items():
                by_method = printed.get(theirs, {}).get(title, {})
                for label, method in place.methods.items():
                    for epsilon, value in by_method.get(method, {}).items():
                        budgets = [_budget(epsilon)] if epsilon else study.epsilons
                        for budget in [math.inf] if label in exact else budgets:
                            scale = _SECONDS if theirs == "running_time_min" else 1.0
                            found.setdefault((score, dataset, label, budget), scale * float(value))
    return found


_SECONDS = 60.0
"""Running times are printed in minutes, and shown as `fit seconds`."""


def source_of(paper: str) -> str:
    """Return where a paper's figures are from, and what they are."""
    return str(_papers()[paper]["source"])


def _budget(epsilon: str) -> float:
    return math.inf if epsilon == "inf" else float(epsilon)


@functools.cache
def _papers() -> Mapping[str, Any]:
    text = resources.files("syntabula.bench").joinpath("reported.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found
