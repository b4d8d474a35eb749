"""Where orders cross, numbers that are drawn too far from their neighbours are moved back into the room they have."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import Categorical, Date, Numeric, Rules, Schema
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.read import read
from syntabula.table.rules.at_work import row_rules
from syntabula.table.rules.distances import Distance
from syntabula.table.rules.row_rules import RowRules

N = 2_000
DIAMOND = [["a", "b", "d"], ["a", "c", "d"]]
FLOATS = PhysicalType("float", "float64")
WHOLE = Numeric(0, 20, integer=True)
KINDS = {
    "whole": [WHOLE] * 4,
    "every third": [Numeric(-4, 20, integer=True, step=3)] * 4,
    "decimals": [Numeric(-1, 1.1, decimals=1)] * 4,
    "steps": [Numeric(0, 9, step=0.3)] * 4,
    "any": [Numeric(-0.7, 0.9)] * 4,
    "of several grids": [
        Numeric(0, 7, decimals=3),
        Numeric(-3, 9, integer=True),
        Numeric(0.05, 8.05, step=0.25),
        Numeric(0, 8.3, decimals=1),
    ],
    "of several bounds": [Numeric(0, n, integer=True) for n in (10, 30, 25, 20)],
    "of one value": [Numeric(3, 3, integer=True), *[Numeric(0, 3, integer=True)] * 3],
}


def rules_of(columns, order=DIAMOND, **others):
    names = columns if isinstance(columns, dict) else dict(zip("abcdef", columns, strict=False))
    return row_rules(Schema(names, rules=Rules(order=order, **others)))


def with_rooms(rules):
    return {name for name, distance in rules.compiled.distances.items() if distance.until is not None}


def drawn(rules, rng, n=N):
    """Return rows of a learned table with any values, among them many ends."""
    cells = {}
    for name, column in rules.learned_schema.columns.items():
        lower, upper, integer = column.span()
        points = rng.integers(lower, upper + 1, n) if integer else rng.uniform(lower, upper, n)
        ends = rng.random(n)
        points = np.where(ends < 0.2, lower, np.where(ends > 0.8, upper, points))
        values, physical = column.values(points)
        cells[name] = RawColumn(values, (rng.random(n) < 0.2) & column.nullable, physical)
    return cells


def has_no_room(rules, rows):
    """Return the rows in which no value of some column lies between what it comes after and its bounds."""
    found = np.zeros(N, np.bool_)
    for name in with_rooms(rules):
        distance, base = rules.compiled.distances[name], rules.base(name, rows)
        until = float(distance.until)
        found |= (base > until + 1e-9) if distance.upwards else (base < until - 1e-9)
    return found


class TestRooms:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("nullable", [False, True])
    def test_no_row_breaks_a_rule_whatever_distances_are_drawn(self, kind, nullable):
        columns = [
            replace(column, nullable=nullable and place in (1, 2)) for place, column in enumerate(KINDS[kind])
        ]
        rules = rules_of(columns)

        rows, kept, broken = rules.completed(
            drawn(rules, np.random.default_rng(1)), N, np.random.default_rng(0)
        )

        assert len(with_rooms(rules)) == 3
        # The one that is learned as it is may leave no room.
        crowded = has_no_room(rules, rows)
        assert kept[~crowded].all(), broken
        assert crowded.mean() < 0.6

    @pytest.mark.parametrize("kind", KINDS)
    def test_rows_come_back_as_they_were(self, kind):
        rules = rules_of(KINDS[kind])
        rows, kept, _ = rules.completed(drawn(rules, np.random.default_rng(2)), N, np.random.default_rng(0))
        frame = pd.DataFrame({name: column.values[kept] for name, column in rows.items()})

        table, clipped = rules.learned_table(read(frame, rules.schema))
        again, fit, _ = rules.completed(dict(table.columns), len(frame), np.random.default_rng(0))

        assert not clipped
        assert fit.all()
        for name in frame:
            np.testing.assert_allclose(again[name].values, frame[name], rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("kind", KINDS)
    def test_only_rows_that_would_be_drawn_again_change(self, kind):
        rules = rules_of(KINDS[kind])
        found = {name: replace(d, until=None) for name, d in rules.compiled.distances.items()}
        before = RowRules(rules.schema, found)
        cells = drawn(rules, np.random.default_rng(3))

        rows, _, _ = rules.completed(cells, N, np.random.default_rng(0))
        earlier, fit, _ = before.completed(cells, N, np.random.default_rng(0))

        for name in with_rooms(rules):
            # What was rounded to the last value may have led beyond it.
            fit &= earlier[name].values != float(rules.compiled.distances[name].until)
        assert fit.any() or kind == "of one value"
        for name, column in rows.items():
            np.testing.assert_allclose(column.values[fit], earlier[name].values[fit], rtol=1e-12, atol=1e-12)

    def test_a_distance_beyond_the_room_becomes_shorter_in_proportion(self):
        rules = rules_of([WHOLE] * 4)
        # From 15 there are 5 of 20 left: a distance of 6 to 20 becomes a quarter of it.
        given = {"a": [15] * 6, "b": [0, 5, 6, 8, 12, 20], "c": [0] * 6, "d": [0] * 6}
        cells = {n: RawColumn(np.array(v), np.zeros(6, np.bool_), FLOATS) for n, v in given.items()}

        rows, kept, _ = rules.completed(cells, 6, np.random.default_rng(0))

        assert kept.all()
        assert rows["b"].values.tolist() == [15, 20, 16, 17, 18, 20]
        assert rows["d"].values.tolist() == rows["b"].values.tolist()

    def test_a_room_ends_at_the_last_value_of_what_comes_after_unless_this_may_be_missing(self):
        columns = {"a": Numeric(0, 9, integer=True), **dict.fromkeys("bc", Numeric(0, 90, integer=True))}
        narrow = Numeric(0, 50.2, step=0.5)

        assert rules_of(columns | {"d": narrow}).compiled.distances["b"].until == 50
        nullable = replace(narrow, nullable=True)
        assert rules_of(columns | {"d": nullable}).compiled.distances["b"].until == 90


class TestWhichColumns:
    @pytest.mark.parametrize(
        "order",
        [
            DIAMOND,
            [["a", "b"], ["b", "d"], ["a", "c"], ["c", "d"], ["a", "d"]],
            [["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"]],
            [["a", "b", "d", "e"], ["a", "c", "d"]],
        ],
    )
    def test_those_of_orders_that_cross_have_rooms(self, order):
        rules = rules_of([WHOLE] * len({n for chain in order for n in chain}), order)

        assert with_rooms(rules) == {*rules.compiled.distances}

    @pytest.mark.parametrize(
        "order",
        [
            [["a", "b", "c"]],
            [["a", "b"], ["c", "d"]],
            [["a", "b"], ["b", "c"], ["a", "c"]],
            [["b", "a"], ["c", "a"], ["d", "a"]],
            [["a", "b", "c"], ["d", "b"]],
        ],
    )
    def test_those_of_lists_and_stars_have_none(self, order):
        rules = rules_of([WHOLE] * len({n for chain in order for n in chain}), order)

        assert not with_rooms(rules)

    def test_days_windows_and_large_numbers_have_none(self):
        day = Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31))

        assert not with_rooms(rules_of([day] * 4))
        assert not with_rooms(rules_of([Numeric(0, 2**40, integer=True)] * 4))
        assert "b" not in with_rooms(rules_of([WHOLE] * 4, require=["b - a between 0 and 3"]))

    def test_the_file_says_which(self):
        for distance in rules_of([Numeric(0, 0.1)] * 4).compiled.distances.values():
            assert distance.until is not None
            assert Distance.from_json(distance.to_json()) == distance
        plain = Distance(("a",), upwards=True)
        assert "until" not in plain.to_json()
        assert Distance.from_json(plain.to_json()) == plain


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
def test_a_release_breaks_no_row_and_draws_the_same_ones_once_loaded(tmp_path):
    rng = np.random.default_rng(5)
    values = np.sort(rng.integers(0, 101, (3_000, 4)), axis=1)
    values[:, 1:3] = rng.permuted(values[:, 1:3], axis=1)
    frame = pd.DataFrame(values, columns=list("abcd"))
    frame["k"] = rng.choice(["x", "y"], 3_000)
    columns = {**dict.fromkeys("abcd", Numeric(0, 100, integer=True)), "k": Categorical(["x", "y"])}
    release = st.MST(epsilon=1.0, delta=1e-6, seed=0).fit(frame, Schema(columns, rules=Rules(order=DIAMOND)))

    release.save(tmp_path / "r.syn")
    again = st.load(tmp_path / "r.syn")

    rows = release.sample(2_000, seed=1)
    assert not release.rules_broken()
    assert not again.rules_broken()
    pd.testing.assert_frame_equal(rows, again.sample(2_000, seed=1))
    given = rows[["d", "k"]].head(200)
    filled = release.sample(given=given, seed=1)
    assert (filled["d"].to_numpy() == given["d"].to_numpy()).all()
    for chain in DIAMOND:
        assert (np.diff(rows[chain], axis=1) >= 0).all()
        assert (np.diff(filled[chain], axis=1) >= 0).all()


def test_numbers_of_grids_that_share_none_that_floats_hold_come_back_as_they_were():
    fine, wide = Numeric(0, 500, decimals=12), Numeric(0, 5_000, decimals=1)
    rules = rules_of([fine, wide, wide, wide])
    frame = pd.DataFrame(
        {"a": [0.123456789012, 499.5], "b": [0.2, 499.5], "c": [3.7, 4_999.9], "d": [77.1, 5_000.0]}
    )

    table, clipped = rules.learned_table(read(frame, rules.schema))
    rows, kept, _ = rules.completed(dict(table.columns), 2, np.random.default_rng(0))

    assert not clipped
    assert kept.all()
    for name in frame:
        assert (rows[name].values == frame[name]).all()
