"""Combinations of codes that no row can have by the rules: structural zeros for models that hold them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import Bins, integer_dtype
from syntabula.marginals.domain import Clique
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import decode_labels
from syntabula.table.raw import RawColumn
from syntabula.table.rules.checks import Condition
from syntabula.table.rules.probes import bases, literal_points
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.schema.columns import Column, Ordered

_MOST_COLUMNS = 3
_MOST_CELLS = 200_000
_MOST_ROWS = 2_000_000
_MOST_NEAR = 4
"""Most values of a bin, besides its ends and its middle, on which a rule is tried."""


@dataclass(frozen=True, eq=False)
class Possible:
    """Which cells of a table over some columns are possible.

    Attributes:
        clique: One to three columns of the codec's domain, in its order.
        cells: False for combinations of codes that no row can have; one axis per column.
    """

    clique: Clique
    cells: NDArray[np.bool_]


def possible_cells(rules: RowRules, codec: Codec) -> list[Possible]:
    """Return the combinations of codes that conditions over up to three learned columns leave possible.

    A code stands for one value or for all of a bin. A combination counts as impossible if none of the values tried
    satisfies the condition: of a bin its ends, its middle, and those near constants of the rule and near ends of the
    other columns' bins. For comparisons of columns with constants and with each other these decide.

    Returns:
        One table for each set of columns, without those in which every cell is possible.
    """
    found: dict[Clique, NDArray[np.bool_]] = {}
    for condition in rules.compiled.conditions:
        if condition.learned:
            continue
        clique = _clique(condition, rules, codec)
        if clique:
            cells = _tried(condition, clique, rules, codec)
            if cells is not None:
                found[clique] = found.get(clique, True) & cells
    return [Possible(clique, cells) for clique, cells in found.items() if cells.any() and not cells.all()]


def _clique(condition: Condition, rules: RowRules, codec: Codec) -> Clique:
    """Return the learned columns that decide a condition; empty if they are too many, or have too many codes."""
    used = dict.fromkeys(bases(condition.expression.columns, rules.compiled.derived))
    left = [*used]
    while left:
        distance = rules.compiled.distances.get(left.pop())
        new = [] if distance is None else [n for n in distance.columns if n not in used]
        used |= dict.fromkeys(new)
        left += new
    if not 1 <= len(used) <= _MOST_COLUMNS or not all(name in codec.domain for name in used):
        return ()
    clique = codec.domain.canonical(used)
    return clique if codec.domain.cells(clique) <= _MOST_CELLS else ()


def _tried(condition: Condition, clique: Clique, rules: RowRules, codec: Codec) -> NDArray[np.bool_] | None:
    """Return which cells some tried row satisfies; None if there would be too many rows."""
    derived = rules.compiled.derived
    literals = [*condition.expression.literals, *(x for e in derived.values() for x in e.literals)]
    codes, values = [], []
    for name in clique:
        others = [codec.bins[n].edges for n in clique if n != name and n in codec.bins]
        own_codes, own_values = _representatives(
            codec.schema[name], codec.bins.get(name), literals, [e for edges in others for e in edges]
        )
        codes.append(own_codes)
        values.append(own_values)
    sizes = [c.size for c in codes]
    n_rows = math.prod(sizes)
    if n_rows > _MOST_ROWS:
        return None
    places = [p.ravel() for p in np.indices(sizes, dtype=np.int32)]
    cells = {name: v.take(p) for name, v, p in zip(clique, values, places, strict=True)}
    holds = rules.holds(condition, cells, n_rows)
    shape = codec.domain.shape(clique)
    flat = np.ravel_multi_index(tuple(c[p] for c, p in zip(codes, places, strict=True)), shape, mode="raise")
    possible = np.zeros(math.prod(shape), np.bool_)
    possible[flat[holds]] = True
    return possible.reshape(shape)


def _representatives(
    column: Column, bins: Bins | None, literals: Sequence[str], edges: Sequence[Any]
) -> tuple[NDArray[np.intp], RawColumn]:
    """Return values that stand for the codes of a column, and the code of each; missing is one of them."""
    if bins is None:
        codes = np.arange(column.n_codes(None))
        return codes, decode_labels(column, codes)
    assert isinstance(column, Ordered)
    near = np.array(sorted({float(x) for x in (*map(Fraction, literal_points(column, literals)), *edges)}))
    points: list[Any] = []
    owner: list[int] = []
    for code, (first, after) in enumerate(zip(bins.edges, bins.edges[1:], strict=False)):
        last = (
            after - 1
            if bins.integer
            else (after if code == bins.size - 1 else math.nextafter(after, -math.inf))
        )
        inside = near[(near >= first) & (near <= last)]
        if inside.size > _MOST_NEAR:
            inside = inside[np.linspace(0, inside.size - 1, _MOST_NEAR).astype(int)]
        tried = {first, last, (first + last) // 2 if bins.integer else (first + last) / 2}
        for x in inside.tolist():
            step = 1 if bins.integer else (last - first) * 1e-6
            centre = round(x) if bins.integer else x
            tried |= {p for p in (centre - step, centre, centre + step) if first <= p <= last}
        points += sorted(tried)
        owner += [code] * len(tried)
    whole = integer_dtype(int(bins.edges[0]), int(bins.edges[-1]) - 1) if bins.integer else np.float64
    array = np.array(points, dtype=whole)
    values, physical = column.values(array)
    missing = np.zeros(array.size, np.bool_)
    if column.nullable:
        values, missing = np.append(values, values[:1]), np.append(missing, True)
        owner.append(bins.size)
    return np.array(owner), RawColumn(values, missing, physical)
