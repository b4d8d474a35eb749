"""Rules that no row satisfies together are refused when the schema is made; rules that may contradict draw a warning."""

from __future__ import annotations

import datetime as dt
import itertools
import warnings

import numpy as np
import pytest

from syntabula import Categorical, Date, Datetime, Numeric, Rules, Schema
from syntabula.errors import RuleWarning, SchemaError
from syntabula.table.rules.expressions import read_expression

WIDE = {
    "a": Numeric(0, 1_000_000, integer=True),
    "b": Numeric(0, 1_000, integer=True),
    "x": Numeric(0.0, 1.0),
    "y": Numeric(0.0, 5.0, nullable=True),
    "z": Numeric(0.0, 5.0),
    "total": Numeric(0, 2_000_000, integer=True),
    "c": Categorical(["p", "q"]),
    "d": Categorical(["u", "v"]),
    "start": Date(dt.date(2000, 1, 1), dt.date(2030, 12, 31)),
    "end": Date(dt.date(2000, 1, 1), dt.date(2030, 12, 31)),
    "begun": Datetime(dt.datetime(2000, 1, 1), dt.datetime(2001, 1, 1)),
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ({"require": ["a < b", "b < a"]}, "require 'a < b' and require 'b < a'"),
        ({"require": ["a < b"], "order": [["b", "a"]]}, "require 'a < b' and order 'b <= a'"),
        (
            {"require": ["c <> 'p' or d = 'u'", "d = 'v'", "c = 'p'", "c in ('p', 'q')"]},
            "require \"c <> 'p' or d = 'u'\" and require \"d = 'v'\" and require \"c = 'p'\"",
        ),
        ({"require": ["a = 77 and b = 1", "b = 2 or c = 'p'", "c = 'q'"]}, "require 'a = 77 and b = 1'"),
        ({"require": ["x < z", "z <= 0.25", "x >= 0.25"]}, "'x < z'"),
        ({"require": ["start > DATE '2020-02-29'", "\"end\" < '2020-03-01'"], "order": [["start", "end"]]}, "order"),
        ({"require": ["begun > '2000-05-05 05:05:05'", "begun <= '2000-05-05 05:05:05'"]}, "require \"begun > '"),
        ({"require": ["c = 'p'", "c = 'q'", "a + b > 7"]}, "require \"c = 'p'\" and require \"c = 'q'\":"),
    ],
)  # fmt: skip
def test_rules_that_contradict_each_other_are_refused(rules, named):
    with pytest.raises(SchemaError, match="no row of the declared domains satisfies all of them") as refused:
        Schema(WIDE, rules=Rules(**rules))

    assert named in str(refused.value)
    assert "drop or correct one of them" in str(refused.value)


@pytest.mark.parametrize(
    "rules",
    [
        {"require": ["a <= b", "b <= a"]},
        {"require": ["a = 77 and b = 1 and c = 'p'"]},
        {"require": ["x < z", "z < y", "y < 0.001"]},
        {"require": ["a < b", "b < 2"]},
        {"require": ["total = 5", "a > 2"], "derive": {"total": "a + b"}},
        {"require": ["start < \"end\"", "\"end\" <= '2000-01-02'"]},
    ],
)  # fmt: skip
@pytest.mark.thorough
def test_rules_that_few_rows_satisfy_pass_without_a_warning(rules):
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        Schema(WIDE, rules=Rules(**rules))


@pytest.mark.thorough
def test_rules_that_no_tried_row_satisfies_together_draw_a_warning_where_that_proves_nothing():
    with pytest.warns(
        RuleWarning, match="none satisfies both; if they contradict each other, drop or correct"
    ):
        Schema(WIDE, rules=Rules(require=["a + b > 500000", "a + b < 400000"]))


@pytest.mark.thorough
def test_rules_that_only_rows_with_missing_cells_satisfy_draw_a_warning():
    with pytest.warns(RuleWarning, match="only rows with missing cells satisfy all of them"):
        Schema(WIDE, rules=Rules(require=["y < z", "z < y"]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.thorough
def test_comparisons_are_refused_exactly_if_no_row_satisfies_them(seed):
    rng = np.random.default_rng(seed)
    upper = {"a": 25, "b": 30, "c": 20}
    columns = {name: Numeric(0, top, integer=True) for name, top in upper.items()}
    operands = [*upper, "3", "7", "8", "19.5"]
    comparisons = [
        f"{first} {sign} {second}"
        for first, sign, second in itertools.product(upper, ("<", "<=", "=", ">"), operands)
        if first != second
    ]
    required = [" or ".join(rng.choice(comparisons, size)) for size in (1, 1, 1, 2, 1)]
    grids = np.meshgrid(*(np.arange(top + 1) for top in upper.values()), indexing="ij")
    cells = dict(zip(upper, grids, strict=True))
    held = np.ones(grids[0].shape, np.bool_)
    for rule in required:
        either = [eval(f"({p})".replace(" = ", " == "), {}, cells) for p in rule.split(" or ")]
        held &= np.logical_or.reduce(either)

    if held.any():
        Schema(columns, rules=Rules(require=required))
    else:
        with pytest.raises(SchemaError, match="satisf"):
            Schema(columns, rules=Rules(require=required))


def test_an_expression_knows_whether_it_only_compares():
    for text, only_compares in [
        ("a < b and not (b between 1 and 2 or c in ('p') or a is null)", True),
        ("start > DATE '2020-01-01'", True),
        ("a + 1 < b", False),
        ("coalesce(a, 1) < b", False),
        ("c::INTEGER < b", False),
        ("CASE WHEN a < b THEN c = 'p' END", False),
    ]:
        assert read_expression(text, tuple(WIDE)).only_compares is only_compares
