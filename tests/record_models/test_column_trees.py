"""ColumnTrees, beside `contracts/test_record_models.py`: any order of columns, and rows that are chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from record_cases import DOMAIN, cell_shares, fitted, learned, records

from syntabula._planning import memory_alone
from syntabula.errors import ArgumentError, ConditionWarning
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models import tree_seconds
from syntabula.record_models.column_order import usual_order
from syntabula.record_models.column_trees import ColumnTrees
from syntabula.record_models.loop import Training
from syntabula.record_models.trees import Tree

pytest.importorskip("sklearn")


def is_near(sensors: Iterable[np.ndarray]) -> np.ndarray:
    return np.min([*sensors], axis=0) < 22


def robots() -> EncodedTable:
    """Rows of six sensors, and whether any of them is near a wall, as half of the rows are."""
    sensors = np.random.default_rng(0).integers(0, 200, (6, 400)).astype(np.uint8)
    domain = Domain((*"uvwxyz", "near"), (200,) * 6 + (2,), frozenset("uvwxyz"))
    return EncodedTable(domain, (*sensors, is_near(sensors).astype(np.uint8)))


@pytest.fixture(scope="module")
def model() -> ColumnTrees:
    found: ColumnTrees = learned("column_trees")
    return found


def test_rows_follow_the_records_in_any_order_of_columns() -> None:
    for first in [(), ("c",), ("b", "c")]:
        made = fitted("column_trees", records(), ColumnTrees(first=first)).sample(
            20_000, np.random.default_rng(0)
        )

        # All three columns at once; two samples of this size differ by .03.
        assert np.abs(cell_shares(made) - cell_shares(records())).sum() / 2 < 0.06


def test_named_columns_come_first_and_the_others_in_the_usual_order() -> None:
    domain = Domain(("fine", "class", "finer", "sex"), (200, 7, 150, 2), frozenset({"fine", "finer"}))
    rng = np.random.default_rng(0)
    table = EncodedTable(domain, tuple(rng.integers(0, size, 300).astype(np.uint16) for size in domain.sizes))

    usual, named = fitted("column_trees", table), fitted("column_trees", table, ColumnTrees(first=("finer",)))

    assert usual.order(domain) == usual_order(domain)
    assert named.order(domain) == ["finer", "sex", "class", "fine"]


def test_a_column_of_many_names_takes_away_nothing_from_the_others_and_goes_with_them() -> None:
    # Planes have one maker each, which decides the seats, and three flights on average, at any time.
    rng = np.random.default_rng(0)
    plane, time = (rng.integers(0, size, 3_000).astype(np.uint16) for size in (1_000, 900))
    maker = (plane % 6).astype(np.uint8)
    domain = Domain(("time", "maker", "plane", "seats"), (900, 6, 1_000, 110), frozenset({"time", "seats"}))
    flights = EncodedTable(domain, (time, maker, plane, (maker * 20 + plane % 2).astype(np.uint8)))

    made = fitted("column_trees", flights).sample(3_000, rng)

    _, maker, plane, seats = (made.column(c).astype(int) for c in domain)
    assert (seats // 20 == maker).all()
    assert np.mean(plane % 6 == maker) > 0.99
    assert np.unique(plane).size > 700


class TestGiven:
    def test_columns_that_come_first_are_taken_exactly(self, model: ColumnTrees) -> None:
        given = records(3_000).project(["b", "a"])

        made = model.sample(3_000, np.random.default_rng(0), given)

        assert all((made.column(c) == given.column(c)).all() for c in ("a", "b"))
        a, b = made.column("a").astype(int), made.column("b").astype(int)
        assert np.mean(made.column("c") == (a % 2) * (b % 2)) > 0.98

    def test_of_others_rows_are_chosen_that_have_them(self, model: ColumnTrees) -> None:
        n = 4_000
        given = EncodedTable(Domain(("c",), (2,)), (np.repeat([0, 1], n // 2).astype(np.uint8),))

        made = model.sample(n, np.random.default_rng(0), given)

        table = records()
        assert (made.column("c") == given.column("c")).all()
        assert np.mean(made.column("a")[n // 2 :] == 1) > 0.98
        # Half of the rows without c have this share; .035 is 4.9 standard deviations.
        wanted = np.mean(table.column("a")[table.column("c") == 0] == 1)
        assert np.mean(made.column("a")[: n // 2] == 1) == pytest.approx(wanted, abs=0.04)

    def test_a_number_that_no_record_had_counts_as_those_near_it(self) -> None:
        table = records()
        even = EncodedTable(DOMAIN, (table.codes[0], table.codes[1] // 7 * 7, table.codes[2]))
        given = EncodedTable(Domain(("b",), (30,)), (np.full(300, 15, np.uint8),))

        made = fitted("column_trees", even).sample(300, np.random.default_rng(0), given)

        assert (made.column("b") == 15).all()
        assert np.mean(made.column("a") == 2) > 0.9

    def test_what_no_row_has_is_warned_of(self, model: ColumnTrees) -> None:
        given = EncodedTable(
            Domain(("b", "c"), (30, 2)), (np.full(200, 1, np.uint8), np.full(200, 1, np.uint8))
        )

        with pytest.warns(
            ConditionWarning, match=r"values of 200 of 200 given rows.* Synthpop.* option `first`"
        ):
            made = model.sample(200, np.random.default_rng(0), given)

        assert (made.column("b") == 1).all()
        assert (made.column("c") == 1).all()

    def test_conditions_hold(self, model: ColumnTrees) -> None:
        found = model.restricted({"c": np.array([0.0, 1.0])})

        assert found.probability == pytest.approx(np.mean(records().column("c")), abs=0.02)
        assert (found.draw(500, np.random.default_rng(0)).column("c") == 1).all()


class TestPlan:
    def test_cost_grows_with_rows_and_columns(self) -> None:
        wide = Domain(tuple("abcdef"), (30,) * 6)
        one, more, wider = (
            ColumnTrees().training_cost(domain, n, Training())
            for domain, n in ((DOMAIN, 1_000), (DOMAIN, 100_000), (wide, 100_000))
        )

        assert 0 < one.seconds < more.seconds < wider.seconds
        assert 0 < one.memory_mb < more.memory_mb < wider.memory_mb
        without = ColumnTrees(least_code=1).training_cost(wide, 100_000, Training())
        assert without.memory_mb < wider.memory_mb  # shares of 30 codes are held for each node

    def test_time_is_about_what_trees_take(self) -> None:
        rng, sizes = np.random.default_rng(0), (2, 3, 5, 7, 9, 12, 15, 40, 75, 200)
        kinds = rng.random(10_000)
        codes = [(size * ((kinds + rng.random(10_000)) / 2) ** 3).astype(np.uint8) for size in sizes]
        names = tuple("abcdefghij")
        table = EncodedTable(Domain(names, sizes, frozenset("hij")), tuple(codes))

        began = process_time()
        fitted("column_trees", table)
        taken = process_time() - began
        planned = ColumnTrees().training_cost(table.domain, table.n_rows, Training()).seconds

        # Trees of noise, as were timed once, take ten times as long.
        assert taken / 3 < planned < 3 * taken

    def test_time_grows_in_proportion_to_records(self) -> None:
        some, more = (ColumnTrees().training_cost(DOMAIN, n, Training()).seconds for n in (10**5, 10**7))

        assert more == pytest.approx(100 * some, rel=0.1)

    def test_no_tree_is_timed_where_nobody_asks_how_long_it_takes(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tree_seconds, "_timed_tree", None)

        with memory_alone():
            assert ColumnTrees().training_cost(DOMAIN, 1_000, Training()).seconds == 0

    def test_a_column_of_many_codes_takes_what_its_places_do(self) -> None:
        beside, n = (30,) * 20, 10_000
        few, many, alone = (
            ColumnTrees().training_cost(Domain(tuple(map(str, range(len(sizes)))), sizes), n, Training())
            for sizes in ((*beside, 30), (*beside, n), (n,))
        )

        # Each of its codes has means of 12 codes of 20 columns.
        assert many.memory_mb - few.memory_mb > 12 * 20 * n * 8 / 2**20
        assert alone.memory_mb < few.memory_mb

    def test_an_unknown_first_column_is_refused_with_what_it_may_be(self) -> None:
        domain = Domain(("age", "pay"), (2, 2))

        with pytest.raises(ArgumentError, match=r"first names column 'ages', .* did you mean 'age'"):
            ColumnTrees(first=("ages",)).training_cost(domain, 10, Training())


@pytest.fixture(scope="module")
def rule() -> ColumnTrees:
    found: ColumnTrees = fitted("column_trees", robots())
    return found


class TestDrawnAgain:
    def test_rows_keep_a_rule_over_many_numbers(self, rule: ColumnTrees) -> None:
        rows = rule.sample(4_000, np.random.default_rng(0))
        drawn_once = replace(rule, _again={}).sample(4_000, np.random.default_rng(0))

        kept, before = (
            np.mean(table.column("near") == is_near(table.column(c) for c in "uvwxyz"))
            for table in (rows, drawn_once)
        )
        assert kept > 0.99
        assert 1 - kept < (1 - before) / 4

    def test_the_category_is_as_frequent_as_before(self, rule: ColumnTrees) -> None:
        rows = rule.sample(4_000, np.random.default_rng(0))

        # The first column shares out its codes: within two rows.
        wanted = np.mean(robots().column("near"))
        assert np.mean(rows.column("near")) == pytest.approx(wanted, abs=2 / 4_000)

    def test_rows_that_keep_contradicting_take_the_code_that_the_others_say(self, rule: ColumnTrees) -> None:
        always = Tree(
            np.array([[-1, 0, 0, 1]], np.int32),
            np.zeros(1_200, np.int32),
            np.ones(1, np.uint8),
            np.ones(1, np.uint32),
        )

        rows = replace(rule, _again={"near": always}).sample(200, np.random.default_rng(0))

        assert rows.column("near").all()

    def test_a_given_value_stays(self, rule: ColumnTrees) -> None:
        given = robots().project(["near"])

        made = rule.sample(given.n_rows, np.random.default_rng(0), given)

        assert (made.column("near") == given.column("near")).all()

    def test_a_file_brings_it_back(self, rule: ColumnTrees) -> None:
        facts, arrays = rule.state()

        loaded = ColumnTrees.from_state(facts, arrays)

        assert facts["again"] == ["near"]
        one, two = (m.sample(500, np.random.default_rng(5)) for m in (rule, loaded))
        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
