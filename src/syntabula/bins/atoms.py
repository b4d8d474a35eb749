"""Bins of a single value: where edges lie so that frequent values have codes of their own."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from syntabula.bins.roundness import first_multiples, multiples_at
from syntabula.bins.uniform import Bins

NEAR = 0.25
"""A part between an atom and an edge joins the bin beyond the edge if it is narrower than this fraction of it."""


def with_atoms(bins: Bins, atoms: Sequence[int | float], unit: Fraction | None = None) -> Bins:
    """Return bins over the same domain in which each atom is alone.

    An atom cuts the bin that holds it, which leaves a part on either side. A part that is small beside the next bin joins
    that one, so most atoms cost one more code and few two.

    Args:
        bins: Bins of the other values.
        atoms: Values of the domain, in ascending order, each once.
        unit: All values are multiples of this number, except atoms. Edges are then multiples too, and the bin of an atom
            reaches up to the next multiple. None for any point of the grid, or any float.
    """
    first, end = bins.edges[0], bins.edges[-1]
    if first == end:
        # A constant is an atom already.
        return bins
    fixed: set[int | float] = set()
    for atom in atoms:
        fixed |= {atom, min(_after(atom, unit, integer=bins.integer), end)}
        if not bins.integer and atom == end:
            fixed.add(math.nextafter(end, -math.inf))
    fixed -= {first, end}
    around, alone = sorted({first, end, *fixed}), set(atoms)
    kept: list[int | float] = []
    for i in range(1, bins.size):
        edge = bins.edges[i] if unit is None else _multiple(bins.edges[i], unit, integer=bins.integer)
        if not first < edge < end:
            continue
        place = bisect.bisect_right(around, edge)
        below, above = around[place - 1], around[place]
        if edge == below or below in alone:
            continue
        before, after = bins.edges[i] - bins.edges[i - 1], bins.edges[i + 1] - bins.edges[i]
        joins_next = below in fixed and edge - below < NEAR * after
        joins_last = above in fixed and above - edge < NEAR * before
        if not joins_next and not joins_last:
            kept.append(edge)
    return Bins(tuple(sorted({*around, *kept})), integer=bins.integer)


def between_atoms(
    lower: int | float, upper: int | float, atoms: Sequence[int | float], *, integer: bool
) -> Bins:
    """Return bins that each begin at an atom, for a column that holds nothing else; see `Roundness.of_lower_ends`.

    Args:
        lower: Lower bound, from which a further bin reaches to the first atom.
        upper: Upper bound.
        atoms: Values of the domain, in ascending order, each once.
        integer: Whether the domain holds integers.
    """
    end = int(upper) + 1 if integer else float(upper)
    begins = [a if integer or a < upper else math.nextafter(upper, -math.inf) for a in atoms]
    return Bins(tuple(sorted({int(lower) if integer else float(lower), *begins, end})), integer=integer)


def _after(atom: Any, unit: Fraction | None, *, integer: bool) -> Any:
    """Return where the bin of an atom ends."""
    following = atom + 1 if integer else math.nextafter(atom, math.inf)
    return following if unit is None else _multiple(following, unit, integer=integer)


def _multiple(value: Any, unit: Fraction, *, integer: bool) -> Any:
    """Return the first multiple of a unit that is not below a value."""
    if integer:
        return -(-int(value) // int(unit)) * int(unit)
    found = first_multiples(np.array([value], dtype=np.float64), unit, integer=False)
    return float(multiples_at(found, unit, integer=False)[0]) + 0.0
