"""The figures of a study: scores as lines over budgets, bins or tables, and average ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from syntabula.bench.cell import table_and_rows
from syntabula.bench.summary import Row, Summary
from syntabula.bench.words import budget_of, number
from syntabula.report.groups import shown
from syntabula.report.svg import LINE, TEXT, drawn

_WIDTH, _HEIGHT, _LEGEND = 330, 210, 15
COLOURS = (
    "#3b7dd8", "#d9822b", "#2f9e6e", "#c8456b", "#8a63d2", "#1f9fb5", "#a5852a", "#7d8590", "#d05ea8", "#5f8f2f",
)  # fmt: skip
"""Readable on light and dark pages; markers tell lines apart for those who cannot see colours."""
MARKERS = "os^Dv<>pX*"
_DASHES = ("--", ":", "-.")
_MOST_PANELS, _MOST_LINES, _MOST_TICKS = 12, 14, 9
_MOST_LETTERS = 22
"""Of a name in a legend with two columns; longer ones would be cut off at the edge."""

Place = Callable[[Row], Any]


def study_figures(summary: Summary) -> list[tuple[str, str]]:
    """Return the pictures of a study as titles and `svg` elements.

    There is one for each score and panel, with a line for each method (or what the study's figure says). A hollow
    marker of the same colour is the paper's figure; tables of known quality are level lines.
    """
    study = summary.study
    wanted = study.figure
    axis, lines, panels = (
        _PLACES.get(name, _nothing) for name in (wanted.across, wanted.lines, wanted.panels)
    )
    exact = {c.label for c in study.methods if c.is_baseline} if wanted.across == "epsilon" else set()
    pictures = []
    for score in [name for name in wanted.scores or summary.scores if name in summary.scores]:
        rows = [row for row in summary.rows if not math.isnan(row.means.get(score, math.nan))]
        for panel in list(dict.fromkeys(map(panels, rows)))[:_MOST_PANELS]:
            mine = [row for row in rows if panels(row) == panel]
            title = score if panel is None else f"{score}, {_words(panel)}"
            # What has no budget is level over all of them.
            level = {row.label: row.means[score] for row in mine if row.label in exact}
            mine = [row for row in mine if row.label not in level]
            pictures.append((title, _picture(mine, score, axis, lines, wanted.across, title, level)))
    return pictures


def _picture(
    rows: Sequence[Row],
    score: str,
    axis: Place,
    lines: Place,
    across: str,
    title: str,
    level: Mapping[str, float],
) -> str:
    ticks = sorted(dict.fromkeys(map(axis, rows)), key=_order)
    names = list(dict.fromkeys(map(lines, rows)))[:_MOST_LINES]
    ncols = 2 if max(map(len, map(_words, [*names, *level])), default=0) <= _MOST_LETTERS else 1
    below = _LEGEND * -(-(len(names) + len(level)) // ncols) + 44
    height = _HEIGHT + below - 44

    def draw(figure: Any) -> None:
        axes = figure.add_axes(
            (44 / _WIDTH, below / height, (_WIDTH - 58) / _WIDTH, (height - below - 10) / height)
        )
        for place, name in enumerate(names):
            colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
            mine = [[row for row in rows if lines(row) == name and axis(row) == tick] for tick in ticks]
            ours = [_mean([row.means[score] for row in found]) for found in mine]
            axes.plot(
                range(len(ticks)),
                ours,
                f"{marker}-",
                color=colour,
                markersize=4,
                linewidth=1.4,
                label=_words(name),
            )
            printed = [_mean([row.paper[score] for row in found if score in row.paper]) for found in mine]
            axes.plot(
                range(len(ticks)),
                printed,
                marker,
                color=colour,
                markersize=6,
                fillstyle="none",
                linestyle="none",
            )
        for place, (name, value) in enumerate(level.items()):
            axes.axhline(
                value, color=TEXT, linewidth=1.0, linestyle=_DASHES[place % len(_DASHES)], label=name
            )
        chosen = range(0, len(ticks), max(1, -(-len(ticks) // _MOST_TICKS)))
        labels = [shown(_words(ticks[place]), 14) for place in chosen]
        slanted = max(map(len, labels), default=0) > 5
        axes.set_xticks([*chosen], labels, rotation=30 if slanted else 0, ha="right" if slanted else "center")
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)
        figure.legend(loc="lower center", ncols=ncols, frameon=False, fontsize=9, labelcolor=TEXT)

    return drawn(_WIDTH, height, draw, f"{title} over {across}")


def rank_figures(summary: Summary) -> list[tuple[str, str]]:
    """Return a picture of the average ranks for each score and budget, if there are several tables."""
    if len(summary.study.datasets) < 2:
        return []
    return [
        (f"{score} at epsilon {budget_of(epsilon)}", _bars(found, f"Average rank by {score}"))
        for (score, epsilon), found in summary.average_ranks.items()
    ]


def _bars(found: Mapping[str, float], description: str) -> str:
    names = sorted(found, key=lambda name: found[name])
    height = 30 + 20 * len(names)
    left = 14 + 6 * max(len(shown(name, 24)) for name in names)

    def draw(figure: Any) -> None:
        axes = figure.add_axes(
            (left / _WIDTH, 22 / height, (_WIDTH - left - 40) / _WIDTH, (height - 28) / height)
        )
        axes.barh(range(len(names)), [found[name] for name in names], height=0.6, color=COLOURS[0])
        for place, name in enumerate(names):
            axes.text(found[name], place, f" {number(found[name])}", va="center", color=TEXT)
        axes.set_yticks(range(len(names)), [shown(name, 24) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)

    return drawn(_WIDTH, height, draw, description)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def _nothing(row: Row) -> None:
    del row


_PLACES: Mapping[str, Place] = {
    "epsilon": lambda row: row.epsilon,
    "method": lambda row: row.label,
    "dataset": lambda row: row.dataset,
    "discretizer": lambda row: "none" if row.bins == "none" else row.binning.discretizer,
    "bins": lambda row: row.binning.bins,
    "binning": lambda row: row.bins,
    "rows": lambda row: table_and_rows(row.dataset)[1] or 0,
    "within": lambda row: row.binning.within,
    "steps": lambda row: int(row.options.get("steps", row.options.get("iterations", 0))),
    "pairs": lambda row: int(row.options.get("pairs", 0)),
    "synthesizer": lambda row: row.label.partition(", ")[0],
}
"""What an axis, a line or a panel may be."""


def _order(value: Any) -> tuple[int, float, str]:
    return (1, 0.0, value) if isinstance(value, str) else (0, float(value), "")


def _words(value: Any) -> str:
    return budget_of(value) if isinstance(value, float) else str(value)
