"""Tables and figures of the study of discretisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from discretization_columns import Row


def mean_of(rows: list[Row], value: str, facts: dict[str, Any]) -> float:
    """Return the mean over the rows with these facts, NaN if there is none."""
    found = [r[value] for r in rows if all(r[k] == v for k, v in facts.items())]
    return float(np.mean(found)) if found else math.nan


def pivot(rows: list[Row], down: Sequence[str], across: str, value: str = "utility") -> str:
    """Return a table of means in Markdown, with the mean over all its columns at the end."""
    heads = sorted(
        dict.fromkeys(r[across] for r in rows),
        key=lambda h: (isinstance(h, str), 0 if isinstance(h, str) else h),
    )
    lines = [_line([*down, *heads, "mean"]), _line(["---"] * (len(down) + len(heads) + 1))]
    for key in dict.fromkeys(tuple(r[d] for d in down) for r in rows):
        facts = dict(zip(down, key, strict=True))
        means = [mean_of(rows, value, {**facts, across: head}) for head in heads]
        lines.append(_line([*key, *(_number(m) for m in (*means, np.mean(means)))]))
    return "\n".join(lines)


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def draw(rows: list[Row], *, lines: str, across: str, panels: str, path: Path) -> None:
    """Draw utility against `across` as SVG, one line for each value of `lines`, one panel of `panels`."""
    import matplotlib

    matplotlib.use("Agg")
    # Text stays text, without dates or random names, so that equal figures give equal, small files.
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "discretization"}
    from matplotlib import pyplot

    shown = list(dict.fromkeys(r[panels] for r in rows))
    figure, axes = pyplot.subplots(1, len(shown), figsize=(3.6 * len(shown), 3.2), sharey=True, squeeze=False)
    for axis, panel in zip(axes[0], shown, strict=True):
        mine = [r for r in rows if r[panels] == panel]
        places = list(dict.fromkeys(r[across] for r in mine))
        for name in dict.fromkeys(r[lines] for r in mine):
            heights = [mean_of(mine, "utility", {lines: name, across: place}) for place in places]
            axis.plot(range(len(places)), heights, "o-", markersize=3, label=name)
        axis.set_xticks(range(len(places)), [str(p) for p in places])
        axis.set_title(f"{panels} {panel}")
        axis.set_xlabel(across)
    axes[0][0].set_ylabel("utility")
    axes[0][-1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
