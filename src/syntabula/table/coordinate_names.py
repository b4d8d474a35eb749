"""Names that columns of geographical coordinates have: their numbers have decimals, and are never thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = "lat|latitude|latitud|latitudine|lon|lng|longitude|longitud|longitudine|breitengrad|längengrad|laengengrad"
_NAME = re.compile(rf"(^|[_\W])({_WORDS})($|[_\W])|^long$", re.IGNORECASE)
_CAMEL = re.compile(r"[a-z](Lat|Lon|Lng|Latitude|Longitude)$")
_AS_DECIMALS = {"point of thousandths": "real", "comma of thousandths": "comma"}


def is_coordinate_name(name: str) -> bool:
    """Return whether a column's name, which is public, is one that latitudes or longitudes have: lat or start_lng."""
    return any(pattern.search(name) for pattern in (_NAME, _CAMEL))


def kinds_of_decimals(name: str, kinds: Iterable[str]) -> list[str]:
    """Return the kinds of a column's cells, of which those of coordinates show the decimal mark.

    Args:
        name: Name of the column.
        kinds: Kinds of its cells.
    """
    return [_AS_DECIMALS.get(kind, kind) for kind in kinds] if is_coordinate_name(name) else [*kinds]


def decimal_comma_of(name: str, kinds: Iterable[str], of_file: bool) -> bool:
    """Return whether a comma is the decimal mark of a column, given that of its file.

    Args:
        name: Name of the column.
        kinds: Kinds of its cells.
        of_file: Whether a comma is the decimal mark of the file.
    """
    shown = _AS_DECIMALS.keys() & {*kinds} if is_coordinate_name(name) else {}
    return "comma of thousandths" in shown if len(shown) == 1 else of_file
