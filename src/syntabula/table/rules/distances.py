"""Columns that are learned as distances from others: those in an order, and those that a rule keeps near another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, pairwise
from typing import Any

from syntabula.errors import SchemaError
from syntabula.table.rules.computed import bound_as_number
from syntabula.table.rules.days_and_times import moved_by
from syntabula.table.rules.placing import Place, connected, placed
from syntabula.table.rules.rules import Rules
from syntabula.table.rules.stated_windows import StatedWindows
from syntabula.table.rules.windows import Window, are_comparable
from syntabula.table.schema.columns import Column, Date, Datetime, Numeric, Ordered


@dataclass(frozen=True)
class Distance:
    """What a column in an order, or near another one, is a distance from.

    Attributes:
        columns: Its neighbours in the order, up to one that is learned as it is; in their order.
        upwards: Whether the column comes after these.
        least: Smallest distance; of days and times, in microseconds, see `moved_by`. None if only the bounds of the
            columns say.
        most: Largest distance.
        until: The last value that the column can have in its order, see `rooms`: a distance that is drawn and leads
            beyond is made shorter. None if a row of which it does is drawn again.
    """

    columns: tuple[str, ...]
    upwards: bool
    least: Fraction | None = Fraction(0)
    most: Fraction | None = None
    until: Fraction | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the distance as JSON, its bounds as exact fractions."""
        ends = {"least": self.least, "most": self.most}
        exact = {key: None if end is None else [*end.as_integer_ratio()] for key, end in ends.items()}
        room = {} if self.until is None else {"until": [*self.until.as_integer_ratio()]}
        return {"columns": [*self.columns], "upwards": self.upwards, **exact, **room}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Distance:
        """Return the distance that `to_json` wrote; raises KeyError, TypeError or ValueError for anything else."""
        names, upwards = content["columns"], content["upwards"]
        if type(upwards) is not bool or type(names) is not list or not names:
            raise TypeError
        ends = (content["least"], content["most"], content.get("until"))
        return cls(tuple(names), upwards, *map(_exact_end, ends))


def check_distances(distances: Mapping[str, Distance], rules: Rules, columns: Mapping[str, Column]) -> None:
    """Check that distances read from a file can be computed, each after those that it is a distance from.

    Raises:
        SchemaError: If one names a column that cannot be learned as a distance, or be one's start.
    """
    left = {*distances}
    for name, distance in distances.items():
        left.discard(name)
        named = [columns[n] for n in (name, *distance.columns) if n in columns and n not in rules.derive]
        fit = len(named) == 1 + len(distance.columns) and name not in distance.columns
        fit = fit and all(isinstance(c, Numeric | Date | Datetime) and not c.beside for c in named)
        fit = fit and are_comparable(named) and _differ_within_64_bits(named)
        fit = fit and (distance.until is None or all(isinstance(c, Numeric) for c in named))
        if not fit or left & {*distance.columns}:
            raise SchemaError("rules: a column cannot be learned as the distance that is stated")


def distances_of(rules: Rules, columns: Mapping[str, Column], windows: StatedWindows) -> dict[str, Distance]:
    """Return the columns that are learned as distances, each after those that it is a distance from.

    The first order that names a column decides. An order is learned from its narrowest column on, or from one that is
    `unique`, in both directions: a distance from a wide one, such as from a day of birth to a stay in hospital, would
    lead beyond the bounds of a narrow one. Orders and conditions of which this leaves some to chance are learned as
    one, if they can be. Where rules bound the distance, its bounds are theirs.

    Raises:
        SchemaError: If orders form a cycle.
    """
    return _in_sequence(_joined_orders(rules, columns, windows), rules, columns, windows)


def earlier_distances(
    rules: Rules, columns: Mapping[str, Column], windows: StatedWindows
) -> dict[str, Distance]:
    """Return the distances that releases of before learned, which do not say theirs: orders one by one, then windows."""
    found = in_orders(rules, columns)
    for window in windows.near():
        add_near(window, found, rules, columns)
    return _in_sequence(found, rules, columns, windows)


def _in_sequence(
    found: Mapping[str, Distance | None], rules: Rules, columns: Mapping[str, Column], windows: StatedWindows
) -> dict[str, Distance]:
    """Return distances each after those that it is a distance from, with the bounds that windows state."""
    learned = {name: distance for name, distance in found.items() if distance is not None}
    # What an order begins with may have become a distance after all that count from it.
    names = sorted_by_needs(learned, lambda n: learned[n].columns, _order_cycle)
    return {name: _narrowed(name, learned[name], windows, rules, columns) for name in names}


def leading_to(name: str, distances: Mapping[str, Distance]) -> set[str]:
    """Return the columns that a column is a distance from, and those that these are distances from, and so on."""
    found = {*distances[name].columns}
    while new := {c for n in found & distances.keys() for c in distances[n].columns} - found:
        found |= new
    return found


def root_of(name: str, found: Mapping[str, Distance | None]) -> str:
    """Return the column, learned as it is, from which the distances of another one lead to it."""
    while (distance := found.get(name)) is not None:
        name = distance.columns[0]
    return name


def is_learned(first: str, second: str, distances: Mapping[str, Distance]) -> bool:
    """Return whether neighbours in an order are in this order however they are drawn."""
    up, down = distances.get(second), distances.get(first)
    return (up is not None and up.upwards and first in up.columns) or (
        down is not None and not down.upwards and second in down.columns
    )


def holds_window(window: Window, distances: Mapping[str, Distance], columns: Mapping[str, Column]) -> bool:
    """Return whether two columns are within a window however they are drawn."""
    for one in (window, window.turned()):
        for name, other, upwards in ((one.last, one.first, True), (one.first, one.last, False)):
            distance = distances.get(name)
            if distance is not None and other in distance.columns and distance.upwards is upwards:
                # From the nearest of several columns the distance is smaller than from any one of them.
                most = distance.most if len(distance.columns) == 1 else None
                moves = moved_by(columns[name], columns[other], upwards=upwards)
                least, most = _moved((distance.least, most), (-moves[0], -moves[1]))
                own = Window(one.first, one.last, least, most)
                return own.narrowed(one) == own
    return False


def sorted_by_needs(
    names: Iterable[str], needs: Callable[[str], Iterable[str]], cycle: Callable[[Sequence[str]], str]
) -> list[str]:
    """Return names so that each comes after those that it needs; raises SchemaError for a cycle."""
    listed = list(names)
    graph = {name: [n for n in needs(name) if n in listed] for name in listed}
    try:
        return [*TopologicalSorter(graph).static_order()]
    except CycleError as error:
        raise SchemaError(cycle(error.args[1][:-1][::-1])) from None


def _exact_end(content: Any) -> Fraction | None:
    """Return a bound that was written as a numerator and a denominator."""
    if content is None:
        return None
    numerator, denominator = content
    if type(numerator) is not int or type(denominator) is not int or denominator < 1:
        raise TypeError
    return Fraction(numerator, denominator)


def _joined_orders(
    rules: Rules, columns: Mapping[str, Column], windows: StatedWindows
) -> dict[str, Distance | None]:
    """Return the distances of columns in orders and windows; None for those that are learned as they are.

    Orders are learned one by one, unless that leaves one or a condition to chance, and learning them together does not.
    """
    near = [*windows.near()]

    def found_from(start: Mapping[str, Distance | None]) -> dict[str, Distance | None]:
        found = in_orders(rules, columns, start)
        for window in near:
            add_near(window, found, rules, columns)
        return found

    listed = [_in_chain(chain, rules, columns) for chain in rules.order]
    together = {pair for chain in listed for pair in combinations(chain, 2)}
    neighbours = {pair for chain in listed for pair in pairwise(chain)}
    named = {name for chain in listed for name in chain}
    stated = {
        pair
        for pair in windows.orders()
        if not isinstance(columns[pair[0]], Numeric) or named.issuperset(pair)
        if any(_is_there(one, other, rules, columns) for one, other in (pair, pair[::-1]))
    }

    def is_learnable(name: str, place: Place) -> bool:
        return any(
            {(c, name), (name, c)} & together or _is_there(c, name, rules, columns) for c in place.columns
        )

    def held(found: Mapping[str, Distance | None]) -> set[frozenset[str]]:
        learned = {name: distance for name, distance in found.items() if distance is not None}
        ends = {frozenset((name, other)) for name, d in learned.items() for other in d.columns}
        return ends & {frozenset((w.first, w.last)) for w in near} | {
            frozenset(pair) for pair in neighbours | (stated - together) if is_learned(*pair, learned)
        }

    start: dict[str, Distance | None] = {}
    best = found_from(start)
    for group in connected(sorted(together | stated)):
        anchors = sorted(
            dict.fromkeys(n for n in columns if any(n in pair for pair in group)),
            key=lambda n: (columns[n].nullable, *_preference(columns[n])),
        )
        if {frozenset(pair) for pair in group & (neighbours | (stated - together))} <= held(best):
            continue
        places = placed(group, anchors, is_learnable)
        if places is not None:
            new = {n: None if p is None else Distance(p.columns, p.upwards) for n, p in places.items()}
            tried = found_from(start | new)
            if held(tried) > held(best):
                start, best = start | new, tried
    return best


def _in_chain(chain: Sequence[str], rules: Rules, columns: Mapping[str, Column]) -> list[str]:
    """Return the columns of an order that are learned; none if their differences are too large to be."""
    learned = [name for name in chain if name not in rules.derive]
    return learned if _differ_within_64_bits([columns[n] for n in learned]) else []


def in_orders(
    rules: Rules, columns: Mapping[str, Column], start: Mapping[str, Distance | None] | None = None
) -> dict[str, Distance | None]:
    """Return the distances of columns in orders; None for those that are learned as they are.

    Args:
        rules: The rules.
        columns: The columns of the schema.
        start: Distances that are known already.
    """
    before: dict[str, list[str]] = {}
    found = dict(start or {})
    for chain in rules.order:
        for first, second in pairwise(chain):
            before.setdefault(second, []).append(first)
    named = {*before, *(n for those in before.values() for n in those)}
    sorted_by_needs(named, lambda n: before.get(n, []), _order_cycle)
    for chain in rules.order:
        learned = _in_chain(chain, rules, columns)
        if not learned:
            continue
        anchor = next((n for n in learned if n in found), None) or min(
            learned, key=lambda n: _preference(columns[n])
        )
        found.setdefault(anchor, None)
        middle = learned.index(anchor)
        for place in range(middle + 1, len(learned)):
            found.setdefault(learned[place], Distance(tuple(learned[middle:place]), upwards=True))
        for place in reversed(range(middle)):
            nearer = tuple(learned[place + 1 : middle + 1])
            found.setdefault(learned[place], Distance(nearer, upwards=False))
    return found


def add_near(
    window: Window, found: dict[str, Distance | None], rules: Rules, columns: Mapping[str, Column]
) -> None:
    """Learn one of two columns as a distance from the other, unless both are distances already.

    The beginning of one order may be a distance from a column of another one, as the actual departure from the scheduled.
    """
    if not _differ_within_64_bits([columns[window.first], columns[window.last]]):
        return
    pair = sorted((window.first, window.last), key=lambda n: (n not in found, *_preference(columns[n])))
    for anchor, other in (pair, pair[::-1]):
        if other not in found and _is_there(anchor, other, rules, columns):
            found.setdefault(anchor, None)
            found[other] = Distance((anchor,), upwards=other == window.last, least=None)
            return
    for anchor, other in (pair, pair[::-1]):
        begins = other in found and found[other] is None and root_of(anchor, found) != other
        if begins and _is_there(anchor, other, rules, columns):
            found.setdefault(anchor, None)
            found[other] = Distance((anchor,), upwards=other == window.last, least=None)
            return


def _differ_within_64_bits(columns: Sequence[Column]) -> bool:
    """Return whether 64-bit integers hold the whole numbers of columns and their differences."""
    whole = [c for c in columns if isinstance(c, Numeric) and c.integer]
    most = max((int(c.upper) for c in whole), default=0)
    return most < 2**63 and most - min((int(c.lower) for c in whole), default=0) < 2**63


def _is_there(anchor: str, name: str, rules: Rules, columns: Mapping[str, Column]) -> bool:
    """Return whether a column has a value wherever another has one, so that the distance between them has its bounds."""
    return not columns[anchor].nullable or any({anchor, name} <= {*names} for names in rules.together)


def _narrowed(
    name: str, distance: Distance, windows: StatedWindows, rules: Rules, columns: Mapping[str, Column]
) -> Distance:
    """Return a distance with the bounds that windows state."""
    for anchor in distance.columns:
        if not _is_there(anchor, name, rules, columns):
            continue
        first, last = (anchor, name) if distance.upwards else (name, anchor)
        stated = windows.between(first, last)
        moves = moved_by(columns[name], columns[anchor], upwards=distance.upwards)
        least, most = _moved((stated.least, stated.most), moves)
        window = Window(first, last, least, most).narrowed(Window(first, last, distance.least, distance.most))
        # From the nearest of several columns the distance is smaller than from any one of them.
        least = window.least if len(distance.columns) == 1 else distance.least
        if window.most is None or least is None or least <= window.most:
            distance = replace(distance, least=least, most=window.most)
    return distance


def _moved(
    ends: tuple[Fraction | None, Fraction | None], moves: tuple[int, int]
) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds moved by as much as is stated of each."""
    least, most = (None if end is None else end + move for end, move in zip(ends, moves, strict=True))
    return least, most


def _order_cycle(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names))
    return (
        f"rules: the orders of columns {shown} form a cycle, so they could only be equal; drop one of the orders, or "
        "derive a column as a copy of the other"
    )


def _preference(column: Column) -> tuple[bool, float]:
    """Return what sorts columns by how well others are learned as distances from them, the best first.

    Values that no two rows share move apart once rows are drawn, and what is a distance from them moves along.
    """
    assert isinstance(column, Ordered)
    shared = not getattr(column, "unique", False)
    return shared, float(bound_as_number(column, "upper") - bound_as_number(column, "lower"))
