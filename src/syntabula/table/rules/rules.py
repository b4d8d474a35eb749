"""The rules of a schema as they are declared; nothing here looks at columns or data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, get_args

from syntabula._arguments import near, shown
from syntabula.errors import SchemaError
from syntabula.table.schema.column_base import type_of

RuleProvenance = Literal["public", "observed"]

MOST_RULES = 1000


@dataclass(frozen=True, eq=False)
class Rules:
    """What must hold within each row. Every row of a release does, whichever method made it.

    Rules are public facts, and cost no privacy. Expressions are SQL as DuckDB reads it, over columns of the same row:
    arithmetic, comparisons, CASE, and functions of numbers, texts and dates. Names with spaces, points or hyphens
    are put in double quotes. In a schema file, expressions with a comma, a colon or double quotes are put in single
    quotes. A missing cell makes most expressions missing; a condition that is missing counts as satisfied. A time with
    a zone is its zone's wall-clock time; but two columns of such times are compared and subtracted as points in time, by
    `date_diff` in hours and shorter units too, and `epoch` counts from a point in time. So are those that COALESCE, CASE,
    GREATEST and LEAST choose from.

    Attributes:
        derive: Columns that follow from others, each with its expression, such as `total: part_a + part_b` or
            `weekday: dayofweek(day)`; a copy is the other column's name. They are declared among the columns as all are,
            but not learned, and may be absent from the table: they cost no budget, and are computed for every
            synthetic row, rounded as declared.
        order: Lists of columns of numbers, dates or times that never decrease from one to the next, such as
            `[start, end]`. The one with the narrowest bounds is learned as it is, and the others as distances from it.
            A day and a time may be on the same day, whichever comes first; a condition compares a day as its midnight.
        require: Conditions that every row satisfies, such as `not (service = 'none' and extra <> 'none')`. A column that
            they keep within a window around another one, as `discharge <= admission + interval 30 day` and
            `b - a between 0 and 10` do, is learned as its distance from it; so is a day or time that they put after
            another one, as `delivered >= ordered` does.
        together: Lists of nullable columns that are missing in the same rows, such as `[started, ended]`.
        provenance: Source of the rules: stated (`public`) or taken from the data (`observed`, which the guarantee does
            not cover).

    Raises:
        SchemaError: If a part is not of this form.

    Examples:
        >>> from syntabula import Rules
        >>> Rules(derive={"total": "part_a + part_b"}, order=[["start", "end"]]).order
        (('start', 'end'),)
    """

    derive: Mapping[str, str] = field(default_factory=dict)
    order: Sequence[Sequence[str]] = ()
    require: Sequence[str] = ()
    together: Sequence[Sequence[str]] = ()
    provenance: RuleProvenance = "public"

    def __post_init__(self) -> None:
        object.__setattr__(self, "derive", MappingProxyType(_expressions(self.derive)))
        for name in ("order", "together"):
            object.__setattr__(self, name, _lists(name, getattr(self, name)))
        object.__setattr__(self, "require", _conditions(self.require))
        if self.provenance not in get_args(RuleProvenance):
            raise SchemaError(
                f"rules: provenance must be one of {', '.join(get_args(RuleProvenance))}; got {shown(self.provenance)}"
            )
        if len(self) > MOST_RULES:
            raise SchemaError(f"rules are more than {MOST_RULES:,}; join some with AND")

    def __len__(self) -> int:
        return len(self.derive) + len(self.order) + len(self.require) + len(self.together)

    def __eq__(self, other: object) -> bool:
        return self._stated() == other._stated() if isinstance(other, Rules) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._stated())

    def __reduce__(self) -> Any:
        # A mapping proxy cannot be pickled or copied.
        return type(self), (dict(self.derive), self.order, self.require, self.together, self.provenance)

    def _stated(self) -> tuple[object, ...]:
        return tuple(self.derive.items()), self.order, self.require, self.together, self.provenance

    def described(self) -> list[str]:
        """Return one line for each rule, as it is written in a schema."""
        return [
            *(f"{name} = {expression}" for name, expression in self.derive.items()),
            *(" <= ".join(chain) for chain in self.order),
            *self.require,
            *(f"missing together: {', '.join(names)}" for names in self.together),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the rules as JSON values; kinds of rules of which there is none are left out."""
        document = {
            "derive": dict(self.derive),
            "order": [list(chain) for chain in self.order],
            "require": list(self.require),
            "together": [list(names) for names in self.together],
        }
        source = {} if self.provenance == "public" else {"provenance": self.provenance}
        return {kind: stated for kind, stated in document.items() if stated} | source

    @classmethod
    def from_json(cls, document: object) -> Rules:
        """Rebuild what `to_json` returned, or the entry `rules` of a schema file; raises SchemaError."""
        kinds = [f.name for f in fields(cls)]
        if not isinstance(document, Mapping):
            raise SchemaError(f"rules must be a mapping with some of the keys {', '.join(kinds)}")
        for key in document:
            if key not in kinds:
                hint = near(key, kinds) or f"; allowed are {', '.join(kinds)}"
                raise SchemaError(f"rules has an unknown key {key!r}{hint}")
        return cls(**document)


class EarlierRules(Rules):
    """Rules of a release of an earlier version, which may name a category that no column declares.

    A schema with such a slip is refused; a release that was paid for is not.
    """


def _expressions(given: object) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise SchemaError(
            f"rules: derive must be a mapping from columns to SQL expressions, such as total: a + b; got {type_of(given)}"
        )
    for name, expression in given.items():
        if not isinstance(name, str):
            raise SchemaError(f"rules: derive names a column by {type_of(name)}; put its name in quotes")
        if not isinstance(expression, str):
            raise SchemaError(
                f"rules: derive for column {name!r} must be a text with an SQL expression, not {type_of(expression)}; "
                "put it in quotes"
            )
        if not expression.strip():
            raise SchemaError(
                f"rules: derive for column {name!r} is an empty text; write an expression such as a + b, or drop it"
            )
    return {str(name): str(expression) for name, expression in given.items()}


def _conditions(given: object) -> tuple[str, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise SchemaError(
            f'rules: require must be a list of SQL conditions, such as ["a <= b"]; got {type_of(given)}'
        )
    for condition in given:
        if not isinstance(condition, str):
            raise SchemaError(
                f"rules: require must hold texts with SQL conditions, not {type_of(condition)}; put each in quotes"
            )
        if not condition.strip():
            raise SchemaError(
                "rules: require holds an empty text; write a condition such as a <= b, or drop it"
            )
    return tuple(map(str, given))


def _lists(kind: str, given: object) -> tuple[tuple[str, ...], ...]:
    example = "[[start, end]]" if kind == "order" else "[[started, ended]]"
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise SchemaError(
            f"rules: {kind} must be a list of lists of columns, such as {example}; got {type_of(given)}"
        )
    for names in given:
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise SchemaError(
                f"rules: {kind} must be a list of lists of columns, such as {example}; one of its entries is "
                f"{type_of(names)}: put each list in brackets of its own"
            )
        if len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise SchemaError(f"rules: each list of {kind} must hold the names of at least two columns")
        if len(set(names)) < len(names):
            raise SchemaError(f"rules: a list of {kind} names a column twice; name each once")
    return tuple(tuple(map(str, names)) for names in given)
