"""Groups the values of columns for plots, the same for the real and the synthetic table."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.metrics.comparison import Comparison, Floats

Places = NDArray[np.intp]

FEWEST_ROWS = 5
"""A category with fewer real rows than this, but at least one, is merged into others."""

_TAIL = 0.005
"""Fraction of all values beyond each end of the shown range; the outermost groups include them."""


@dataclass(frozen=True, eq=False)
class Groups:
    """A column of both tables as group numbers, cell by cell.

    Attributes:
        name: Name of the column.
        labels: Labels of the groups that are not intervals: all of a categorical column, and the last one of
            a column with missing cells.
        edges: Edges of the intervals of a numeric column, which come first [intervals + 1]; None if it is
            categorical.
        real: Group of each cell of the real table [rows].
        synthetic: The same of the synthetic table.
    """

    name: str
    labels: tuple[str, ...]
    edges: Floats | None
    real: Places
    synthetic: Places

    @property
    def n_intervals(self) -> int:
        """Number of groups that are intervals of numbers."""
        return 0 if self.edges is None else self.edges.size - 1

    @property
    def size(self) -> int:
        """Number of groups."""
        return self.n_intervals + len(self.labels)

    def shares(self) -> tuple[Floats, Floats]:
        """Return the fraction of rows in each group [groups] of the real and of the synthetic table."""
        real, synthetic = (np.bincount(p, minlength=self.size) / p.size for p in (self.real, self.synthetic))
        return real, synthetic

    def joint(self, other: Groups) -> tuple[Floats, Floats]:
        """Return the fraction of rows in each pair of groups [groups, other's groups] of both tables."""
        shape = self.size, other.size
        pairs = ((self.real, other.real), (self.synthetic, other.synthetic))
        real, synthetic = (
            np.bincount(a * other.size + b, minlength=self.size * other.size).reshape(shape) / a.size
            for a, b in pairs
        )
        return real, synthetic


def equal_widths(tables: Comparison, name: str, most: int) -> Groups:
    """Group a column for its own plot: numbers in intervals of equal width, and the most frequent categories.

    Args:
        tables: Both tables.
        name: A column.
        most: Most groups, not counting those of missing cells and of other categories.
    """
    if name in tables.categories:
        return _categories(tables, name, most)
    low, high, present = _range(tables, name)
    whole = present.size > 0 and bool((present == np.rint(present)).all())
    if whole:
        # Intervals must hold equally many whole numbers, or their shares would differ for that reason alone.
        step = max(1.0, np.ceil((high - low + 1) / most))
        edges = low - 0.5 + step * np.arange(np.ceil((high - low + 1) / step) + 1)
    else:
        edges = np.linspace(low, high if high > low else low + 1, most + 1)
    return _intervals(tables, name, edges)


def equal_shares(tables: Comparison, name: str, most: int) -> Groups:
    """Group a column for a plot of a pair: as `equal_widths`, but each interval holds about as many cells."""
    if name in tables.categories:
        return _categories(tables, name, most)
    low, high, present = _range(tables, name)
    inner = np.quantile(present, np.linspace(0, 1, most + 1)[1:-1]) if present.size else present
    edges = np.unique(np.concatenate([[low], np.clip(inner, low, high), [high]]))
    return _intervals(tables, name, edges if edges.size > 1 else np.array([low, low + 1]))


def _range(tables: Comparison, name: str) -> tuple[float, float, Floats]:
    """Return the shown range of a numeric column, and all its present values in both tables."""
    both = np.concatenate([view.numbers[name] for view in (tables.real, tables.synthetic)])
    present: Floats = both[~np.isnan(both)]
    if not present.size:
        return 0.0, 0.0, present
    low, high = np.quantile(present, [_TAIL, 1 - _TAIL], method="nearest")
    if low == high:
        low, high = tables.bounds[name]
    return float(low), float(high), present


def _intervals(tables: Comparison, name: str, edges: Floats) -> Groups:
    last = edges.size - 1
    places = []
    for view in (tables.real, tables.synthetic):
        numbers = view.numbers[name]
        place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, last - 1)
        places.append(np.where(np.isnan(numbers), last, place))
    labels = ("(missing)",) if any(bool((place == last).any()) for place in places) else ()
    return Groups(name, labels, edges, *places)


def _categories(tables: Comparison, name: str, most: int) -> Groups:
    values = tables.categories[name]
    missing = len(values) - 1
    codes = [view.codes[name].astype(np.intp) for view in (tables.real, tables.synthetic)]
    counts = [np.bincount(column, minlength=len(values)) for column in codes]
    real, weight = counts[0], sum(count / count.sum() for count in counts)
    named = [
        int(code)
        for code in np.argsort(-weight, kind="stable")
        if code != missing and weight[code] and (real[code] == 0 or real[code] >= FEWEST_ROWS)
    ][:most]
    if all(isinstance(values[code], int | float) for code in named):
        named.sort()
    occurring = np.flatnonzero(weight[:missing])
    merged = np.setdiff1d(occurring, named)
    labels = [shown(values[code]) for code in named]
    place = np.zeros(len(values), dtype=np.intp)
    place[named] = np.arange(len(named))
    if merged.size:
        place[merged] = len(labels)
        labels.append(f"({merged.size} other{'s' if merged.size > 1 else ''})")
    if weight[missing]:
        place[missing] = len(labels)
        labels.append("(missing)")
    return Groups(name, tuple(labels), None, place[codes[0]], place[codes[1]])


def shown(value: Any, most: int = 40) -> str:
    """Return a value as one line of text, shortened, without control characters that move or hide other text."""
    text = "".join(" " if unicodedata.category(letter)[0] in "CZ" else letter for letter in str(value))
    return text if len(text) <= most else text[: most - 1] + "…"


def described(groups: Groups, place: int, numbers: Sequence[str]) -> str:
    """Return a group in words, given the texts of its edges."""
    if place >= groups.n_intervals:
        return groups.labels[place - groups.n_intervals]
    if place == 0 and groups.n_intervals > 1:
        return f"below {numbers[1]}"
    return f"from {numbers[place]}" + (
        "" if place == groups.n_intervals - 1 else f" to below {numbers[place + 1]}"
    )
