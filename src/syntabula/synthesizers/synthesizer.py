"""What every method does: plan a fit, and fit a table; its settings say how, and its learner learns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from syntabula._arguments import count, flag, instance_of
from syntabula._planning import MOST_ROWS
from syntabula.synthesizers.plan import GUESSED_ROWS, plan_of
from syntabula.synthesizers.planned import Plan
from syntabula.synthesizers.settings import Settings, TableFacts, with_options
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.schema import SchemaSource, as_schema

if TYPE_CHECKING:
    from syntabula.synthesizers.release import Release


@dataclass(frozen=True, kw_only=True)
class Synthesizer(Settings):
    """A method that learns a sensitive table and returns a release; `Settings` describes its attributes."""

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
        in_parts: bool = False,
    ) -> Plan:
        """Return the memory, time and budget of each step, before any value is read.

        Args:
            schema: Columns and domains, or the path of a schema file; None if they will be found privately.
            n_rows: A public or guessed number of rows; 100,000 by default.
            physical: Stored type of each column, if some are not declared. Their domains are then guessed.
            types_found: Whether types will be found too, as for a text file, which stores none. The plan then
                assumes numeric columns, whatever `physical` says, and that cells are read as texts.
            in_parts: Whether the table will be read in parts, as a folder or a large file is.

        Raises:
            ArgumentError: If domains have to be found, and no types are given.
            SchemaError: If the schema does not fit the names of the columns.
        """
        self._tell_of_idle()
        declared = None if schema is None else as_schema(schema)
        _check_types(physical)
        rows = count(0, MOST_ROWS).or_none("n_rows", n_rows)
        facts = TableFacts(
            schema=declared,
            physical=physical or {},
            n_rows=GUESSED_ROWS if rows is None else rows,
            types_found=types_found,
            in_parts=in_parts,
        )
        return plan_of(self, facts)

    def fit(self, source: Any, schema: SchemaSource | None = None, *, strict: bool = False) -> Release:
        """Learn a sensitive table and return a release.

        Args:
            source: A pandas or polars data frame, an Arrow table, or the path of a file. Also a table that
                memory need not hold: a folder or a pattern of files, a polars LazyFrame, a DuckDB
                relation, a pyarrow dataset or an Ibis table. Declared columns are read as the schema says, cell by
                cell, whatever their stored types. The stored types of others are taken as public, and those of JSON
                are read off the cells; the statement warns of both.
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
            PrivateDomainError: If the budget is too small to find the domain of any column.
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
        self._tell_of_idle()
        return fit(self, source, None if schema is None else as_schema(schema), strict=strict)

    def _tell_of_idle(self) -> None:
        """Warn of options that do nothing."""
        if self.idle:  # few methods have any
            from syntabula.synthesizers.idle_options import tell_of_idle

            tell_of_idle(self)


def _check_types(physical: object) -> None:
    """Raise ArgumentError unless stored types are None or a mapping from column names."""
    allowed = "the stored type of each column by its name, such as the origin's of a table that was read"
    given = instance_of(Mapping, allowed).or_none("physical", physical)
    for stored in (given or {}).values():
        instance_of(PhysicalType, allowed)("physical", stored)
