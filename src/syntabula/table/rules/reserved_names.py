"""Columns whose names are words of SQL, such as end and order, which an expression must write in double quotes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from syntabula.table.database import identifier


def reserved_names(text: str, names: Collection[str], parses: Callable[[str], bool]) -> list[str]:
    """Return the columns that must be quoted for an expression to be read; none if that does not suffice.

    Args:
        text: An expression that cannot be read.
        names: Columns of the schema.
        parses: Whether an expression can be read.
    """
    bare = [name for name in names if _word(name).search(text)]
    if not bare or not parses(_quoted(text, bare)):
        return []
    return [name for name in bare if not parses(_quoted(text, [n for n in bare if n != name]))]


def told(names: Sequence[str]) -> str:
    """Return what to do about such columns."""
    quoted = ", ".join(map(identifier, names))
    return f"names of columns that are words of SQL need double quotes; write {quoted}"


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w\"']){re.escape(name)}(?![\w\"'])")


def _quoted(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = _word(name).sub(lambda _, name=name: identifier(name), text)  # type: ignore[misc]
    return text
