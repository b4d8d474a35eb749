"""How many rows keep a rule that no schema states: the league that follows from a team, the state from a city.

    python benchmarks/groups.py [--tables teams cities ...] [--methods mst aim] [--epsilons 0.5 1 5] [--rows 10000 50000]
        [--seeds 0 1 2] [--found]

Eight made-up columns, of which the first determines the second: 50 teams in 4 leagues, or 200 cities in 16 states. In
`loose` and `looser` 4 and 20 % of the rows break the rule, in `none` the columns do not depend on each other. Printed are
the share of drawn rows that keep it, and distances of this pair and of all pairs in 20 levels. Domains are declared, but
for --found. Needs no file. Run it at an earlier commit to compare.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np
import pandas as pd

import syntabula as st

TABLES = {
    "teams": (50, 4, 0.0),
    "cities": (200, 16, 0.0),
    "loose": (50, 4, 0.05),
    "looser": (50, 4, 0.27),
    "none": (50, 4, 1.0),
}
"""Number of codes of the first column and of the second, and the part of the rows that draw the second anew."""


def made(name: str, n: int, seed: int) -> pd.DataFrame:
    """Return a table whose first column determines the second, as far as its name says."""
    n_teams, n_leagues, anew = TABLES[name]
    rng = np.random.default_rng(seed)
    league_of = rng.permutation(np.arange(n_teams) % n_leagues)
    team = rng.choice(n_teams, n, p=rng.dirichlet(np.full(n_teams, 5.0)))
    league = np.where(rng.random(n) < anew, rng.integers(0, n_leagues, n), league_of[team])
    goals = rng.poisson(1 + league_of[team] % 3)
    return pd.DataFrame(
        {
            "team": np.array([f"t{i:03d}" for i in range(n_teams)])[team],
            "league": np.array([f"L{i:02d}" for i in range(n_leagues)])[league],
            "goals": goals,
            "home": np.array(["home", "away"])[rng.integers(0, 2, n)],
            "age": np.clip(rng.normal(26, 4, n).round(), 17, 40).astype(int),
            "role": np.array(["keeper", "back", "mid", "front"])[rng.choice(4, n, p=[0.1, 0.35, 0.35, 0.2])],
            "fee": np.round(rng.lognormal(3 + 0.3 * (league % 3), 0.8), 1),
            "won": np.where(rng.random(n) < 0.3 + 0.1 * (goals > 1), "yes", "no"),
        }
    )


def schema_of(table: pd.DataFrame) -> st.Schema:
    """Return a schema that says nothing of the rule."""
    columns = {}
    for name, cells in table.items():
        if name == "fee":
            columns[name] = st.Numeric(0, 1000, decimals=1)
        elif pd.api.types.is_numeric_dtype(cells):
            columns[name] = st.Numeric(0, 100, integer=True)
        else:
            columns[name] = st.Categorical(sorted(cells.unique()))
    return st.Schema(columns)


def distances(real: pd.DataFrame, drawn: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the total variation distance of each pair of columns, ages and fees in 20 levels of the real ones."""
    levels = {}
    for name in real:
        both = pd.concat([real[name], drawn[name]], ignore_index=True)
        if name in ("age", "fee"):
            cuts = np.unique(np.nanquantile(real[name], np.linspace(0, 1, 21)[1:-1]))
            levels[name] = np.searchsorted(cuts, both.astype(float))
        else:
            levels[name] = pd.factorize(both.astype(str))[0]
    found = {}
    for a, b in itertools.combinations(real, 2):
        cells = levels[a] * (levels[b].max() + 1) + levels[b]
        parts = [np.bincount(part, minlength=cells.max() + 1) for part in np.split(cells, [len(real)])]
        found[a, b] = float(np.abs(parts[0] / len(real) - parts[1] / len(drawn)).sum() / 2)
    return found


def main() -> None:
    """Parse arguments, fit and draw, and print a line for each fit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=["teams", "cities"])
    parser.add_argument("--methods", nargs="+", default=["mst", "aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 5.0])
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 50_000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--found", action="store_true", help="find domains privately")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | rows | method | epsilon | seed | keep the rule | the pair | all pairs | processor s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, n, seed in itertools.product(options.tables, options.rows, options.seeds):
        table = made(name, n, seed)
        league_of = table.groupby("team")["league"].agg(lambda cells: cells.mode()[0])
        for method, epsilon in itertools.product(options.methods, options.epsilons):
            start = time.process_time()
            synthesizer = st.synthesizer(method)(epsilon=epsilon, delta=1e-6, seed=seed)
            drawn = synthesizer.fit(table, None if options.found else schema_of(table)).sample(n, seed=seed)
            seconds = time.process_time() - start
            kept = float((drawn["league"] == drawn["team"].map(league_of)).mean())
            far = distances(table, drawn)
            mean = float(np.mean([*far.values()]))
            print(
                f"| {name} | {n:,} | {method} | {epsilon:g} | {seed} | {kept:.3f} | {far['team', 'league']:.3f} | "
                f"{mean:.4f} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
