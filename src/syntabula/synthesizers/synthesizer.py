"""What every method shares: read a table, prepare its columns, encode it, let a learner learn it, and state the cost."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from syntabula._arguments import count, flag, function, instance_of, megabytes, normalise, path, refusal
from syntabula._planning import MOST_ROWS, Progress
from syntabula._version import __version__
from syntabula._warnings import warn_caller
from syntabula.errors import ArgumentError, CoercionWarning
from syntabula.marginals.engines import engine_for
from syntabula.models.recoded import RecodedModel
from syntabula.prepare.found_types import NUMBER, TEXT
from syntabula.prepare.preparation import Preparation, prepare
from syntabula.prepare.preprocessing import BinCount, Preprocessing
from syntabula.prepare.rare import RareCategories
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import Journal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SecureNoise, SeededNoise
from syntabula.privacy.resume import open_ledger
from syntabula.privacy.statement import statement_of
from syntabula.synthesizers.learner import Learner
from syntabula.synthesizers.options import check_arguments, with_options
from syntabula.synthesizers.plan import (
    GUESSED_ROWS,
    Plan,
    guessed_codec,
    guessed_columns,
    make_plan,
)
from syntabula.synthesizers.release import Release
from syntabula.synthesizers.run_facts import run_facts
from syntabula.table.coding.codec import Codec
from syntabula.table.draft import whole_schema
from syntabula.table.files.untyped_file import UntypedFile, is_untyped, untyped_file
from syntabula.table.raw import PhysicalType, RawTable
from syntabula.table.read import read
from syntabula.table.schema.column_codes import is_learned
from syntabula.table.schema.columns import Identifier
from syntabula.table.schema.schema import (
    Schema,
    SchemaSource,
    as_schema,
    check_declared,
    completed,
    is_whole,
    undeclared,
)

_READ, _ENCODE = "read the table", "encode"
_PREPARED, _ENCODED = 0.05, 0.1
"""Parts of a fit that are done when columns are prepared, and when the table is encoded."""


@dataclass(frozen=True, kw_only=True)
class Synthesizer(ABC):
    """A method that learns a sensitive table and returns a release.

    Attributes:
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
    """

    key: ClassVar[str]
    paper: ClassVar[str] = ""
    parts: ClassVar[tuple[str, ...]] = ()
    """Fields that are parts with options of their own."""

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

    if not TYPE_CHECKING:  # a type checker reads the fields, and finds a wrong name by itself

        def __new__(cls, *unnamed: Any, **given: Any) -> Self:
            """Refuse arguments that this method does not have, with near misses."""
            check_arguments(cls, unnamed, given)
            return super().__new__(cls)

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
        _ = self.learner  # refuses what it cannot be made of

    @property
    @abstractmethod
    def learner(self) -> Learner:
        """What learns the encoded table; raises ArgumentError for options that make none."""

    @property
    def name(self) -> str:
        """What a statement calls this method."""
        return self.key

    def with_options(self, **options: Any) -> Self:
        """Return this method with some options of its parts changed, by name; `method_options` lists them.

        Raises:
            ArgumentError: If no part has an option of that name, or a value makes no sense to it.

        Examples:
            >>> import syntabula
            >>> syntabula.AIM(epsilon=1.0).with_options(max_rounds=20).selector.max_rounds
            20
        """
        return with_options(self, options)

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

        Raises:
            ArgumentError: If domains have to be found, and no types are given.
            SchemaError: If the schema does not fit the names of the columns.
        """
        declared = None if schema is None else as_schema(schema)
        _check_types(physical)
        assumed = count(0, MOST_ROWS).or_none("n_rows", n_rows)
        found: dict[str, PhysicalType] = {}
        if not is_whole(declared):
            if not physical:
                raise ArgumentError(
                    "a plan needs a schema of all columns, or the stored types of the columns; `syntabula plan TABLE` "
                    "takes them from the table"
                )
            if declared is not None:
                declared.check_names(physical)
            found = {n: TEXT if types_found else physical[n] for n in undeclared(physical, declared)}
        budget = self._preparation(declared, found, types_found=types_found).budget(self._budget)
        if types_found:
            # Numbers take the most steps; which columns are some is not known yet.
            found = dict.fromkeys(found, NUMBER)
        prepared = self._preparation(declared, found, types_found=types_found)
        whole = (
            declared if is_whole(declared) else completed(declared, physical or {}, guessed_columns(found))
        )
        rows = GUESSED_ROWS if assumed is None else assumed
        return self._plan(guessed_codec(whole, self.bins, rows, self._budget), prepared, rows, budget)

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
            ArgumentError: If `strict` is neither True nor False.
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
                self._check_memory(declared)
        if self.progress is not None:
            self.progress(_READ, 0.0)
        with self._opened(source, declared) as table:
            # Records of JSON say which columns there are, and in which order, unless a schema does.
            of_json = isinstance(table, RawTable) and table.origin.container == "jsonl"
            keys_read = of_json and not is_whole(declared)
            if isinstance(table, UntypedFile):
                if declared is not None:
                    declared.check_names(table.names)
            elif is_whole(declared):
                declared.check_table(table)
            elif self.allow_observed:
                declared = whole_schema(table, declared)
                self._check_memory(declared)
            elif declared is not None:
                declared.check_table(table)
            with self._opened_journal() as journal:
                return self._fit(table, declared, journal, strict=strict, keys_read=keys_read)

    def _fit(
        self,
        source: RawTable | UntypedFile,
        schema: Schema | None,
        journal: Journal | None,
        *,
        strict: bool,
        keys_read: bool,
    ) -> Release:
        report = self.progress or (lambda step, done: None)
        noise = self.noise or (SecureNoise() if self.seed is None else SeededNoise(self.seed))
        found = _to_find(source, schema)
        types_found = isinstance(source, UntypedFile)
        prepared = self._preparation(schema, found, types_found=types_found)
        ledger = self._ledger(prepared, noise, schema, journal)

        def preparing(step: str, done: float) -> None:
            report(step, _PREPARED * done)

        if isinstance(source, UntypedFile):
            table = prepared.typed(source, schema, ledger, noise, progress=preparing)
            found = _to_find(table, schema)
            prepared = self._preparation(schema, found, types_found=True)
        else:
            table = source
        codec = prepared.codec(table, schema, ledger, noise, progress=preparing)
        if not is_whole(schema):
            self._plan(codec, prepared, GUESSED_ROWS).check(self.memory_mb, codec.domain)
        report(_ENCODE, _PREPARED)
        encoded, coercions = codec.encode(table, strict=strict, found=found)
        for sentence in coercions.describe():
            warn_caller(CoercionWarning(sentence))
        engine = engine_for(encoded, limit_mb=self.memory_mb)
        doors = Doors(Curator(engine, ledger, noise))
        recoding = prepared.recoding(doors.tables)
        model, choice = self.learner.learn(
            doors.recoded(recoding) if recoding else doors,
            # Also what preprocessing turned out not to need.
            share=ledger.remaining_share,
            progress=lambda step, done: report(step, _ENCODED + (1 - _ENCODED) * done),
        )
        ledger.require_all_replayed()
        types_read = keys_read or (table.origin.is_text and not types_found and bool(found))
        return Release(
            method=self.name,
            codec=codec,
            model=RecodedModel(model, recoding) if recoding else model,
            privacy=statement_of(
                ledger,
                noise,
                method=self.name,
                provenance={name: column.provenance for name, column in codec.schema.columns.items()},
                version=__version__,
                choice=choice,
                types_read=types_read,
                stored_types=() if table.origin.is_text else tuple(found),
                made_anew=[name for name in found if isinstance(codec.schema[name], Identifier)],
            ),
            origin=table.origin,
        )

    @property
    def _budget(self) -> Budget:
        assert self.budget is not None
        return self.budget

    def _preparation(
        self, schema: Schema | None, found: Mapping[str, PhysicalType], *, types_found: bool = False
    ) -> Preparation:
        return prepare(self.preprocessing, self.bins, self.rare, schema, found, types_found=types_found)

    def _ledger(
        self, prepared: Preparation, noise: NoiseSource, schema: Schema | None, journal: Journal | None
    ) -> Ledger:
        """Return the ledger of this run, begun or gone on with."""
        budget = prepared.budget(self._budget)
        own = {f.name for f in fields(self)} - {f.name for f in fields(Synthesizer)}
        options = {name: getattr(self, name) for name in sorted(own | _LEARNING)}
        facts = run_facts(self.name, budget, noise, self.seed, options, schema)
        return open_ledger(budget, journal, facts, resume=self.resume)

    def _plan(self, codec: Codec, prepared: Preparation, n_rows: int, budget: Budget | None = None) -> Plan:
        """Say what each step will take, for a public or guessed number of rows."""
        steps, domain = prepared.planned(codec.domain)
        learning = Fraction(1) - prepared.share
        steps += [(step, step.share * learning) for step in self.learner.plan(domain, n_rows)]
        return make_plan(
            method=self.name,
            budget=prepared.budget(self._budget) if budget is None else budget,
            steps=steps,
            n_rows=n_rows,
            n_columns=len(codec.schema.columns),
        )

    def _check_memory(self, schema: Schema) -> None:
        """Raise ResourceError if a step needs more memory than given, by what is declared."""
        codec = guessed_codec(schema, self.bins, GUESSED_ROWS, self._budget)
        self._plan(codec, self._preparation(schema, {}), GUESSED_ROWS).check(self.memory_mb, codec.domain)

    def _opened(self, source: Any, schema: Schema | None) -> AbstractContextManager[RawTable | UntypedFile]:
        if not is_whole(schema) and not self.allow_observed and is_untyped(source):
            return untyped_file(source, schema)
        return nullcontext(read(source, schema))

    def _opened_journal(self) -> AbstractContextManager[Journal | None]:
        return nullcontext() if self.journal is None else Journal(self.journal, must_exist=self.resume)


_LEARNING = {"bins", "preprocessing", "rare"}
"""Common fields that change what is asked of the table; the others only say how a run goes."""


def _to_find(source: RawTable | UntypedFile, schema: Schema | None) -> dict[str, PhysicalType]:
    """Return the stored types of the columns whose domains have to be found."""
    if isinstance(source, UntypedFile):
        physical = source.physical
    else:
        physical = {name: column.physical for name, column in source.columns.items()}
    return {name: physical[name] for name in undeclared(physical, schema)}


def _check_types(physical: object) -> None:
    """Raise ArgumentError unless stored types are given by the names of columns, or none are."""
    allowed = "the stored type of each column by its name, such as the origin's of a table that was read"
    given = instance_of(Mapping, allowed).or_none("physical", physical)
    for stored in (given or {}).values():
        instance_of(PhysicalType, allowed)("physical", stored)
