"""One picture that compares the one-way and two-way marginals of a real and a synthetic table.

It is computed from the real table: it is for those who may see that table, not for release.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula._files import whole_file
from syntabula.errors import DataError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable

FloatArray = NDArray[np.float64]

MOST_BARS = 16
"""A column with more codes than this is drawn as two outlines of grouped codes instead of pairs of bars."""

MOST_GROUPS = 50

_REAL = "#9aa5b1"
_SYNTHETIC = "#c2410c"
_TEXT = "#1f2933"


@dataclass(frozen=True, eq=False)
class Distances:
    """Total variation distances between two tables over one domain: 0 where alike, 1 where disjoint.

    Attributes:
        columns: Column names.
        one_way: Distance of each column's distribution, [columns].
        two_way: Distance of each pair's joint distribution, [columns, columns]; NaN on the diagonal.
    """

    columns: tuple[str, ...]
    one_way: FloatArray
    two_way: FloatArray

    @property
    def mean_one_way(self) -> float:
        """Mean over all columns."""
        return float(self.one_way.mean())

    @property
    def mean_two_way(self) -> float:
        """Mean over all pairs of columns; 0 if there is only one column."""
        pairs = self.two_way[np.triu_indices(len(self.columns), k=1)]
        return float(pairs.mean()) if pairs.size else 0.0


def measure_distances(real: EncodedTable, synthetic: EncodedTable) -> Distances:
    """Compare all one-way and two-way marginals of two tables.

    Args:
        real: One table.
        synthetic: Another table over the same domain.

    Returns:
        Half the sum over cells of absolute differences in the fraction of rows, per column and per pair.

    Raises:
        DataError: If the domains differ, or a table has no columns or no rows.
    """
    _check_alike(real, synthetic)
    columns = real.domain.columns
    one_way = np.array([_distance(real, synthetic, (c,)) for c in columns])
    two_way = np.full((len(columns), len(columns)), np.nan)
    for i, j in itertools.combinations(range(len(columns)), 2):
        two_way[i, j] = two_way[j, i] = _distance(real, synthetic, (columns[i], columns[j]))
    return Distances(columns, one_way, two_way)


def mean_untied_distance(real: EncodedTable, synthetic: EncodedTable) -> float:
    """Return the mean two-way distance if the synthetic columns were independent of each other.

    It is the reference for `Distances.mean_two_way`: the gap shows the value of the dependences between columns.

    Raises:
        DataError: If the domains differ, or a table has no columns or no rows.
    """
    _check_alike(real, synthetic)
    distances = [
        np.abs(
            _shares(real, (a, b)) - np.outer(_shares(synthetic, (a,)), _shares(synthetic, (b,))).ravel()
        ).sum()
        / 2
        for a, b in itertools.combinations(real.domain.columns, 2)
    ]
    return float(np.mean(distances)) if distances else 0.0


def draw_marginals(
    path: str | os.PathLike[str],
    real: EncodedTable,
    synthetic: EncodedTable,
    *,
    title: str,
    labels: Mapping[str, Sequence[str]] | None = None,
    most_columns: int = 12,
) -> Distances:
    """Draw one-way marginals side by side and a heat map of two-way distances, as a PNG.

    Args:
        path: File to write.
        real: The real table.
        synthetic: A synthetic table over the same domain.
        title: Title, such as "MST at epsilon = 1"; the mean distances are written below it.
        labels: For each column, the labels of its codes, in order; codes without a label are numbered.
        most_columns: Most columns shown; the first ones.

    Returns:
        The distances over all columns, including those not shown.

    Raises:
        DataError: If the domains differ, or a table has no columns or no rows.
        MissingExtraError: If matplotlib is not installed.
    """
    distances = measure_distances(real, synthetic)
    figure_class, canvas_class = _matplotlib()
    shown = real.domain.columns[:most_columns]
    across = 3
    down = -(-len(shown) // across)
    figure = figure_class(figsize=(16, max(5.5, 2.3 * down + 1.6)), dpi=110)
    canvas_class(figure)
    left, right = figure.add_gridspec(
        1, 2, width_ratios=(1.35, 1), left=0.05, right=0.95, top=0.86, bottom=0.12, wspace=0.24
    )
    grid = left.subgridspec(down, across, hspace=0.75, wspace=0.28)
    for position, column in enumerate(shown):
        axes = figure.add_subplot(grid[position // across, position % across])
        distance = distances.one_way[distances.columns.index(column)]
        _draw_column(
            axes, column, distance, _shares(real, (column,)), _shares(synthetic, (column,)), labels or {}
        )
    _draw_heat_map(figure, figure.add_subplot(right), distances, len(shown))
    _draw_heading(figure, title, distances, len(shown))
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


def _check_alike(real: EncodedTable, synthetic: EncodedTable) -> None:
    if real.domain != synthetic.domain:
        raise DataError("the two tables have different domains; encode both with the same codec")
    if not len(real.domain):
        raise DataError("the tables have no columns to compare")
    if not real.n_rows or not synthetic.n_rows:
        raise DataError("a table without rows cannot be compared; draw at least one row")


def _shares(table: EncodedTable, clique: tuple[str, ...]) -> FloatArray:
    """Return the fraction of rows in each cell of a clique, flat [cells]."""
    domain: Domain = table.domain
    cells = np.zeros(table.n_rows, dtype=np.int64)
    for column in clique:
        cells = cells * domain.size(column) + table.column(column)
    return np.bincount(cells, minlength=domain.cells(clique)) / table.n_rows


def _distance(real: EncodedTable, synthetic: EncodedTable, clique: tuple[str, ...]) -> float:
    return float(np.abs(_shares(real, clique) - _shares(synthetic, clique)).sum() / 2)


def _draw_column(
    axes: Any,
    column: str,
    distance: float,
    real: FloatArray,
    synthetic: FloatArray,
    labels: Mapping[str, Sequence[str]],
) -> None:
    names = [_short(text) for text in labels.get(column, ())]
    if real.size <= MOST_BARS:
        position = np.arange(real.size)
        axes.bar(position - 0.2, real, width=0.4, color=_REAL)
        axes.bar(position + 0.2, synthetic, width=0.4, color=_SYNTHETIC)
        ticks = position[:: -(-real.size // 8)]
    else:
        # Neighbouring codes are merged: a hundred steps on a small panel are unreadable.
        width = -(-real.size // MOST_GROUPS)
        starts = np.arange(0, real.size, width)
        edges = np.append(starts, real.size) - 0.5
        axes.stairs(np.add.reduceat(real, starts), edges, fill=True, color=_REAL)
        axes.stairs(np.add.reduceat(synthetic, starts), edges, color=_SYNTHETIC, linewidth=1.4)
        ticks = np.unique(np.linspace(0, real.size - 1, 4).astype(int))
    axes.set_xticks(ticks, [names[t] if t < len(names) else str(t) for t in ticks])
    crowded = sum(len(names[t]) if t < len(names) else 2 for t in ticks) > 30
    axes.tick_params(axis="x", labelsize=6.5, rotation=30 if crowded else 0, length=2)
    if crowded:
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")
    axes.tick_params(axis="y", labelsize=6.5, length=2)
    axes.set_title(f"{_short(column, 22)}   TVD {distance:.3f}", fontsize=8.5, color=_TEXT, loc="left")
    axes.locator_params(axis="y", nbins=4)
    axes.spines[["top", "right"]].set_visible(False)


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
    bar = figure.colorbar(image, ax=axes, shrink=0.6, pad=0.02)
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
    plain = str(text).replace("$", "＄")
    return plain if len(plain) <= most else plain[: most - 1] + "…"
