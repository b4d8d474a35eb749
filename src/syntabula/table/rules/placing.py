"""Orders that hang together: from which columns each is a distance, so that all of the orders are learned at once.

One list of an order is learned from one of its columns on. Two lists, or a list and conditions, may share columns so that
what is learned of one leaves the other to chance: of a stay and an operation within it, each with its beginning and end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

Pair = tuple[str, str]
"""Two columns of which the first one never comes after the second."""


@dataclass(frozen=True)
class Place:
    """Where a column is placed beside others.

    Attributes:
        columns: Those that it is a distance from; all of them were placed before.
        upwards: Whether it comes after all of these.
    """

    columns: tuple[str, ...]
    upwards: bool


def connected(pairs: Iterable[Pair]) -> list[set[Pair]]:
    """Return pairs in groups that share no column."""
    leader: dict[str, str] = {}

    def leading(name: str) -> str:
        while (other := leader.setdefault(name, name)) != name:
            name = other
        return name

    listed = [*pairs]
    for first, last in listed:
        leader[leading(first)] = leading(last)
    groups: dict[str, set[Pair]] = {}
    for pair in listed:
        groups.setdefault(leading(pair[0]), set()).add(pair)
    return [*groups.values()]


def placed(
    pairs: Collection[Pair], anchors: Iterable[str], fits: Callable[[str, Place], bool]
) -> dict[str, Place | None] | None:
    """Place the columns of connected pairs one after another, so that each pair is in order whatever distances are drawn.

    Args:
        pairs: The pairs.
        anchors: Their columns, the best to begin with first.
        fits: Whether a column can be learned in a place.

    Returns:
        The columns in the order in which they are placed, None for the one that is learned as it is; None if pairs form a
        cycle, or places do not fit whichever column they begin with.
    """
    before: dict[str, list[str]] = {}
    for first, last in sorted(pairs):
        before.setdefault(first, [])
        before.setdefault(last, []).append(first)
    try:
        ranks = {name: rank for rank, name in enumerate(TopologicalSorter(before).static_order())}
    except CycleError:
        return None
    for anchor in anchors:
        found = _from(anchor, pairs, ranks)
        if all(place is None or fits(name, place) for name, place in found.items()):
            return found
    return None


def _from(anchor: str, pairs: Collection[Pair], ranks: Mapping[str, int]) -> dict[str, Place | None]:
    """Return the places of all columns from one on.

    All that come after placed ones are placed next, then all that come before, and so on: none has to lie between two.
    """
    found: dict[str, Place | None] = {anchor: None}
    after = _neighbours(pairs)
    before = _neighbours([(last, first) for first, last in pairs])
    while len(found) < len(ranks):
        for upwards, onwards, back in ((True, after, before), (False, before, after)):
            reached = _reached(found, onwards)
            for name in sorted(reached, key=lambda n: ranks[n], reverse=not upwards):
                nearest = sorted(found.keys() & back[name], key=lambda n: ranks[n])
                found[name] = Place(tuple(nearest), upwards)
    return found


def _neighbours(pairs: Iterable[Pair]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for first, last in pairs:
        found.setdefault(first, set()).add(last)
    return found


def _reached(placed: Collection[str], onwards: Mapping[str, set[str]]) -> set[str]:
    """Return the columns, not placed yet, to which neighbours lead from the placed ones."""
    found: set[str] = set()
    left = [*placed]
    while left:
        new = onwards.get(left.pop(), set()).difference(placed, found)
        found |= new
        left += new
    return found
