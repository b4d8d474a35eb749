"""Tables in the bins of SynMeter's code, to separate the effect of its bins from that of its methods.

    python benchmarks/synmeter_bins.py rounded|disclosure [--tables ...] [--methods ...] [--shadows N] [--draws N]

`rounded` scores the real rows in ten quantile bins (QUANTILES) or twenty even ones (EVEN): the best that a method with
bins can do. `disclosure` scores membership disclosure, without privacy, of methods in the bins of the authors' code. Each
prints a JSON line for each table and method. Needs SYNTABULA_DATA. SynMeter's tables themselves are studies:
`syntabula bench list synmeter`.

Its code replaces each number by the middle of one of a few bins that it reads off the rows to learn: quantile bins
for PGM, five to twenty of them as tuned and always five for membership disclosure; even bins for PrivSyn, ten for
membership disclosure (Du and Li, SynMeter, Tables A1 and A2, and its code).
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import syntabula as st
from syntabula.bench.splits import load_split, table_of_synmeter
from syntabula.select.fixed_marginals import GivenWorkload
from syntabula.table.raw import PhysicalType, RawColumn, RawTable
from syntabula.table.read import read

Floats = NDArray[np.float64]
Kind = Literal["quantile", "even"]


@dataclass(frozen=True)
class Bins:
    """Bins of one column, read off its values.

    Attributes:
        edges: Their bounds [bins + 1], ascending.
    """

    edges: Floats

    @classmethod
    def of(cls, values: NDArray[Any], most: int, kind: Kind) -> Bins:
        """Read at most `most` bins off a column; equal quantiles are merged."""
        numbers = values.astype(np.float64)
        n_bins = min(most, np.unique(numbers).size)
        if kind == "quantile":
            edges = np.quantile(numbers, np.linspace(0, 1, n_bins + 1))
        else:
            edges = np.linspace(numbers.min(), numbers.max(), n_bins + 1)
        return cls(np.concatenate([edges[:1], edges[1:][np.diff(edges) > 1e-8]]))

    @property
    def middles(self) -> Floats:
        """Middle of each bin [bins]; for a constant column, its value."""
        return (self.edges[1:] + self.edges[:-1]) / 2 if self.edges.size > 1 else self.edges

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the bin of each value, the nearest one for values outside."""
        found = np.searchsorted(self.edges[1:-1], values.astype(np.float64), side="right")
        return found.astype(np.int64)


def rounded(table: RawTable, schema: st.Schema, most: int, kind: Kind) -> RawTable:
    """Return a table whose numbers are the middles of their bins: the best that a method with bins can do."""
    columns = dict(table.columns)
    for name, column in schema.columns.items():
        if isinstance(column, st.Numeric):
            values, missing = columns[name].values, columns[name].missing
            bins = Bins.of(values, most, kind)
            columns[name] = RawColumn(
                bins.middles[bins.codes(values)], missing, PhysicalType("float", "float64")
            )
    return RawTable(columns, table.n_rows, table.origin)


@dataclass(frozen=True, kw_only=True)
class Binned:
    """One of our methods over bins and categories read off the rows it learns, which is not private.

    Attributes:
        method: Name of the method.
        most: Most bins of a column.
        kind: Kind of bins.
        epsilon: Epsilon of the method.
        pairs: Whether to measure all pairs and fit Private-PGM to them, instead of the method.
        triples: Number of random triples of columns to measure beside all pairs, the same in each fit.
        seed: Seed of the method.
    """

    method: str
    most: int
    kind: Kind
    epsilon: float
    pairs: bool = False
    triples: int = 0
    seed: int = 0

    def fit(self, source: Any, schema: st.Schema) -> Middles:
        """Learn the bins, and the table in them."""
        table = read(source, schema)
        columns: dict[str, RawColumn] = {}
        domains: dict[str, st.Categorical] = {}
        bins: dict[str, Bins] = {}
        for name, column in table.columns.items():
            if isinstance(schema.columns[name], st.Numeric):
                if column.missing.any():
                    raise ValueError("numbers are missing: the code of the authors drops such rows")
                bins[name] = Bins.of(column.values, self.most, self.kind)
                codes, physical = bins[name].codes(column.values), PhysicalType("integer", "int64")
                columns[name] = RawColumn(codes, column.missing, physical)
                domains[name] = st.Categorical(tuple(range(bins[name].middles.size)), provenance="public")
            else:
                seen = sorted(set(column.values[~column.missing].tolist()), key=repr)
                missing = bool(column.missing.any())
                columns[name] = column
                domains[name] = st.Categorical(tuple(seen), nullable=missing, provenance="public")
        recoded = RawTable(columns, table.n_rows, table.origin)
        return Middles(self._synthesizer(list(domains)).fit(recoded, st.Schema(domains)), bins)

    def _synthesizer(self, columns: list[str]) -> Any:
        if not self.pairs:
            return st.synthesizer(self.method)(epsilon=self.epsilon, seed=self.seed)
        pairs, triples = (list(combinations(columns, size)) for size in (2, 3))
        measured = [*pairs, *Random(0).sample(triples, self.triples)]
        model = st.Marginal(selector="all_pairs", model="pgm").model
        return st.Marginal(
            selector=GivenWorkload(workload=measured), model=model, epsilon=self.epsilon, seed=self.seed
        )


@dataclass(frozen=True)
class Middles:
    """Draws rows whose numbers are middles of bins."""

    release: Any
    bins: dict[str, Bins]

    def sample_columns(self, n: int, *, seed: int) -> dict[str, RawColumn]:
        """Draw n rows."""
        columns: dict[str, RawColumn] = dict(self.release.sample_columns(n, seed=seed))
        for name, bins in self.bins.items():
            codes = columns[name].values.astype(np.int64)
            physical = PhysicalType("float", "float64")
            columns[name] = RawColumn(bins.middles[codes], columns[name].missing, physical)
        return columns


ROUNDED: dict[str, tuple[int, Kind]] = {"QUANTILES": (10, "quantile"), "EVEN": (20, "even")}
BINNED = {
    "mst-bins": Binned(method="mst", most=5, kind="quantile", epsilon=math.inf),
    "pairs-bins": Binned(method="mst", most=5, kind="quantile", epsilon=math.inf, pairs=True),
    "triples-bins": Binned(method="mst", most=5, kind="quantile", epsilon=math.inf, pairs=True, triples=5),
    "privsyn-bins": Binned(method="privsyn", most=10, kind="even", epsilon=math.inf),
}


def of_rounded(name: str, method: str) -> dict[str, float]:
    """Return the fidelity of rounded rows to those that were learned and held out, and their query error."""
    split = load_split("synmeter", name, {}, None)
    found = {}
    for role in ("learned", "held out"):
        real = split.real(role)
        assert real is not None
        tables = st.metrics.compare(real, rounded(real, split.schema, *ROUNDED[method]), schema=split.schema)
        rng = np.random.default_rng(0)
        found[f"fidelity, {role}"] = st.metrics.Wasserstein(max_rows=3000, max_pairs=8)(tables, rng).value
        found[f"queries, {role}"] = st.metrics.QueryError(prefixes=True)(tables, rng).value
    return found


def of_disclosure(name: str, method: str, shadows: int, draws: int) -> dict[str, float]:
    """Return the membership disclosure of a method in bins, and its standard error."""
    table, schema = table_of_synmeter(name)
    score = st.membership_disclosure(
        table, BINNED[method], schema, n_shadows=shadows, n_draws=draws, baselines=False
    )
    return {"value": score.value, "error": float(score.facts["standard_error"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("rounded", "disclosure"))
    parser.add_argument("--tables", nargs="+", default=["insurance"])
    parser.add_argument("--methods", nargs="+", help="by default all")
    parser.add_argument("--shadows", type=int, default=80, help="shadow models; 80 in the paper")
    parser.add_argument("--draws", type=int, default=10, help="synthetic tables of each")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
    for table in chosen.tables:
        for method in chosen.methods or (ROUNDED if chosen.what == "rounded" else BINNED):
            if chosen.what == "rounded":
                found = of_rounded(table, method)
            else:
                found = of_disclosure(table, method, chosen.shadows, chosen.draws)
            print(json.dumps({"table": table, "method": method, **found}), flush=True)


if __name__ == "__main__":
    main()
