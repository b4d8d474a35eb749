"""Kinds of text cells that hold a number without a sign of a currency or percent."""

from __future__ import annotations

from syntabula.table.files.declared_cells import matches

_SIGNED = r"[+-]?(0|[1-9][0-9]{0,14})"
# In a column with fractions, whole numbers are exact as floats up to 15 digits; longer ones stay text.
_REAL = (
    rf"{_SIGNED}|[+-]?((0|[1-9][0-9]*)?\.[0-9]+|(0|[1-9][0-9]*)\."
    r"|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+|inf|Inf|INF|infinity|Infinity)|nan|NaN|NAN"
)
_GROUPED = r"[+-]?[1-9][0-9]{0,2}"
_BY_TWO = r"[+-]?[1-9][0-9]?(,[0-9]{2}){1,5},[0-9]{3}"
"""Thousands, and hundreds of what is larger, as in 1,23,456."""


def tests(cell: str) -> dict[str, str]:
    """Return the SQL that tests whether a cell is of each kind, in the order in which they count."""
    return {
        "whole": matches(cell, r"-?(0|[1-9][0-9]{0,14})"),
        "whole with point": matches(cell, rf"{_SIGNED}\.0"),
        "point of thousandths": matches(cell, rf"{_GROUPED}\.[0-9]{{3}}"),
        "padded real": matches(cell, rf"{_SIGNED}\.[0-9]+0"),
        "power": f"({matches(cell, rf'{_SIGNED}[eE][+-]?[0-9]+')} AND TRY_CAST({cell} AS DOUBLE) IS NOT NULL)",
        "real": f"({matches(cell, _REAL)} AND TRY_CAST({cell} AS DOUBLE) IS NOT NULL)",
        "comma of thousandths": matches(cell, rf"{_GROUPED},[0-9]{{3}}"),
        "padded comma": matches(cell, rf"{_SIGNED},[0-9]+0"),
        "whole with comma": matches(cell, rf"{_SIGNED},0"),
        "comma": matches(cell, rf"{_SIGNED},[0-9]+([eE][+-]?[0-9]{{1,3}})?"),
        "groups by comma": matches(cell, rf"{_GROUPED}(,[0-9]{{3}}){{2,4}}"),
        "padded groups by comma": matches(cell, rf"{_GROUPED}(,[0-9]{{3}}){{1,4}}\.[0-9]+0"),
        "real groups by comma": matches(cell, rf"{_GROUPED}(,[0-9]{{3}}){{1,4}}\.[0-9]+"),
        "padded groups by point": matches(cell, rf"{_GROUPED}(\.[0-9]{{3}}){{1,4}},[0-9]+0"),
        "groups by point": matches(cell, rf"{_GROUPED}(\.[0-9]{{3}}){{1,4}},[0-9]+"),
        "whole groups by point": matches(cell, rf"{_GROUPED}(\.[0-9]{{3}}){{2,4}}"),
        "groups by two": matches(cell, _BY_TWO),
        "padded groups by two": matches(cell, rf"{_BY_TWO}\.[0-9]+0"),
        "real groups by two": matches(cell, rf"{_BY_TWO}\.[0-9]+"),
    }


KINDS = (*tests("cell"),)
"""The kinds, in this order."""
