"""Pictures of what the cells of a study keep: single marginals, bins, planes of rows, associations, losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from syntabula.bench.summary import Row, Summary
from syntabula.bench.words import budget_of
from syntabula.report.study_plots import COLOURS, MARKERS, legend_below
from syntabula.report.svg import HEAT, LINE, REAL, SYNTHETIC, TEXT, drawn

_WIDTH, _HEIGHT = 330, 250
_SQUARE = 250
_MOST_COLUMNS = 30
_STRIP = 80

Picture = tuple[str, str]


def kept_figures(summary: Summary) -> list[Picture]:
    """Return pictures of what the first seed of each row kept, as titles and `svg` elements."""
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in summary.rows:
        if row.kept:
            groups.setdefault((row.dataset, row.epsilon), []).append(row)
    found: list[Picture] = []
    for (dataset, epsilon), rows in groups.items():
        place = f"{dataset}, epsilon {budget_of(epsilon)}"
        for name, draw in _OF_GROUP.items():
            found += draw([row for row in rows if name in row.kept], place)
        for name, draw_one in _OF_ROW.items():
            found += [draw_one(row, f"{row.label}: {place}") for row in rows if name in row.kept]
    return found


def _marginals(rows: Sequence[Row], place: str) -> list[Picture]:
    """Draw the distance of every pair, from the nearest to the furthest, and two methods against each other."""
    if not rows:
        return []

    ncols, below = legend_below([row.label for row in rows])
    height = _HEIGHT + below

    def draw(figure: Any) -> None:
        axes = figure.add_axes((0.13, below / height, 0.84, (_HEIGHT - 10) / height))
        for number, row in enumerate(rows):
            errors = sorted((error, measured) for *_, error, measured in row.kept["marginals"])
            for chosen, filled in ((True, "full"), (False, "none")):
                points = [
                    (rank, error) for rank, (error, measured) in enumerate(errors) if measured is chosen
                ]
                _scatter(axes, points, number, filled, "")
            _scatter(axes, [], number, "full", row.label)
        axes.set_xlabel("pairs of columns, in order")
        figure.legend(loc="lower center", ncols=ncols, frameon=False, fontsize=9, labelcolor=TEXT)

    title = f"Distance of each pair, filled if it was measured: {place}"
    found = [(title, drawn(_WIDTH, height, draw, title))]
    for first, second in [rows[:2]] if len(rows) == 2 else []:
        found.append(_against(first, second, place))
    return found


def _against(first: Row, second: Row, place: str) -> Picture:
    errors = [{(a, b): error for a, b, error, _ in row.kept["marginals"]} for row in (first, second)]
    points = [(error, errors[1][pair]) for pair, error in errors[0].items()]

    def draw(figure: Any) -> None:
        axes = figure.add_axes((0.18, 0.18, 0.78, 0.78))
        ends = [end(value for point in points for value in point) for end in (min, max)]
        axes.plot(ends, ends, color=LINE, linewidth=1)
        _scatter(axes, points, 0, "none", "")
        axes.set_xlabel(first.label)
        axes.set_ylabel(second.label)

    title = f"{second.label} against {first.label}, a point for each pair: {place}"
    return title, drawn(_SQUARE, _SQUARE, draw, title)


def _scatter(axes: Any, points: Sequence[tuple[float, float]], number: int, filled: str, label: str) -> None:
    across, up = zip(*points, strict=True) if points else ((), ())
    style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
    axes.plot(across, up, linestyle="none", markersize=3.5, fillstyle=filled, label=label, **style)


def _rounds(rows: Sequence[Row], place: str) -> list[Picture]:
    """Draw the loss at the end of each fit."""
    if not any(len(row.kept["rounds"]) > 1 for row in rows):
        return []

    ncols, below = legend_below([row.label for row in rows])
    height = _HEIGHT - 60 + below

    def draw(figure: Any) -> None:
        axes = figure.add_axes((0.15, below / height, 0.82, (_HEIGHT - 72) / height))
        for number, row in enumerate(rows):
            losses = row.kept["rounds"]
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            axes.plot(
                range(1, len(losses) + 1), losses, f"{marker}-", color=colour, markersize=3, label=row.label
            )
        axes.set_xlabel("fit")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        figure.legend(loc="lower center", ncols=ncols, frameon=False, fontsize=9, labelcolor=TEXT)

    title = f"Loss at the end of each fit, in variances of the noise: {place}"
    return [(title, drawn(_WIDTH, height, draw, title))]


def _bins(rows: Sequence[Row], place: str) -> list[Picture]:
    """Draw a column under the bins of each discretizer, as densities."""
    if not rows:
        return []
    height = _STRIP * len(rows) + 40

    def draw(figure: Any) -> None:
        for number, row in enumerate(sorted(rows, key=lambda row: row.binning.label)):
            found = row.kept["bins"]
            edges = np.array(found["edges"])
            even = np.linspace(edges[0], edges[-1], len(found["column"]) + 1)
            bottom = 1 - (_STRIP * (number + 1) - 2) / height
            axes = figure.add_axes((0.04, bottom, 0.92, (_STRIP - 22) / height))
            column = np.array(found["column"]) / np.diff(even)
            axes.stairs(column, even, fill=True, color=REAL, alpha=0.4, label="column")
            density = np.array(found["shares"]) / np.diff(edges)
            axes.stairs(density, edges, color=SYNTHETIC, linewidth=1.2, label="redrawn within bins")
            axes.vlines(edges, 0, -0.08 * column.max(), color=SYNTHETIC, linewidth=1)
            # Narrow bins of few values may be far denser than the column is drawn.
            axes.set_ylim(-0.1 * column.max(), 1.3 * column.max())
            axes.set_yticks([])
            axes.set_xticks(
                [] if number < len(rows) - 1 else [edges[0], (edges[0] + edges[-1]) / 2, edges[-1]]
            )
            axes.set_title(row.binning.label, loc="left", fontsize=9, color=TEXT, pad=2)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="lower center", ncols=2, frameon=False, fontsize=9, labelcolor=TEXT
        )

    title = f"Bins: {place}"
    return [(title, drawn(_WIDTH, height, draw, title))]


def _plane(row: Row, place: str) -> Picture:
    def draw(figure: Any) -> None:
        axes = figure.add_axes((0.02, 0.1, 0.96, 0.88))
        for role, colour, marker in (("real", REAL, "o"), ("synthetic", SYNTHETIC, "x")):
            across, up = np.array(row.kept["plane"][role]).T
            axes.plot(across, up, marker, color=colour, markersize=2.5, alpha=0.6, label=role)
        axes.set_axis_off()
        figure.legend(loc="lower center", ncols=2, frameon=False, fontsize=9, labelcolor=TEXT)

    return f"Rows by t-SNE, {place}", drawn(_SQUARE, _SQUARE, draw, f"Rows of {place}, as neighbours")


def _regions(row: Row, place: str) -> Picture:
    """Draw points in the colours of their classes over the bins, shaded by what is told of two classes."""
    found = row.kept["regions"]
    across, up = found["edges"]
    points, classes = np.array(found["points"]), np.array(found["classes"])
    label = f"{row.binning.label}, {place}" if row.method != "raw" else place

    def draw(figure: Any) -> None:
        axes = figure.add_axes((0.02, 0.02, 0.96, 0.88))
        for column, probabilities in enumerate(found["second"]):
            for line, second in enumerate(probabilities):
                (left, right), (low, high) = across[column : column + 2], up[line : line + 2]
                style = {"color": COLOURS[int(second > 0.5)], "alpha": abs(second - 0.5), "linewidth": 0}
                axes.fill([left, right, right, left], [low, low, high, high], **style)
        if row.method != "raw":
            axes.vlines(across, up[0], up[-1], color=LINE, linewidth=0.6)
            axes.hlines(up, across[0], across[-1], color=LINE, linewidth=0.6)
        for number, name in enumerate(sorted(set(classes))):
            x, y = points[classes == name].T
            axes.plot(x, y, MARKERS[number], color=COLOURS[number], markersize=2.5)
        axes.set_axis_off()
        axes.set_title(f"accuracy {row.means['accuracy']:.2f}", fontsize=9, color=TEXT)

    title = f"Regions, {label}"
    return title, drawn(_SQUARE, _SQUARE, draw, title)


def _associations(row: Row, place: str) -> Picture:
    """Draw the strength of each pair: above the diagonal in the real table, below it in the synthetic one."""
    columns = list(dict.fromkeys(name for pair in row.kept["associations"] for name in pair[:2]))
    columns = columns[:_MOST_COLUMNS]
    order = {name: number for number, name in enumerate(columns)}

    def draw(figure: Any) -> None:
        axes = figure.add_axes((0.02, 0.1, 0.96, 0.88))
        for first, second, real, synthetic in row.kept["associations"]:
            if first in order and second in order:
                across, down = order[second], order[first]
                _cell(axes, across, down, real)
                _cell(axes, down, across, synthetic)
        axes.plot([0, len(columns)], [0, len(columns)], color=LINE, linewidth=1)
        axes.set_xlim(0, len(columns))
        axes.set_ylim(len(columns), 0)
        axes.set_axis_off()
        figure.text(0.5, 0.04, "above: real; below: synthetic", ha="center", color=TEXT, fontsize=9)

    title = f"Association of columns, {place}"
    return title, drawn(_SQUARE, _SQUARE, draw, title)


def _cell(axes: Any, across: int, down: int, strength: float) -> None:
    axes.fill(
        [across, across + 1, across + 1, across],
        [down, down, down + 1, down + 1],
        color=HEAT,
        alpha=min(1.0, abs(strength)),
        linewidth=0,
    )


_OF_GROUP: Mapping[str, Callable[[Sequence[Row], str], list[Picture]]] = {
    "marginals": _marginals,
    "rounds": _rounds,
    "bins": _bins,
}
_OF_ROW: Mapping[str, Callable[[Row, str], Picture]] = {
    "plane": _plane,
    "associations": _associations,
    "regions": _regions,
}
