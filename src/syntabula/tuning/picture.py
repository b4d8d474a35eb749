"""A picture of a search: the objective of each trial, and against each option."""

from __future__ import annotations

import os
from typing import Any

from syntabula._extras import require
from syntabula._files import whole_file
from syntabula.errors import ArgumentError
from syntabula.tuning.result import Trial, Tuning

_TRIAL, _BEST, _GIVEN = "#9aa5b1", "#c2410c", "#1f2933"
_ACROSS = 3


def draw_search(found: Tuning, path: str | os.PathLike[str]) -> None:
    """Draw a search as a PNG: trials in their order, then the objective against each option.

    Args:
        found: The result of `tune`.
        path: File to write.

    Raises:
        ArgumentError: If no trial ended with a value.
        MissingExtraError: If matplotlib is not installed.
        OSError: If the file cannot be written.
    """
    figure_class = require("matplotlib.figure", "report").Figure
    canvas_class = require("matplotlib.backends.backend_agg", "report").FigureCanvasAgg
    done = [trial for trial in found.trials if trial.state == "done"]
    if not done:
        raise ArgumentError("no trial of this search ended with a value, so there is nothing to draw")
    names = list(done[0].values)
    rows = -(-(len(names) + 1) // _ACROSS)
    figure = figure_class(figsize=(13, 3.1 * rows + 0.7), dpi=110, layout="constrained")
    canvas_class(figure)
    figure.suptitle(
        f"{found.method}: least {found.objective}, {100 * found.gain:.1f} % below the method as given",
        fontsize=12,
        color=_GIVEN,
    )
    grid = figure.subplots(rows, _ACROSS, squeeze=False, sharey=True).ravel()
    best = found.best
    _draw_order(grid[0], found, done)
    for axes, name in zip(grid[1:], names, strict=False):
        _draw_option(axes, name, done, best)
    for axes in grid:
        axes.axhline(found.default.value, color=_GIVEN, linewidth=0.9, linestyle="--")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    for axes in grid[len(names) + 1 :]:
        axes.set_visible(False)
    grid[0].set_ylabel("objective (lower is better)", fontsize=8)
    with whole_file(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None}, facecolor="white")


def _draw_order(axes: Any, found: Tuning, done: list[Trial]) -> None:
    numbers = [trial.number + 1 for trial in done]
    values = [trial.value for trial in done]
    least = [min(found.default.value, *values[: i + 1]) for i in range(len(values))]
    axes.plot(numbers, values, "o", color=_TRIAL, markersize=4)
    axes.step(numbers, least, where="post", color=_BEST, linewidth=1.4)
    axes.set_title("trials, and the best so far", fontsize=9, loc="left")


def _draw_option(axes: Any, name: str, done: list[Trial], best: Trial) -> None:
    known = [trial.values[name] for trial in done]
    numbers = [float(v) for v in known if isinstance(v, int | float) and not isinstance(v, bool)]
    labels = sorted({str(v) for v in known})
    are_numbers = len(numbers) == len(known)
    places = numbers if are_numbers else [float(labels.index(str(v))) for v in known]
    for trial, place in zip(done, places, strict=True):
        is_best = trial.number == best.number
        axes.plot(
            [place],
            [trial.value],
            "o",
            color=_BEST if is_best else _TRIAL,
            markersize=7 if is_best else 4,
            zorder=2 + is_best,
        )
    if not are_numbers:
        axes.set_xticks(range(len(labels)), labels)
    elif min(numbers) > 0 and max(numbers) > 20 * min(numbers):
        axes.set_xscale("log")
    axes.set_title(name, fontsize=9, loc="left")
