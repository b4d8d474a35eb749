"""Complete categories that were found by what everyone knows: months, states, pairs such as yes and no, and codes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from syntabula.table.schema.columns import Categorical

Label = TypeVar("Label", str, float)

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
STATES = (
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "DC", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS",
    "KY", "LA", "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC",
    "ND", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY",
)  # fmt: skip
"""Postal codes of the United States."""
PAIRS = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("male", "female"), ("m", "f"))

LEAST_MEMBERS = 3
"""Number of months or days that must be found before the others are added; "may" or "sun" alone can mean anything."""

LEAST_STATES = 5
"""The same for states, if nothing else is found: some of their codes are also those of countries."""

MOST_CODES = 64
"""Largest number of codes that are completed."""

LEAST_DENSE = 4
"""A range is not completed if fewer than one in so many of its numbers were found: those are codes of places, say."""

_CODE = re.compile(r"0|0*[1-9][0-9]{0,3}")
_GRADE = re.compile(r"[A-Z][0-9]")


def with_known_labels(found: Collection[str], order: Sequence[str | int | float] = ()) -> tuple[str, ...]:
    """Return released categories together with those that the same column is known to have, in order.

    Categories are found one by one, each above a threshold, so that a small table shows eight of twelve months. The other
    four follow from these without the data: that is post-processing, and costs nothing. Their numbers are learned like
    those of declared categories, and where noise shows no evidence of them, they do not come out.

    Added are all months or all days of the week if at least three are found, in the same spelling (whole, or the first
    three letters; small, capital or large letters); the other one of a pair such as yes and no if nothing else is found;
    and the whole numbers from 1, or the least, up to the largest, if most categories that were found are such codes, and
    at least every fourth of these is.

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
    if len(known) >= LEAST_STATES and known <= {*STATES}:
        known |= {*STATES}
    every = known | _codes_up_to(found) | _grades_up_to(found)
    return in_order(every, order)


def in_order(labels: Iterable[Label], order: Sequence[str | int | float]) -> tuple[Label, ...]:
    """Return categories in the order in which a type ranks them, and any that it lacks behind them, by their own."""
    places = {label: place for place, label in enumerate(order)}
    return tuple(sorted(labels, key=lambda label: (places.get(label, len(places)), label)))


def open_categorical(labels: tuple[str, ...], *, nullable: bool) -> Categorical:
    """Return a column of released labels, and "other" for all that are not; see `Categorical.code_of_own_other`."""
    other = next((label for label in labels if label.lower() == "other"), "other")
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


def _grades_up_to(found: Collection[str]) -> set[str]:
    """Return all codes of a letter and a digit up to the last letter and the largest digit; they begin at A1, or A0."""
    grades = [label for label in found if _GRADE.fullmatch(label)]
    if 2 * len(grades) <= len(found):
        return set()
    letters = range(ord("A"), max(ord(grade[0]) for grade in grades) + 1)
    digits = range(min(1, *(int(grade[1]) for grade in grades)), max(int(grade[1]) for grade in grades) + 1)
    if len(letters) * len(digits) > min(MOST_CODES, LEAST_DENSE * len(grades)):
        return set()
    return {f"{chr(letter)}{digit}" for letter in letters for digit in digits}
