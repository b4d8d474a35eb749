"""Divides the preprocessing budget among columns and spends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from syntabula._planning import PlannedStep, Progress, one_by_one
from syntabula.bins.bin_count import LEAST_BINS, budget_rice
from syntabula.bins.uniform import Bins, UniformBins
from syntabula.marginals.consistency import project_simplex
from syntabula.marginals.domain import Domain
from syntabula.prepare.discretizer import fit_spread, is_worth_fitting
from syntabula.prepare.preprocessing import TYPE_SHARE, BinCount, Preprocessing, RareCategories, type_step
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.statement import domain_step
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import ordered_points
from syntabula.table.coding.unit_sizes import UnitSizes
from syntabula.table.schema.columns import Categorical, Ordered
from syntabula.table.schema.schema import Schema, completed, is_whole

if TYPE_CHECKING:
    from syntabula.bins.spread import Spread
    from syntabula.marginals.recoding import Recoding
    from syntabula.privacy.doors.tables import Curator
    from syntabula.privacy.ledger import Ledger
    from syntabula.privacy.noise import NoiseSource
    from syntabula.privacy.units import Units
    from syntabula.table.files.delimited import DelimitedFile
    from syntabula.table.raw import PhysicalType, RawTable

_COUNT_STEP = "count the records"
_UNITS_STEP = "count the units by their rows"
_CELLS_PER_COLUMN = 200


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """The preprocessing budget of each column, which depends only on names, types and declared domains.

    Attributes:
        settings: The options.
        bins: Largest number of bins of a column, or "auto" for the rule of `usual_bins`.
        count: Share for counting the records; 0 if their number is not needed.
        units: Share for counting units by their number of rows; 0 where each has one.
        types: Share of each column whose type must be found.
        domains: Share of each column whose domain must be found.
        refinements: Share of each ordered column for its bins and the distribution within them; 0 if they are free.
        large: Declared columns whose rare categories are merged.
        merging: How they are merged, and with which share; None if there is no large column.
        finds_labels: Whether categories must be found.
        learner_delta: Fraction of delta that is reserved for the learner.
    """

    settings: Preprocessing
    bins: BinCount
    count: Fraction
    units: Fraction = Fraction(0)
    types: Mapping[str, Fraction] = field(default_factory=dict)
    domains: Mapping[str, Fraction]
    refinements: Mapping[str, Fraction]
    large: tuple[str, ...] = ()
    merging: RareCategories | None = None
    finds_labels: bool = False
    learner_delta: Fraction = Fraction(0)

    @property
    def share(self) -> Fraction:
        """Fraction of the whole budget for all preprocessing."""
        columns = (self.types, self.domains, self.refinements)
        merging = self.merging.share if self.merging else Fraction(0)
        return (
            self.count + self.units + merging + sum(sum(shares.values(), Fraction(0)) for shares in columns)
        )

    def budget(self, budget: Budget) -> Budget:
        """Return the budget, with part of its delta reserved if categories must be found, or for the learner."""
        if not self._reserved_delta:
            return budget
        return budget.with_failure_delta(self._reserved_delta * Fraction(budget.delta))

    def planned(self, domain: Domain) -> tuple[list[tuple[PlannedStep, Fraction]], Domain]:
        """Return all steps with their shares, in order, and the domain after rare codes are merged.

        Args:
            domain: Domain of the codec, known or guessed.
        """
        steps = [(step, step.share) for step in self._column_steps()]
        if self.merging is None:
            return steps, domain
        cells = sum(domain.size(c) for c in self.large)
        share = self.merging.share
        merging = PlannedStep(name=self.merging.step, share=share, cells=cells, noisy_cells=cells)
        # A kept code holds at least theta of the records, so at most 1 / theta codes are kept.
        most = self.merging.most_kept + 1
        sizes = {c: min(domain.size(c), most) if c in self.large else domain.size(c) for c in domain}
        return [*steps, (merging, share)], Domain.from_sizes(sizes, domain.ordered)

    def recoding(self, curator: Curator) -> Recoding | None:
        """Merge the rare categories of the large columns; None if there is none."""
        return None if self.merging is None else self.merging.fit(curator, self.large)

    @property
    def _labels_delta(self) -> Fraction:
        return self.settings.delta_share if self.finds_labels else Fraction(0)

    @property
    def _reserved_delta(self) -> Fraction:
        return self._labels_delta + self.learner_delta

    def _column_steps(self) -> list[PlannedStep]:
        steps = [(type_step(name), share) for name, share in self.types.items()]
        steps += [(_COUNT_STEP, self.count)] if self.count else []
        steps += [(_UNITS_STEP, self.units)] if self.units else []
        steps += [(domain_step(name), share) for name, share in self.domains.items()]
        for name, share in self.refinements.items():
            steps += zip((_bins_step(name), _spread_step(name)), self.settings.divided(share), strict=True)
        # Counting one column is a small part of a pass over the table, which is charged to the first step.
        return [
            PlannedStep(
                name=step,
                share=share,
                noisy_cells=_CELLS_PER_COLUMN,
            )
            for step, share in steps
            if share
        ]

    def most_bins(self, budget: Budget, n_rows: float) -> int:
        """Return the number of bins for columns that do not set their own."""
        return usual_bins(self.settings, self.bins, budget, n_rows)

    def typed(
        self,
        file: DelimitedFile,
        schema: Schema | None,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        progress: Progress,
    ) -> RawTable:
        """Find the types of a text file's undeclared columns, and return the table read with all types."""
        from syntabula.prepare.found_columns import find_types

        found = find_types(file, self.types, ledger=ledger, noise=noise, progress=progress)
        return file.typed(found, schema)

    def codec(
        self,
        table: RawTable,
        schema: Schema | None,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        progress: Progress,
        units: Units | None = None,
    ) -> Codec:
        """Find the undeclared domains, then the bins, and return the codec.

        Args:
            table: The table, of which a unit has no more rows than its schema keeps.
            schema: The declared columns.
            ledger: Pays for every answer.
            noise: Draws the noise.
            progress: Called with the name of a step and the fraction done.
            units: Whom the rows are about; None where each is about somebody else.

        Raises:
            PrivateDomainError: If noise hides the bounds of most columns that need bounds, or everything.
        """
        n_estimated = 0.0
        if self.count:
            # Every record counts once, whatever its cells.
            everyone = ColumnCurator(np.zeros(table.n_rows, dtype=np.int64), ledger, noise)
            answer = everyone.histogram([0, 1], share=self.count, step=_COUNT_STEP)
            n_estimated = max(float(answer.values[0]), 1.0)
        unit_sizes = self._unit_sizes(units, ledger, noise)
        if not is_whole(schema):
            # Most tables are declared whole, and need none of the search.
            from syntabula.prepare.found_columns import find_columns

            part = self._labels_delta / self._reserved_delta if self.finds_labels else Fraction(0)
            delta = ledger.failure_allowance * part
            found = find_columns(
                table, self.domains, delta=delta, ledger=ledger, noise=noise, progress=progress
            )
            schema = completed(schema, table.columns, found)
        most_bins = self.most_bins(ledger.budget, n_estimated)
        bins: dict[str, Bins] = {}
        spreads: dict[str, Spread] = {}
        for name, share in one_by_one(self.refinements, "fit the bins", progress):
            column = schema[name]
            if not isinstance(column, Ordered):
                continue
            refined = self._refine(name, column, table, most_bins, n_estimated, share, ledger, noise)
            bins[name] = refined[0]
            if refined[1] is not None:
                spreads[name] = refined[1]
        return Codec.plan(schema, bins=most_bins, fitted=bins, spreads=spreads, unit_sizes=unit_sizes)

    def _unit_sizes(self, units: Units | None, ledger: Ledger, noise: NoiseSource) -> UnitSizes | None:
        """Count the units by their number of rows, so that synthetic ones have as many."""
        if units is None or not self.units:
            return None
        most = ledger.unit.rows
        every = ColumnCurator(units.sizes(), ledger, noise, of_units=True)
        answer = every.histogram(range(1, most + 2), share=self.units, step=_UNITS_STEP)
        total = max(float(answer.values.sum()), 1.0)
        return UnitSizes.of(project_simplex(answer.values, total).tolist())

    def _refine(
        self,
        name: str,
        column: Ordered,
        table: RawTable,
        most_bins: int,
        n_estimated: float,
        share: Fraction,
        ledger: Ledger,
        noise: NoiseSource,
    ) -> tuple[Bins, Spread | None]:
        lower, upper, integer = column.span()
        count = most_bins if column.bins is None else column.bins
        worth = is_worth_fitting(lower, upper, integer=integer, count=count)
        discretizer = self.settings.fitted
        if not worth:
            return UniformBins(count).bins(lower, upper, integer=integer), None
        points, _ = ordered_points(column, table.columns[name])
        curator = ColumnCurator(points, ledger, noise)
        of_bins, of_spread = self.settings.divided(share)
        if discretizer is None:
            bins = UniformBins(count).bins(lower, upper, integer=integer)
        else:
            bins = discretizer.fit(
                curator,
                lower,
                upper,
                count=count,
                n_estimated=n_estimated,
                share=of_bins,
                step=_bins_step(name),
            )
        if self.settings.within == "even":
            return bins, None
        return bins, fit_spread(curator, bins, share=of_spread, step=_spread_step(name))


def usual_bins(settings: Preprocessing, bins: BinCount, budget: Budget, n_rows: float) -> int:
    """Return the number of bins of columns that do not state their own, from a public or released number of rows."""
    if bins != "auto":
        return bins
    discretizer = settings.fitted
    return (
        budget_rice(n_rows, budget.epsilon) if discretizer is None else discretizer.auto_count(budget, n_rows)
    )


def prepare(
    settings: Preprocessing,
    bins: BinCount,
    rare: RareCategories | None,
    schema: Schema | None,
    found: Mapping[str, PhysicalType],
    *,
    types_found: bool = False,
    learner_delta: Fraction = Fraction(0),
) -> Preparation:
    """Divide the preprocessing budget among the columns that need it, by public facts alone.

    Args:
        settings: The options.
        bins: Number of bins, or "auto".
        rare: How rare categories of large columns are merged, and the share for it if nothing else needs budget;
            None not to merge them.
        schema: Declares all columns or some, or is None. Wide columns of numbers and times get bins.
        found: Stored or found type of each undeclared column.
        types_found: Whether the types of these must be found because none are stored. The shares for that depend
            only on names.
        learner_delta: Fraction of delta that the learner needs for draws that may fail.

    Raises:
        SchemaError: If a stored type has no domain to find.
    """
    for name, stored in found.items():
        stored.require_domain(name)
    declared = {} if schema is None else schema.columns
    large = () if rare is None or schema is None else _large_columns(rare, schema)
    finds_labels = any(stored.is_labels for stored in found.values())
    wide = [
        name for name, column in declared.items() if isinstance(column, Ordered) and _is_worth(column, bins)
    ]
    refined = wide if settings.fits_bins else []
    count = _count_share(settings, bins)
    units = _units_share(settings, schema)
    costs_bins = any(settings.divided(Fraction(1)))
    if not found and not (wide and (costs_bins or count)):
        return Preparation(
            settings=settings,
            bins=bins,
            count=Fraction(0),
            units=units,
            domains={},
            refinements=dict.fromkeys(refined, Fraction(0)),
            large=large,
            merging=rare if large else None,
            learner_delta=learner_delta,
        )
    paying = len(found) + len(large) + (len(refined) if costs_bins else 0)
    each = (settings.share - count - units) / max(paying, 1)
    types = dict.fromkeys(found, each * TYPE_SHARE) if types_found else {}
    rest = each * (1 - TYPE_SHARE) if types_found else each
    ordered = [n for n, p in found.items() if p.is_ordered] if settings.fits_bins else []
    of_bins = Fraction(1, 2) if costs_bins else Fraction(0)
    return Preparation(
        settings=settings,
        bins=bins,
        count=count,
        units=units,
        types=types,
        domains={n: rest * (1 - of_bins) if n in ordered else rest for n in found},
        refinements=dict.fromkeys(refined, 2 * of_bins * each) | dict.fromkeys(ordered, of_bins * rest),
        large=large,
        merging=replace(rare, share=each * len(large)) if rare is not None and large else None,
        finds_labels=finds_labels,
        learner_delta=learner_delta,
    )


def _large_columns(rare: RareCategories, schema: Schema) -> tuple[str, ...]:
    """Return the categorical columns whose rare categories are merged, decided by the declared domain alone.

    Categories that were found privately are already frequent.
    """
    return tuple(
        name
        for name, column in schema.columns.items()
        if isinstance(column, Categorical)
        and column.provenance != "private"
        and len(column.categories) + column.open + column.nullable >= rare.least_categories
    )


def _count_share(settings: Preprocessing, bins: BinCount) -> Fraction:
    needed = bins == "auto" or (settings.fitted is not None and settings.fitted.needs_count)
    return settings.share / 20 if needed else Fraction(0)


def _units_share(settings: Preprocessing, schema: Schema | None) -> Fraction:
    several = schema is not None and (schema.rows_per_unit or 1) > 1
    return settings.share / 10 if several else Fraction(0)


def _is_worth(column: Ordered, bins: BinCount) -> bool:
    lower, upper, integer = column.span()
    stated = column.bins if column.bins is not None else bins
    # The rule's number is not known yet, but its minimum is.
    count = LEAST_BINS if stated == "auto" else stated
    return is_worth_fitting(lower, upper, integer=integer, count=count)


def _bins_step(name: str) -> str:
    return f"fit the bins of {name!r}"


def _spread_step(name: str) -> str:
    return f"spread within the bins of {name!r}"
