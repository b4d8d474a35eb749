"""Wasserstein distance over the marginals of one and two columns: SynMeter's fidelity."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

import numpy as np

from syntabula._arguments import count, normalise, one_of, positive
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Part, Score
from syntabula.metrics.total_variation import total_variation
from syntabula.metrics.transport import Axis, Solver, along_axis, in_the_plane, sliced

ManySolvers = Literal[Solver, "sliced"]

_TYPES = ("categorical", "numeric", "categorical-categorical", "categorical-numeric", "numeric-numeric")
_FREE = "categorical-categorical"
_CHANCE = "standard error of the choice of pairs"
_MANY_COLUMNS = 40
_Item = TypeVar("_Item")


@dataclass(frozen=True, kw_only=True)
class Wasserstein:
    """Least cost of moving the real records onto the synthetic ones, for each column and pair of columns.

    Du and Li, "Systematic Assessment of Tabular Data Synthesis Algorithms" (SynMeter), Section 3.2. The cost
    between numbers is their distance after scaling to 0 .. 1 over both tables, that between different categories
    is 1 (as in the authors' code; the paper says infinity), and the costs of a pair add up. The value is the
    unweighted mean of five means: categorical columns, numeric ones, and pairs of two categorical, of a
    categorical and a numeric, and of two numeric columns. Missing is a value of its own, at a cost of 1 from all
    others.

    Pairs with a numeric column need a transport, whose time grows faster than the rows, so they are
    compared in a sample. Everything else uses all rows, whereas the authors' code samples there too.

    Attributes:
        max_rows: Rows of each table in transports. "auto" is 2,000, or 1,000 for tables with more than 40
            columns, as in the authors' tuning; their printed tables use 3,000. Small samples differ more by
            chance, so compare only values of the same size.
        max_pairs: Pairs to transport of each of the two types that need it, drawn at random if there are more;
            None for all. The facts then include the standard error that this adds.
        solver: How transports are solved: "exact", "sinkhorn" (never below the exact cost) or "sliced" (mean
            over random projections; another, smaller distance).
        regularisation: Weight of the entropy term of "sinkhorn".
        directions: Number of random projections of "sliced".

    Raises:
        ArgumentError: If an option is out of range.
    """

    max_rows: int | Literal["auto"] = "auto"
    max_pairs: int | None = None
    solver: ManySolvers = "exact"
    regularisation: float = 0.05
    directions: int = 50

    def __post_init__(self) -> None:
        normalise(
            self,
            max_rows=count().or_word("auto"),
            max_pairs=count(2).or_none,
            solver=one_of(*get_args(Solver), "sliced"),
            regularisation=positive,
            directions=count(),
        )

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "wasserstein" if self.solver == "exact" else f"wasserstein-{self.solver}"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws pairs, rows and the directions of projections."""
        every: list[Part] = [*itertools.combinations(tables.columns, 2)]
        groups = _by_type({pair: pair for pair in every}, tables)
        compared = {pair for kind, pairs in groups.items() for pair in self._some(kind, pairs, rng)}
        rows = self._rows(tables)
        sample = tables.sampled(rows, rng)
        small = {name: _axis(sample, tables, name) for name in tables.columns}
        parts: dict[Part, float] = {
            (name,): along_axis(_axis(tables, tables, name)) for name in tables.columns
        }
        for pair in (pair for pair in every if pair in compared):
            if set(pair) <= set(tables.categorical):
                codes = [(tables.real.codes[name], tables.synthetic.codes[name]) for name in pair]
                parts[pair] = total_variation(codes, [tables.size(name) for name in pair])
            else:
                parts[pair] = self._of_pair(small[pair[0]], small[pair[1]], rng)
        values = _by_type(parts, tables)
        means = {kind: float(np.mean(found)) for kind, found in values.items()}
        chance = {} if self.max_pairs is None else {_CHANCE: _error_of_choice(values, groups)}
        return Score(
            metric=self.key,
            value=float(np.mean([*means.values()])),
            direction="lower",
            details=parts,
            facts={
                "rows of the real table in transports": sample.real.n_rows,
                "rows of the synthetic table in transports": sample.synthetic.n_rows,
                "transported pairs": sum(not set(pair) <= set(tables.categorical) for pair in compared),
                **{f"mean of {kind}": value for kind, value in means.items()},
                **chance,
            },
        )

    def _rows(self, tables: Comparison) -> int:
        if self.max_rows != "auto":
            return self.max_rows
        return 1000 if len(tables.columns) > _MANY_COLUMNS else 2000

    def _some(self, kind: str, pairs: list[Part], rng: np.random.Generator) -> list[Part]:
        if self.max_pairs is None or kind == _FREE or len(pairs) <= self.max_pairs:
            return pairs
        return [pairs[place] for place in rng.choice(len(pairs), size=self.max_pairs, replace=False)]

    def _of_pair(self, first: Axis, second: Axis, rng: np.random.Generator) -> float:
        if self.solver != "sliced":
            return in_the_plane(first, second, solver=self.solver, regularisation=self.regularisation)
        directions = rng.normal(size=(self.directions, first.dimensions + second.dimensions))
        return sliced(first, second, directions / np.linalg.norm(directions, axis=1, keepdims=True))


def _axis(sample: Comparison, whole: Comparison, name: str) -> Axis:
    """Return a column of a sample, with numbers scaled by the bounds of the whole tables."""
    if name in whole.categories:
        return Axis.of_categories(sample.real.codes[name], sample.synthetic.codes[name], whole.size(name))
    return Axis.of_numbers(whole.scaled(sample.real, name), whole.scaled(sample.synthetic, name))


def _by_type(parts: Mapping[Part, _Item], tables: Comparison) -> dict[str, list[_Item]]:
    """Group the values of parts by the type of the part."""
    groups: dict[str, list[_Item]] = {kind: [] for kind in _TYPES}
    for part, value in parts.items():
        kinds = sorted("categorical" if name in tables.categories else "numeric" for name in part)
        groups["-".join(kinds)].append(value)
    return {kind: values for kind, values in groups.items() if values}


def _error_of_choice(values: Mapping[str, list[float]], groups: Mapping[str, list[Part]]) -> float:
    """Return the standard error of the score from using only some pairs."""
    variance = 0.0
    for kind, pairs in groups.items():
        found = values[kind]
        if len(found) < len(pairs):
            variance += float(np.var(found, ddof=1)) / len(found) * (1 - len(found) / len(pairs))
    return math.sqrt(variance) / len(values)
