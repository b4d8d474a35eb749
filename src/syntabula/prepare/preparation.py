"""What preprocessing may spend on each column, and the spending of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from syntabula._planning import PlannedStep, Progress, one_by_one, raised
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import project_simplex
from syntabula.marginals.sorted_points import CountedPoints
from syntabula.prepare.atoms import needs_delta
from syntabula.prepare.preprocessing import (
    LEAST_FAILURE,
    BinCount,
    Part,
    Preprocessing,
    RareCategories,
    divided,
    lift_step,
    type_step,
    usual_bins,
)
from syntabula.prepare.refinement import OrderedCodes, Refinement, step_of
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.statement import domain_step
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Ordered
from syntabula.table.schema.schema import Schema, completed, is_whole

if TYPE_CHECKING:
    from syntabula.marginals.recoding import Recoding
    from syntabula.prepare.bounds import FoundBounds
    from syntabula.prepare.ends import EndCounts
    from syntabula.privacy.doors.tables import Curator
    from syntabula.privacy.ledger import Ledger
    from syntabula.privacy.noise import NoiseSource
    from syntabula.privacy.pricing import NoisyVector
    from syntabula.privacy.units import RecordUnits
    from syntabula.table.coding.unit_sizes import UnitSizes
    from syntabula.table.files.delimited import DelimitedFile
    from syntabula.table.parts.found_parts import FoundParts
    from syntabula.table.parts.points import CountedColumns
    from syntabula.table.parts.raw_parts import RawParts
    from syntabula.table.parts.text_parts import TextParts

Shares = Mapping[str, Fraction]
_COUNT_STEP = "count the records"
_UNITS_STEP = "count the units by their rows"
_CELLS_PER_COLUMN, _CELLS_OF_LIFTS = 200, 1_000
_TOLD_BY_BINS, _TOLD_BY_RHYTHM = 0.08, 0.1
"""Parts of the records that the bins of a column, and its weekdays and hours, should tell from noise."""
_TOLD_WHERE_FOUND, _MOST_WHERE_FOUND = 0.02, Fraction(1, 6)
"""The same of bins and frequent values where domains are found, and what all may take for it of what is left."""
_TOLD = {0.02: Fraction(1, 2), 0.08: Fraction(1)}
"""Parts of the records that a search should tell from noise, and the most that all searches may take for it."""


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
        refinements: Share of each ordered column for its frequent values, its bins and the distribution within them; 0 if
            they are free.
        large: Declared columns whose rare categories are merged.
        merging: How they are merged, and with which share; None if there is no large column.
        n_labels: Number of columns whose categories must be found.
        parts: What is found of each refined column.
        failing: Number of columns whose frequent values may need a part of delta.
        learner_delta: Fraction of delta that is reserved for the learner, of what finding leaves.
        weighs_codes: Whether the learner measures single columns, and so tells which codes have records.
        lifts: Share of each column of days or times for what its hours and weekdays tell of another column; it is spent
            once a model is fitted, or by the learner where noise would hide that.
    """

    settings: Preprocessing
    bins: BinCount
    count: Fraction
    units: Fraction = Fraction(0)
    types: Shares = field(default_factory=dict)
    domains: Shares
    refinements: Shares
    large: tuple[str, ...] = ()
    merging: RareCategories | None = None
    n_labels: int = 0
    parts: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    failing: int = 0
    learner_delta: Fraction = Fraction(0)
    weighs_codes: bool = True
    lifts: Shares = field(default_factory=dict)

    @property
    def share(self) -> Fraction:
        """Fraction of the whole budget for all preprocessing before a model is learned."""
        columns = (self.types, self.domains, self.refinements)
        merging = self.merging.share if self.merging else Fraction(0)
        return (
            self.count + self.units + merging + sum(sum(shares.values(), Fraction(0)) for shares in columns)
        )

    def budget(self, budget: Budget, failure_before: Fraction = Fraction(0)) -> Budget:
        """Return the budget, with part of its delta reserved for what must be found, or for the learner.

        Args:
            budget: The allowed total.
            failure_before: What earlier runs of a journal used of delta. If only frequent values need a part, it is one
                of what they left, so that a second run needs no larger delta.
        """
        reserved = self._found_delta(budget) + self._learner_delta(budget)
        if not reserved:
            return budget
        is_needed = self.n_labels or self.learner_delta
        before = Fraction(0) if is_needed else failure_before
        return budget.with_failure_delta(before + reserved * (Fraction(budget.delta) - before))

    def _found_delta(self, budget: Budget) -> Fraction:
        """Return the fraction of delta for finding categories and frequent values.

        Frequent values alone take none from a guarantee that is stated without it: then public candidates are counted.
        """
        needed = self.n_labels or (self.failing and budget.kind == "approximate")
        return self.settings.delta_share if needed else Fraction(0)

    def _learner_delta(self, budget: Budget) -> Fraction:
        return (1 - self._found_delta(budget)) * self.learner_delta

    def _delta_for(self, ledger: Ledger, n_columns: int) -> Fraction:
        """Return the part of delta for the categories or the frequent values of so many columns."""
        found = self._found_delta(ledger.budget)
        if not found or not n_columns:
            return Fraction(0)
        part = found / (found + self._learner_delta(ledger.budget))
        return ledger.failure_allowance * part * n_columns / (self.n_labels + self.failing)

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
        return [*steps, (merging, share)], Domain.from_sizes(sizes, domain.ordered, domain.apart)

    def after_learning(self) -> list[tuple[PlannedStep, Fraction]]:
        """Return the steps that follow learning, with their shares; see `lifts`."""
        shares, cells = self.lifts, _CELLS_OF_LIFTS
        return [(PlannedStep(name=lift_step(n), share=s, noisy_cells=cells), s) for n, s in shares.items()]

    def recoding(self, curator: Curator) -> Recoding | None:
        """Merge the rare categories of the large columns; None if there is none."""
        return None if self.merging is None else self.merging.fit(curator, self.large)

    def _column_steps(self) -> list[PlannedStep]:
        steps = [(_COUNT_STEP, self.count)] if self.count else []
        steps += [(_UNITS_STEP, self.units)] if self.units else []
        steps += [(type_step(name), share) for name, share in self.types.items()]
        steps += [(domain_step(name), share) for name, share in self.domains.items()]
        for name, share in self.refinements.items():
            steps += [(step_of(part, name), paid) for part, paid in divided(share, self.parts[name]).items()]
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

    def counted(self, n_rows: int, ledger: Ledger, noise: NoiseSource) -> NoisyVector | None:
        """Release the number of records, if it is needed."""
        if not self.count:
            return None
        # Every record counts once, whatever its cells.
        number = np.array([n_rows], dtype=np.int64)
        everyone = ColumnCurator(CountedPoints(np.zeros(1, np.int64), number), ledger, noise)
        return everyone.histogram([0, 1], share=self.count, step=_COUNT_STEP)

    def grown(self, shares: Shares, counted: NoisyVector | None) -> dict[str, Fraction]:
        """Return shares for types or domains, larger for a small table, where all of a column is at stake.

        A share should tell a fiftieth of the records from noise: below that categories are lost, and bounds cut off. The
        number of records and its noise are released. All searches together may then take half of the budget, or up to
        `most_share` to tell a twelfth, and learning gets less; a large table keeps the planned shares.
        """
        if counted is None or not shares:
            return dict(shares)
        searches = sum(self.types.values(), Fraction(0)) + sum(self.domains.values(), Fraction(0))
        grown = dict(shares)
        for told, together in _TOLD.items():
            most = 1 + max(min(together, self.settings.most_share) - self.share, Fraction(0)) / searches
            enough = self.count * counted.times_to_tell(told, LEAST_FAILURE)
            grown = {name: max(grown[name], min(enough, share * most)) for name, share in shares.items()}
        return grown

    def grown_refinements(self, counted: NoisyVector | None, n_columns: int, left: Fraction) -> Shares:
        """Return shares for bins and frequent values, larger for a small table.

        Under wide bounds they tell where values lie, of a twelfth of the records, for up to twice the planned share, by
        the part of columns with bins, or half of what is left; where domains are found, of a fiftieth, for a sixth of it.
        """
        if counted is None or not (together := sum(self.refinements.values(), Fraction(0))):
            return self.refinements
        told, most = _TOLD_BY_BINS, min(1 + Fraction(len(self.refinements), n_columns), left / together / 2)
        if self.domains:
            told, most = _TOLD_WHERE_FOUND, _MOST_WHERE_FOUND * left / together
        enough = self.count * counted.times_to_tell(told, LEAST_FAILURE)
        return {name: max(share, min(enough, share * most)) for name, share in self.refinements.items()}

    def _rhythms(self, shares: Shares, counted: NoisyVector | None, left: Fraction) -> dict[str, Fraction]:
        """Return what each rhythm may spend: in a small table as much as all questions about its column were planned to,
        and all together up to half of what is left."""
        planned = {name: divided(share, self.parts[name])["rhythm"] for name, share in shares.items()}
        if counted is None:
            return planned
        enough = self.count * counted.times_to_tell(_TOLD_BY_RHYTHM, LEAST_FAILURE)
        return raised(planned, enough, (shares, self.domains, self.types), (left - sum(shares.values())) / 2)

    def typed(
        self,
        file: DelimitedFile | TextParts,
        schema: Schema | None,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        counted: NoisyVector | None,
        progress: Progress,
    ) -> RawTable | RawParts:
        """Find the types of text files' undeclared columns, and return the table read with all types."""
        from syntabula.prepare.found_types import find_types

        found = find_types(
            file, self.grown(self.types, counted), ledger=ledger, noise=noise, progress=progress
        )
        return file.typed(found, schema)

    def timed(
        self,
        table: RawTable,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        counted: NoisyVector | None,
        progress: Progress,
    ) -> RawTable:
        """Find which columns of texts are days or times, and return the table with these read."""
        from syntabula.prepare.found_types import find_times
        from syntabula.table.frames.text_times import TextTimes

        texts = TextTimes(table, [*self.types])
        # Nearly all cells of a column are days or times, or none is: this grows only as the search for domains does.
        domains = self.grown(self.domains, counted)
        shares = {name: share * domains[name] / self.domains[name] for name, share in self.types.items()}
        return texts.typed(find_times(texts, shares, ledger=ledger, noise=noise, progress=progress))

    def codec(
        self,
        table: RawTable | CountedColumns | FoundParts,
        schema: Schema | None,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        counted: NoisyVector | None,
        progress: Progress,
        units: RecordUnits | None = None,
        bounds: dict[str, FoundBounds] | None = None,
        ends: dict[str, EndCounts] | None = None,
    ) -> Codec:
        """Find the undeclared domains, then the bins, and return the codec.

        Args:
            table: The table, of which a unit has no more rows than its schema keeps; or, where all columns are declared,
                the values of those whose bins depend on them; or what a pass over a table in parts found.
            schema: The declared columns.
            ledger: Pays for every answer.
            noise: Draws the noise.
            progress: Called with the name of a step and the fraction done.
            units: Whom the rows are about; None where each is about somebody else.
            bounds: Gets the bounds of each column that were found.
            ends: Gets the noisy counts of the ends of distances between times.

        Raises:
            PrivateDomainError: If noise hides the domains of all columns.
        """
        n_estimated = 0.0 if counted is None else max(float(counted.values[0]), 1.0)
        bounds = {} if bounds is None else bounds
        unit_sizes, values = self._unit_sizes(units, ledger, noise), table
        if not is_whole(schema):
            # Most tables are declared whole, and need none of the search.
            from syntabula.prepare.found_columns import find_columns
            from syntabula.table.parts.found_parts import FoundParts

            assert isinstance(table, RawTable | FoundParts)
            found = find_columns(
                table.columns,
                self.grown(self.domains, counted),
                delta=self._delta_for(ledger, self.n_labels),
                ledger=ledger,
                noise=noise,
                progress=progress,
                bounds=bounds,
                n_estimated=n_estimated,
                hidden_kept=self.weighs_codes,
            )
            schema = completed(schema, table.columns, found)
            if isinstance(table, FoundParts):
                # Now that their domains are found, the columns are asked for the points of these.
                values = self.counted_columns(table.parts, schema)
        # What a pass found in the place of a table in parts is asked above.
        found_values = cast("RawTable | CountedColumns", values)
        most_bins = self.most_bins(ledger.budget, n_estimated)
        # Of columns that were found, it is known only now which ones may fail.
        failing = sum(
            "atoms" in self.parts[n] and needs_delta(*schema[n].span())
            for n in self.refinements
            if isinstance(schema[n], Ordered)
        )
        delta = self._delta_for(ledger, self.failing) / max(failing, 1)
        codes: dict[str, OrderedCodes] = {}
        left = ledger.remaining_share - (self.merging.share if self.merging else 0)
        refinements = self.grown_refinements(counted, len(schema), left)
        rhythms = self._rhythms(refinements, counted, left)
        for name, share in one_by_one(refinements, "fit the bins", progress):
            column = schema[name]
            if isinstance(column, Ordered):
                refinement = Refinement(
                    name=name,
                    column=column,
                    settings=self.settings,
                    shares=divided(share, self.parts[name]) | {"rhythm": rhythms[name]},
                    count=most_bins if column.bins is None else column.bins,
                    n_estimated=n_estimated,
                    delta=delta,
                    moved=bounds[name].beyond_at_most if name in bounds else 0.0,
                    ledger=ledger,
                    noise=noise,
                )
                codes[name] = refinement.codes(found_values.columns[name])
                if ends is not None and refinement.shares["ends"]:
                    from syntabula.prepare.ends import EndCounts, ends_in

                    ends[name] = EndCounts.of(column, ends_in(found_values, name), refinement)
        return Codec.plan(
            schema,
            bins=most_bins,
            fitted={name: found.bins for name, found in codes.items()},
            spreads={name: found.spread for name, found in codes.items() if found.spread is not None},
            roundness={name: found.roundness for name, found in codes.items() if found.roundness is not None},
            rhythms={name: found.rhythm for name, found in codes.items() if found.rhythm is not None},
            unit_sizes=unit_sizes,
        )

    def counted_columns(self, parts: RawParts, schema: Schema) -> CountedColumns:
        """Return the values of the columns whose bins depend on them, by one pass that reads no others."""
        from syntabula.prepare.expected import expected_ends, expected_of
        from syntabula.table.parts.points import CountedColumns, columns_of

        ordered = {n: c for n in self.refinements if isinstance(c := schema[n], Ordered)}
        if not ordered:
            return CountedColumns({})
        expected = {n: expected_of(c, self.settings) for n, c in ordered.items()}
        return columns_of(parts, expected, expected_ends(self.parts, ordered))

    def _unit_sizes(self, units: RecordUnits | None, ledger: Ledger, noise: NoiseSource) -> UnitSizes | None:
        """Count the units by their number of rows, so that synthetic ones have as many."""
        if units is None or not self.units:
            return None
        from syntabula.table.coding.unit_sizes import UnitSizes

        most = ledger.unit.rows
        every = ColumnCurator(units.sizes(), ledger, noise, of_units=True)
        answer = every.histogram(range(1, most + 2), share=self.units, step=_UNITS_STEP)
        total = max(float(answer.values.sum()), 1.0)
        return UnitSizes.of(project_simplex(answer.values, total).tolist())
