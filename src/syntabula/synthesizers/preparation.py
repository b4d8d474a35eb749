"""How raw columns become codes: what each column's preprocessing may spend, and the spending of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from syntabula.discretize.bin_count import LEAST_BINS, budget_rice
from syntabula.discretize.fitted import is_worth_fitting
from syntabula.discretize.spread import Spread, fit_spread
from syntabula.discretize.uniform import Bins, UniformBins
from syntabula.errors import PrivateDomainError
from syntabula.privacy.budget import Budget
from syntabula.privacy.column_curator import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.statement_lines import domain_step
from syntabula.select.base import PlannedStep, Progress
from syntabula.synthesizers.preprocessing import BinCount, Preprocessing
from syntabula.table import domain_warnings
from syntabula.table.codec import Codec
from syntabula.table.column_codes import span
from syntabula.table.columns import Column, Date, Datetime, Identifier, Numeric
from syntabula.table.encoding import ordered_points
from syntabula.table.found_types import TEXT, TYPE_SHARE, find_type, type_step
from syntabula.table.hidden_domain import hidden_domain
from syntabula.table.private_domain import ORDERED, check_extractable, extract_column
from syntabula.table.raw import PhysicalType, RawTable
from syntabula.table.schema import Schema
from syntabula.table.untyped_file import UntypedFile

_COUNT_STEP = "count the records"
_CELLS_PER_COLUMN = 200


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What each column's preprocessing may spend, decided by names, types and declared domains alone.

    Attributes:
        settings: The options.
        bins: Largest number of bins of a column, or "auto" for the rule of `budget_rice`.
        count: Share for counting the records; 0 if their number is not needed.
        types: Share of each column whose type has to be found.
        domains: Share of each column whose domain has to be found.
        refinements: Share of each ordered column for its bins and the values within.
        rare: Share for merging rare categories; 0 if there is no large column.
    """

    settings: Preprocessing
    bins: BinCount
    count: Fraction
    types: Mapping[str, Fraction] = field(default_factory=dict)
    domains: Mapping[str, Fraction]
    refinements: Mapping[str, Fraction]
    rare: Fraction

    @property
    def share(self) -> Fraction:
        """Part of the whole budget that all of it may spend."""
        columns = (self.types, self.domains, self.refinements)
        return self.count + self.rare + sum(sum(shares.values(), Fraction(0)) for shares in columns)

    def planned_steps(self) -> list[PlannedStep]:
        """Return the steps but rare merging, which its own code plans, in the order that they are taken."""
        steps = [(type_step(name), share) for name, share in self.types.items()]
        steps += [(_COUNT_STEP, self.count)] if self.count else []
        steps += [(domain_step(name), share) for name, share in self.domains.items()]
        steps += [(_bins_step(name), share) for name, share in self.refinements.items()]
        # Counting one column is a small part of a pass over the table, which the first step stands for.
        return [
            PlannedStep(
                name=step,
                share=share,
                cells=0,
                noisy_cells=_CELLS_PER_COLUMN,
                model_cells=0,
            )
            for step, share in steps
        ]

    def most_bins(self, budget: Budget, n_rows: float) -> int:
        """Return the number of bins of columns that do not state their own."""
        return budget_rice(n_rows, budget.epsilon) if self.bins == "auto" else self.bins

    def typed(self, file: UntypedFile, ledger: Ledger, noise: NoiseSource, *, progress: Progress) -> RawTable:
        """Find the types of a text file's columns, and return the table that they read."""
        found: dict[str, PhysicalType | None] = {}
        for name, share in _one_by_one(self.types, "find the types", progress):
            kinds = file.cell_kinds(name)
            found[name] = find_type(name, kinds, share=share, ledger=ledger, noise=noise)
        domain_warnings.warn_of_hidden_types([name for name, physical in found.items() if physical is None])
        return file.typed({name: physical or TEXT for name, physical in found.items()})

    def codec(
        self,
        table: RawTable,
        schema: Schema | None,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        progress: Progress,
    ) -> Codec:
        """Find the domains that are not declared, then the bins, and return the codec.

        Raises:
            PrivateDomainError: If noise hides the bounds of most columns that have some, or everything.
        """
        n_estimated = 0.0
        if self.count:
            # Every record counts once, whatever it holds.
            everyone = ColumnCurator(np.zeros(table.n_rows, dtype=np.int64), ledger, noise)
            answer = everyone.histogram([0, 1], share=self.count, step=_COUNT_STEP)
            n_estimated = max(float(answer.values[0]), 1.0)
        if schema is None:
            schema = self._schema(table, ledger, noise, progress)
        most_bins = self.most_bins(ledger.budget, n_estimated)
        bins: dict[str, Bins] = {}
        spreads: dict[str, Spread] = {}
        for name, share in _one_by_one(self.refinements, "fit the bins", progress):
            column = schema[name]
            if not isinstance(column, Numeric | Date | Datetime):
                continue
            refined = self._refine(name, column, table, most_bins, n_estimated, share, ledger, noise)
            bins[name] = refined[0]
            if refined[1] is not None:
                spreads[name] = refined[1]
        return Codec.plan(schema, bins=most_bins, fitted=bins, spreads=spreads)

    def _schema(self, table: RawTable, ledger: Ledger, noise: NoiseSource, progress: Progress) -> Schema:
        texts = [n for n in self.domains if table.columns[n].physical.kind == "text"]
        delta = ledger.selection_allowance / max(len(texts), 1)
        columns: dict[str, Column] = {}
        hidden: dict[str, PrivateDomainError] = {}
        n_ordered = sum(raw.physical.kind in ORDERED for raw in table.columns.values())
        for name, share in _one_by_one(self.domains, "find the domains", progress):
            raw = table.columns[name]
            try:
                columns[name] = extract_column(
                    name, raw, share=share, delta=delta, ledger=ledger, noise=noise
                )
            except PrivateDomainError as error:
                hidden[name] = error
                # One or the other may be nearly empty; where most are hidden, the table or the budget is too small.
                if 2 * len(hidden) > n_ordered:
                    raise next(iter(hidden.values())) from None
        domain_warnings.warn_of_rare_categories(
            [n for n, column in columns.items() if isinstance(column, Identifier)]
        )
        columns |= {name: hidden_domain(table.columns[name].physical) for name in hidden}
        numbers = [name for name in hidden if isinstance(columns[name], Numeric)]
        domain_warnings.warn_of_hidden_bounds(numbers, "0")
        domain_warnings.warn_of_hidden_bounds([name for name in hidden if name not in numbers], "1970-01-01")
        if all(isinstance(column, Identifier) for column in columns.values()):
            raise PrivateDomainError(
                "no domain of any column was found: at this budget, noise hides what they hold. State the domains in "
                "a schema, raise epsilon or the share of preprocessing, or use more records"
            )
        return Schema({name: columns[name] for name in self.domains})

    def _refine(
        self,
        name: str,
        column: Numeric | Date | Datetime,
        table: RawTable,
        most_bins: int,
        n_estimated: float,
        share: Fraction,
        ledger: Ledger,
        noise: NoiseSource,
    ) -> tuple[Bins, Spread | None]:
        lower, upper, integer = span(column)
        count = most_bins if column.bins is None else column.bins
        worth = is_worth_fitting(lower, upper, integer=integer, count=count)
        discretizer = self.settings.fitted
        if not worth:
            return UniformBins(count).bins(lower, upper, integer=integer), None
        points, _ = ordered_points(column, table.columns[name])
        curator = ColumnCurator(points, ledger, noise)
        if discretizer is None:
            bins = UniformBins(count).bins(lower, upper, integer=integer)
        else:
            part = share if self.settings.within == "even" else share / 2
            bins = discretizer.fit(
                curator,
                lower,
                upper,
                count=count,
                n_estimated=n_estimated,
                share=part,
                step=_bins_step(name),
            )
            share -= part
        if self.settings.within == "even":
            return bins, None
        return bins, fit_spread(curator, bins, share=share, step=f"spread within the bins of {name!r}")


def prepare_declared(
    settings: Preprocessing, bins: BinCount, schema: Schema, *, n_large: int, rare_share: Fraction
) -> Preparation:
    """Divide the budget of preprocessing for a table whose domains are declared.

    Args:
        settings: The options.
        bins: Number of bins, or "auto".
        schema: Declared columns.
        n_large: Number of columns whose rare categories are merged.
        rare_share: What merging gets if nothing else needs budget.
    """
    wide = [
        name
        for name, column in schema.columns.items()
        if isinstance(column, Numeric | Date | Datetime) and _is_worth(column, bins)
    ]
    ordered = wide if settings.costs_bins else []
    if not ordered and not (wide and bins == "auto"):
        return Preparation(
            settings=settings,
            bins=bins,
            count=Fraction(0),
            domains={},
            refinements={},
            rare=rare_share if n_large else Fraction(0),
        )
    count = _count_share(settings, bins)
    each = (settings.share - count) / max(len(ordered) + n_large, 1)
    return Preparation(
        settings=settings,
        bins=bins,
        count=count,
        domains={},
        refinements=dict.fromkeys(ordered, each),
        rare=each * n_large,
    )


def prepare_undeclared(
    settings: Preprocessing,
    bins: BinCount,
    physical: Mapping[str, PhysicalType],
    *,
    types_found: bool = False,
) -> Preparation:
    """Divide the budget of preprocessing for a table of which only names and stored types are public.

    Args:
        settings: The options.
        bins: Number of bins, or "auto".
        physical: Stored type of each column, or the type that was found for it.
        types_found: Whether types have to be found, as none are stored. Their shares follow from names alone.

    Raises:
        SchemaError: If a stored type has no domain to find.
    """
    for name, stored in physical.items():
        check_extractable(name, stored)
    count = _count_share(settings, bins)
    each = (settings.share - count) / max(len(physical), 1)
    types = dict.fromkeys(physical, each * TYPE_SHARE) if types_found else {}
    each -= each * TYPE_SHARE if types_found else 0
    ordered = [n for n, p in physical.items() if p.kind in ORDERED] if settings.costs_bins else []
    return Preparation(
        settings=settings,
        bins=bins,
        count=count,
        types=types,
        domains={n: each / 2 if n in ordered else each for n in physical},
        refinements=dict.fromkeys(ordered, each / 2),
        rare=Fraction(0),
    )


def _count_share(settings: Preprocessing, bins: BinCount) -> Fraction:
    needed = bins == "auto" or (settings.fitted is not None and settings.fitted.needs_count)
    return settings.share / 20 if needed else Fraction(0)


def _is_worth(column: Column, bins: BinCount) -> bool:
    assert isinstance(column, Numeric | Date | Datetime)
    lower, upper, integer = span(column)
    stated = column.bins if column.bins is not None else bins
    # A rule's number is not known yet, but its least is.
    count = LEAST_BINS if stated == "auto" else stated
    return is_worth_fitting(lower, upper, integer=integer, count=count)


def _one_by_one(
    shares: Mapping[str, Fraction], step: str, progress: Progress
) -> Iterator[tuple[str, Fraction]]:
    """Go through columns and their shares, and say before each what part of them is done."""
    for position, item in enumerate(shares.items()):
        progress(step, position / len(shares))
        yield item


def _bins_step(name: str) -> str:
    return f"fit the bins of {name!r}"
