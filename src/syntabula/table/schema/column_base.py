"""What all kinds of columns share, and the checks of their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from syntabula._arguments import Rule, count, flag, normalise, one_of
from syntabula.bins.uniform import MAX_BINS
from syntabula.errors import ArgumentError, SchemaError

if TYPE_CHECKING:
    from syntabula.table.raw import PhysicalType

Provenance = Literal["public", "private", "observed"]


@dataclass(frozen=True, kw_only=True)
class ColumnBase:
    """What every kind of column shares.

    Attributes:
        nullable: Whether cells may be missing; missing is then a code of its own.
        provenance: Where the domain comes from: stated (`public`), paid for (`private`) or read off the data
            (`observed`, which is not covered by the guarantee).
    """

    kind: ClassVar[str]
    nullable: bool = False
    provenance: Provenance = "public"

    def __post_init__(self) -> None:
        declare(self, nullable=FLAG, provenance=one_of(*get_args(Provenance)))

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column stored in this way cannot be read as declared and what to do; None if it can."""
        raise NotImplementedError


def unless(physical: PhysicalType, allowed: set[str], declared: str) -> str | None:
    """Object to a stored kind that is not among those allowed; None if it is."""
    if physical.kind in allowed:
        return None
    return (
        f"is stored as {physical.kind} ({physical.name}) but declared {declared}, which reads "
        f"{', '.join(sorted(allowed))}; convert the column or change its kind in the schema"
    )


def left_out(rule: Rule) -> Rule:
    """Return a rule for an entry of a schema that need not be there."""
    return Rule(f"{rule.allowed}, or left out", rule.or_none.read)


def declare(column: object, **rules: Rule) -> None:
    """Check fields of a column or a schema, and keep them as their rules return them; raises SchemaError."""
    try:
        normalise(column, **rules)
    except ArgumentError as error:
        raise SchemaError(str(error)) from None


def require_order(ascending: bool) -> None:
    """Refuse bounds in the wrong order; raises SchemaError."""
    if not ascending:
        raise SchemaError("lower lies above upper; swap the bounds")


FLAG = Rule("true or false", flag.read)
BIN_COUNT = left_out(count(1, MAX_BINS))
"""The rule of a column's own number of bins."""
