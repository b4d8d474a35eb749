"""Conditions as words of a command: COLUMN=VALUE, once for each value that is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from syntabula.cli.exits import CommandError, Exit

if TYPE_CHECKING:
    from syntabula import Schema


def read_where(words: Sequence[str], schema: Schema) -> dict[str, list[Any]]:
    """Return conditions as `Release.sample` takes them.

    The value is all that follows the first = after a column's name, so that it may hold any character. Nothing stands
    for missing. Of numbers, dates and times FIRST..LAST is a range, either end of which may be left out. What is said
    of one column in several words is an alternative.

    Args:
        words: Words of the form COLUMN=VALUE.
        schema: Of the release.

    Raises:
        CommandError: If a word has no =.
        SchemaError: If it begins with no column's name.
    """
    where: dict[str, list[Any]] = {}
    for word in words:
        # A name may hold = itself: the longest that fits is meant.
        name = max((c for c in schema if word.startswith(f"{c}=")), key=len, default=None)
        if name is None:
            if "=" not in word:
                raise CommandError(f"--where {word!r} must be COLUMN=VALUE", Exit.ARGUMENTS)
            name = word.partition("=")[0]
            schema[name]  # says which names are near
        where.setdefault(name, []).append(_condition(word[len(name) + 1 :], schema[name]))
    return where


def _condition(text: str, column: Any) -> Any:
    if not text:
        return None
    if column.kind in ("numeric", "date", "datetime") and ".." in text:
        first, _, last = text.partition("..")
        return (_value(first, column) if first else None, _value(last, column) if last else None)
    return _value(text, column)


def _value(text: str, column: Any) -> Any:
    """Return the value that a text writes; the text itself, to be refused with the others, if it writes none."""
    from syntabula.table.schema.columns import SPELLINGS

    kind = (
        column.label_type
        if column.kind == "categorical"
        else {"numeric": float, "boolean": bool}.get(column.kind)
    )
    if kind in (int, float):
        try:
            # Decimals would read 1_0 as ten.
            number = Decimal(text if "_" not in text else "none")
        except InvalidOperation:
            return text
        return (
            (int(number) if number == number.to_integral_value() else float(number))
            if number.is_finite()
            else text
        )
    if kind is bool:
        meant = [text == true for true, false in (s.split("/") for s in SPELLINGS) if text in (true, false)]
        return meant[0] if meant else text
    return text
