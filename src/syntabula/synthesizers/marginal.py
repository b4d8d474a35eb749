"""The recipe that all marginal-based synthesizers share: preprocess, select and measure, fit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from syntabula._arguments import count, flag, function, instance_of, megabytes, normalise, path, refusal
from syntabula._version import __version__
from syntabula._warnings import warn_caller
from syntabula.discretize.rare import RareCategories
from syntabula.errors import ArgumentError, CoercionWarning
from syntabula.marginals.engines.memory import MemoryEngine
from syntabula.models.base import MarginalModel
from syntabula.models.kinds import stored_kind
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.budget import Budget
from syntabula.privacy.curator import Curator
from syntabula.privacy.journal import Journal
from syntabula.privacy.noise import NoiseSource, SecureNoise, SeededNoise
from syntabula.privacy.run import open_ledger
from syntabula.privacy.statement import MethodChoice, PrivacyStatement
from syntabula.select.base import Progress, Selector
from syntabula.synthesizers.foresight import Foresight
from syntabula.synthesizers.grid import check_pair, pair_name
from syntabula.synthesizers.named_options import TakesOptions
from syntabula.synthesizers.plan import MOST_ROWS, Plan
from syntabula.synthesizers.preprocessing import BinCount, Preprocessing
from syntabula.synthesizers.release import Release
from syntabula.synthesizers.run_facts import run_facts
from syntabula.table.column_codes import is_learned
from syntabula.table.columns import Identifier
from syntabula.table.draft import whole_schema
from syntabula.table.raw import PhysicalType, RawTable
from syntabula.table.read import read
from syntabula.table.schema import Schema, SchemaSource, as_schema, check_declared, is_whole, undeclared
from syntabula.table.untyped_file import UntypedFile, is_untyped, untyped_file

_LEARNING_OPTIONS = ("selector", "model", "preprocessing", "rare", "bins")


@dataclass(frozen=True, kw_only=True)
class Marginal(metaclass=TakesOptions):
    """Learn a table through noisy marginals: a selector decides which, a model makes them a distribution.

    An option of the selector or of the model may be given by its name as well, as in `AIM(max_rounds=20)`;
    `method_options(AIM)` lists them.

    Attributes:
        selector: Decides which marginals are measured; a selector, or the key of one.
        model: Is fitted to them, and sampled; a model, or the key of one. One of your own class is registered by
            `syntabula.register_model` first.
        epsilon: Privacy budget, with `delta`; `math.inf` switches privacy off. Ignored if `budget` is given.
        delta: Probability with which the epsilon bound may fail; well below one over the number of records.
        budget: The budget as an object: approximate, zCDP or pure.
        bins: Most codes for a numeric or date column with more values than that; "auto" for Rice's rule under
            the budget, 2 n^(1/3) / (1 + exp(-epsilon)), of a noisy n, and at most 250.
        preprocessing: How bins are chosen, and what part of the budget that and unknown domains may cost.
        rare: How rare categories of large columns are merged under privacy before anything else; None for not.
        seed: Replaces the secure noise by a repeatable one, for experiments; the release is then NOT private.
        noise: Replaces the source of noise altogether, for audits; it says itself whether it is private.
        allow_observed: Allows domains that were read off the sensitive table; the statement says so.
        memory_mb: No step may need more; checked before data is read.
        journal: Path of a file to which every spend is written before its noise is drawn. What it holds
            already, from a run that broke off or from another method, counts: this run makes do with the rest.
        resume: Goes on with the run that the journal holds: the answers that it had are taken from there and what
            is left is drawn, so that the release is the one of a run that never broke off.
        progress: Called with the name of a step and the part that is done.

    Raises:
        BudgetError: If epsilon or delta is outside its range.
        ArgumentError: If another argument is not allowed, the selector cannot be combined with the model, or the class of
            the model is not registered (`syntabula.register_model`), so that its release could not be saved.
    """

    key: ClassVar[str] = "marginal"
    paper: ClassVar[str] = ""

    selector: Selector
    model: MarginalModel
    epsilon: float = 1.0
    delta: float = 1e-5
    budget: Budget | None = None
    bins: BinCount = "auto"
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    rare: RareCategories | None = RareCategories()
    seed: int | None = None
    noise: NoiseSource | None = None
    allow_observed: bool = False
    memory_mb: float = 4000.0
    journal: str | os.PathLike[str] | None = None
    resume: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.budget is None:
            object.__setattr__(self, "budget", Budget(epsilon=self.epsilon, delta=self.delta))
        elif not isinstance(self.budget, Budget):
            raise refusal("budget", "a syntabula.Budget, or None to use epsilon and delta", self.budget)
        normalise(
            self,
            bins=count(2).or_word("auto"),
            preprocessing=instance_of(Preprocessing),
            rare=instance_of(RareCategories).or_none,
            seed=count(0).or_none,
            noise=instance_of(NoiseSource, "a source with all methods of NoiseSource").or_none,
            allow_observed=flag,
            memory_mb=megabytes,
            journal=path.or_none,
            resume=flag,
            progress=function("a function of a step's name and the part that is done").or_none,
        )
        if self.resume and self.journal is None:
            raise ArgumentError("resume goes on with the run of a journal; name it as journal=PATH")
        check_pair(self.selector, self.model)
        stored_kind(self.model)  # raises for a model that could not be saved once the budget is spent

    def plan(
        self,
        schema: SchemaSource | None = None,
        n_rows: int | None = None,
        *,
        physical: Mapping[str, PhysicalType] | None = None,
        types_found: bool = False,
    ) -> Plan:
        """Say what memory, time and budget each step will take, before any value is read.

        Args:
            schema: Columns and domains, or the path of a schema file; None where they will be found privately.
            n_rows: A public or guessed number of rows; 100,000 by default.
            physical: Stored type of each column, where some are not declared. Their domains are then guessed.
            types_found: Whether none is stored, as in a text file, so that types will be found too. The plan is then
                one of numbers, whatever `physical` says.
        """
        declared = None if schema is None else as_schema(schema)
        _check_types(physical)
        assumed = count(0, MOST_ROWS).or_none("n_rows", n_rows)
        return self._foresight.guess(declared, physical or {}, assumed, types_found=types_found)

    def fit(self, source: Any, schema: SchemaSource | None = None, *, strict: bool = False) -> Release:
        """Learn a sensitive table and return a release.

        Args:
            source: A pandas or polars data frame, an Arrow table, or the path of a file. Declared columns are read as
                the schema says, cell by cell, whatever their stored types. The stored types of others are taken as
                public, and those of JSON are read off the cells; the statement warns of both.
            schema: Columns and their domains, or the path of a schema file. Without one, domains are found under
                differential privacy from the names and stored types of the columns alone, and the types of
                delimited text likewise; or, if `allow_observed`, both are read off the table, which taints the
                statement. Columns that a schema of `others="find"` does not declare are treated likewise.
            strict: Raise DataError on values outside what the schema declares instead of coercing them. That
                failure is visible to whoever sees it and is not covered by the guarantee.

        Raises:
            ObservedDomainError: If the schema was read off the table and `allow_observed` is False.
            PrivateDomainError: If the budget is too small to find the bounds of most columns, or any domain.
            SchemaError: If the schema does not fit the table's columns, or one that is not declared has a type of which
                no domain can be found.
            DataError: If the table cannot be read.
            ResourceError: If a step needs more memory than `memory_mb`. Nothing was spent, unless domains
                had to be found first.
            BudgetError: If categories have to be found and the budget has no delta.
            ReleaseFileError: If the journal cannot be opened or written, is damaged, or another run holds it.
            ResumeError: If the journal that is to be gone on with is another run's; nothing was drawn.
            BudgetExceededError: If the journal leaves less than a hundredth of the budget. Else never in a
                correct method: a step asked for more than its share.
        """
        strict = flag("strict", strict)
        declared = None if schema is None else as_schema(schema)
        if declared is not None:
            check_declared(declared, allow_observed=self.allow_observed)
            # What is declared takes its memory whatever is found beside it.
            if is_whole(declared) or any(map(is_learned, declared.columns.values())):
                self._foresight.check(declared, self.memory_mb)
        if self.progress is not None:
            self.progress("read the table", 0.0)
        with self._opened(source, declared) as table, self._opened_journal() as journal:
            # Records of JSON say which columns there are, and in which order, unless a schema does.
            of_json = isinstance(table, RawTable) and table.origin.container == "jsonl"
            keys_read = of_json and not is_whole(declared)
            if isinstance(table, UntypedFile):
                if declared is not None:
                    declared.check_names(table.names)
            elif self.allow_observed or is_whole(declared):
                declared = whole_schema(table, declared)
                self._foresight.check(declared, self.memory_mb)
            elif declared is not None:
                declared.check_table(table)
            return self._fit(table, declared, journal, strict=strict, keys_read=keys_read)

    def _opened(self, source: Any, schema: Schema | None) -> AbstractContextManager[RawTable | UntypedFile]:
        if not is_whole(schema) and not self.allow_observed and is_untyped(source):
            return untyped_file(source, schema)
        return nullcontext(read(source, schema))

    def _fit(
        self,
        source: RawTable | UntypedFile,
        schema: Schema | None,
        journal: Journal | None,
        *,
        strict: bool,
        keys_read: bool,
    ) -> Release:
        foresight, report = self._foresight, self.progress or (lambda step, done: None)
        noise = self.noise or (SecureNoise() if self.seed is None else SeededNoise(self.seed))
        found = _to_find(source, schema)
        budget = foresight.budget_for(found)
        options = {name: getattr(self, name) for name in _LEARNING_OPTIONS}
        facts = run_facts(self._name, budget, noise, self.seed, options, schema)
        ledger = open_ledger(budget, journal, facts, resume=self.resume)

        def prepare(step: str, done: float) -> None:
            report(step, 0.05 * done)

        types_found = isinstance(source, UntypedFile)
        if isinstance(source, UntypedFile):
            untyped = foresight.prepared(schema, found, types_found=True)
            table = untyped.typed(source, schema, ledger, noise, progress=prepare)
            found = _to_find(table, schema)
        else:
            table = source
        informed = self._informed(table, schema)
        foresight = informed._foresight
        prepared = foresight.prepared(schema, found, types_found=types_found)
        codec = prepared.codec(table, schema, ledger, noise, progress=prepare)
        if not is_whole(schema):
            foresight.plan(codec, prepared, ledger.budget).check(self.memory_mb, codec.domain)
        report("encode", 0.05)
        encoded, coercions = codec.encode(table, strict=strict, found=found)
        for sentence in coercions.describe():
            warn_caller(CoercionWarning(sentence))
        curator = Curator(MemoryEngine(encoded, limit_mb=self.memory_mb), ledger, noise)

        rare = foresight.merging(prepared)
        recoding = rare.fit(curator, foresight.large_columns(codec.schema)) if rare else None
        inner = curator.recoded(recoding) if recoding else curator

        model, choice = informed._learn(
            inner,
            # Also what preprocessing turned out not to need.
            share=ledger.remaining_share,
            progress=lambda step, done: report(step, 0.1 + 0.9 * done),
        )
        ledger.require_all_replayed()
        if recoding:
            model = RecodedModel(model, recoding)
        types_read = keys_read or (table.origin.is_text and not types_found and bool(found))
        return Release(
            method=self._name,
            codec=codec,
            model=model,
            privacy=PrivacyStatement.of_run(
                ledger,
                noise,
                method=self._name,
                provenance={name: column.provenance for name, column in codec.schema.columns.items()},
                version=__version__,
                choice=choice,
                types_read=types_read,
                stored_types=() if table.origin.is_text else tuple(found),
                made_anew=[name for name in found if isinstance(codec.schema[name], Identifier)],
            ),
            origin=table.origin,
        )

    def _informed(self, table: RawTable, schema: Schema | None) -> Marginal:
        """Return this method with what it needs to know of the columns' types."""
        del table, schema
        return self

    def _learn(
        self, curator: Curator, *, share: Fraction, progress: Progress
    ) -> tuple[MarginalModel, MethodChoice | None]:
        """Return the fitted model, and what was chosen if the method leaves a choice."""
        return self.selector.select(curator, self.model, share=share, progress=progress), None

    def _opened_journal(self) -> AbstractContextManager[Journal | None]:
        return nullcontext() if self.journal is None else Journal(self.journal, must_exist=self.resume)

    @property
    def _name(self) -> str:
        """Key of the method; of a free pair, the keys of its parts."""
        return self.key if self.key != Marginal.key else pair_name(self.selector, self.model)

    @property
    def _foresight(self) -> Foresight:
        assert self.budget is not None
        return Foresight(
            method=self._name,
            selector=self.selector,
            model=self.model,
            budget=self.budget,
            bins=self.bins,
            preprocessing=self.preprocessing,
            rare=self.rare,
        )


def _check_types(physical: object) -> None:
    """Raise ArgumentError unless stored types are given by the names of columns, or none are."""
    allowed = "the stored type of each column by its name, such as the origin's of a table that was read"
    given = instance_of(Mapping, allowed).or_none("physical", physical)
    for stored in (given or {}).values():
        instance_of(PhysicalType, allowed)("physical", stored)


def _to_find(source: RawTable | UntypedFile, schema: Schema | None) -> dict[str, PhysicalType]:
    """Return the stored types of the columns whose domains have to be found."""
    if isinstance(source, UntypedFile):
        physical = source.physical
    else:
        physical = {name: column.physical for name, column in source.columns.items()}
    return {name: physical[name] for name in undeclared(physical, schema)}
