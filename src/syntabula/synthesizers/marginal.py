"""The recipe that all marginal-based synthesizers share: preprocess, select and measure, fit."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from syntabula._version import __version__
from syntabula.discretize.rare import RareCategories
from syntabula.errors import ArgumentError, CoercionWarning, ObservedDomainError, SchemaError
from syntabula.marginals.domain import Domain
from syntabula.marginals.engines.memory import MemoryEngine
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.budget import Budget
from syntabula.privacy.curator import Curator
from syntabula.privacy.journal import Journal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SecureNoise, SeededNoise
from syntabula.privacy.statement import PrivacyStatement, lines_of
from syntabula.select.base import PlannedStep, Progress, Selector
from syntabula.synthesizers.plan import GUESSED_ROWS, Plan, make_plan
from syntabula.synthesizers.release import Release
from syntabula.table.codec import Codec
from syntabula.table.draft import draft_schema
from syntabula.table.raw import RawTable
from syntabula.table.read import read
from syntabula.table.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Marginal:
    """Learn a table through noisy marginals: a selector decides which, a model makes them a distribution.

    Attributes:
        selector: Decides which marginals are measured.
        model: Is fitted to them, and sampled.
        epsilon: Privacy budget, with `delta`; `math.inf` switches privacy off. Ignored if `budget` is given.
        delta: Probability with which the epsilon bound may fail; well below one over the number of records.
        budget: The budget as an object: approximate, zCDP or pure.
        bins: Number of codes for a numeric or date column with more values than that.
        rare: How rare categories of large columns are merged under privacy before anything else; None for not.
        seed: Replaces the secure noise by a repeatable one, for experiments; the release is then NOT private.
        noise: Replaces the source of noise altogether, for audits; it says itself whether it is private.
        allow_observed: Allows domains that were read off the sensitive table; the statement says so.
        memory_mb: No step may need more; checked before data is read.
        journal: Path of a file to which every spend is written before its noise is drawn.
        progress: Called with the name of a step and the part that is done.

    Raises:
        BudgetError: If epsilon or delta make no sense.
        ArgumentError: If another argument is off.
    """

    key: ClassVar[str] = "marginal"
    paper: ClassVar[str] = ""

    selector: Selector
    model: MarginalModel
    epsilon: float = 1.0
    delta: float = 1e-5
    budget: Budget | None = None
    bins: int = 100
    rare: RareCategories | None = RareCategories()
    seed: int | None = None
    noise: NoiseSource | None = None
    allow_observed: bool = False
    memory_mb: float = 4000.0
    journal: str | os.PathLike[str] | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.budget is None:
            object.__setattr__(self, "budget", Budget(epsilon=self.epsilon, delta=self.delta))
        elif not isinstance(self.budget, Budget):
            raise ArgumentError("budget must be a syntabula.Budget, or None to use epsilon and delta")
        _check_count("bins", self.bins, 2)
        if self.seed is not None:
            _check_count("seed", self.seed, 0)
        if isinstance(self.memory_mb, bool) or not (0 < float(self.memory_mb) < float("inf")):
            raise ArgumentError("memory_mb must be a positive number of megabytes")

    def plan(self, schema: Schema, n_rows: int | None = None) -> Plan:
        """Say what memory, time and budget each step will take, from the schema alone.

        Args:
            schema: Columns and domains.
            n_rows: A public or guessed number of rows; 100,000 by default.
        """
        if n_rows is not None:
            _check_count("n_rows", n_rows, 0)
        return self._plan(Codec.plan(schema, bins=self.bins), n_rows)

    def fit(self, source: Any, schema: Schema | None = None, *, strict: bool = False) -> Release:
        """Learn a sensitive table and return a release.

        Args:
            source: A pandas or polars data frame, an Arrow table, or the path of a file.
            schema: Columns and their domains. Without one, domains are read off the table, which must be
                allowed by `allow_observed` and taints the statement.
            strict: Raise DataError on values outside the schema instead of coercing them. That failure is
                visible to whoever sees it and is not covered by the guarantee.

        Raises:
            ObservedDomainError: If a domain was read off the table and `allow_observed` is False.
            SchemaError: If the schema does not fit the table's columns and types.
            DataError: If the table cannot be read.
            ResourceError: If a step needs more memory than `memory_mb`; nothing was spent.
            BudgetExceededError: Never in a correct method: a step asked for more than its share.
        """
        self._check_domains(schema)
        if schema is not None:
            self._plan_checked(Codec.plan(schema, bins=self.bins))
        table = read(source)
        if schema is None:
            schema, _ = draft_schema(table)
        schema.check_table(table)
        codec = Codec.plan(schema, bins=self.bins)
        self._plan_checked(codec)
        return self._fit(table, codec, strict=strict)

    def _fit(self, table: RawTable, codec: Codec, *, strict: bool) -> Release:
        report = self.progress or (lambda step, done: None)
        assert self.budget is not None
        report("encode", 0.0)
        encoded, coercions = codec.encode(table, strict=strict)
        for sentence in coercions.describe():
            warnings.warn(CoercionWarning(sentence), stacklevel=3)
        ledger = Ledger(self.budget, None if self.journal is None else Journal(self.journal))
        noise = self.noise or (SecureNoise() if self.seed is None else SeededNoise(self.seed))
        curator = Curator(MemoryEngine(encoded, limit_mb=self.memory_mb), ledger, noise)

        report("preprocess", 0.05)
        recoding = self.rare.fit(curator, self._large(codec)) if self.rare else None
        share = Fraction(1) - (self.rare.share if self.rare and recoding else Fraction(0))
        inner = curator.recoded(recoding) if recoding else curator

        model = self.selector.select(
            inner, self.model, share=share, progress=lambda step, done: report(step, 0.1 + 0.9 * done)
        )
        if recoding:
            model = RecodedModel(model, recoding)
        return Release(
            method=self.key,
            codec=codec,
            model=model,
            privacy=self._statement(ledger, noise, codec.schema),
            origin=table.origin,
        )

    def _check_domains(self, schema: Schema | None) -> None:
        if schema is not None and not isinstance(schema, Schema):
            raise SchemaError("schema must be a syntabula.Schema; read a file with Schema.from_yaml(path)")
        if self.allow_observed:
            return
        if schema is None:
            raise ObservedDomainError(
                "no schema was given. State bounds and categories in a schema (draft one with "
                "`syntabula schema TABLE -o schema.yaml`, then replace what it read off the data by public "
                "facts), or say allow_observed=True (--observed-domain), which the privacy statement will show"
            )
        if schema.observed_columns:
            names = ", ".join(map(repr, schema.observed_columns))
            raise ObservedDomainError(
                f"the domains of columns {names} are marked as observed: they were read off the data. Replace them "
                "by public facts and mark them public, or say allow_observed=True (--observed-domain)"
            )

    def _large(self, codec: Codec) -> tuple[str, ...]:
        """Return the categorical columns that rare merging looks at, by the declared domain alone."""
        if self.rare is None:
            return ()
        schema = codec.schema
        return tuple(
            c
            for c in codec.domain.columns
            if hasattr(schema[c], "categories")
            and c != schema.label
            and codec.domain.size(c) >= self.rare.least_categories
        )

    def _plan(self, codec: Codec, n_rows: int | None = None) -> Plan:
        assert self.budget is not None
        domain = codec.domain
        large = self._large(codec)
        steps: list[tuple[PlannedStep, Fraction]] = []
        left = Fraction(1)
        if self.rare and large:
            cells = sum(domain.size(c) for c in large)
            left -= self.rare.share
            steps.append(
                (
                    PlannedStep(
                        name=self.rare.step,
                        share=self.rare.share,
                        cells=cells,
                        noisy_cells=cells,
                        model_cells=0,
                    ),
                    self.rare.share,
                )
            )
            # A code survives only with at least theta of the records, so at most 1 / theta codes survive.
            domain = Domain.from_sizes(
                {c: min(n, self.rare.most_kept + 1) if c in large else n for c, n in _sizes(domain)}
            )
        steps += [(s, s.share * left) for s in self.selector.plan(domain)]
        return make_plan(
            method=self.key,
            budget=self.budget,
            steps=steps,
            n_rows=GUESSED_ROWS if n_rows is None else n_rows,
            n_columns=len(codec.schema.columns),
        )

    def _plan_checked(self, codec: Codec) -> None:
        self._plan(codec).check(self.memory_mb, codec.domain)

    def _statement(self, ledger: Ledger, noise: NoiseSource, schema: Schema) -> PrivacyStatement:
        assert self.budget is not None
        private = self.budget.kind != "none"
        return PrivacyStatement(
            method=self.key,
            budget=self.budget,
            epsilon_spent=ledger.epsilon_spent if private else None,
            lines=lines_of(ledger),
            relation=ledger.relation,
            noise=noise.name,
            noise_is_private=noise.is_private,
            provenance={name: column.provenance for name, column in schema.columns.items()},
            version=__version__,
        )


def _sizes(domain: Domain) -> zip[tuple[str, int]]:
    return zip(domain.columns, domain.sizes, strict=True)


def _check_count(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ArgumentError(f"{name} must be an integer of at least {least}")
