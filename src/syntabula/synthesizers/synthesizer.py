"""What every method shares: its options, planning and fitting. Each method provides its own learner."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from syntabula._arguments import count, flag, function, instance_of, megabytes, normalise, path, refusal
from syntabula._planning import MOST_ROWS, Progress
from syntabula.errors import ArgumentError
from syntabula.prepare.preprocessing import BinCount, Preprocessing, RareCategories
from syntabula.privacy.budget import Budget
from syntabula.privacy.noise import NoiseSource
from syntabula.synthesizers.options import check_arguments, with_options
from syntabula.synthesizers.plan import GUESSED_ROWS, Plan, plan_of
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.schema import SchemaSource, as_schema

if TYPE_CHECKING:
    from syntabula.synthesizers.learner import Learner
    from syntabula.synthesizers.release import Release


@dataclass(frozen=True, kw_only=True)
class Synthesizer(ABC):
    """A method that learns a sensitive table and returns a release.

    Attributes:
        epsilon: Privacy budget, with `delta`; `math.inf` switches privacy off. Ignored if `budget` is given.
        delta: Probability with which the epsilon bound may fail; choose it well below 1 / the number of records.
        budget: The budget as an object: approximate, zCDP or pure.
        bins: Most codes for a numeric or date column with more values than that; "auto" for Rice's rule under
            the budget, 2 n^(1/3) / (1 + exp(-epsilon)), of a noisy n, and at most 250.
        preprocessing: How bins are chosen, and the fraction of the budget that bins and unknown domains may cost.
        rare: How rare categories of large columns are merged under privacy before anything else; None merges none.
        seed: Replaces the secure noise by repeatable noise, for experiments; the release is then NOT private.
        noise: Replaces the noise source altogether, for audits; the source declares whether it is private.
        allow_observed: Allows domains that were read off the sensitive table; the statement discloses this.
        memory_mb: Memory limit of each step; checked before data is read.
        journal: Path of a file to which every spend is written before its noise is drawn. Spends that it
            already holds, from an interrupted run or another method, count: this run only gets the rest of the
            budget.
        resume: Resumes the run in the journal: its noisy answers are reused and only the missing ones are drawn,
            so that the release is the same as without the interruption.
        progress: Called with the name of a step and the fraction done.
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

    if not TYPE_CHECKING:  # a type checker reads the fields and finds wrong names without this

        def __new__(cls, *unnamed: Any, **given: Any) -> Self:
            """Refuse arguments that this method does not have; suggests similar names."""
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
            progress=function("a function of a step's name and the fraction done").or_none,
        )
        if self.resume and self.journal is None:
            raise ArgumentError("resume=True needs the journal of the run to resume; pass it as journal=PATH")
        _ = self.learner  # refuses parts that cannot make a learner

    @property
    @abstractmethod
    def learner(self) -> Learner:
        """The part that learns the encoded table; raises ArgumentError if the options cannot make one."""

    @property
    def name(self) -> str:
        """Name of this method in a statement."""
        return self.key

    def with_options(self, **options: Any) -> Self:
        """Return this method with some options of its parts changed, by name; `method_options` lists them.

        Raises:
            ArgumentError: If no part has an option of that name, or a value is invalid.

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
        """Return the memory, time and budget of each step, before any value is read.

        Args:
            schema: Columns and domains, or the path of a schema file; None if they will be found privately.
            n_rows: A public or guessed number of rows; 100,000 by default.
            physical: Stored type of each column, if some are not declared. Their domains are then guessed.
            types_found: Whether types will be found too, as for a text file, which stores none. The plan then
                assumes numeric columns, whatever `physical` says.

        Raises:
            ArgumentError: If domains have to be found, and no types are given.
            SchemaError: If the schema does not fit the names of the columns.
        """
        declared = None if schema is None else as_schema(schema)
        _check_types(physical)
        rows = count(0, MOST_ROWS).or_none("n_rows", n_rows)
        return plan_of(
            self, declared, physical or {}, GUESSED_ROWS if rows is None else rows, types_found=types_found
        )

    def fit(self, source: Any, schema: SchemaSource | None = None, *, strict: bool = False) -> Release:
        """Learn a sensitive table and return a release.

        Args:
            source: A pandas or polars data frame, an Arrow table, or the path of a file. Declared columns are read as
                the schema says, cell by cell, whatever their stored types. The stored types of others are taken as
                public, and those of JSON are read off the cells; the statement warns of both.
            schema: Columns and their domains, or the path of a schema file. Without one, domains are found under
                differential privacy from the names and stored types of the columns alone, and the types of
                delimited text likewise; or, if `allow_observed`, both are read off the table, which the
                statement discloses as not protected. Columns that a schema of `others="find"` does not declare
                are treated likewise.
            strict: Raise DataError on values outside the declared domains instead of coercing them. The
                guarantee does not cover such a failure: whoever sees it learns something about the table.

        Raises:
            ArgumentError: If `strict` is neither True nor False.
            ObservedDomainError: If the schema was read off the table and `allow_observed` is False.
            PrivateDomainError: If the budget is too small to find the bounds of most columns, or any domain.
            SchemaError: If the schema does not fit the table's columns, or an undeclared column has a type for which no
                domain can be found.
            DataError: If the table cannot be read.
            ResourceError: If a step needs more memory than `memory_mb`. Nothing was spent, unless domains
                had to be found first.
            BudgetError: If categories have to be found and the budget has no delta.
            ReleaseFileError: If the journal cannot be opened or written, is damaged, or another run holds it.
            ResumeError: If the journal to resume belongs to another run; nothing was drawn.
            BudgetExceededError: If the journal leaves less than a hundredth of the budget. Otherwise it
                means a bug in the method: a step asked for more than its share.
        """
        from syntabula.synthesizers.fitting import fit

        strict = flag("strict", strict)
        return fit(self, source, None if schema is None else as_schema(schema), strict=strict)


def _check_types(physical: object) -> None:
    """Raise ArgumentError unless stored types are None or a mapping from column names."""
    allowed = "the stored type of each column by its name, such as the origin's of a table that was read"
    given = instance_of(Mapping, allowed).or_none("physical", physical)
    for stored in (given or {}).values():
        instance_of(PhysicalType, allowed)("physical", stored)
