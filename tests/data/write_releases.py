"""Write one small release of every model in the present format, with what it answers.

    python tests/data/write_releases.py

The files of a format are written once, when it is new, and never again: the test beside them shows that later
versions still read them. All values are simulated.
"""

from __future__ import annotations

import datetime as dt
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.synthesizers.release_file import FORMAT_VERSION

FOLDER = Path(__file__).parent
PAIRS = [("code", "flag"), ("age", "code"), ("day", "income")]
N_SAMPLED = 12
_NETWORK = {"n_rows": 64, "units": 8, "iterations": 8}
METHODS: dict[str, dict[str, Any]] = {
    "independent": {},
    "mst": {},
    "aim": {},
    "privbayes": {},
    "privsyn": {},
    "private-gsd": {"max_rows": 100, "generations": 20},
    "rap": {"n_rows": 32, "iterations": 4, "cells_per_round": 3},
    "margnet": _NETWORK | {"rounds_per_column": 1},
    "auto": {},
}
SCHEMA = st.Schema(
    {
        "code": st.Categorical(("007", "01234", "=x")),
        "level": st.Categorical((1, 2, 3), open=True, other_label=-1, nullable=True),
        "place": st.Categorical(tuple(f"place {i}" for i in range(120))),
        "flag": st.Boolean(nullable=True),
        "age": st.Numeric(0, 99, integer=True, nullable=True),
        "income": st.Numeric(-10.0, 1000.0, decimals=2),
        "day": st.Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31)),
        "seen": st.Datetime(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1), timezone="Europe/Paris"),
        "id": st.Identifier(prefix="p", width=5),
    },
)


def people(n: int = 400) -> pd.DataFrame:
    """Draw a table of every kind of column."""
    rng = np.random.default_rng(7)
    age = rng.normal(45, 15, n).clip(0, 99).round()
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    seen = days + pd.to_timedelta(rng.integers(0, 86_400, n), unit="s")
    return pd.DataFrame(
        {
            "code": np.where(age > 50, "007", rng.choice(["01234", "=x"], n)),
            "level": pd.array(rng.integers(1, 6, n), dtype="Int64"),
            "place": [f"place {i}" for i in rng.geometric(0.2, n).clip(0, 119)],
            "flag": pd.array(np.where(rng.random(n) < 0.1, None, age > 30), dtype="boolean"),
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "income": (age * 7 + rng.exponential(50, n)).clip(-10, 1000).round(2),
            "day": days.date,
            "seen": seen.tz_localize("UTC").tz_convert("Europe/Paris"),
            "id": [f"x{i}" for i in range(n)],
        }
    )


def answers(release: st.Release) -> dict[str, Any]:
    """Return what a release says and draws, as JSON values."""
    return {
        "method": release.method,
        "n_estimated": release.n_estimated,
        "epsilon": release.privacy.budget.epsilon,
        "epsilon_spent": release.privacy.epsilon_spent,
        "marginals": [m.ravel().tolist() for m in release.marginals(PAIRS)],
        "rows": release.sample(N_SAMPLED, seed=5).to_csv(index=False).splitlines(),
    }


def main() -> None:
    """Write the files of the present format; refuses to replace any."""
    folder = FOLDER / f"release_format_{FORMAT_VERSION}"
    folder.mkdir()
    warnings.simplefilter("ignore")
    expected = {}
    for method, options in METHODS.items():
        kind = st.synthesizer(method)
        release = kind(epsilon=2.0, seed=3, bins=8).with_options(**options).fit(people(), SCHEMA)
        release.save(folder / f"{method}.syn")
        expected[method] = answers(release)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
