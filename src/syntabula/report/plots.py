"""The plots of the page: one column, one pair, all pairs, and all rows on a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from syntabula._extras import require
from syntabula.metrics.comparison import Floats
from syntabula.report.groups import Groups, shown
from syntabula.report.svg import HEAT, LINE, REAL, SYNTHETIC, TEXT, drawn

WIDTH = 330
"""Width, in units, of a plot that fills a phone's screen."""

_PER_DAY = 86_400e6  # microseconds, the unit of times in a comparison
_LETTER = 6.0  # approximate width in units
_STEPS = 8


def plot_column(groups: Groups, *, is_time: bool = False) -> str:
    """Draw the fractions of rows in a column's groups for the real and the synthetic table.

    Args:
        groups: The column.
        is_time: Whether its numbers are microseconds since 1970-01-01.
    """
    shares = groups.shares()
    description = f"Shares of the values of {shown(groups.name)} in the real and the synthetic table"
    if groups.edges is None:
        height = 34 + 26 * groups.size
        return drawn(WIDTH, height, lambda figure: _bars(figure, groups.labels, shares, height), description)
    return drawn(WIDTH, 190, lambda figure: _outlines(figure, groups, shares, is_time), description)


def plot_pair(down: Groups, across: Groups, edges: Mapping[str, Sequence[str]]) -> str:
    """Draw the joint shares of two columns, the real table beside the synthetic one.

    Args:
        down: Column whose groups are the rows of tiles.
        across: Column whose groups are the columns of tiles.
        edges: Texts of the edges of each numeric column.
    """
    real, synthetic = down.joint(across)
    top = max(float(real.max()), float(synthetic.max()))
    left = min(110.0, 14 + _LETTER * _longest(down, edges))
    below = min(96.0, 14 + _LETTER * _longest(across, edges))
    height = 152 + below
    panel = (WIDTH - left - 14) / 2

    def draw(figure: Any) -> None:
        for n, (title, shares) in enumerate((("real", real), ("synthetic", synthetic))):
            axes = _axes(figure, left + n * (panel + 10), below, panel, 130, WIDTH, height)
            # The square root makes small shares visible beside a large one.
            _tiles(axes, np.sqrt(shares / top), HEAT)
            _name_groups(axes.xaxis, across, edges, rotation=90)
            _name_groups(axes.yaxis, down, edges, rotation=0)
            axes.tick_params(length=0, labelleft=n == 0)
            axes.set_title(title, fontsize=11, loc="left", color=(REAL, SYNTHETIC)[n], weight="bold")

    names = f"{shown(down.name)} and {shown(across.name)}"
    return drawn(WIDTH, height, draw, f"Joint shares of {names} in the real and the synthetic table")


def plot_all_pairs(columns: Sequence[str], distances: Floats) -> str:
    """Draw how far each pair of columns differs, as a triangle of tiles.

    Args:
        columns: Names.
        distances: Total variation distances [columns, columns]; only those below the diagonal are drawn.
    """
    names = [shown(column, 18) for column in columns]
    labels = 16 + _LETTER * max(map(len, names))
    side = 28.0 * len(columns)
    width, height = labels + side, 0.9 * labels + side
    lower = np.tril(np.ones_like(distances, dtype=np.bool_), k=-1)
    values = np.where(lower, distances, 0.0)

    def draw(figure: Any) -> None:
        axes = _axes(figure, labels, 0.9 * labels, side, side, width, height)
        _tiles(axes, 0.75 * values / max(float(values.max()), 1e-9), SYNTHETIC)
        for i, j in zip(*np.nonzero(lower), strict=True):
            axes.text(j, i, f"{100 * values[i, j]:.0f}", ha="center", va="center", color=TEXT)
        axes.spines[:].set_visible(False)
        axes.set_xticks(range(len(names) - 1), names[:-1], rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(1, len(names)), names[1:])
        axes.tick_params(length=0)

    return drawn(width, height, draw, "Total variation distance of each pair of columns, in percent")


def plot_plane(points: Floats, limits: tuple[Floats, Floats], *, synthetic: bool) -> str:
    """Draw rows as points of a plane.

    Args:
        points: Coordinates [rows, 2].
        limits: Least and largest coordinates [2 each] of the plane.
        synthetic: Whether the rows are those of the synthetic table.
    """
    patches = require("matplotlib.patches", "report")
    path = require("matplotlib.path", "report").Path
    height = 290
    low, high = limits

    def draw(figure: Any) -> None:
        axes = _axes(figure, 6, 6, WIDTH - 12, height - 12, WIDTH, height)
        gap = 0.03 * (high - low)
        axes.set(xlim=(low[0] - gap[0], high[0] + gap[0]), ylim=(low[1] - gap[1], high[1] + gap[1]))
        # One path of the shortest visible lines with round ends takes a tenth of the size of as many
        # markers.
        vertices = np.repeat(points, 2, axis=0)
        vertices[1::2, 0] += 0.3 / WIDTH * (high[0] - low[0])
        steps = np.tile([path.MOVETO, path.LINETO], len(points))
        dots = patches.PathPatch(
            path(vertices, steps),
            edgecolor=SYNTHETIC if synthetic else REAL,
            linewidth=3.2,
            alpha=0.85,
            capstyle="round",
            fill=False,
            clip_on=False,
        )
        axes.add_patch(dots)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(True)

    return drawn(WIDTH, height, draw, f"{'Synthetic' if synthetic else 'Real'} rows as points of a plane")


def _bars(figure: Any, labels: Sequence[str], shares: tuple[Floats, Floats], height: float) -> None:
    names = [shown(label, 18) for label in labels]
    left = 10 + _LETTER * max(map(len, names))
    axes = _axes(figure, left, 24, WIDTH - left - 16, height - 30, WIDTH, height)
    place = np.arange(len(names))
    axes.barh(place - 0.2, 100 * shares[0], height=0.38, color=REAL)
    axes.barh(place + 0.2, 100 * shares[1], height=0.38, color=SYNTHETIC)
    axes.set_yticks(place, names)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    _percent(axes.xaxis, 4)


def _outlines(figure: Any, groups: Groups, shares: tuple[Floats, Floats], is_time: bool) -> None:
    edges, n = groups.edges, groups.n_intervals
    assert edges is not None
    edges = edges / _PER_DAY if is_time else edges
    beside = 46 if groups.labels else 0
    axes = _axes(figure, 36, 26, WIDTH - 50 - beside, 156, WIDTH, 190)
    axes.stairs(100 * shares[0][:n], edges, fill=True, color=REAL, alpha=0.75, linewidth=0)
    axes.stairs(100 * shares[1][:n], edges, color=SYNTHETIC, linewidth=1.8)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, cut_top(axes, edges, shares, n))
    _percent(axes.yaxis, 4)
    if is_time:
        dates = require("matplotlib.dates", "report")
        locator = dates.AutoDateLocator(minticks=2, maxticks=5)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, show_offset=False))
    else:
        ticker = require("matplotlib.ticker", "report")
        # Intervals of whole numbers begin and end between two of them.
        whole = bool((edges % 1 == 0.5).all())
        axes.xaxis.set_major_locator(ticker.MaxNLocator(4 if beside else 5, integer=whole))
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: short_number(x)))
    if groups.labels:
        missing = _axes(figure, WIDTH - 46, 26, 32, 156, WIDTH, 190)
        missing.bar([-0.2], 100 * shares[0][n:], width=0.38, color=REAL, alpha=0.75)
        missing.bar([0.2], 100 * shares[1][n:], width=0.38, color=SYNTHETIC)
        missing.set(xlim=(-0.6, 0.6), ylim=axes.get_ylim())
        missing.set_xticks([0], ["missing"])
        missing.set_yticks([])
        missing.spines["left"].set_visible(False)


def cut_top(axes: Any, edges: Floats, shares: tuple[Floats, Floats], n: int) -> float:
    """Return the upper end of the axis in percent; a spike that would flatten everything else is cut off and labelled.

    Args:
        axes: Where the label is written.
        edges: Edges of the intervals [intervals + 1].
        shares: Fraction of rows in each group [groups] of the real and the synthetic table; intervals come first.
        n: Number of intervals.
    """
    heights = 100 * np.maximum(*shares)
    spike, second = np.sort([0.0, *heights[:n]])[:-3:-1]
    second = max(second, *heights[n:], 0.0)
    if not 0 < second < spike / 6:
        return 1.06 * float(heights.max()) or 1.0
    place = int(np.argmax(heights[:n]))
    right = place < n / 2
    axes.annotate(
        f"↑ {100 * shares[0][place]:.3g}\u00a0% real, {100 * shares[1][place]:.3g}\u00a0% synthetic",
        (edges[place + 1] if right else edges[place], 0.96),
        xycoords=("data", "axes fraction"),
        xytext=(4 if right else -4, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="top",
    )
    return 1.4 * float(second)


def _axes(
    figure: Any, left: float, below: float, width: float, height: float, of_width: float, of_height: float
) -> Any:
    place = left / of_width, below / of_height, width / of_width, height / of_height
    return figure.add_axes(place)


def _percent(axis: Any, most: int) -> None:
    ticker = require("matplotlib.ticker", "report")
    axis.set_major_locator(ticker.MaxNLocator(most))
    axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}\u00a0%"))


def _tiles(axes: Any, values: Floats, colour: str) -> None:
    """Draw values 0 .. 1 as tiles [rows, columns], with one path for each of a few shades to keep the file small."""
    patches = require("matplotlib.patches", "report")
    path = require("matplotlib.path", "report").Path
    strengths = np.ceil(_STEPS * np.clip(values, 0.0, 1.0)).astype(int)
    for strength in range(1, _STEPS + 1):
        corners = [
            path(
                [
                    (j - 0.47, i - 0.47),
                    (j + 0.47, i - 0.47),
                    (j + 0.47, i + 0.47),
                    (j - 0.47, i + 0.47),
                    (0, 0),
                ],
                [path.MOVETO, path.LINETO, path.LINETO, path.LINETO, path.CLOSEPOLY],
            )
            for i, j in zip(*np.nonzero(strengths == strength), strict=True)
        ]
        if corners:
            tiles = path.make_compound_path(*corners)
            axes.add_patch(
                patches.PathPatch(
                    tiles, facecolor=colour, alpha=strength / _STEPS, linewidth=0, clip_on=False
                )
            )
    rows, columns = values.shape
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axes.spines[:].set_color(LINE)


def _name_groups(axis: Any, groups: Groups, edges: Mapping[str, Sequence[str]], *, rotation: int) -> None:
    places: list[float] = []
    labels: list[str] = []
    if groups.n_intervals:
        # Labels at every edge would be crowded, so only every other interval has them.
        chosen = range(1, groups.n_intervals, 2)
        places += [place - 0.5 for place in chosen]
        labels += [edges[groups.name][place] for place in chosen]
    places += [float(groups.n_intervals + n) for n in range(len(groups.labels))]
    labels += [shown(label, 14) for label in groups.labels]
    axis.set_ticks(places, labels, rotation=rotation)


def _longest(groups: Groups, edges: Mapping[str, Sequence[str]]) -> int:
    labels = [shown(label, 14) for label in groups.labels] + [*edges.get(groups.name, ())]
    return max(map(len, labels))


def short_number(x: float) -> str:
    """Return a number in few characters: 12.5k, 3M, 0.002."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(x) >= unit:
            return f"{x / (1e3 if letter == 'k' else unit):.4g}{letter}"
    return f"{x:.4g}"
