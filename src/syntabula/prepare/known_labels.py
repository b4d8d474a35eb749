"""Complete categories that were found by what everyone knows: months, days, pairs such as yes and no, and codes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from syntabula.table.schema.columns import Categorical

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
PAIRS = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("male", "female"), ("m", "f"))

LEAST_MEMBERS = 3
"""Number of months or days that must be found before the others are added; "may" or "sun" alone can mean anything."""

MOST_CODES = 64
"""Longest range of whole numbers that is completed."""

LEAST_DENSE = 4
"""A range is not completed if fewer than one in so many of its numbers were found: those are codes of places, say."""

_CODE = re.compile(r"0|0*[1-9][0-9]{0,3}")


def with_known_labels(found: Collection[str], order: Sequence[str] = ()) -> tuple[str, ...]:
    """Return released categories together with those that the same column is known to have, in order.

    Categories are found one by one, each above a threshold, so that a small table shows eight of twelve months. The other
    four follow from these without the data: that is post-processing, and costs nothing. Their numbers are learned like
    those of declared categories, and where noise shows no evidence of them, they do not come out.

    Added are all months or all days of the week if at least three are found, in the same spelling (whole, or the first
    three letters; small, capital or large letters); the other one of a pair such as yes and no if nothing else is found;
    and the whole numbers from 1, or the least, up to the largest, if most categories that were found are such codes, and
    at least every fourth of these numbers is.

    Args:
        found: Released categories.
        order: All categories in the order in which a column's type ranks them; none if it does not, and the order is that
            of the alphabet.

    Returns:
        At least the found ones. Which others the type lists says nothing of what is added, as a library may have read it
        off the cells; those that it lacks come last.
    """
    known = set(found)
    for members in _spelled([MONTHS, [m[:3] for m in MONTHS], DAYS, [d[:3] for d in DAYS]]):
        if len(members & known) >= LEAST_MEMBERS:
            known |= members
    for pair in _spelled(PAIRS):
        if known and known <= pair:
            known |= pair
            break
    every = known | _codes_up_to(found)
    places = {label: place for place, label in enumerate(order)}
    return tuple(sorted(every, key=lambda label: (places.get(label, len(places)), label)))


def open_categorical(labels: tuple[str, ...], *, nullable: bool) -> Categorical:
    """Return a column of released labels, and "other" for all that are not; under another name, if that is a label."""
    other = "other"
    while other in labels:
        other += "_"
    return Categorical(labels, open=True, other_label=other, nullable=nullable, provenance="private")


def _spelled(sets: Iterable[Iterable[str]]) -> list[set[str]]:
    """Return each set in small letters, with a capital, and in large letters."""
    spellings = (str.lower, str.capitalize, str.upper)
    return [{spell(word) for word in words} for words in sets for spell in spellings]


def _codes_up_to(found: Collection[str]) -> set[str]:
    """Return the whole numbers up to the largest that was found, with as many leading zeros; codes mostly begin at 1."""
    codes = [label for label in found if _CODE.fullmatch(label)]
    if 2 * len(codes) <= len(found):
        return set()
    is_padded = any(code != str(int(code)) for code in codes)
    widths = {len(code) for code in codes}
    if is_padded and len(widths) > 1:
        return set()
    numbers = range(min(1, *map(int, codes)), max(map(int, codes)) + 1)
    if len(numbers) > min(MOST_CODES, LEAST_DENSE * len(codes)):
        return set()
    width = widths.pop() if is_padded else 0
    return {f"{number:0{width}d}" for number in numbers}
