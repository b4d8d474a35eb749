"""What rules that keep two columns near each other cost and bring, on a made-up table of a hospital.

    python benchmarks/windows.py [--methods MST AIM] [--epsilon 1] [--rules days one ...]

20,000 stays of up to 30 days, as days, numbers, times and times with a zone; each rule needs its own two columns beside
ward, age, emergency and cost. Needs no file. Run it at an earlier commit to compare.
"""

from __future__ import annotations

import argparse
import datetime as dt
import warnings
from typing import Any

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.metrics import compare
from syntabula.metrics.evaluate import choose_metrics, score_tables

N = 20_000
WARDS = ["surgery", "medicine", "geriatrics", "paediatrics"]
SPAN = (dt.datetime(2020, 1, 1), dt.datetime(2024, 2, 1))
DAYS, WHOLE = st.Date(dt.date(2020, 1, 1), dt.date(2024, 1, 31)), st.Numeric(0, 1491, integer=True)
COLUMNS: dict[str, tuple[Any, tuple[str, str]]] = {
    "day": (DAYS, ("admission", "discharge")),
    "number": (WHOLE, ("first", "last")),
    "short": (WHOLE, ("first", "near")),
    "time": (st.Datetime(*SPAN), ("arrived", "departed")),
    "zone": (st.Datetime(*SPAN, timezone="Europe/Berlin"), ("arrived_at", "departed_at")),
}
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "days": ("day", {"require": ["discharge between admission and admission + interval 30 day"]}),
    "one": ("day", {"require": ["discharge <= admission + interval 30 day"]}),
    "order": (
        "day",
        {"order": [["admission", "discharge"]], "require": ["date_diff('day', admission, discharge) <= 30"]},
    ),
    "numbers": ("number", {"require": ["last - first between 0 and 30"]}),
    "short": ("short", {"require": ["near - first between 0 and 3"]}),
    "times": ("time", {"require": ["departed - arrived between interval 0 second and interval 31 day"]}),
    "zones": (
        "zone",
        {"require": ["departed_at - arrived_at between interval 0 second and interval 31 day"]},
    ),
}


def stays() -> pd.DataFrame:
    """Return the whole table."""
    rng = np.random.default_rng(1)
    ward = rng.choice(WARDS, N, p=[0.3, 0.4, 0.2, 0.1])
    typical = rng.normal(np.where(ward == "geriatrics", 80, 55), 14).clip(17, 100).astype(int)
    first = rng.integers(0, 365 * 4, N)
    stay = np.minimum(
        rng.geometric(1 / pd.Series(ward).map(dict(zip(WARDS, (4, 6, 12, 2), strict=True)))) - 1, 30
    )
    cost = ((500 + 700 * stay) * np.exp(rng.normal(0, 0.3, N))).clip(0, 50_000).round(-1)
    seconds = (stay * 86_400 * rng.uniform(0.8, 1, N)).astype(int) + rng.integers(600, 7_200, N)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(pd.Series(first), unit="D")
    arrived = day + pd.to_timedelta(rng.integers(0, 86_400, N), unit="s")
    departed = arrived + pd.to_timedelta(seconds, unit="s")
    return pd.DataFrame(
        {
            "ward": ward,
            "age": np.where(ward == "paediatrics", rng.integers(0, 17, N), typical),
            "emergency": rng.random(N) < np.where(ward == "medicine", 0.6, 0.25),
            "cost": cost,
            "admission": day.dt.date,
            "discharge": (day + pd.to_timedelta(stay, unit="D")).dt.date,
            "first": first,
            "last": first + stay,
            "near": first + rng.integers(0, 4, N),
            "arrived": arrived,
            "departed": departed,
            "arrived_at": arrived.dt.tz_localize("UTC"),
            "departed_at": departed.dt.tz_localize("UTC"),
        }
    )


def gaps(frame: pd.DataFrame, ends: tuple[str, str]) -> np.ndarray:
    """Return the distances of two columns, in days for times."""
    first, last = (frame[name] for name in ends)
    if pd.api.types.is_numeric_dtype(first):
        return (last - first).to_numpy(float)
    apart = pd.to_datetime(last) - pd.to_datetime(first)
    return np.asarray(apart.dt.total_seconds() / 86_400)


def outcome(frame: pd.DataFrame, method: str, epsilon: float, name: str) -> str:
    """Fit and draw once; return a row of the page's table."""
    kind, rules = RULES[name]
    column, ends = COLUMNS[kind]
    declared = {
        "ward": st.Categorical(WARDS),
        "age": st.Numeric(0, 110, integer=True),
        "emergency": st.Boolean(),
        "cost": st.Numeric(0, 50_000, step=10),
        **dict.fromkeys(ends, column),
    }
    own = frame[[*declared]]
    schema = st.Schema(declared, rules=st.Rules(**rules))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = st.synthesizer(method)(epsilon=epsilon, seed=0).fit(own, schema)
        drawn = release.sample(N, seed=1)
        tables = compare(own, drawn, schema=schema)
        chosen = choose_metrics(["tvd-2"], has_target=False, has_holdout=False, has_rules=True)
        pairs = score_tables(tables, chosen)[0].score.value
        discarded = sum(release.rules_broken().values())
    real, made = gaps(own, ends), gaps(drawn, ends)
    edges = [-np.inf, *range(32), np.inf]
    shares = [np.histogram(g, edges)[0] / len(g) for g in (real, made)]
    distance = np.abs(shares[0] - shares[1]).sum() / 2
    cells = [name, method, f"{discarded:.1%}", f"{pairs:.4f}", f"{distance:.3f}"]
    return f"| {' | '.join([*cells, f'{real.mean():.1f}', f'{made.mean():.1f}'])} |"


def main() -> None:
    """Parse arguments and print a row for each rule and method."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=["mst", "aim"])
    parser.add_argument("--rules", nargs="+", default=[*RULES], choices=[*RULES])
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    print("| rule | method | discarded | tvd-2 | distance of gaps | mean gap, real | mean gap |")
    print("|---|---|---|---|---|---|---|")
    frame = stays()
    for name in options.rules:
        for method in options.methods:
            print(outcome(frame, method, options.epsilon, name), flush=True)


if __name__ == "__main__":
    main()
