"""Text that a spreadsheet would run as a formula, made harmless."""

from __future__ import annotations

import re

DELIMITERS = ",;\t|"
# What may begin a formula (OWASP, CSV Injection), in half and in full width. A number cannot run, and negative
# numbers are common labels.
STARTS_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
PLAIN_NUMBER = r"^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$"


def neutralised(text: str) -> str:
    """Put an apostrophe before text that starts like a formula, unless it is a plain number."""
    if re.match(STARTS_FORMULA, text) and not re.fullmatch(PLAIN_NUMBER.strip("^$"), text):
        return f"'{text}"
    return text


def neutralised_sql(column: str) -> str:
    """Return the SQL expression that does the same to a column of text."""
    return (
        f"CASE WHEN regexp_matches({column}, '{STARTS_FORMULA}') AND NOT "
        f"regexp_full_match({column}, '{PLAIN_NUMBER.strip('^$')}') THEN '''' || {column} ELSE {column} END"
    )
