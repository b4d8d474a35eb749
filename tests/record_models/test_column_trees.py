"""ColumnTrees: what is learned, what can be given, and what a file holds."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ConditionWarning, ReleaseFileError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.record_models.column_trees import ColumnTrees
from syntabula.record_models.loop import Training

pytest.importorskip("sklearn")

DOMAIN = Domain(("a", "b", "c"), (4, 30, 2), frozenset({"b"}))


def records(n: int = 4_000) -> EncodedTable:
    """Rows in which b is near 7 a, and c is whether a and b are both odd; no a is 3."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    b = np.clip(7 * a + rng.integers(0, 7, n), 0, 29)
    c = (a % 2) * (b % 2)
    return EncodedTable(DOMAIN, (a.astype(np.uint8), b.astype(np.uint8), c.astype(np.uint8)))


def fitted(table: EncodedTable, **options: Any) -> ColumnTrees:
    one_way = {
        c: np.bincount(table.column(c), minlength=table.domain.size(c)).astype(float) for c in table.domain
    }
    return ColumnTrees(**options).trained(
        table.domain, one_way, table, Training(), lambda step, done: None, seed=0
    )


@pytest.fixture(scope="module")
def model() -> ColumnTrees:
    return fitted(records())


def cells(table: EncodedTable) -> np.ndarray:
    keys = (table.column("a").astype(int) * 30 + table.column("b")) * 2 + table.column("c")
    return np.bincount(keys, minlength=240) / table.n_rows


class TestSamples:
    @pytest.mark.parametrize("first", [(), ("c",), ("b", "c")])
    def test_rows_follow_the_records_in_any_order_of_columns(self, first: tuple[str, ...]) -> None:
        made = fitted(records(), first=first).sample(20_000, np.random.default_rng(0))

        # All three columns at once; two samples of this size differ by .03.
        assert np.abs(cells(made) - cells(records())).sum() / 2 < 0.06

    def test_marginals_are_counts_that_add_up_to_the_records(self, model: ColumnTrees) -> None:
        pair, turned = model.marginals([("a", "b"), ("b", "a")])

        assert pair.sum() == pytest.approx(4_000)
        np.testing.assert_allclose(pair, turned.T)

    def test_rows_are_as_many_as_asked_for(self, model: ColumnTrees) -> None:
        assert [model.sample(n, np.random.default_rng(0)).n_rows for n in (0, 1, 7)] == [0, 1, 7]


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

        made = fitted(even).sample(300, np.random.default_rng(0), given)

        assert (made.column("b") == 15).all()
        assert np.mean(made.column("a") == 2) > 0.9

    def test_what_no_row_has_is_warned_of(self, model: ColumnTrees) -> None:
        given = EncodedTable(
            Domain(("b", "c"), (30, 2)), (np.full(200, 1, np.uint8), np.full(200, 1, np.uint8))
        )

        with pytest.warns(ConditionWarning, match=r"values of 200 of 200 given rows.* option first"):
            made = model.sample(200, np.random.default_rng(0), given)

        assert (made.column("b") == 1).all()
        assert (made.column("c") == 1).all()

    def test_conditions_hold(self, model: ColumnTrees) -> None:
        found = model.restricted({"c": np.array([0.0, 1.0])})

        assert found.probability == pytest.approx(np.mean(records().column("c")), abs=0.02)
        assert (found.draw(500, np.random.default_rng(0)).column("c") == 1).all()


class TestFiles:
    def test_state_brings_back_the_same_samples_without_scikit_learn(
        self, model: ColumnTrees, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        facts, arrays = model.state()
        monkeypatch.setitem(sys.modules, "sklearn.tree", None)

        loaded = ColumnTrees.from_state(facts, arrays)

        one, two = (m.sample(500, np.random.default_rng(5)) for m in (model, loaded))
        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
        assert (loaded.domain, loaded.total) == (model.domain, 4_000.0)

    def test_bounds_on_arrays_are_their_sizes(self, model: ColumnTrees) -> None:
        facts, arrays = model.state()

        assert ColumnTrees.array_bytes(facts) == {n: a.nbytes for n, a in arrays.items()}

    @pytest.mark.parametrize(
        "change",
        [
            {"facts": {"ordered": ["z"]}},
            {"facts": {"total": -1}},
            {"facts": {"first": ["z"]}},
            {"facts": {"nodes": [1, 2]}},
            {"facts": {"donors": [1, 2, 0]}},
            {"facts": {"first": ["b"]}},
            {"arrays": {"one_way": np.zeros(3)}},
            {"arrays": {"one_way": np.full(36, np.nan)}},
            {"arrays": {"2/nodes": np.zeros((1, 4), np.int64)}},
            {"arrays": {"2/nodes": np.zeros((1, 4), np.int32)}},
            {"arrays": {"1/donors": np.full(3, 200, np.uint8)}},
        ],
    )
    def test_parts_that_do_not_fit_are_refused(self, model: ColumnTrees, change: dict[str, Any]) -> None:
        facts, arrays = model.state()

        with pytest.raises(ReleaseFileError):
            ColumnTrees.from_state(
                {**facts, **change.get("facts", {})}, {**arrays, **change.get("arrays", {})}
            )


class TestPlan:
    def test_cost_grows_with_rows_and_columns(self) -> None:
        wide = Domain(tuple("abcdef"), (30,) * 6)
        one, more, wider = (
            ColumnTrees().training_cost(domain, n, Training())
            for domain, n in ((DOMAIN, 1_000), (DOMAIN, 100_000), (wide, 100_000))
        )

        assert 0 < one.seconds < more.seconds < wider.seconds
        assert 0 < one.memory_mb < more.memory_mb < wider.memory_mb

    def test_an_unknown_first_column_is_refused_with_what_it_may_be(self) -> None:
        domain = Domain(("age", "pay"), (2, 2))

        with pytest.raises(ArgumentError, match=r"first names column 'ages', .* did you mean 'age'"):
            ColumnTrees(first=("ages",)).training_cost(domain, 10, Training())
