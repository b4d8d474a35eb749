"""Compares our scores with the public evaluators of further papers on the same tables and rows, in one run.

    git clone https://github.com/KaiChen9909/margnet
    git clone https://github.com/vanderschaarlab/evaluating-generative-models
    pip install dython
    PEERS=. python benchmarks/peer_scores.py --rows 300
    PEERS=. python benchmarks/peer_scores.py --rows 3000

Needs SYNTABULA_DATA, and in PEERS the folder of the clones. Prints rows as those of peer_metrics.py: random rows of
adult against as many with independent columns. MargNet's evaluator of marginals and queries is tab_bench's, by the
same authors. Imports that they do not use here are replaced.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
from peer_metrics import HEADER, Scores, pair, shown, timed

from syntabula import metrics
from syntabula.metrics.features import points
from syntabula.metrics.queries import draw_queries

QUERIES = 200


def loaded(module: str, clone: str = "") -> Any:
    """Import a public module, with replacements for imports that it does not use here."""
    if clone:
        sys.path.insert(0, str(Path(os.environ["PEERS"]).resolve() / clone))
    for name in ("seaborn", "psutil", "evaluator.data.dataset", "evaluator.data.data_utils"):
        sys.modules.setdefault(name, MagicMock())
    return import_module(module)


def of_tab_bench(n: int) -> Scores:
    """Yield total variation distances and query error."""
    tvd, query = (loaded(f"evaluator.eval_{name}", "margnet") for name in ("tvd", "query"))
    real, made, categorical, schema = pair(n)
    tables = metrics.compare(real, made, schema=schema)
    numeric = [name for name in real if name not in categorical]

    def parts() -> list[Any]:
        return [
            part
            for t in (real, made)
            for part in (t[numeric].to_numpy(float, copy=True), t[categorical].to_numpy(), None)
        ]

    def triples() -> float:
        given = parts()
        numbers = tvd.num_divide(given[0], given[3])
        whole = [
            np.concatenate(p, axis=1).astype(str) for p in zip(numbers, (given[1], given[4]), strict=True)
        ]
        columns = itertools.combinations(range(len(real.columns)), 3)
        return float(np.mean([tvd.marginal_TVD(*whole, c, 3) for c in columns]))

    for way in (1, 2, 3):
        theirs = triples if way == 3 else lambda way=way: tvd.tvd_main(*parts())[f"{way}way margin"]
        ours = metrics.TotalVariation(way=way)
        yield (
            f"tvd-{way}", "tab_bench, marginal_TVD",
            timed(lambda ours=ours: ours(tables, np.random.default_rng(0)).value), timed(theirs),
        )  # fmt: skip

    asked = draw_queries(tables, QUERIES, 3, np.random.default_rng(0))
    order = {name: i for i, name in enumerate(real)}
    rows = [frame.to_numpy(object) for frame in (real, made)]

    def error() -> float:
        errors = []
        for conditions in asked:
            attributes = [order[c.column] for c in conditions]
            kinds = ["cat" if c.column in categorical else "num" for c in conditions]
            wanted = [
                (tables.categories[c.column][int(c.low)],) if kind == "cat" else (c.low, c.high)
                for c, kind in zip(conditions, kinds, strict=True)
            ]
            for way in range(1, len(conditions) + 1):
                shares = [query.query_succeed(r, attributes, wanted[:way], kinds) / len(r) for r in rows]
                errors.append(abs(shares[0] - shares[1]))
        return float(np.mean(errors))

    ours = metrics.QueryError(prefixes=True, n_queries=QUERIES)
    yield (
        f"query-error-prefix, {QUERIES} queries", "tab_bench, query_succeed",
        timed(lambda: ours(tables, np.random.default_rng(0)).value), timed(error),
    )  # fmt: skip


def of_dython(n: int) -> Scores:
    """Yield correlation ratio and Theil's U from dython, which the papers that SynMeter names used."""
    nominal = loaded("dython.nominal")
    real, made, categorical, schema = pair(n)
    tables = metrics.compare(real, made, schema=schema)
    numeric = [name for name in real if name not in categorical]

    def gap(score: Callable[[Any, Any], float], first: str, second: str) -> float:
        return abs(score(real[first], real[second]) - score(made[first], made[second]))

    def ratios() -> float:
        return float(np.mean([gap(nominal.correlation_ratio, c, x) for c in categorical for x in numeric]))

    def uncertainty() -> float:
        pairs = itertools.permutations(categorical, 2)
        return float(np.mean([gap(nominal.theils_u, first, second) for first, second in pairs]))

    def ours(n_categorical: int) -> float:
        found = metrics.Association()(tables, np.random.default_rng(0)).details
        return float(np.mean([v for k, v in found.items() if len({*k} & {*categorical}) == n_categorical]))

    yield "association, mixed pairs", "dython, correlation_ratio", timed(lambda: ours(1)), timed(ratios)
    yield "association of categories", "dython, theils_u", timed(lambda: ours(2)), timed(uncertainty)


def of_support(n: int) -> Scores:
    """Yield alpha-precision and beta-recall; the authors' code omits one of the area's 30 steps."""
    theirs = loaded("metrics.evaluation", "evaluating-generative-models")
    real, made, _, schema = pair(n)
    tables = metrics.compare(real, made, schema=schema)
    scores = {"alpha-precision": metrics.AlphaPrecision(), "beta-recall": metrics.BetaRecall()}
    x, y = points(tables, tables.real), points(tables, tables.synthetic)
    for place, (name, ours) in enumerate(scores.items(), 3):
        yield (
            name, "Alaa et al., 1 - 29/30 (1 - Delta)",
            timed(lambda ours=ours: ours(tables, np.random.default_rng(0)).value),
            timed(
                lambda place=place: 1 - 29 / 30 * (1 - theirs.compute_alpha_precision(x, y, x.mean(axis=0))[place])
            ),
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=300)
    parts = {"tab_bench": of_tab_bench, "dython": of_dython, "support": of_support}
    parser.add_argument("--parts", nargs="+", choices=[*parts], default=[*parts])
    options = parser.parse_args()
    print(HEADER)
    for name in options.parts:
        for score in parts[name](options.rows):
            print(shown(*score), flush=True)


if __name__ == "__main__":
    main()
