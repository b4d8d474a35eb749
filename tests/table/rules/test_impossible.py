"""A combination of codes is impossible exactly if none of its values satisfies the rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from syntabula import Categorical, Numeric, Rules, Schema
from syntabula.table.coding.codec import Codec
from syntabula.table.rules.at_work import row_rules
from syntabula.table.rules.impossible import possible_cells

COLUMNS = {
    "s": Categorical(["none", "x", "y"], nullable=True),
    "t": Categorical(["none", "u"]),
    "n": Numeric(0, 23, integer=True, nullable=True),
    "m": Numeric(-1, 22, integer=True),
}


def found(columns=COLUMNS, bins=6, **rules):
    schema = Schema(columns, rules=Rules(**rules))
    ruled = row_rules(schema)
    codec = Codec.plan(ruled.learned_schema, bins=bins)
    return codec, {p.clique: p.cells for p in possible_cells(ruled, codec)}


def values(codec, name):
    """Return for each code of a column its values, None for missing."""
    column = codec.schema[name]
    if name in codec.bins:
        edges = codec.bins[name].edges
        listed = [[*range(a, b)] for a, b in itertools.pairwise(edges)]
    else:
        listed = [[label] for label in column.labels]
    return [*listed, [None]] if column.nullable else listed


def brute(codec, clique, holds):
    """Return which cells hold a value for which the rule is true or missing."""
    shape = codec.domain.shape(clique)
    cells = np.zeros(shape, bool)
    for place in np.ndindex(shape):
        options = [values(codec, name)[code] for name, code in zip(clique, place, strict=True)]
        cells[place] = any(holds(*option) in (True, None) for option in itertools.product(*options))
    return cells


def missing(*given):
    return any(x is None for x in given)


@pytest.mark.parametrize(
    ("text", "clique", "holds"),
    [
        ("not (s = 'none' and t <> 'none')", ("s", "t"), lambda s, t: t == "none" if s in ("none",) else True),
        ("n <= m", ("n", "m"), lambda n, m: None if missing(n) else n <= m),
        ("(m = -1) = (n = 0)", ("n", "m"), lambda n, m: None if missing(n) else (m == -1) == (n == 0)),
        ("t = 'u' or m + n > 40", ("t", "n", "m"), lambda t, n, m: t == "u" or (None if missing(n) else m + n > 40)),
        ("m > 11", ("m",), lambda m: m > 11),
        ("abs(n - 12) > 3 or t = 'u'", ("t", "n"), lambda t, n: t == "u" or (None if missing(n) else abs(n - 12) > 3)),
        ("n is null or m >= 5", ("n", "m"), lambda n, m: n is None or m >= 5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("bins", [6])
@pytest.mark.thorough
def test_it_agrees_with_all_values_of_small_bins(text, clique, holds, bins):
    codec, cells = found(require=[text], bins=bins)

    canonical = codec.domain.canonical(clique)
    order = [clique.index(c) for c in canonical]
    expected = brute(codec, clique, holds).transpose(order)
    np.testing.assert_array_equal(cells.get(canonical, np.ones_like(expected)), expected)
    assert bins == 6 or not expected.all()


@pytest.mark.thorough
def test_conditions_on_computed_columns_are_on_those_that_they_follow_from():
    columns = COLUMNS | {"sum": Numeric(-1, 45, integer=True, nullable=True)}

    codec, cells = found(columns, derive={"sum": "n + m"}, require=["sum < 20"])

    assert [*cells] == [codec.domain.canonical(("n", "m"))]
    assert not cells[codec.domain.canonical(("n", "m"))].all()


@pytest.mark.thorough
def test_conditions_on_columns_in_an_order_are_on_what_is_learned():
    codec, cells = found(order=[["m", "n"]], require=["n < 5"])

    pair = codec.domain.canonical(("m", "n"))
    expected = brute(codec, pair, lambda gap, m: None if gap is None else 0 <= m + gap < 5)
    np.testing.assert_array_equal(cells[pair], expected)


def test_rules_that_what_is_learned_keeps_anyway_need_no_zeros():
    columns = COLUMNS | {"k": Numeric(0, 23, integer=True, nullable=True)}

    _, cells = found(columns, order=[["m", "n"]], together=[["n", "k"]])

    assert not cells


@pytest.mark.thorough
def test_a_condition_over_many_columns_or_cells_is_left_to_rejection():
    wide = {f"w{i}": Numeric(0, 9999, integer=True) for i in range(4)}

    _, over_four = found(wide, require=["w0 + w1 + w2 + w3 > 5"])
    _, over_many = found(wide, bins=1000, require=["w0 < w1 or w2 > 3"])

    assert not over_four
    assert not over_many


def test_bins_may_hold_unsigned_integers():
    columns = {name: Numeric(2**64 - 12, 2**64 - 1, integer=True) for name in ("a", "b")}
    codec, cells = found(columns, bins=4, require=["a < b"])

    assert (cells["a", "b"] == brute(codec, ("a", "b"), lambda a, b: a < b)).all()
