"""The codes of one ordered column: atoms, bins of the other values, and how values lie within bins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import Roundness, between_atoms, levels_of, with_atoms
from syntabula.bins.scale import even_bins
from syntabula.bins.spread import Spread
from syntabula.bins.uniform import Bins, UniformBins, integer_dtype
from syntabula.marginals.asked_points import AskedPoints
from syntabula.marginals.point_folds import CUTS_AHEAD, CodeFold, as_cuts, halving_cuts
from syntabula.marginals.sorted_points import CountedPoints
from syntabula.prepare.atoms import (
    LEAST_OF_BIN,
    MOST_POINTS,
    Atoms,
    Others,
    bins_beside,
    candidates,
    find_atoms,
    n_candidates,
    needs_delta,
)
from syntabula.prepare.discretizer import fit_spread, is_worth_fitting
from syntabula.prepare.preprocessing import Part, Preprocessing
from syntabula.prepare.rounding import CountedLevels, count_levels, steps_of
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.table.coding.column_codes import ordered_points
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import Ordered

if TYPE_CHECKING:
    from syntabula.table.parts.points import Expected

Points = NDArray[Any] | CountedPoints | AskedPoints
"""The points of a column's records: one each, or distinct ones with their numbers of records, or too many to hold."""

LEVELS, CELLS = "levels", "cells"
"""Names of the codes that are counted of a column."""

_STEPS: Mapping[Part, str] = {
    "roundness": "find the roundness of {!r}",
    "atoms": "find the frequent values of {!r}",
    "bins": "fit the bins of {!r}",
    "spread": "spread within the bins of {!r}",
}


def step_of(part: Part, name: str) -> str:
    """Return the ledger's name for a part of a column's refinement."""
    return _STEPS[part].format(name)


@dataclass(frozen=True)
class OrderedCodes:
    """The codes of an ordered column, and how its values lie within them.

    Attributes:
        bins: The codes.
        spread: Distribution within each bin; evenly if None.
        roundness: Which round numbers values are multiples of; None if they may be any.
    """

    bins: Bins
    spread: Spread | None = None
    roundness: Roundness | None = None


@dataclass(frozen=True, kw_only=True)
class Refinement:
    """Finds the codes of one ordered column.

    Attributes:
        name: Name of the column.
        column: Its declaration, or what was found of it.
        settings: The options.
        shares: What each part may spend; 0 for those that are free or not asked.
        count: Largest number of bins.
        n_estimated: Released number of records; 0 if it is not known.
        delta: Part of delta for frequent values; 0 for none.
        ledger: Pays for the spends.
        noise: Draws the noise.
    """

    name: str
    column: Ordered
    settings: Preprocessing
    shares: Mapping[Part, Fraction]
    count: int
    n_estimated: float
    delta: Fraction
    ledger: Ledger
    noise: NoiseSource

    def codes(self, raw: RawColumn | CountedPoints | AskedPoints) -> OrderedCodes:
        """Return the codes, from the column as read, or from its points with the number of records of each."""
        lower, upper, integer = self.column.span()
        if not is_worth_fitting(lower, upper, integer=integer, count=self.count):
            return OrderedCodes(UniformBins(self.count).bins(lower, upper, integer=integer))
        points = ordered_points(self.column, raw)[0] if isinstance(raw, RawColumn) else raw
        every = ColumnCurator(points, self.ledger, self.noise)
        levels = self._levels(every, points)
        unit = None if levels is None else levels.unit(lower, upper)
        others = self._others(levels, unit)
        atoms = self._atoms(every, unit, others)
        if atoms.is_all:
            return OrderedCodes(
                between_atoms(lower, upper, atoms.points, integer=integer), None, Roundness.of_lower_ends()
            )
        # Each record is looked at alone, here and on a scale, so neighbouring tables stay neighbours.
        rest_points = _without(points, atoms.points) if atoms.points else points
        rest = ColumnCurator(rest_points, self.ledger, self.noise) if atoms.points else every
        counted_at = Fraction(0) if unit is None or others is None else unit
        roundness = None if levels is None else levels.beside(atoms, counted_at)
        bins = self._bins(rest, rest_points, atoms)
        if not self._sees_values(every):
            bins = with_atoms(bins, atoms.points, None if roundness is None else roundness.unit)
        spread = None
        if self.settings.within == "normal":
            spread = fit_spread(rest, bins, share=self.shares["spread"], step=step_of("spread", self.name))
        return OrderedCodes(bins, spread, roundness)

    def _levels(self, column: ColumnCurator, points: Points) -> CountedLevels | None:
        steps = steps_of(self.column)
        if not steps or not self.settings.finds_roundness:
            return None
        levels = ColumnCurator(coded(points, LEVELS, code_of_levels(self.column)), self.ledger, self.noise)
        share, step = self.shares["roundness"], step_of("roundness", self.name)
        return count_levels(levels, steps, integer=column.integer, share=share, step=step)

    def _others(self, levels: CountedLevels | None, unit: Fraction | None) -> Others | None:
        """Return what is known of values that are no multiples of a step, if they can hold an atom."""
        if levels is None or unit is None:
            return None
        lower, upper, _ = self.column.span()
        among = levels.others(unit, least=self.n_estimated * LEAST_OF_BIN / self.count)
        if not among:
            return None
        return Others(
            levels.finest(lower, upper, among), self._n_present or float(levels.answer.values.sum())
        )

    @property
    def _n_present(self) -> float:
        """Released number of values; 0 if it is not known, as where cells may be missing."""
        return 0.0 if self.column.nullable else self.n_estimated

    def _atoms(self, column: ColumnCurator, unit: Fraction | None, others: Others | None) -> Atoms:
        declared = self.column.declared_atoms
        if self.column.atoms is not None or not self.settings.finds_atoms or self._sees_values(column):
            return Atoms(tuple(declared), (0.0,) * len(declared))
        lower, upper, integer = self.column.span()
        if unit is None and not needs_delta(lower, upper, integer):
            unit = Fraction(1)
        return find_atoms(
            column,
            lower,
            upper,
            unit=unit,
            others=others,
            count=self.count,
            n_estimated=self.n_estimated,
            n_present=self._n_present,
            share=self.shares["atoms"],
            # No part of delta is set aside for small domains, all of whose values can be counted.
            delta=self.delta if needs_delta(lower, upper, integer) else Fraction(0),
            step=step_of("atoms", self.name),
        )

    def _bins(self, rest: ColumnCurator, points: Points, atoms: Atoms) -> Bins:
        lower, upper, integer = self.column.span()
        scale = self.column.scale()
        count = bins_beside(self.count, len(atoms.points)) if atoms.points else self.count
        if self.settings.fitted is None or count < 2:
            return even_bins(count, lower, upper, integer=integer, scale=scale)
        fit = partial(
            self.settings.fitted.fit,
            count=count,
            n_estimated=max(self.n_estimated - sum(atoms.counts), 0.0),
            share=self.shares["bins"],
            step=step_of("bins", self.name),
        )
        if scale is None or self._sees_values(rest):
            return fit(rest, lower, upper)
        cells = ColumnCurator(
            coded(points, CELLS, CodeFold(scale.cells, scale.size)), self.ledger, self.noise
        )
        return scale.bins(fit(cells, 0, scale.size - 1))

    def _sees_values(self, column: ColumnCurator) -> bool:
        """Return whether the discretizer reads the values as they are, and leaves frequent ones alone itself."""
        return not column.is_private and getattr(self.settings.fitted, "sees_values", False)


def expected_of(column: Ordered, settings: Preprocessing) -> Expected:
    """Return what is likely to be asked of a column of a table in parts, by public facts alone.

    What it leaves out takes a further pass, so it need not be complete.
    """
    from syntabula.table.parts.points import Expected

    lower, upper, integer = column.span()
    scale, steps = column.scale(), steps_of(column)
    kind = integer_dtype(int(lower), int(upper)) if integer else np.dtype(np.float64)
    codes: dict[str, CodeFold] = {}
    if steps and settings.finds_roundness:
        codes[LEVELS] = code_of_levels(column)
    if scale is not None:
        codes[CELLS] = CodeFold(scale.cells, scale.size)
    cuts: list[Any] = []
    if scale is None and settings.fitted is not None:
        cuts += halving_cuts([(lower, upper + 1 if integer else upper)], CUTS_AHEAD, integer=integer)
    seeks = settings.finds_atoms and column.atoms is None
    if seeks:
        few = [step for step in steps if n_candidates(lower, upper, step) <= MOST_POINTS]
        points = candidates(lower, upper, few[-1] if few else None, integer=integer)
        cuts += [*points, *((p + 1 if integer else math.nextafter(p, math.inf)) for p in points)]
    cuts += [
        end for p in column.declared_atoms for end in (p, p + 1 if integer else math.nextafter(p, math.inf))
    ]
    return Expected(column, as_cuts(cuts, kind), codes, shares=seeks and needs_delta(lower, upper, integer))


def code_of_levels(column: Ordered) -> CodeFold:
    """Return the fold that counts how round the values of a column are."""
    steps, (_, _, integer) = steps_of(column), column.span()
    return CodeFold(partial(levels_of, steps=steps, integer=integer), len(steps) + 2)


def coded(points: Points, name: str, fold: CodeFold) -> NDArray[Any] | CountedPoints:
    """Return the codes of points; see `CodeFold`."""
    if isinstance(points, AskedPoints):
        return points.coded(name, fold)
    return points.mapped(fold.code) if isinstance(points, CountedPoints) else fold.code(points)


def _without(points: Points, values: Sequence[float]) -> Points:
    if isinstance(points, AskedPoints):
        return points.without(values)
    if isinstance(points, CountedPoints):
        return points.where(~np.isin(points.values, values))
    return points[~np.isin(points, values)]
