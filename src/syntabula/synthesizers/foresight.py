"""What is known of a fit before any data is read: its preprocessing, its budget and its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from syntabula.discretize.bin_count import budget_rice
from syntabula.discretize.rare import RareCategories
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain
from syntabula.models.base import MarginalModel
from syntabula.privacy.budget import Budget
from syntabula.select.base import PlannedStep, Selector
from syntabula.synthesizers.plan import GUESSED_ROWS, Plan, guessed_columns, make_plan, with_model
from syntabula.synthesizers.preparation import Preparation, prepare
from syntabula.synthesizers.preprocessing import BinCount, Preprocessing
from syntabula.table.codec import Codec
from syntabula.table.columns import Categorical
from syntabula.table.found_types import NUMBER, TEXT
from syntabula.table.raw import PhysicalType
from syntabula.table.schema import Schema, completed, is_whole, undeclared


@dataclass(frozen=True, kw_only=True)
class Foresight:
    """Follows from a synthesizer's options and declared domains alone.

    Attributes:
        method: Key of the synthesizer.
        selector: Decides which marginals are measured.
        model: Is fitted to them.
        budget: For everything.
        bins: Most codes for a numeric or date column, or "auto".
        preprocessing: How bins are chosen, and what part of the budget that may cost.
        rare: How rare categories of large columns are merged; None for not.
    """

    method: str
    selector: Selector
    model: MarginalModel
    budget: Budget
    bins: BinCount
    preprocessing: Preprocessing
    rare: RareCategories | None

    def prepared(
        self,
        schema: Schema | None,
        found: Mapping[str, PhysicalType] | None = None,
        *,
        types_found: bool = False,
    ) -> Preparation:
        """Return the preprocessing of a table.

        Args:
            schema: Declares all columns, or some, or is None.
            found: Stored type of each column that is not declared.
            types_found: Whether the types of these have to be found as well.
        """
        return prepare(
            self.preprocessing,
            self.bins,
            {} if schema is None else schema.columns,
            found or {},
            types_found=types_found,
            n_large=0 if schema is None else len(self.large_columns(schema)),
            rare_share=self.rare.share if self.rare else Fraction(0),
        )

    def budget_for(self, found: Mapping[str, PhysicalType]) -> Budget:
        """Return the budget, with part of delta set aside if categories have to be found."""
        if not any(p.is_labels for p in found.values()):
            return self.budget
        return self.budget.with_selection_delta(self.preprocessing.delta_share * Fraction(self.budget.delta))

    def merging(self, prepared: Preparation) -> RareCategories | None:
        """Return how rare categories are merged, at its part of the budget; None if nothing is."""
        return replace(self.rare, share=prepared.rare) if self.rare and prepared.rare else None

    def guessed_codec(self, schema: Schema, n_rows: int | None = None) -> Codec:
        """Return a codec of the size that the fitted one may have, before any data is read."""
        rows = GUESSED_ROWS if n_rows is None else n_rows
        bins = budget_rice(rows, self.budget.epsilon) if self.bins == "auto" else self.bins
        return Codec.plan(schema, bins=bins)

    def large_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the categorical columns that rare merging looks at, by the declared domain alone.

        Categories that were found privately are frequent already.
        """
        if self.rare is None:
            return ()
        return tuple(
            name
            for name, column in schema.columns.items()
            if isinstance(column, Categorical)
            and name != schema.label
            and column.provenance != "private"
            and len(column.categories) + column.open + column.nullable >= self.rare.least_categories
        )

    def plan(self, codec: Codec, prepared: Preparation, budget: Budget, n_rows: int | None = None) -> Plan:
        """Say what each step will take, for a public or guessed number of rows."""
        domain = codec.domain
        steps = [(step, step.share) for step in prepared.planned_steps()]
        large, rare = self.large_columns(codec.schema), self.merging(prepared)
        if rare and large:
            cells = sum(domain.size(c) for c in large)
            merging = PlannedStep(
                name=rare.step, share=rare.share, cells=cells, noisy_cells=cells, model_cells=0
            )
            steps.append((merging, rare.share))
            # A code survives only with at least theta of the records, so at most 1 / theta codes survive.
            domain = Domain.from_sizes(
                {c: min(n, rare.most_kept + 1) if c in large else n for c, n in _sizes(domain)}
            )
        for step in self.selector.plan(domain):
            step = with_model(step, self.model.over(domain), GUESSED_ROWS if n_rows is None else n_rows)
            steps.append((step, step.share * (1 - prepared.share)))
        return make_plan(
            method=self.method,
            budget=budget,
            steps=steps,
            n_rows=GUESSED_ROWS if n_rows is None else n_rows,
            n_columns=len(codec.schema.columns),
        )

    def guess(
        self,
        schema: Schema | None,
        physical: Mapping[str, PhysicalType],
        n_rows: int | None,
        *,
        types_found: bool,
    ) -> Plan:
        """Return the plan of a table of which nothing is known but what is public; see `Marginal.plan`.

        Raises:
            ArgumentError: If domains have to be found, and no types are given.
            SchemaError: If the schema does not fit the names of the columns.
        """
        found: dict[str, PhysicalType] = {}
        if not is_whole(schema):
            if not physical:
                raise ArgumentError(
                    "a plan needs a schema of all columns, or the stored types of the columns; `syntabula plan TABLE` "
                    "takes them from the table"
                )
            if schema is not None:
                schema.check_names(physical)
            found = {name: TEXT if types_found else physical[name] for name in undeclared(physical, schema)}
        budget = self.budget_for(found)
        if types_found:
            # Numbers take the most steps; which columns are some is not known yet.
            found = dict.fromkeys(found, NUMBER)
        prepared = self.prepared(schema, found, types_found=types_found)
        whole = schema if is_whole(schema) else completed(schema, physical, guessed_columns(found))
        return self.plan(self.guessed_codec(whole, n_rows), prepared, budget, n_rows)

    def check(self, schema: Schema, memory_mb: float) -> None:
        """Raise ResourceError if a step needs more memory than given."""
        codec = self.guessed_codec(schema)
        self.plan(codec, self.prepared(schema), self.budget).check(memory_mb, codec.domain)


def _sizes(domain: Domain) -> zip[tuple[str, int]]:
    return zip(domain.columns, domain.sizes, strict=True)
