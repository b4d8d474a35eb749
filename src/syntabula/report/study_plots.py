"""The figures of a study: scores as lines over budgets, bins or tables, and average ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from syntabula.bench.summary import Row, Summary
from syntabula.bench.table_names import table_and_rows
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
_RIGHT, _LETTER, _LEAST_LEFT = 14, 6.5, 44
"""Room right of the axes, of a letter of a tick, and least room left of them, in units of the figure."""
_ROW, _AROUND = 20, 38
"""Height of a row of a picture with a row for each name, and of what is above and below the rows."""
_MOST_LETTERS_LEFT = 24
_MOST_LETTERS = 22
"""Of a name in a legend with two columns; longer ones would be cut off at the edge."""

Place = Callable[[Row], Any]


def study_figures(summary: Summary) -> list[tuple[str, str]]:
    """Return the pictures of a study as titles and `svg` elements.

    There is one for each score and panel, with a line for each method (or what the study's figure says), which has the
    same colour and marker in all of them. A hollow marker of the same colour is the paper's figure; tables of known
    quality are level lines. Where the axis has a single value, each line is a row with a point of its own.
    """
    study = summary.study
    wanted = study.figure
    axis, lines, panels = (
        _PLACES.get(name, _nothing) for name in (wanted.across, wanted.lines, wanted.panels)
    )
    labels = [candidate.label for candidate in study.methods]
    exact = {c.label for c in study.methods if c.is_baseline} if wanted.across == "epsilon" else set()
    # Rows are in the order of their ranks, which differs from table to table; lines are in the study's.
    named = {
        lines(row): row.label in exact for row in sorted(summary.rows, key=lambda r: labels.index(r.label))
    }
    places = {name: place for place, name in enumerate(sorted(named, key=lambda name: named[name]))}
    pictures = []
    for score in [name for name in wanted.scores or summary.scores if name in summary.scores]:
        rows = [row for row in summary.rows if not math.isnan(row.means.get(score, math.nan))]
        for panel in list(dict.fromkeys(map(panels, rows)))[:_MOST_PANELS]:
            mine = [row for row in rows if panels(row) == panel]
            title = score if panel is None else f"{score}, {_words(panel)}"
            # What has no budget is level over all of them.
            level = {row.label: row.means[score] for row in mine if row.label in exact}
            mine = [row for row in mine if row.label not in level]
            if len(set(map(axis, mine))) > 1:
                drawing = _picture(mine, score, axis, lines, places, wanted.across, title, level)
            else:
                drawing = _points(mine, score, lines, places, title, level)
            pictures.append((title, drawing))
    return pictures


def legend_below(names: Sequence[str]) -> tuple[int, int]:
    """Return the columns of a legend under a picture, and the height that it and the ticks and their label take."""
    ncols = 2 if max(map(len, names), default=0) <= _MOST_LETTERS else 1
    return ncols, _LEGEND * -(-len(names) // ncols) + 44


def _picture(
    rows: Sequence[Row],
    score: str,
    axis: Place,
    lines: Place,
    places: Mapping[Any, int],
    across: str,
    title: str,
    level: Mapping[str, float],
) -> str:
    ticks = sorted(dict.fromkeys(map(axis, rows)), key=_order)
    found = sorted(set(map(lines, rows)), key=lambda name: places[name])
    names, n_left_out = found[:_MOST_LINES], max(0, len(found) - _MOST_LINES)
    more = [f"{n_left_out} more in the table"] * bool(n_left_out)
    ncols, below = legend_below([*map(_words, names), *level, *more])
    height = _HEIGHT + below - 44

    def draw(figure: Any) -> None:
        room = (below / height, (height - below - 10) / height)
        axes = figure.add_axes((0, room[0], 1, room[1]))
        for name in names:
            again, place = divmod(places[name], len(COLOURS))
            colour, marker = COLOURS[place], MARKERS[place]
            mine = [[row for row in rows if lines(row) == name and axis(row) == tick] for tick in ticks]
            ours = [_mean([row.means[score] for row in found]) for found in mine]
            axes.plot(
                range(len(ticks)),
                ours,
                f"{marker}{['-', *_DASHES][again % 4]}",
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
        for words in more:
            axes.plot([], [], linestyle="none", label=words)
        chosen = range(0, len(ticks), max(1, -(-len(ticks) // _MOST_TICKS)))
        labels = [shown(_words(ticks[place]), 14) for place in chosen]
        slanted = max(map(len, labels), default=0) > 5
        axes.set_xticks([*chosen], labels, rotation=30 if slanted else 0, ha="right" if slanted else "center")
        if not slanted:
            axes.set_xlabel(across)
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)
        written = axes.yaxis.get_major_formatter().format_ticks(axes.yaxis.get_majorticklocs())
        left = max(_LEAST_LEFT, 10 + _LETTER * max(map(len, written), default=0))
        axes.set_position((left / _WIDTH, room[0], (_WIDTH - left - _RIGHT) / _WIDTH, room[1]))
        figure.legend(loc="lower center", ncols=ncols, frameon=False, fontsize=9, labelcolor=TEXT)

    return drawn(_WIDTH, height, draw, f"{title} over {across}")


def _points(
    rows: Sequence[Row],
    score: str,
    lines: Place,
    places: Mapping[Any, int],
    title: str,
    level: Mapping[str, float],
) -> str:
    """Draw a row for each line, as points of all of them would hide each other at one place of an axis."""
    found = {
        name: [row for row in rows if lines(row) == name] for name in sorted(places, key=lambda n: places[n])
    }
    shares = [(name, _mean([row.means[score] for row in mine]), mine) for name, mine in found.items() if mine]
    names = [_words(name) for name, _, _ in shares] + [*level]
    height = _AROUND + _ROW * max(1, len(names))
    # Long names differ at their ends, which tell the paper's setting from ours: smaller letters, and more of them.
    longest = max(map(len, names), default=0)
    size, most = (10, _MOST_LETTERS_LEFT) if longest <= _MOST_LETTERS_LEFT else (8, 40)
    left = 14 + 0.6 * size * min(longest, most)

    def draw(figure: Any) -> None:
        axes = figure.add_axes(
            (left / _WIDTH, 28 / height, (_WIDTH - left - _RIGHT) / _WIDTH, (height - _AROUND) / height)
        )
        for y, (name, ours, mine) in enumerate(shares):
            place = places[name] % len(COLOURS)
            colour, marker = COLOURS[place], MARKERS[place]
            axes.plot(ours, y, marker, color=colour, markersize=5, linestyle="none")
            printed = _mean([row.paper[score] for row in mine if score in row.paper])
            axes.plot(printed, y, marker, color=colour, markersize=8, fillstyle="none", linestyle="none")
        for y, value in enumerate(level.values(), len(shares)):
            axes.plot(value, y, "|", color=TEXT, markersize=8)
        axes.set_yticks(range(len(names)), [shown(name, most) for name in names], fontsize=size)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)

    return drawn(_WIDTH, height, draw, f"{title} of each row")


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
    height = 30 + _ROW * len(names)
    left = 14 + 6 * max(len(shown(name, _MOST_LETTERS_LEFT)) for name in names)

    def draw(figure: Any) -> None:
        axes = figure.add_axes(
            (left / _WIDTH, 22 / height, (_WIDTH - left - 40) / _WIDTH, (height - 28) / height)
        )
        axes.barh(range(len(names)), [found[name] for name in names], height=0.6, color=COLOURS[0])
        for place, name in enumerate(names):
            axes.text(found[name], place, f" {number(found[name])}", va="center", color=TEXT)
        axes.set_yticks(range(len(names)), [shown(name, _MOST_LETTERS_LEFT) for name in names])
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
