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
_LETTERS = r"([A-Za-z]{1,3}|\[A-Za-z\]\{[23]\})(\\[.$](\\? )?|\\? )"
"""Of a currency, as in Rs. 12.50: codes of diagnoses have neither a mark nor a space before their digits."""
_BY_TWO = r"\\d(\{2\})?(,\\d\{2\})+,\\d\{3\}"
"""Thousands, and hundreds of what is larger, as in 1,23,456."""
_NUMBER = re.compile(
    rf"{_LETTERS}{_GROUPED}({_POINT}|,)\\d\{{2\}}|{_BY_TWO}|"
    rf"({_SIGN} ?)?{_GROUPED}({_POINT}|,){_DIGITS}( ?{_SIGN}|{_UNIT})?|{_SIGN} ?{_GROUPED}|{_GROUPED}( ?{_SIGN}|{_UNIT})"
)
_ONE_OR_TWO, _YEAR = r"\\d(\{2\})?", r"\\d\{[24]\}"
_DAY = re.compile(
    rf"{_ONE_OR_TWO}(?P<mark>[/-]|{_POINT}){_ONE_OR_TWO}(?P=mark){_YEAR}"
    rf"|{_ONE_OR_TWO}[ -]\[[A-Za-z-]+\]\{{3\}}[ -]{_YEAR}"
)


def are_written(column: Column) -> bool:
    """Return whether keys have the form of numbers with a sign, unit or decimals, or days: 1.234,50 € or 31.12.24."""
    if not isinstance(column, Identifier) or column.pattern is None:
        return False
    forms = column.pattern.split("|")
    return any(all(map(kind.fullmatch, forms)) for kind in (_NUMBER, _DAY))
