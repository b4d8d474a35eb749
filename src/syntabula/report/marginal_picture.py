"""One picture that compares the one-way and two-way marginals of a real and a synthetic table.

It is computed from the real table: it is for those who may see that table, not for release.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from syntabula._extras import require
from syntabula._files import whole_file
from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.total_variation import TotalVariation
from syntabula.report.groups import Groups, equal_widths, shown
from syntabula.report.plots import cut_top, short_number

MOST_BARS = 12
"""A column of more categories shows the most frequent ones, and all others together."""

MOST_INTERVALS = 40

_PER_DAY = 86_400e6  # microseconds, the unit of times in a comparison
_REAL = "#9aa5b1"
_SYNTHETIC = "#c2410c"
_TEXT = "#1f2933"


@dataclass(frozen=True, eq=False)
class Distances:
    """Total variation distances between two tables, with numbers in 100 levels: 0 where alike, 1 where disjoint.

    Attributes:
        columns: Column names.
        one_way: Distance of each column's distribution, [columns].
        two_way: Distance of each pair's joint distribution, [columns, columns]; NaN on the diagonal.
    """

    columns: tuple[str, ...]
    one_way: Floats
    two_way: Floats

    @property
    def mean_one_way(self) -> float:
        """Mean over all columns."""
        return float(self.one_way.mean())

    @property
    def mean_two_way(self) -> float:
        """Mean over all pairs of columns; 0 if there is only one column."""
        pairs = self.two_way[np.triu_indices(len(self.columns), k=1)]
        return float(pairs.mean()) if pairs.size else 0.0


def measure_distances(tables: Comparison) -> Distances:
    """Return half the sum over cells of absolute differences in the fraction of rows, per column and per pair."""
    columns = tables.columns
    place = {name: i for i, name in enumerate(columns)}
    rng = np.random.default_rng(0)
    one_way = np.array([*TotalVariation(way=1)(tables, rng).details.values()])
    two_way = np.full((len(columns), len(columns)), np.nan)
    for part, distance in TotalVariation()(tables, rng).details.items():
        if len(part) == 2:
            i, j = (place[name] for name in part)
            two_way[i, j] = two_way[j, i] = distance
    return Distances(columns, one_way, two_way)


def draw_marginals(
    path: str | os.PathLike[str],
    tables: Comparison,
    *,
    title: str,
    times: Collection[str] = (),
    most_columns: int = 15,
) -> Distances:
    """Draw one-way marginals side by side and a heat map of two-way distances, as a PNG.

    Numbers are drawn in intervals of equal width, whatever bins a method used, and without the outermost 0.5 % at
    either end, which the outermost intervals hold.

    Args:
        path: File to write.
        tables: The real and the synthetic table.
        title: Title, such as "MST at epsilon = 1"; the mean distances are written below it.
        times: Numeric columns that are microseconds since 1970-01-01.
        most_columns: Most columns shown; the first ones.

    Returns:
        The distances over all columns, including those not shown.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    figure_class, canvas_class = _matplotlib()
    distances = measure_distances(tables)
    names = tables.columns[:most_columns]
    across = 3
    down = -(-len(names) // across)
    figure = figure_class(figsize=(16, max(5.5, 2.3 * down + 1.6)), dpi=110)
    canvas_class(figure)
    left, right = figure.add_gridspec(
        1, 2, width_ratios=(1.35, 1), left=0.05, right=0.95, top=0.86, bottom=0.12, wspace=0.24
    )
    grid = left.subgridspec(down, across, hspace=0.75, wspace=0.28)
    for position, name in enumerate(names):
        axes = figure.add_subplot(grid[position // across, position % across])
        groups = equal_widths(tables, name, MOST_BARS if name in tables.categories else MOST_INTERVALS)
        _draw_column(axes, groups, float(distances.one_way[position]), is_time=name in times)
    _draw_heat_map(figure, figure.add_subplot(right), distances, len(names))
    _draw_heading(figure, title, distances, len(names))
    with whole_file(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None}, facecolor="white")
    return distances


def require_matplotlib() -> None:
    """Raise MissingExtraError, with the install line, if pictures cannot be drawn here."""
    _matplotlib()


def _matplotlib() -> tuple[Any, Any]:
    canvas = require("matplotlib.backends.backend_agg", "report")
    figure = require("matplotlib.figure", "report")
    return figure.Figure, canvas.FigureCanvasAgg


def _draw_column(axes: Any, groups: Groups, distance: float, *, is_time: bool) -> None:
    shares = groups.shares()
    real, synthetic = (100 * share for share in shares)
    n = groups.n_intervals
    axes.tick_params(labelsize=6.5, length=2)
    if groups.edges is not None:
        edges = groups.edges / _PER_DAY if is_time else groups.edges
        axes.stairs(real[:n], edges, fill=True, color=_REAL)
        axes.stairs(synthetic[:n], edges, color=_SYNTHETIC, linewidth=1.4)
        axes.set_ylim(0, cut_top(axes, edges, shares, n))
        for text in axes.texts:
            text.set_fontsize(6.5)
        _mark_numbers(axes, edges, is_time=is_time)
        # Missing cells stand apart, to the right.
        step = 0.06 * (edges[-1] - edges[0])
        places = edges[-1] + step * (1.0 + np.arange(len(groups.labels)))
        width = 0.4 * step
    else:
        places, width = np.arange(len(groups.labels), dtype=np.float64), 0.4
        names = [_short(label) for label in groups.labels]
        crowded = sum(map(len, names)) > 30
        axes.set_xticks(places, names, rotation=35 if crowded else 0, ha="right" if crowded else "center")
        axes.tick_params(axis="x", labelsize=6.5 if len(names) < 9 else 5.5, pad=1)
    axes.bar(places - width / 2, real[n:], width=width, color=_REAL)
    axes.bar(places + width / 2, synthetic[n:], width=width, color=_SYNTHETIC)
    if groups.edges is not None and groups.labels:
        axes.text(places[0], axes.get_ylim()[1], "missing", fontsize=6, ha="right", va="top", color=_TEXT)
    ticker = require("matplotlib.ticker", "report")
    axes.yaxis.set_major_locator(ticker.MaxNLocator(4))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda y, _: f"{y:g} %"))
    axes.set_title(f"{_short(groups.name, 22)}   TVD {distance:.3f}", fontsize=8.5, color=_TEXT, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def _mark_numbers(axes: Any, edges: Floats, *, is_time: bool) -> None:
    if is_time:
        dates = require("matplotlib.dates", "report")
        locator = dates.AutoDateLocator(minticks=2, maxticks=5)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, show_offset=False))
        return
    ticker = require("matplotlib.ticker", "report")
    # Intervals of whole numbers begin and end between two of them.
    axes.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=bool((edges % 1 == 0.5).all())))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: short_number(x)))


def _draw_heat_map(figure: Any, axes: Any, distances: Distances, n_shown: int) -> None:
    lower = np.tril(np.ones((n_shown, n_shown), dtype=np.bool_), k=-1)
    values = np.where(lower, distances.two_way[:n_shown, :n_shown], np.nan)
    top = max(0.1, float(np.nanmax(values)) if lower.any() else 0.1)
    image = axes.imshow(values, cmap="YlOrRd", vmin=0.0, vmax=top)
    for i, j in zip(*np.nonzero(lower), strict=True):
        dark = values[i, j] > 0.6 * top
        axes.text(
            j,
            i,
            f"{values[i, j]:.2f}",
            ha="center",
            va="center",
            fontsize=6.5,
            color="white" if dark else _TEXT,
        )
    names = [_short(column, 16) for column in distances.columns[:n_shown]]
    axes.set_xticks(range(n_shown), names, rotation=40, ha="right", fontsize=8)
    axes.set_yticks(range(n_shown), names, fontsize=8)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title("TVD of each pair of columns (0 is alike)", fontsize=10, color=_TEXT, loc="left")
    axes.set_anchor("N")
    # Beside the map itself, whose height is not that of its place.
    bar = figure.colorbar(image, cax=axes.inset_axes((1.01, 0.35, 0.03, 0.65)))
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7, length=2)


def _draw_heading(figure: Any, title: str, distances: Distances, n_shown: int) -> None:
    figure.text(0.05, 0.955, title, fontsize=15, color=_TEXT, weight="bold")
    means = (
        f"mean total variation distance: {distances.mean_one_way:.3f} over columns, "
        f"{distances.mean_two_way:.3f} over pairs"
    )
    if n_shown < len(distances.columns):
        means += f" (of all {len(distances.columns)} columns; the first {n_shown} are shown)"
    figure.text(0.05, 0.92, means, fontsize=10.5, color=_TEXT)
    figure.text(0.61, 0.92, "■ real", fontsize=11, color=_REAL, weight="bold")
    figure.text(0.66, 0.92, "■ synthetic", fontsize=11, color=_SYNTHETIC, weight="bold")
    warning = (
        "Computed from the real table: NOT private. Do not release this picture with the synthetic table."
    )
    figure.text(0.05, 0.02, warning, fontsize=9, color=_SYNTHETIC)


def _short(text: str, most: int = 12) -> str:
    # A dollar sign would start a formula in matplotlib.
    return shown(text, most).replace("$", "＄")
