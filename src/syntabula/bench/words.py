"""Studies and their results in plain text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from syntabula._figures import short, with_spread
from syntabula.bench.cell import n_cells
from syntabula.bench.checks import unscored
from syntabula.bench.collection import Listed, NotRun
from syntabula.bench.comparison import Difference
from syntabula.bench.runner import Progress, Work
from syntabula.bench.study import Study
from syntabula.bench.study_fields import ALL_TABLES
from syntabula.bench.summary import Row, Summary, reported_figures
from syntabula.bench.timing import Timing


def listed(studies: Sequence[Listed]) -> str:
    """Return one line for each study, and for what is not run why."""
    width = max((len(study.name) for study in studies), default=0)
    lines = []
    for study in studies:
        if isinstance(study, NotRun):
            lines.append(f"  {study.name:<{width}}  {study.title}. Not run: {study.why}")
        else:
            tables = ", ".join(study.datasets[:3]) + (", ..." if len(study.datasets) > 3 else "")
            lines.append(f"  {study.name:<{width}}  {study.title}. {n_cells(len(study.cells))}; {tables}")
    return "\n".join(lines)


def planned(work: Work, workers: int) -> str:
    """Return what a run would do, and how long it may take."""
    lines = [
        f"{n_cells(len(work.study.cells))}, of which {work.n_known:,} {'is' if work.n_known == 1 else 'are'} known and "
        f"{len(work.cells):,} would run"
    ]
    for name, reason in work.missing.items():
        lines.append(f"{name!r} is left out: {reason}")
    lines += without_target(work.study)
    lines += changed(work.changed)
    if work.n_of_other_code:
        lines.append(
            f"{n_cells(work.n_of_other_code, 'known ', (' is', ' are'))} of another or an unknown state of this "
            "library's code, or of a plug-in's, and not run again; name another --store to run all with the code as it is"
        )
    if work.cells:
        at_once = min(workers, len(work.cells))
        limit = duration(len(work.cells) * work.study.seconds / at_once)
        lines.append(
            f"about {duration(work.timing.seconds / at_once)} with {workers} at a time, {limit} at most"
        )
        lines.append(f"known from: {timed(work.timing)}")
    return "\n".join(lines)


def timed(timing: Timing) -> str:
    """Return how many cells an estimate has timed in each way."""
    told = {
        "cells like them in this store": timing.n_run,
        "measurements of their methods and scores on another machine": timing.n_measured,
        "the number of their fits, and measurements of one": timing.n_scaled,
        "a guess": timing.n_guessed,
    }
    return "; ".join(f"{way} ({n:,})" for way, n in told.items() if n)


def step(progress: Progress) -> str:
    """Return one line about a finished cell."""
    cell, record = progress.record.cell, progress.record
    budget = budget_of(cell.epsilon)
    place = f"{cell.dataset}, {cell.label}, epsilon {budget}, {cell.binning.label}, seed {cell.seed}"
    ended = f"{record.seconds:.1f} s" if record.status == "done" else f"{record.status}: {record.reason}"
    left = "" if progress.seconds_left is None else f", {duration(progress.seconds_left)} left"
    return f"{progress.done}/{progress.total}{left}  {place}: {ended}"


def duration(seconds: float) -> str:
    """Return a length of time in two units at most."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours < 100 else f"{hours:,} h"


def budget_of(epsilon: float) -> str:
    """Return a budget as it is written."""
    return "inf" if math.isinf(epsilon) else f"{epsilon:g}"


def table(summary: Summary) -> str:
    """Return the rows of a study: mean ± standard deviation, rank, and the paper's figure in brackets."""
    study, scores = summary.study, shown_scores(summary)
    several = len({row.bins for row in summary.shown} - {"none"}) > 1
    heads = ["table", "epsilon", "method", *(["bins"] if several else []), "seeds", *scores, "rank"]
    costs = {name: head for name, head in _COSTS.items() if name not in scores}
    lines = [[*heads, *costs.values()]]
    for row in summary.shown:
        cells = [row.dataset, budget_of(row.epsilon), row.label, *([row.bins] if several else [])]
        cells.append(f"{row.n} of {row.n_wanted}" if row.n < row.n_wanted else f"{row.n}")
        cells += [figure(row, score) for score in scores]
        cells += [number(row.ranks.get(summary.main, math.nan)), *(cost(row, name) for name in costs)]
        lines.append(cells)
    parts = [f"{study.name}: {study.title}".rstrip(": "), aligned(lines)]
    parts += problems(summary)
    parts += [*not_run(summary), *without_target(study), *changed(summary.changed), *mixed_code(summary)]
    if means := over_tables(summary):
        parts.append("Means over tables:\n\n" + aligned(means))
    parts += [line for line in (ranks(summary), remarks(summary)) if line]
    return "\n\n".join(parts)


_COSTS = {"fit seconds": "fit s", "processor seconds": "processor s", "peak MB": "MB"}
"""What is printed of every row, if it is not among the scores, with its head."""


def cost(row: Row, name: str) -> str:
    """Return what a row took; the paper's figure of its seconds in brackets."""
    if name == "fit seconds":
        return figure(row, name)
    return number(row.processor_seconds if name == "processor seconds" else row.peak_mb)


def over_tables(summary: Summary) -> list[list[str]]:
    """Return the means over tables as lines of cells, with a head, where the paper prints these; else nothing."""
    study = summary.study
    if not any(ALL_TABLES in place.datasets for place in study.reported):
        return []
    printed = {place: value for place, value in reported_figures(study).items() if place[1] == ALL_TABLES}
    scores = [*dict.fromkeys([*shown_scores(summary), *(score for score, *_ in printed)])]
    lines = [["epsilon", "method", "tables", *scores]]
    groups: dict[tuple[float, str], list[Row]] = {}
    for row in summary.rows:
        groups.setdefault((row.epsilon, row.label), []).append(row)
    for (epsilon, label), rows in sorted(groups.items()):
        cells = []
        for score in scores:
            known = [value for row in rows if not math.isnan(value := row.means.get(score, math.nan))]
            theirs = printed.get((score, ALL_TABLES, label, epsilon))
            ours = number(sum(known) / len(known)) if known else ""
            cells.append(ours if theirs is None else f"{ours or '-'} ({number(theirs)})")
        lines.append([budget_of(epsilon), label, f"{sum(row.n > 0 for row in rows)} of {len(rows)}", *cells])
    return lines


def shown_scores(summary: Summary) -> list[str]:
    """Return the scores of the printed table: those that its figure draws, or all that it names without their parts."""
    study = summary.study
    if study.figure.scores:
        return [score for score in study.figure.scores if score in summary.scores]
    named = (*study.scores, study.overall)
    # What tuning gains in a score is shown beside it.
    bases = {score: score.removeprefix("gain of ").removesuffix(" %") for score in summary.scores}
    return [score for score, base in bases.items() if base in named or base.partition(" [")[0] in named]


def without_target(study: Study) -> list[str]:
    """Return a line for each table that lacks scores, as it has no column to predict."""
    return [
        f"{table!r} has no column to predict, so it has no {' and no '.join(scores)}; name one in `target`"
        for table, scores in unscored(study).items()
    ]


def changed(files: Mapping[str, int]) -> list[str]:
    """Return a line for each file that has changed since results of it were stored."""
    return [
        f"{path!r} has changed since {n:,} of its cells were run; these results are in the store, but do not count"
        for path, n in files.items()
    ]


def not_run(summary: Summary) -> list[str]:
    """Return a line that says how many rows are not shown, as nothing of their table and budget was run; else none."""
    n = len(summary.rows) - len(summary.shown)
    return (
        [f"{n:,} of {len(summary.rows):,} rows are not shown: nothing of their tables and budgets was run"]
        if n
        else []
    )


def mixed_code(summary: Summary) -> list[str]:
    """Return a line if the results are of several states of this library's code."""
    if len(summary.codes) < 2:
        return []
    most_first = sorted(summary.codes.items(), key=lambda item: -item[1])
    told = ", ".join(f"{n:,} of {code or 'an unknown one'}" for code, n in most_first)
    return [
        f"The cells are of {len(summary.codes)} states of this library's code, or of a plug-in's, so rows may not be "
        f"comparable: {told}"
    ]


_MOST_NAMED = 3


def problems(summary: Summary) -> list[str]:
    """Return a line for each reason why cells are not done, with the rows that have it: some of them, if many."""
    several = len({row.bins for row in summary.shown} - {"none"}) > 1
    found: dict[str, list[str]] = {}
    for row in summary.rows:
        for problem in row.problems:
            method = f"{row.label}, {row.bins}" if several else row.label
            place = f"{method} on {row.dataset} at epsilon {budget_of(row.epsilon)}"
            found.setdefault(problem, []).append(place)
    lines = []
    for problem, places in found.items():
        named, more = "; ".join(places[:_MOST_NAMED]), len(places) - _MOST_NAMED
        named += f"; and {more} more" if more > 0 else ""
        lines.append(f"{len(places)} {'row' if len(places) == 1 else 'rows'} ({named}): {problem}")
    return lines


def ranks(summary: Summary) -> str:
    """Return the average ranks over tables, if there are several; the best by the first score first."""
    scores = [score for score in shown_scores(summary) if any(s == score for s, _ in summary.average_ranks)]
    if len(summary.study.datasets) < 2 or not scores:
        return ""
    lines = [["epsilon", "method", *scores]]
    for epsilon in dict.fromkeys(epsilon for _, epsilon in summary.average_ranks):
        found = [summary.average_ranks.get((score, epsilon), {}) for score in scores]
        labels = dict.fromkeys(label for of_score in found for label in of_score)
        for label in sorted(labels, key=lambda label: [of_score.get(label, math.inf) for of_score in found]):
            shown = [number(of_score.get(label, math.nan)) for of_score in found]
            lines.append([budget_of(epsilon), label, *shown])
    return "Average ranks over tables:\n\n" + aligned(lines)


def remarks(summary: Summary) -> str:
    """Return what the paper says of the study, and what readers must know."""
    study = summary.study
    lines = [f"The paper: {study.finding}"] if study.finding else []
    if any(row.paper for row in summary.rows) or over_tables(summary):
        lines.append("In brackets: the paper's figure.")
    return "\n".join([*lines, *([f"Note: {study.note}"] if study.note else [])])


def figure(row: Row, score: str) -> str:
    """Return a score of a row: mean, spread, and the paper's figure in brackets."""
    mean = row.fit_seconds if score == "fit seconds" else row.means.get(score, math.nan)
    shown = "" if math.isnan(mean) else with_spread(mean, row.spreads.get(score, math.nan))
    paper = row.paper.get(score)
    return shown if paper is None else f"{shown or '-'} ({number(paper)})"


def number(value: float) -> str:
    """Return a number in three digits or so; empty if there is none."""
    return "" if math.isnan(value) else short(value)


def compared(differences: Sequence[Difference]) -> str:
    """Return two stores side by side, and how many rows changed."""
    lines = [["table", "epsilon", "method", "bins", "score", "first", "second", "change", ""]]
    for item in differences:
        change = (item.second - item.first) / item.first if item.first else math.nan
        shown = "" if math.isnan(change) else f"{change:+.1%}"
        place = [item.dataset, budget_of(item.epsilon), item.label, item.binning, item.score]
        lines.append([*place, number(item.first), number(item.second), shown, item.verdict])
    counts = {word: sum(d.verdict == word for d in differences) for word in ("better", "worse", "same")}
    told = ", ".join(f"{n} {word}" for word, n in counts.items())
    return f"{aligned(lines)}\n\nOf the rows with several seeds, the second is: {told}"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return cells as columns of text."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )
