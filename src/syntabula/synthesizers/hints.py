"""What a fit tells a user to declare, by names, kinds and released domains alone: orders, keys of persons, and days."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from syntabula.errors import DomainWarning, PrivacyWarning, RuleWarning, SchemaError, warn_caller
from syntabula.table.schema.columns import Categorical, Date, Datetime, Identifier, Numeric
from syntabula.table.schema.schema import Schema, columns_listed

if TYPE_CHECKING:
    from syntabula.privacy.pricing import NoisyVector
    from syntabula.table.raw import PhysicalType


_DAYS_AS_NUMBERS = (19_000_101, 20_991_231)
_BY_NOISE = 0.001
"""Probability with which noise alone may have declared keys refused that suffice."""


def require_enough_keys(schema: Schema | None, n_rows: float, counted: NoisyVector | None = None) -> None:
    """Refuse declared keys that would not suffice for a table as long as the real one, before more budget is spent.

    Keys may be just as many as records, so noise on the number of these is no reason to refuse them.

    Args:
        schema: The declared columns.
        n_rows: Number of rows, exact where there is no privacy, else as released.
        counted: The noisy count that released it, if there is one.

    Raises:
        SchemaError: If a pattern has fewer different keys than there are rows, and nothing says that they come again.
    """
    fewest = n_rows - (0.0 if counted is None else counted.above_noise(_BY_NOISE))
    for name, column in ({} if schema is None else schema.columns).items():
        if not isinstance(column, Identifier) or column.pattern is None or column.distinct is not None:
            continue
        # Those of units come again in their rows.
        if schema is not None and name != schema.unit and (n_keys := column.keys().n_keys) < fewest:
            raise SchemaError(
                f"column {name!r}: its pattern has {n_keys:,} different keys, fewer than the table has rows; say by "
                "`distinct` how many differ, if they come again, or declare a longer pattern. Nothing but the number of "
                "records was asked of the table"
            )


def tell_of_orders(
    declared: Schema | None, learned: Schema | None, found: Mapping[str, PhysicalType]
) -> None:
    """Warn of columns of days or times that are a start and an end by their names, but not by a rule.

    Args:
        declared: The schema, with its rules.
        learned: The declared columns that are learned.
        found: Stored types of the columns that are not declared.
    """
    columns = {} if learned is None else learned.columns
    times = [c for c in columns.values() if isinstance(c, Date | Datetime)]
    if len(times) + sum(stored.kind in ("date", "datetime") for stored in found.values()) < 2:
        return
    from syntabula.table.rules.ordered_names import told, unordered

    rules = None if declared is None else declared.rules
    compiled = None if declared is None or rules is None else declared.compiled_rules
    expressions = [] if compiled is None else [c.expression for c in compiled.conditions]
    if pairs := unordered(columns, found, rules, [{*e.columns} for e in expressions]):
        warn_caller(RuleWarning(told(pairs)))


def tell_of_key_names(names: Collection[str]) -> None:
    """Warn of undeclared columns that are named like keys of persons."""
    from syntabula.table.key_names import keys_of_persons, warning_of_keys

    if keys := keys_of_persons(names):
        warn_caller(PrivacyWarning(warning_of_keys(keys)))


def tell_of_found(released: Schema, names: Collection[str], *, is_exact: bool, has_units: bool) -> None:
    """Warn of undeclared columns of which the domains that were found say what to declare.

    Args:
        released: All columns, as declared or found.
        names: Those that were found.
        is_exact: Whether they were found without privacy.
        has_units: Whether the rows of one person are protected together, by a declared key.
    """
    tell_of_days(released, names)
    if is_exact:
        tell_of_real_keys(released, names)
    elif not has_units:
        tell_of_keys(released, names)


def tell_of_keys(released: Schema, names: Collection[str]) -> None:
    """Warn of undeclared columns named after persons, such as patient, that turned out to hold keys that repeat.

    Whole numbers that are learned may be such keys too, if there are more of them than a category would have.
    """
    if not names:
        return
    from syntabula.table.new_keys import FEW_VALUES

    repeated = [name for name in names if isinstance(column := released[name], Identifier) and column.repeats]
    numbers = [
        name
        for name in names
        if isinstance(column := released[name], Numeric)
        and column.integer
        and column.upper - column.lower >= FEW_VALUES
    ]
    if not repeated and not numbers:
        return
    from syntabula.table.key_names import is_of_persons, keys_of_persons, names_persons, warning_of_keys

    keys = [name for name in repeated if names_persons(name)]
    keys += [name for name in numbers if is_of_persons(name, is_number=True)]
    known = keys_of_persons(keys)
    if keys := [name for name in keys if name not in known]:
        warn_caller(PrivacyWarning(warning_of_keys(keys)))


def tell_of_real_keys(released: Schema, names: Collection[str]) -> None:
    """Warn of undeclared columns named after persons whose values are categories, found without privacy."""
    if not names:
        return
    from syntabula.table.new_keys import FEW_VALUES

    many = [
        name
        for name in names
        if isinstance(column := released[name], Categorical) and len(column.categories) > FEW_VALUES
    ]
    if not many:
        return
    from syntabula.table.key_names import is_of_persons, warning_of_real_keys

    if keys := [name for name in many if is_of_persons(name, is_number=False)]:
        warn_caller(PrivacyWarning(warning_of_real_keys(keys)))


def tell_of_days(released: Schema, names: Collection[str]) -> None:
    """Warn of undeclared columns whose released bounds are those of days written as whole numbers, such as 20240131."""
    first, last = _DAYS_AS_NUMBERS
    days = [
        name
        for name in names
        if isinstance(column := released[name], Numeric)
        and column.integer
        and first <= column.lower < column.upper <= last
    ]
    if days:
        warn_caller(
            DomainWarning(
                f"{columns_listed(days)}: the bounds that were found are those of days written as whole numbers, such as "
                '20240131; if they are days, declare {kind: date, format: "%Y%m%d"} in a schema, or else days come out '
                "that do not exist"
            )
        )
