"""The windows that the rules of a schema state for pairs of columns, and which are worth learning as distances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from syntabula.table.rules.computed import bound_as_number
from syntabula.table.rules.expressions import Expression
from syntabula.table.rules.probes import bases
from syntabula.table.rules.windows import Window, are_comparable, window_of_domain, windows_of
from syntabula.table.schema.columns import Column, Numeric, Ordered, Time


@dataclass(frozen=True)
class StatedWindows:
    """Windows by pair of columns.

    Attributes:
        columns: The columns of the schema.
        by_pair: What all rules together say of two columns.
        by_rule: The windows of each condition that states nothing else, by its text.
    """

    columns: Mapping[str, Column]
    by_pair: Mapping[frozenset[str], Window]
    by_rule: Mapping[str, tuple[Window, ...]]

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Column],
        required: Mapping[str, Expression],
        derived: Mapping[str, Expression],
    ) -> Self:
        """Read the windows off conditions, and off the bounds of differences of days and times that are derived.

        Args:
            columns: The columns of the schema.
            required: Conditions, by their text.
            derived: Expressions of derived columns.
        """
        texts = {name: expression.text for name, expression in derived.items()}
        found: list[Window] = []
        by_rule: dict[str, tuple[Window, ...]] = {}

        def may_state(expression: Expression) -> bool:
            used = [columns[n] for n in bases(expression.columns, derived)]
            return sum(isinstance(c, Ordered) and not isinstance(c, Time) for c in used) > 1

        for text, expression in required.items():
            if may_state(expression):
                windows, alone = windows_of(text, columns, texts)
                found += windows
                if alone:
                    by_rule[text] = tuple(windows)
        for name, expression in derived.items():
            window = window_of_domain(name, columns, texts) if may_state(expression) else None
            # Numbers may be subtracted without being near each other, as costs are from a price.
            if window is not None and not isinstance(columns[window.first], Numeric):
                found.append(window)
        by_pair: dict[frozenset[str], Window] = {}
        for window in found:
            pair = frozenset((window.first, window.last))
            if are_comparable([columns[name] for name in pair]):
                by_pair[pair] = by_pair.get(pair, window).narrowed(window)
        return cls(columns, by_pair, by_rule)

    def between(self, first: str, last: str) -> Window:
        """Return what is known of last - first."""
        window = self.by_pair.get(frozenset((first, last)), Window(first, last))
        return window if window.first == first else window.turned()

    def near(self) -> Iterator[Window]:
        """Yield the windows that hold two columns near each other.

        Of days and times one bound is enough if it is a span of time, such as 30 days, that is shorter than what the
        wider column spans. Numbers need two bounds, each less than half of that: that one amount is at most another says
        little of how far apart they are.
        """
        for window in self.by_pair.values():
            width = max(_width(self.columns[name]) for name in (window.first, window.last))
            backwards = None if window.least is None else -window.least
            spans = [bound for bound in (backwards, window.most) if bound is not None]
            if isinstance(self.columns[window.first], Numeric):
                is_near = len(spans) == 2 and max(spans) <= width / 2
            else:
                spans = [bound for bound in spans if bound < width]
                is_near = len(spans) == 2 or any(abs(bound) >= 1 for bound in spans)
            if is_near:
                # The column that comes later, for the most part, is the last one.
                ends = [bound for bound in (window.least, window.most) if bound is not None]
                yield window if sum(ends) >= 0 else window.turned()

    def orders(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of columns of which the first one never comes after the second."""
        for window in self.by_pair.values():
            for one in (window, window.turned()):
                if one.least is not None and one.least >= 0:
                    yield one.first, one.last
                    break


def _width(column: Column) -> Fraction:
    assert isinstance(column, Ordered)
    return Fraction(bound_as_number(column, "upper")) - Fraction(bound_as_number(column, "lower"))
