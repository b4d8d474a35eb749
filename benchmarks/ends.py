"""How well the later of two times in an order keeps its hour, weekday and distance, on made-up tables.

    python benchmarks/ends.py [--tables hospital hotel ...] [--methods mst aim] [--epsilons 1 5 inf] [--seeds 3]

20,000 rows each. Of stays in a hospital and a hotel, and of booked departures, the end keeps to its hours whatever the
start is; of cars in a garage, the distance does, and the hour of the end follows from it. `treated` has three times and
`contract` two dates; `delay` has a window around a time in place of an order. Needs no file. Run it at an earlier commit
to compare.
"""

from __future__ import annotations

import argparse
import datetime as dt
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd

import syntabula as st

N = 20_000
SPAN = (dt.datetime(2022, 1, 1), dt.datetime(2024, 3, 31, 23, 59))
TIMES = st.Datetime(*SPAN, resolution="minute")
DAYS = st.Date(SPAN[0].date(), SPAN[1].date())
WARDS = ["surgery", "medicine", "geriatrics", "paediatrics"]
COLUMNS: dict[str, Any] = {
    "ward": st.Categorical(WARDS),
    "urgent": st.Boolean(),
    "price": st.Numeric(0, 50_000, step=10),
}
TABLES = ["hospital", "hotel", "departure", "parking", "delay", "treated", "contract"]
_DAY = 1440


def _days(rng: np.random.Generator, weekdays: list[float]) -> np.ndarray:
    """Return days since 2022-01-01, a Saturday, by weekday from Monday on."""
    day = np.arange(730)
    weights = np.array(weekdays)[(day + 5) % 7] * (1 + 0.3 * np.sin(day / 58))
    return rng.choice(day, N, p=weights / weights.sum())


def _clock(rng: np.random.Generator, mean: float, spread: float, step: int = 1) -> np.ndarray:
    """Return minutes of a day around an hour."""
    minutes = rng.normal(mean * 60, spread * 60, N) % _DAY
    return (minutes // step * step).astype(int)


def made(name: str) -> tuple[pd.DataFrame, st.Schema]:
    """Return a table and its schema."""
    rng = np.random.default_rng(7)
    urgent = rng.random(N) < 0.4
    ward = rng.choice(WARDS, N, p=[0.3, 0.4, 0.2, 0.1])
    long = pd.Series(ward).map(dict(zip(WARDS, (4, 6, 12, 2), strict=True))).to_numpy()
    columns: dict[str, Any] = {"start": TIMES, "end": TIMES}
    rules: dict[str, Any] = {"order": [["start", "end"]]}
    more: dict[str, np.ndarray] = {}
    start = _days(rng, [1, 1, 1, 1, 0.9, 0.6, 0.5]) * _DAY
    start += np.where(urgent, _clock(rng, 17, 6), _clock(rng, 8, 1.2))
    nights = np.minimum(rng.geometric(1 / long), 60)
    end = (start // _DAY + nights) * _DAY + rng.integers(9 * 60, 13 * 60, N)
    if name in ("hospital", "treated"):
        # No stay ends on a Sunday.
        end += _DAY * ((end // _DAY + 5) % 7 == 6)
    if name == "treated":
        middle = start + rng.exponential(90, N).astype(int)
        middle = np.minimum(middle, end)
        more["middle"] = middle
        columns = {"start": TIMES, "middle": TIMES, "end": TIMES}
        rules = {"order": [["start", "middle", "end"]]}
    if name == "hotel":
        start = _days(rng, [0.7, 0.7, 0.8, 0.9, 1.3, 1.4, 0.8]) * _DAY + rng.integers(14 * 60, 22 * 60, N)
        nights = rng.choice([1, 2, 3, 4, 5, 7, 14], N, p=[0.4, 0.25, 0.12, 0.06, 0.04, 0.1, 0.03])
        end = (start // _DAY + nights) * _DAY + rng.integers(32, 48, N) * 15
    if name == "departure":
        start = _days(rng, [1, 1, 1, 1, 1, 0.6, 0.6]) * _DAY + _clock(rng, 14, 4)
        nights = 1 + np.minimum(rng.lognormal(2.8, 1.1, N), 80).astype(int)
        hours = rng.choice([6, 7, 8, 12, 13, 17, 18, 19, 20], N)
        end = (start // _DAY + nights) * _DAY + hours * 60
    if name == "parking":
        start = _days(rng, [1, 1, 1, 1, 1.2, 1.5, 0.4]) * _DAY + _clock(rng, 12, 3.5)
        nights = np.minimum(rng.lognormal(4.4, 0.9, N), 4 * _DAY).astype(int)
        end = start + nights
    if name == "delay":
        start = _days(rng, [1, 1, 1, 1, 1, 0.6, 0.6]) * _DAY + _clock(rng, 13, 4, 5)
        nights = np.clip(rng.normal(-3, 5, N) + rng.exponential(12, N), -30, 200).astype(int)
        end = start + nights
        rules = {
            "require": [
                'date_diff(\'minute\', "start", "end") >= -30',
                'date_diff(\'minute\', "start", "end") <= 200',
            ]
        }
    price = ((200 + 300 * np.minimum(nights, 60)) * np.exp(rng.normal(0, 0.3, N))).clip(0, 50_000).round(-1)
    minutes = {"start": start, **more, "end": end}
    begin = np.datetime64("2022-01-01T00:00", "us")
    times = {n: begin + m.astype("timedelta64[m]") for n, m in minutes.items()}
    if name == "contract":
        first = _days(rng, [1, 1, 1, 1, 0.9, 0.2, 0.1])
        last = first + np.minimum(rng.geometric(1 / 40, N), 80)
        last -= 2 * ((last + 5) % 7 == 6) * (last - first >= 2)
        begin_day = np.datetime64("2022-01-01", "D")
        times = {n: (begin_day + d).astype(object) for n, d in {"start": first, "end": last}.items()}
        columns = {"start": DAYS, "end": DAYS}
    frame = pd.DataFrame({"ward": ward, "urgent": urgent, "price": price, **times})
    return frame, st.Schema({**COLUMNS, **columns}, rules=st.Rules(**rules))


def _minutes(column: pd.Series) -> np.ndarray:
    return pd.to_datetime(column).to_numpy().astype("datetime64[m]").astype(np.int64)


def _shares(codes: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(codes, minlength=size) / codes.size


def scores(real: pd.DataFrame, drawn: pd.DataFrame) -> dict[str, float]:
    """Return the share of ends in the hours that hold all real ends, and distances of the distributions."""
    found: dict[str, float] = {}
    tables = [{n: _minutes(f[n]) for n in ("start", "end")} for f in (real, drawn)]
    gaps = [t["end"] - t["start"] for t in tables]
    edges = np.unique(np.quantile(gaps[0], np.linspace(0, 1, 31)))[1:-1]
    parts = [np.searchsorted(edges, g, side="right") for g in gaps]
    hours = [t["end"] // 60 % 24 for t in tables]
    held = np.bincount(hours[0], minlength=24) > 0.0005 * N
    found["inside"] = float(held[hours[1]].mean())

    def apart(codes: list[np.ndarray]) -> float:
        size = max(int(c.max()) for c in codes) + 1
        return float(np.abs(_shares(codes[0], size) - _shares(codes[1], size)).sum() / 2)

    found["hour"] = apart(hours)
    found["quarter"] = apart([t["end"] % 60 for t in tables])
    weekdays = [(t["end"] // _DAY + 3) % 7 for t in tables]
    found["weekday"] = apart(weekdays)
    found["start hour"] = apart([t["start"] // 60 % 24 for t in tables])
    found["start weekday"] = apart([(t["start"] // _DAY + 3) % 7 for t in tables])
    found["both hours"] = apart([t["start"] // 60 % 24 * 24 + h for t, h in zip(tables, hours, strict=True)])
    found["gap"] = apart(parts)
    others = [pd.Categorical(f["ward"], WARDS).codes * 2 + f["urgent"].to_numpy(int) for f in (real, drawn)]
    found["gap, ward"] = apart([p * 8 + o for p, o in zip(parts, others, strict=True)])
    price = np.unique(np.quantile(real["price"], np.linspace(0, 1, 11)))[1:-1]
    levels = [np.searchsorted(price, f["price"], side="right") for f in (real, drawn)]
    found["gap, price"] = apart([p * 10 + o for p, o in zip(parts, levels, strict=True)])
    weeks = [(t["start"] - tables[0]["start"].min()) // (_DAY * 28) for t in tables]
    found["gap, start"] = apart([p * 40 + np.clip(w, 0, 39) for p, w in zip(parts, weeks, strict=True)])
    found["disorder"] = float((gaps[1] < min(0, gaps[0].min())).mean())
    return found


def outcome(name: str, method: str, epsilon: float, seeds: int) -> dict[str, float]:
    """Fit and draw by some seeds; return mean scores and seconds."""
    frame, schema = made(name)
    each = []
    for seed in range(seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begun = time.process_time()
            release = st.synthesizer(method)(epsilon=epsilon, seed=seed).fit(frame, schema)
            drawn = release.sample(N, seed=seed)
            seconds = time.process_time() - begun
        each.append({**scores(frame, drawn), "seconds": seconds})
    return {key: float(np.mean([one[key] for one in each])) for key in each[0]}


def main() -> None:
    """Parse arguments and print a row for each table, method and epsilon."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--methods", nargs="+", default=["mst", "aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1, 5, float("inf")])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    begun = False
    for name in options.tables:
        for method in options.methods:
            for epsilon in options.epsilons:
                found = outcome(name, method, epsilon, options.seeds)
                if not begun:
                    print(f"| table | method | epsilon | {' | '.join(found)} |")
                    print(f"|{'---|' * (len(found) + 3)}", flush=True)
                    begun = True
                cells = [f"{x:.3f}" for x in found.values()]
                print(f"| {name} | {method} | {epsilon:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
