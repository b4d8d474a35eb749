"""TabularDiffusion: what it learns, what can be given, and what a file holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ConditionWarning, ReleaseFileError, TrainingError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.record_models.loop import Training
from syntabula.record_models.tabular_diffusion import TabularDiffusion

pytest.importorskip("torch")

DOMAIN = Domain(("a", "b", "c"), (4, 30, 2), frozenset({"b"}))
SMALL = TabularDiffusion(units=64, levels=100, steps_back=20)


def records(n: int = 4_000) -> EncodedTable:
    """Rows in which b is near 7 a, and c is whether a is 1; no a is 3."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    b = np.clip(7 * a + rng.integers(0, 7, n), 0, 29)
    return EncodedTable(DOMAIN, tuple(x.astype(np.uint8) for x in (a, b, a == 1)))


def fitted(table: EncodedTable, model: TabularDiffusion = SMALL, **options: Any) -> TabularDiffusion:
    training = Training(**({"steps": 250, "batch": 256, "learning_rate": 5e-3} | options))
    one_way = {
        c: np.bincount(table.column(c), minlength=table.domain.size(c)).astype(float) for c in table.domain
    }
    return model.trained(table.domain, one_way, table, training, lambda step, done: None, seed=0)


@pytest.fixture(scope="module")
def model() -> TabularDiffusion:
    return fitted(records())


class TestSamples:
    @pytest.mark.thorough
    @pytest.mark.parametrize("options", [{}, {"ancestral": True, "steps_back": 50}])
    def test_rows_follow_the_records(self, model: TabularDiffusion, options: dict[str, Any]) -> None:
        made = replace(model, **options).sample(5_000, np.random.default_rng(0))

        a, b, c = (made.column(name).astype(int) for name in DOMAIN)
        assert np.abs(np.bincount(a, minlength=4)[:3] / 5_000 - 1 / 3).max() < 0.06
        assert not (a == 3).any()
        assert np.mean(b // 7 == a) > 0.85
        assert np.mean(c == (a == 1)) > 0.95
        wanted = np.bincount(records().column("b"), minlength=30) / 4_000
        assert np.abs(np.bincount(b, minlength=30) / 5_000 - wanted).sum() / 2 < 0.15

    def test_the_number_of_rows_is_the_one_asked_for(self, model: TabularDiffusion) -> None:
        rng = np.random.default_rng(0)

        assert [model.sample(n, rng).n_rows for n in (0, 1, 5_000)] == [0, 1, 5_000]

    def test_a_generator_repeats_a_draw(self, model: TabularDiffusion) -> None:
        one, two = (model.sample(300, np.random.default_rng(3)) for _ in range(2))

        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))

    @pytest.mark.parametrize("column", ["a", "b"])
    def test_one_column_is_enough(self, column: str) -> None:
        only = records(600).project([column])

        made = fitted(only, steps=30).sample(2_000, np.random.default_rng(0))

        wanted, found = (np.bincount(t.column(column), minlength=30) / t.n_rows for t in (only, made))
        assert np.abs(found - wanted).sum() / 2 < 0.2

    def test_as_few_levels_as_one_are_enough(self) -> None:
        made = fitted(records(100), replace(SMALL, levels=1), steps=5)

        assert made.sample(50, np.random.default_rng(0)).n_rows == 50

    def test_a_constant_column_stays_constant(self) -> None:
        table = records(200)
        still = EncodedTable(DOMAIN, (table.codes[0], np.full(200, 7, np.uint8), np.ones(200, np.uint8)))

        made = fitted(still, steps=5).sample(100, np.random.default_rng(0))

        assert set(made.column("b")) == {7}
        assert set(made.column("c")) == {1}

    def test_marginals_are_counts_that_add_up_to_the_records(self) -> None:
        quick = replace(fitted(records(500), steps=2), steps_back=1)

        pair, turned = quick.marginals([("a", "b"), ("b", "a")])

        assert pair.sum() == pytest.approx(500)
        np.testing.assert_allclose(pair, turned.T)


class TestGiven:
    @pytest.mark.parametrize("columns", [("a",), ("b",), ("c", "b"), ("a", "b", "c")])
    def test_any_columns_stay_and_the_others_follow(
        self, model: TabularDiffusion, columns: tuple[str, ...]
    ) -> None:
        given = records(2_000).project(columns)

        made = model.sample(2_000, np.random.default_rng(0), given)

        assert all((made.column(c) == given.column(c)).all() for c in columns)
        a, b = made.column("a").astype(int), made.column("b").astype(int)
        assert np.mean(b // 7 == a) > 0.65

    def test_a_code_that_no_record_had_stays_and_tells_nothing(self, model: TabularDiffusion) -> None:
        given = EncodedTable(Domain(("a",), (4,)), (np.full(3_000, 3, np.uint8),))

        with pytest.warns(ConditionWarning, match=r"no record had some .* of 'a'"):
            made = model.sample(3_000, np.random.default_rng(0), given)

        assert (made.column("a") == 3).all()
        assert np.abs(np.bincount(made.column("b") // 7, minlength=5)[:3] / 3_000 - 1 / 3).max() < 0.12

    def test_conditions_hold(self) -> None:
        quick = replace(fitted(records(500), steps=20), steps_back=2)

        found = quick.restricted({"a": np.array([0.0, 1.0, 0.0, 0.0])})
        rows = found.draw(300, np.random.default_rng(0))

        assert set(rows.column("a")) == {1}
        assert 0.1 < found.probability < 0.7


class TestTraining:
    @pytest.mark.parametrize("n", [1, 10])
    def test_next_to_no_records_and_a_batch_beyond_them_are_enough(self, n: int) -> None:
        made = fitted(records(n), steps=3, batch=5_000).sample(20, np.random.default_rng(0))

        assert made.n_rows == 20

    def test_a_loss_that_is_no_number_is_an_error(self) -> None:
        with pytest.raises(TrainingError, match="no finite number any more"):
            fitted(records(100), learning_rate=1e30, steps=40)

    def test_the_same_seed_gives_the_same_weights(self) -> None:
        one, two = (fitted(records(100), steps=3) for _ in range(2))

        assert all((one._weights[name] == two._weights[name]).all() for name in one._weights)

    def test_cost_grows_with_steps_and_draws_and_ends_with_the_seconds(self) -> None:
        short, long = (SMALL.training_cost(DOMAIN, 1_000, Training(steps=n)) for n in (10, 10_000))
        held = SMALL.training_cost(DOMAIN, 1_000, Training(steps=10**9, seconds=5.0))
        several = replace(SMALL, draws=8).training_cost(DOMAIN, 1_000, Training(steps=10))

        assert 0 < short.seconds < long.seconds
        assert held.seconds == 5.0
        assert 0 < short.memory_mb < several.memory_mb


class TestFiles:
    def test_state_brings_back_the_same_samples(self, model: TabularDiffusion) -> None:
        facts, arrays = model.state()

        loaded = TabularDiffusion.from_state(facts, arrays)

        one, two = (m.sample(500, np.random.default_rng(5)) for m in (model, loaded))
        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
        assert (loaded.domain, loaded.total) == (model.domain, 4_000.0)

    def test_bounds_on_arrays_are_their_sizes(self, model: TabularDiffusion) -> None:
        facts, arrays = model.state()

        assert TabularDiffusion.array_bytes(facts) == {n: a.nbytes for n, a in arrays.items()}

    @pytest.mark.parametrize(
        "change",
        [
            {"facts": {"used": [1, 2]}},
            {"facts": {"used": [3, 21, 9]}},
            {"facts": {"ordered": ["z"]}},
            {"facts": {"units": 33}},
            {"facts": {"levels": 0}},
            {"arrays": {"weights/bias/0": np.full(64, np.nan, np.float32)}},
            {"arrays": {"weights/other": np.zeros(3, np.float32)}},
        ],
    )
    def test_parts_that_do_not_fit_are_refused(self, model: TabularDiffusion, change: dict[str, Any]) -> None:
        facts, arrays = model.state()

        with pytest.raises(ReleaseFileError):
            TabularDiffusion.from_state(
                {**facts, **change.get("facts", {})}, {**arrays, **change.get("arrays", {})}
            )
