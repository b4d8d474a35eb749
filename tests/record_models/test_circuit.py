"""Circuit: what it learns, that marginals and conditions are exact, and what a file holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ConditionWarning, ReleaseFileError, SchemaError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.record_models.circuit import Circuit
from syntabula.record_models.loop import Training

pytest.importorskip("torch")

DOMAIN = Domain(("a", "b", "c"), (4, 30, 2), frozenset({"b"}))


def records(n: int = 4_000) -> EncodedTable:
    """Rows in which b is near 7 a, and c is whether b is odd; no a is 3 and no b above 20."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    b = 7 * a + rng.integers(0, 7, n)
    return EncodedTable(DOMAIN, (a.astype(np.uint8), b.astype(np.uint8), (b % 2).astype(np.uint8)))


def fitted(table: EncodedTable, **options: Any) -> Circuit:
    training = Training(**({"steps": 200, "batch": 500, "learning_rate": 0.2} | options))
    one_way = {
        c: np.bincount(table.column(c), minlength=table.domain.size(c)).astype(float) for c in table.domain
    }
    return Circuit(states=24, smoothing=5).trained(
        table.domain, one_way, table, training, lambda step, done: None, seed=0
    )


@pytest.fixture(scope="module")
def model() -> Circuit:
    return fitted(records())


class TestMarginals:
    def test_they_are_near_the_records_and_add_up_to_them(self, model: Circuit) -> None:
        cliques = [("a",), ("b", "a"), ("c", "b"), ("a", "c", "b"), ()]

        found = model.marginals(cliques)

        for table, real in zip(found, MemoryEngine(records()).counts(cliques), strict=True):
            assert table.shape == real.shape
            assert table.sum() == pytest.approx(4_000, rel=1e-4)
            assert np.abs(table - real).sum() / 2 / 4_000 < 0.1

    def test_rows_follow_them(self, model: Circuit) -> None:
        n = 100_000
        wanted = model.marginals([("a", "b", "c")])[0] / 4_000

        rows = model.sample(n, np.random.default_rng(0))

        shares = MemoryEngine(rows).counts([("a", "b", "c")])[0] / n
        # The largest of 240 shares is off by more than 7 of its standard deviations with chance below 1e-9.
        assert (np.abs(shares - wanted) < 7 * np.sqrt(wanted / n) + 1e-6).all()

    def test_an_unknown_column_is_refused(self, model: Circuit) -> None:
        with pytest.raises(SchemaError, match="no column 'z'"):
            model.marginals([("a", "z")])


class TestSamples:
    def test_the_number_of_rows_is_the_one_asked_for(self, model: Circuit) -> None:
        rng = np.random.default_rng(0)

        assert [model.sample(n, rng).n_rows for n in (0, 1, 20_000)] == [0, 1, 20_000]

    def test_one_column_is_enough(self) -> None:
        only = records(600).project(["b"])

        made = fitted(only, steps=20).marginals([("b",)])[0]

        np.testing.assert_allclose(made, np.bincount(only.column("b"), minlength=30), atol=3)

    def test_the_same_seed_gives_the_same_model(self) -> None:
        one, two = (fitted(records(300), steps=10).state()[1] for _ in range(2))

        assert all((one[name] == two[name]).all() for name in one)


class TestGiven:
    @pytest.mark.parametrize("columns", [("a",), ("c", "b"), ("a", "b", "c")])
    def test_any_columns_stay_and_the_others_follow(self, model: Circuit, columns: tuple[str, ...]) -> None:
        given = records(3_000).project(columns)

        made = model.sample(3_000, np.random.default_rng(0), given)

        assert all((made.column(c) == given.column(c)).all() for c in columns)
        assert np.mean(made.column("b") // 7 == made.column("a")) > 0.9

    def test_the_others_have_their_distribution_given_the_codes(self, model: Circuit) -> None:
        n = 50_000
        given = EncodedTable(Domain(("c",), (2,)), (np.ones(n, np.uint8),))
        joint = model.marginals([("c", "a", "b")])[0][1]
        wanted = joint / joint.sum()

        made = model.sample(n, np.random.default_rng(0), given)

        shares = MemoryEngine(made).counts([("a", "b")])[0] / n
        # As above: chance below 1e-9.
        assert (np.abs(shares - wanted) < 7 * np.sqrt(wanted / n) + 1e-6).all()

    def test_a_code_that_no_record_had_stays_and_tells_nothing(self, model: Circuit) -> None:
        n = 20_000
        given = EncodedTable(Domain(("a",), (4,)), (np.full(n, 3, np.uint8),))

        with pytest.warns(ConditionWarning, match=r"no record had some .* of 'a'"):
            made = model.sample(n, np.random.default_rng(0), given)

        wanted = model.marginals([("b",)])[0] / 4_000
        assert (made.column("a") == 3).all()
        assert np.abs(np.bincount(made.column("b"), minlength=30) / n - wanted).max() < 0.02

    def test_a_code_beyond_those_of_an_ordered_column_tells_what_the_nearest_does(
        self, model: Circuit
    ) -> None:
        given = EncodedTable(Domain(("b",), (30,)), (np.full(500, 27, np.uint8),))

        drawn = model.sample(500, np.random.default_rng(0), given)

        assert (drawn.column("b") == 27).all()
        assert np.mean(drawn.column("a") == 2) > 0.9

    def test_another_number_of_codes_is_refused(self, model: Circuit) -> None:
        given = EncodedTable(Domain(("a",), (5,)), (np.zeros(2, np.uint8),))

        with pytest.raises(SchemaError, match="the model's number of codes"):
            model.sample(2, np.random.default_rng(0), given)


class TestRestricted:
    def test_probability_and_rows_are_those_of_the_weighed_marginals(self, model: Circuit) -> None:
        n = 50_000
        weights = {"a": np.array([0.0, 1.0, 0.5, 1.0]), "b": np.arange(30) / 30, "c": np.array([1.0, 0.0])}
        table = model.marginals([("a", "b", "c")])[0] / 4_000
        table = table * weights["a"][:, None, None] * weights["b"][:, None] * weights["c"]

        found = model.restricted(weights)
        rows = found.draw(n, np.random.default_rng(0))

        assert found.probability == pytest.approx(table.sum(), rel=1e-4)
        assert not found.tried
        wanted = table / table.sum()
        shares = MemoryEngine(rows).counts([("a", "b", "c")])[0] / n
        # As above: chance below 1e-9.
        assert (np.abs(shares - wanted) < 7 * np.sqrt(wanted / n) + 1e-6).all()

    def test_no_condition_is_the_whole(self, model: Circuit) -> None:
        found = model.restricted({})

        assert (found.probability, found.draw(7, np.random.default_rng(0)).n_rows) == (1.0, 7)

    def test_what_cannot_be_has_no_chance(self, model: Circuit) -> None:
        assert model.restricted({"a": np.array([0.0, 0.0, 0.0, 1.0])}).probability == 0


class TestFiles:
    def test_state_brings_back_the_same_samples(self, model: Circuit) -> None:
        loaded = Circuit.from_state(*model.state())

        one, two = (m.sample(500, np.random.default_rng(5)) for m in (model, loaded))
        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
        assert (loaded.domain, loaded.total, loaded.states) == (model.domain, 4_000.0, 24)

    def test_bounds_on_arrays_are_their_sizes(self, model: Circuit) -> None:
        facts, arrays = model.state()

        assert Circuit.array_bytes(facts) == {n: a.nbytes for n, a in arrays.items()}

    @pytest.mark.parametrize(
        "change",
        [
            {"facts": {"used": [1, 2]}},
            {"facts": {"used": [3, 22, 1]}},
            {"facts": {"ordered": ["z"]}},
            {"facts": {"total": -1}},
            {"facts": {"parents": [-1, -1, 0]}},
            {"facts": {"parents": [-1, 2, 1]}},
            {"facts": {"hidden": 23}},
            {"facts": {"states": 0}},
            {"arrays": {"one_way": np.zeros(3)}},
            {"arrays": {"one_way": np.full(36, np.nan)}},
            {"arrays": {"transitions": np.zeros((3, 24, 24), np.float32)}},
            {"arrays": {"emissions": np.full((26, 24), np.nan, np.float32)}},
        ],
    )
    def test_parts_that_do_not_fit_are_refused(self, model: Circuit, change: dict[str, Any]) -> None:
        facts, arrays = model.state()

        with pytest.raises(ReleaseFileError):
            Circuit.from_state({**facts, **change.get("facts", {})}, {**arrays, **change.get("arrays", {})})


def test_cost_grows_with_steps_and_ends_with_the_seconds() -> None:
    short, long = (Circuit().training_cost(DOMAIN, 1_000, Training(steps=n)) for n in (10, 10_000))
    held = Circuit().training_cost(DOMAIN, 1_000, replace(Training(steps=10**9), seconds=5.0))

    assert 0 < short.seconds < long.seconds
    assert held.seconds == 5.0
    assert short.memory_mb > 0
