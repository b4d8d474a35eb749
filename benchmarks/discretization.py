"""What no study of Ganev et al., "The Importance of Being Discrete", measures: other readings of its text, and seconds.

    python benchmarks/discretization.py readings|speed [--repeats N]

Prints a table beside the paper's findings. Noise is seeded in `readings`: it is an experiment, not a release. The
figures of the paper are studies: `syntabula bench list discretization`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from discretization_columns import DISCRETIZERS, FITTED, WHOLE, Row, grid

import syntabula as st
from syntabula.bins.uniform import UniformBins
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SecureNoise


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table.

    Attributes:
        rows: Makes the rows, given the number of repeats.
        paper: The paper's findings.
        down: The facts of its rows.
        across: The fact of its columns.
        value: What is shown.
    """

    rows: Callable[[int], list[Row]]
    paper: str
    down: tuple[str, ...]
    across: str
    value: str


def readings(repeats: int) -> list[Row]:
    """Return US2 in our reading of the paper and in others that its text allows, for the data and the scores."""
    rows = []
    for stretched in (True, False):
        for row in grid(repeats, model=True, stretched=stretched):
            data = "stretched to [-10, 10]" if stretched else "clipped to [-10, 10]"
            for scores, name in (("whole range", "utility"), ("records", "other_reading")):
                kept = {k: row[k] for k in ("method", "bins", "epsilon")}
                rows.append(kept | {"data": data, "scores": scores, "utility": row[name]})
    return rows


def speed(repeats: int) -> list[Row]:
    """Return the least processor seconds, over repeats, of each discretiser for 250 bins with secure noise."""
    values = np.random.default_rng(0).lognormal(8, 1, 50_000)
    upper = float(values.max())
    rows = []
    for method, n in itertools.product(DISCRETIZERS, (50_000, 10_000_000)):
        points = np.tile(values, n // values.size)
        seconds = []
        for _ in range(repeats):
            started = time.process_time()
            column = ColumnCurator(points, Ledger(st.Budget(1.0, 1e-5)), SecureNoise())
            if method == "uniform":
                bins = UniformBins(250).bins(0.0, upper, integer=False)
            else:
                bins = FITTED[method].fit(
                    column, 0.0, upper, count=250, n_estimated=float(n), share=WHOLE / 10, step="bins"
                )
            seconds.append(time.process_time() - started)
        rows.append({"method": method, "n": n, "found": bins.size, "seconds": min(seconds)})
    return rows


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


EXPERIMENTS = {
    "readings": Experiment(
        rows=readings,
        paper="PrivTree is best on average throughout. Neither the stretching of the data nor the largest percentile "
        "nor the ends of random intervals are settled by the text.",
        down=("data", "scores", "method"),
        across="epsilon",
        value="utility",
    ),
    "speed": Experiment(
        rows=speed,
        paper="Quantile and k-means take 40 to 100 s at 250 bins, even bins and PrivTree less than one.",
        down=("method",),
        across="n",
        value="seconds",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--repeats", type=int, default=3, help="seeds of every setting")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
    experiment = EXPERIMENTS[chosen.experiment]
    print(pivot(experiment.rows(chosen.repeats), experiment.down, experiment.across, experiment.value))
    print(f"\nThe paper: {experiment.paper}")


if __name__ == "__main__":
    main()
