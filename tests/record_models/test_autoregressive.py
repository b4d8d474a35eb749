"""Autoregressive: what it learns, what can be given, and what a file holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ConditionWarning, ReleaseFileError, SchemaError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.record_models.autoregressive import Autoregressive
from syntabula.record_models.loop import Training

pytest.importorskip("torch")

DOMAIN = Domain(("a", "b", "c"), (4, 30, 2), frozenset({"b"}))
SMALL = Autoregressive(units=32, embedding=4, waves=4)


def records(n: int = 4_000) -> EncodedTable:
    """Rows in which b is near 7 a, and c is whether a and b are both odd; no a is 3."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    b = np.clip(7 * a + rng.integers(0, 7, n), 0, 29)
    c = (a % 2) * (b % 2)
    return EncodedTable(DOMAIN, (a.astype(np.uint8), b.astype(np.uint8), c.astype(np.uint8)))


def fitted(table: EncodedTable, **options: Any) -> Autoregressive:
    training = Training(**({"steps": 250, "batch": 256, "learning_rate": 1e-2} | options))
    one_way = {
        c: np.bincount(table.column(c), minlength=table.domain.size(c)).astype(float) for c in table.domain
    }
    return SMALL.trained(table.domain, one_way, table, training, lambda step, done: None, seed=0)


@pytest.fixture(scope="module")
def model() -> Autoregressive:
    return fitted(records())


class TestSamples:
    @pytest.mark.thorough
    def test_rows_follow_the_records(self, model: Autoregressive) -> None:
        made, real = model.sample(20_000, np.random.default_rng(0)), records(20_000)

        def shares(table: EncodedTable) -> np.ndarray:
            keys = (table.column("a").astype(int) * 30 + table.column("b")) * 2 + table.column("c")
            return np.bincount(keys, minlength=240) / table.n_rows

        # All three columns at once; two samples of this size differ by .016.
        assert np.abs(shares(made) - shares(real)).sum() / 2 < 0.12
        assert not (made.column("a") == 3).any()

    def test_the_number_of_rows_is_the_one_asked_for(self, model: Autoregressive) -> None:
        rng = np.random.default_rng(0)

        assert [model.sample(n, rng).n_rows for n in (0, 1, 5_000)] == [0, 1, 5_000]

    def test_a_generator_repeats_a_draw(self, model: Autoregressive) -> None:
        one, two = (model.sample(300, np.random.default_rng(3)) for _ in range(2))

        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))

    def test_one_column_is_enough(self) -> None:
        only = records(600).project(["b"])

        made = fitted(only, steps=30).sample(2_000, np.random.default_rng(0))

        wanted = np.bincount(only.column("b"), minlength=30) / 600
        assert np.abs(np.bincount(made.column("b"), minlength=30) / 2_000 - wanted).sum() / 2 < 0.15

    def test_marginals_are_counts_that_add_up_to_the_records(self, model: Autoregressive) -> None:
        pair, turned = model.marginals([("a", "b"), ("b", "a")])

        assert pair.sum() == pytest.approx(4_000)
        np.testing.assert_allclose(pair, turned.T)


class TestGiven:
    @pytest.mark.parametrize("columns", [("a",), ("c", "b"), ("a", "b", "c")])
    def test_any_columns_stay_and_the_others_follow(
        self, model: Autoregressive, columns: tuple[str, ...]
    ) -> None:
        given = records(3_000).project(columns)

        made = model.sample(3_000, np.random.default_rng(0), given)

        assert all((made.column(c) == given.column(c)).all() for c in columns)
        a, b = made.column("a").astype(int), made.column("b").astype(int)
        assert np.mean(b // 7 == a) > 0.9

    def test_a_code_that_no_record_had_stays_and_tells_nothing(self, model: Autoregressive) -> None:
        given = EncodedTable(Domain(("a",), (4,)), (np.full(5_000, 3, np.uint8),))

        with pytest.warns(ConditionWarning, match=r"no record had some .* of 'a'"):
            made = model.sample(5_000, np.random.default_rng(0), given)

        assert (made.column("a") == 3).all()
        assert np.abs(np.bincount(made.column("b") // 7, minlength=5)[:3] / 5_000 - 1 / 3).max() < 0.1

    def test_a_code_between_those_of_an_ordered_column_tells_what_its_neighbour_does(self) -> None:
        table = records()
        even = EncodedTable(DOMAIN, (table.codes[0], table.codes[1] // 7 * 7, table.codes[2]))
        made = fitted(even)
        given = EncodedTable(Domain(("b",), (30,)), (np.full(500, 15, np.uint8),))

        drawn = made.sample(500, np.random.default_rng(0), given)

        assert (drawn.column("b") == 15).all()
        assert np.mean(drawn.column("a") == 2) > 0.9

    def test_another_number_of_codes_is_refused(self, model: Autoregressive) -> None:
        given = EncodedTable(Domain(("a",), (5,)), (np.zeros(2, np.uint8),))

        with pytest.raises(SchemaError, match="the model's number of codes"):
            model.sample(2, np.random.default_rng(0), given)


class TestRestricted:
    def test_one_condition_is_drawn_from_exactly(self, model: Autoregressive) -> None:
        weights = {"a": np.array([0.0, 1.0, 0.5, 1.0])}

        found = model.restricted(weights)
        rows = found.draw(6_000, np.random.default_rng(0))

        assert found.probability == pytest.approx(0.5, abs=0.05)
        counts = np.bincount(rows.column("a"), minlength=4)
        assert counts[0] == counts[3] == 0
        assert counts[2] / counts[1] == pytest.approx(0.5, abs=0.12)
        assert np.mean(rows.column("b") // 7 == rows.column("a")) > 0.9

    def test_several_are_as_among_rows_that_are_tried(self, model: Autoregressive) -> None:
        weights = {"a": np.array([1.0, 1.0, 0.0, 0.0]), "c": np.array([0.2, 1.0])}
        every = model.sample(60_000, np.random.default_rng(1))
        chances = weights["a"][every.column("a")] * weights["c"][every.column("c")]

        found = model.restricted(weights)
        rows = found.draw(6_000, np.random.default_rng(0))

        assert rows.n_rows == 6_000
        assert found.probability == pytest.approx(chances.mean(), rel=0.1)
        assert np.mean(rows.column("c")) == pytest.approx(
            np.average(every.column("c"), weights=chances), abs=0.05
        )

    def test_what_cannot_be_has_no_chance(self, model: Autoregressive) -> None:
        assert model.restricted({"a": np.array([0.0, 0.0, 0.0, 1.0])}).probability == 0


class TestFiles:
    def test_state_brings_back_the_same_samples(self, model: Autoregressive) -> None:
        facts, arrays = model.state()

        loaded = Autoregressive.from_state(facts, arrays)

        one, two = (m.sample(500, np.random.default_rng(5)) for m in (model, loaded))
        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
        assert (loaded.domain, loaded.total) == (model.domain, 4_000.0)

    def test_bounds_on_arrays_are_their_sizes(self, model: Autoregressive) -> None:
        facts, arrays = model.state()

        assert Autoregressive.array_bytes(facts) == {n: a.nbytes for n, a in arrays.items()}

    @pytest.mark.parametrize(
        "change",
        [
            {"facts": {"used": [1, 2]}},
            {"facts": {"used": [3, 21, 9]}},
            {"facts": {"ordered": ["z"]}},
            {"facts": {"total": -1}},
            {"facts": {"units": 33}},
            {"arrays": {"one_way": np.zeros(3)}},
            {"arrays": {"one_way": np.full(36, np.nan)}},
            {"arrays": {"weights/bias/0": np.full(32, np.nan, np.float32)}},
            {"arrays": {"weights/other": np.zeros(3, np.float32)}},
        ],
    )
    def test_parts_that_do_not_fit_are_refused(self, model: Autoregressive, change: dict[str, Any]) -> None:
        facts, arrays = model.state()

        with pytest.raises(ReleaseFileError):
            Autoregressive.from_state(
                {**facts, **change.get("facts", {})}, {**arrays, **change.get("arrays", {})}
            )


def test_cost_grows_with_steps_and_ends_with_the_seconds() -> None:
    short, long = (SMALL.training_cost(DOMAIN, 1_000, Training(steps=n)) for n in (10, 10_000))
    held = SMALL.training_cost(DOMAIN, 1_000, replace(Training(steps=10**9), seconds=5.0))

    assert 0 < short.seconds < long.seconds
    assert held.seconds == 5.0
    assert short.memory_mb > 0
