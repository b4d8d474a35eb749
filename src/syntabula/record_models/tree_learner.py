"""The learner of dp-synthpop: trees that grow by noisy counts, column by column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise, positive, refusal
from syntabula._planning import SECONDS_PER_WEIGHED_MARGINAL, FitCost, PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Codes, Domain
from syntabula.marginals.measurement import FloatArray, consistent_total, project_simplex
from syntabula.marginals.splits import Splits
from syntabula.models.base import Model
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.pricing import counting_event, standard_deviation
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.record_models.column_trees import ColumnTrees
from syntabula.record_models.learner import ONE_WAY
from syntabula.record_models.levels import merged_levels
from syntabula.record_models.noisy_trees import MOST_CELLS, MOST_GROUPS, MOST_VALUES, Level, NoisyTree
from syntabula.record_models.one_way import ONE_WAY_SHARE, OneWayStart
from syntabula.record_models.representation import one_way_counts

DEPENDENCE = "measure how far columns depend on each other"
_DEPENDENCE_SHARE = Fraction(1, 10)
_LEVELS_COMPARED = 12
_SYNTHETIC_ROWS = 20_000
# Measured on one 2-core machine; of cells, their noise and what becomes of them.
_SECONDS_PER_LEVEL, _SECONDS_PER_RECORD, _SECONDS_PER_CELL = 1.4e-3, 7e-9, 7e-7
_LEAST_PLANNED = 64


@dataclass(frozen=True, kw_only=True)
class NoisyGrowth:
    """How trees grow with a budget.

    Attributes:
        levels: A column depends on at most so many columns before it: each level of its tree divides the leaves by one.
        crowd: Number of records that are counted together on average, in standard deviations of the noise on their
            count: a larger one makes fewer and larger leaves, which are told apart better from noise.

    Raises:
        ArgumentError: If an argument is outside its range.
    """

    levels: int = tunable(4, Range(low=2, high=6))
    crowd: float = tunable(4.0, Range(low=2.0, high=8.0, log=True))

    def __post_init__(self) -> None:
        normalise(self, levels=count(), crowd=positive)


@dataclass(frozen=True, kw_only=True)
class NoisyTreeLearner:
    """Measures one-way marginals and dependences of pairs, and grows a tree for each column (for `Synthpop`).

    Attributes:
        model: Its order of columns is kept.
        growth: How trees grow.
        seed: Of synthetic rows, by which leaves are weighed. No privacy rests on it.
        budget: What a fit may spend, by which `plan` tells how many cells noise allows; None plans as if there were none.
    """

    model: ColumnTrees = field(default_factory=ColumnTrees)
    growth: NoisyGrowth = field(default_factory=NoisyGrowth)
    seed: int = 0
    budget: Budget | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, ColumnTrees):
            raise refusal("model", "a ColumnTrees", self.model)
        if not isinstance(self.growth, NoisyGrowth):
            raise refusal("growth", "a NoisyGrowth", self.growth)

    @property
    def name(self) -> str:
        """The kind of the model."""
        return self.model.kind

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost."""
        order, cells = self.model.order(domain), sum(domain.sizes)
        shares = self._shares(len(order))
        steps = [PlannedStep(name=ONE_WAY, share=shares.one_way, cells=cells, noisy_cells=cells)]
        if len(order) > 1:
            pairs = len(order) * (len(order) - 1) // 2
            compared = pairs * _LEVELS_COMPARED**2
            steps.append(
                PlannedStep(
                    name=DEPENDENCE,
                    share=shares.dependence,
                    cells=compared,
                    noisy_cells=pairs,
                    work_seconds=pairs * SECONDS_PER_WEIGHED_MARGINAL,
                )
            )
        level = Level(self._planned_sigma(shares.level), self.growth.crowd)
        most = min(max(int(level.cells(n_rows)), _LEAST_PLANNED), MOST_CELLS)
        rows = n_rows + _SYNTHETIC_ROWS
        for position, column in enumerate(order[1:], 1):
            levels = min(position, self.growth.levels)
            asked = self._asked_cells(domain, column, order[:position], most)
            seconds = levels * (_SECONDS_PER_LEVEL + rows * _SECONDS_PER_RECORD) + asked * _SECONDS_PER_CELL
            steps.append(
                PlannedStep(
                    name=_growing(column),
                    share=shares.level * levels,
                    cost=FitCost(rows * (position + 4) * 8 / 2**20, seconds),
                )
            )
        return steps

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Measure one-way marginals and dependences, grow the trees, and return the model."""
        progress(ONE_WAY, 0.0)
        shares = self._shares(len(doors.domain)).of(share)
        start = OneWayStart.of(doors, share=shares.one_way, step=ONE_WAY)
        doors, domain, measured = start.doors, start.doors.domain, start.measured
        total = consistent_total(measured)
        one_way = {c: project_simplex(v, total) for c, v in one_way_counts(measured).items()}
        order = self.model.order(domain)
        depends = self._dependences(doors, order, one_way, total, shares.dependence)
        level = Level(doors.leaves.sigma(shares.level) if shares.level else 0.0, self.growth.crowd)
        rng = np.random.default_rng(self.seed)
        rows: dict[str, Codes] = {}
        trees = []
        for position, column in enumerate(order):
            progress(_growing(column), position / len(order))
            tree = NoisyTree(domain, column, order[:position], one_way)
            for predictor in self._predictors(column, order[:position], depends):
                ask = partial(self._asked, doors, column, shares.level)
                tree.grow(predictor, level, ask)
            grown, leaves = tree.finished([*rows.values()], _SYNTHETIC_ROWS)
            trees.append(grown)
            rows[column] = grown.draw_in(leaves, rng)
        progress(_growing(order[-1]), 1.0)
        return start.raked(self.model.of_trees(domain, total, one_way, trees)), None

    def _asked(
        self, doors: Doors, column: str, share: Fraction, splits: Splits, groups: NDArray[np.intp]
    ) -> FloatArray:
        return doors.leaves.counts(splits, column, groups, share=share, step=_growing(column)).values

    def _dependences(
        self,
        doors: Doors,
        order: Sequence[str],
        one_way: Mapping[str, FloatArray],
        total: float,
        share: Fraction,
    ) -> dict[frozenset[str], float]:
        """Release how far each pair of columns is from independence, as a part of the most that it can be."""
        pairs = [(a, b) for i, b in enumerate(order) for a in order[:i]]
        if not pairs:
            return {}
        recoding = merged_levels(doors.domain, one_way, _LEVELS_COMPARED)
        merged = doors.recoded(recoding).tables
        found = merged.measure_dependence(pairs, share=share, step=DEPENDENCE)
        roots = {c: float(np.sqrt(recoding.merge_counts((c,), one_way[c]) / total).sum()) for c in order}
        # What columns without any dependence are expected to have by chance.
        chance = [math.sqrt(2 * total / math.pi) * roots[a] * roots[b] for a, b in pairs]
        parts = np.clip((found - chance) / (2 * total), 0.0, 1.0)
        return {frozenset(pair): float(part) for pair, part in zip(pairs, parts, strict=True)}

    def _predictors(
        self, column: str, before: Sequence[str], depends: Mapping[frozenset[str], float]
    ) -> list[str]:
        """Return the columns that a tree splits by: those that tell most of the column and least of each other."""
        chosen: list[str] = []
        while len(chosen) < min(self.growth.levels, len(before)):
            left = [c for c in before if c not in chosen]
            merits = [
                depends[frozenset((c, column))] * math.prod(1 - depends[frozenset((c, x))] for x in chosen)
                for c in left
            ]
            chosen.append(left[int(np.argmax(merits))])
        return chosen

    def _asked_cells(self, domain: Domain, column: str, before: Sequence[str], most: int) -> int:
        """Return about how many cells all levels of a tree may ask for, each at most so many."""
        cells, found = min(domain.size(column), MOST_VALUES), 0
        for size in sorted((domain.size(c) for c in before), reverse=True)[: self.growth.levels]:
            cells = min(cells * min(size, MOST_GROUPS), most)
            found += cells
        return found

    def _planned_sigma(self, share: Fraction) -> float:
        """Return the noise on the counts of a level, if learning takes the whole budget; 0 if that is not known."""
        if self.budget is None or not share:
            return 0.0
        return standard_deviation(counting_event(Ledger(self.budget), share, sensitivity=1, cells=1))

    def _shares(self, n_columns: int) -> _Shares:
        levels = sum(min(position, self.growth.levels) for position in range(n_columns))
        if not levels:
            return _Shares(Fraction(1), Fraction(0), Fraction(0))
        rest = 1 - ONE_WAY_SHARE - _DEPENDENCE_SHARE
        return _Shares(ONE_WAY_SHARE, _DEPENDENCE_SHARE, rest / levels)


@dataclass(frozen=True)
class _Shares:
    """Fractions of the budget: for all one-way marginals, for all dependences, and for a level of a tree."""

    one_way: Fraction
    dependence: Fraction
    level: Fraction

    def of(self, share: Fraction) -> _Shares:
        return replace(
            self, one_way=self.one_way * share, dependence=self.dependence * share, level=self.level * share
        )


def _growing(column: str) -> str:
    """Return the name of the spends for a column's tree."""
    return f"grow the tree of {column!r}"
