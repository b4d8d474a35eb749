"""Found forms of keys that numbers and days have, where they are written in a way that is not looked for."""

from __future__ import annotations

import re

from syntabula.table.schema.columns import Column, Identifier
from syntabula.table.schema.text_formats import SIGN

_DIGITS = r"\\d(\{[0-9]+\})?"
_POINT = r"\\\."
_SIGN = rf"\\?{SIGN}"
_UNIT = r"\\? [^\W\d_]{1,5}"
_GROUPED = rf"({_DIGITS}(\\?[ '\u00a0\u202f,]|{_POINT}))*{_DIGITS}"
_NUMBER = re.compile(
    rf"({_SIGN} ?)?{_GROUPED}({_POINT}|,){_DIGITS}( ?{_SIGN}|{_UNIT})?|{_SIGN} ?{_GROUPED}|{_GROUPED}( ?{_SIGN}|{_UNIT})"
)
_ONE_OR_TWO, _YEAR = r"\\d(\{2\})?", r"\\d\{[24]\}"
_DAY = re.compile(
    rf"{_ONE_OR_TWO}(?P<mark>[/-]|{_POINT}){_ONE_OR_TWO}(?P=mark){_YEAR}"
    rf"|{_ONE_OR_TWO}[ -]\[[A-Za-z-]+\]\{{3\}}[ -]{_YEAR}"
)


def are_written(column: Column) -> bool:
    """Return whether keys have the form of numbers with a sign, unit or decimals, or of days: 1.234,50 € or 31.12.24."""
    if not isinstance(column, Identifier) or column.pattern is None:
        return False
    forms = column.pattern.split("|")
    return any(all(map(kind.fullmatch, forms)) for kind in (_NUMBER, _DAY))
