"""What both networks share: rows, given columns, conditions, marginals, files, odd tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ReleaseFileError, SchemaError, TrainingError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models import loop
from syntabula.record_models.adversarial import Adversarial
from syntabula.record_models.latent import LatentRows
from syntabula.record_models.loop import Training
from syntabula.record_models.variational import Variational

pytest.importorskip("torch")

DOMAIN = Domain(("a", "b", "c", "d"), (4, 100, 2, 12), frozenset({"b", "d"}))
KINDS: dict[str, LatentRows] = {
    "variational": Variational(units=32, hidden=4, modes=4),
    "adversarial": Adversarial(units=32, critic_units=32, hidden=8, modes=4, pac=4, dropout=0.5),
}
TRAININGS = {
    "variational": Training(steps=300, batch=128, learning_rate=1e-2),
    "adversarial": Training(steps=60, batch=128, learning_rate=2e-3, held_out=0.0),
}


def records(n: int = 2_000, domain: Domain = DOMAIN) -> EncodedTable:
    """Rows in which b is within 33 a and 33 a + 32, c is whether a is odd, and d is 5; no a is 3."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    columns = {"a": a, "b": 33 * a + rng.integers(0, 33, n), "c": a % 2, "d": np.full(n, 5)}
    return EncodedTable(domain, tuple(columns[c].astype(np.uint8) for c in domain))


def fitted(kind: str, table: EncodedTable, **options: Any) -> LatentRows:
    one_way = {
        c: np.bincount(table.column(c), minlength=table.domain.size(c)).astype(float) for c in table.domain
    }
    training = replace(TRAININGS[kind], **options)
    return KINDS[kind].trained(table.domain, one_way, table, training, lambda step, done: None, seed=0)


@pytest.fixture(scope="module")
def models() -> dict[str, LatentRows]:
    return {kind: fitted(kind, records()) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
class TestRows:
    @pytest.mark.thorough
    def test_the_number_of_rows_is_the_one_asked_for_and_codes_are_the_records(
        self, models: dict[str, LatentRows], kind: str
    ) -> None:
        rng = np.random.default_rng(0)
        drawn = [models[kind].sample(n, rng) for n in (0, 1, 20_000)]

        assert [table.n_rows for table in drawn] == [0, 1, 20_000]
        assert set(drawn[2].column("a")) == {0, 1, 2}
        assert set(drawn[2].column("d")) == {5}

    @pytest.mark.thorough
    def test_a_generator_repeats_a_draw(self, models: dict[str, LatentRows], kind: str) -> None:
        one, two = (models[kind].sample(300, np.random.default_rng(3)) for _ in range(2))

        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))

    def test_marginals_are_those_of_drawn_rows(self, models: dict[str, LatentRows], kind: str) -> None:
        rows, total = models[kind].sample(50_000, np.random.default_rng(0)), 2_000

        found = models[kind].marginals([("c", "a")])[0]

        counts = np.zeros((2, 4))
        np.add.at(counts, (rows.column("c"), rows.column("a")), total / 50_000)
        assert found.sum() == pytest.approx(total)
        # 8,192 draws of the hidden numbers: six standard deviations of a share of a half are .033.
        assert np.abs(found - counts).max() < 0.04 * total

    def test_the_same_seed_gives_the_same_weights(self, kind: str) -> None:
        one, two = (fitted(kind, records(200), steps=3) for _ in range(2))

        assert all((one._weights[name] == two._weights[name]).all() for name in one._weights)


@pytest.mark.parametrize("kind", KINDS)
class TestConditions:
    def test_given_columns_stay(self, models: dict[str, LatentRows], kind: str) -> None:
        given = records(500).project(["c", "b"])

        made = models[kind].sample(500, np.random.default_rng(0), given)

        assert all((made.column(c) == given.column(c)).all() for c in ("b", "c"))
        assert (made.column("d") == 5).all()

    def test_another_number_of_codes_is_refused(self, models: dict[str, LatentRows], kind: str) -> None:
        given = EncodedTable(Domain(("a",), (5,)), (np.zeros(2, np.uint8),))

        with pytest.raises(SchemaError, match="the model's number of codes"):
            models[kind].sample(2, np.random.default_rng(0), given)

    def test_conditions_hold_as_among_rows_that_are_tried(
        self, models: dict[str, LatentRows], kind: str
    ) -> None:
        weights = {"c": np.array([0.2, 1.0]), "b": np.where(np.arange(100) < 60, 1.0, 0.0)}
        every = models[kind].sample(50_000, np.random.default_rng(1))
        chances = weights["c"][every.column("c")] * weights["b"][every.column("b")]

        found = models[kind].restricted(weights)
        rows = found.draw(4_000, np.random.default_rng(0))

        assert rows.n_rows == 4_000
        assert (rows.column("b") < 60).all()
        assert found.probability == pytest.approx(chances.mean(), abs=0.04)
        assert np.mean(rows.column("c")) == pytest.approx(
            np.average(every.column("c"), weights=chances), abs=0.06
        )

    def test_what_cannot_be_has_no_chance(self, models: dict[str, LatentRows], kind: str) -> None:
        assert models[kind].restricted({"a": np.array([0.0, 0.0, 0.0, 1.0])}).probability == 0


@pytest.mark.thorough
def test_columns_follow_given_ones(models: dict[str, LatentRows]) -> None:
    given = records(1_000).project(["a"])

    made = models["variational"].sample(1_000, np.random.default_rng(0), given)

    assert np.mean(made.column("c") == given.column("a") % 2) > 0.75
    # Half, and here a third, where nothing is learned.
    assert np.mean(made.column("b") // 33 == given.column("a")) > 0.5


@pytest.mark.parametrize("kind", KINDS)
class TestOddTables:
    def test_next_to_no_records_and_a_batch_beyond_them(self, kind: str) -> None:
        for n in [1, 2, 10]:
            made = fitted(kind, records(n), steps=3).sample(50, np.random.default_rng(0))

            assert made.n_rows == 50
            assert set(made.column("d")) == {5}

    def test_no_records(self, kind: str) -> None:
        assert fitted(kind, records(0), steps=3).sample(5, np.random.default_rng(0)).n_rows == 5

    @pytest.mark.parametrize("column", ["b", "c", "d"])
    def test_one_column(self, kind: str, column: str) -> None:
        model = fitted(kind, records(200).project([column]), steps=3)

        assert model.sample(30, np.random.default_rng(0)).n_rows == 30
        assert model.marginals([(column,)])[0].sum() == pytest.approx(200)

    def test_a_rate_that_breaks_the_training_is_said(
        self, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loop, "warmth", lambda done, step: 1e30)

        with pytest.raises(TrainingError, match="lower learning_rate"):
            fitted(kind, records(200), steps=60)


@pytest.mark.parametrize("kind", KINDS)
class TestFiles:
    def test_state_brings_back_the_same_samples(self, models: dict[str, LatentRows], kind: str) -> None:
        model = models[kind]
        facts, arrays = model.state()

        loaded = type(model).from_state(facts, arrays)

        one, two = (m.sample(500, np.random.default_rng(5)) for m in (model, loaded))
        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
        assert (loaded.domain, loaded.total) == (model.domain, 2_000.0)
        assert type(model).array_bytes(facts) == {n: a.nbytes for n, a in arrays.items()}

    def test_parts_that_do_not_fit_are_refused(self, models: dict[str, LatentRows], kind: str) -> None:
        for change in [
            {"facts": {"used": [1, 2]}},
            {"facts": {"used": [3, 99, 2, 13]}},
            {"facts": {"n_modes": [0, 3, 0, 0]}},
            {"facts": {"n_modes": [0, 200, 0, 0]}},
            {"facts": {"ordered": ["z"]}},
            {"facts": {"units": 33}},
            {"arrays": {"one_way": np.zeros(3)}},
            {"arrays": {"one_way": np.full(118, np.nan)}},
            {"arrays": {"reaches": np.zeros(4)}},
            {"arrays": {"centres": np.full(4, np.inf)}},
            {"arrays": {"weights/bias/0": np.full(32, np.nan, np.float32)}},
            {"arrays": {"weights/other": np.zeros(3, np.float32)}},
        ]:
            facts, arrays = models[kind].state()

            with pytest.raises(ReleaseFileError):
                type(models[kind]).from_state(
                    {**facts, **change.get("facts", {})}, {**arrays, **change.get("arrays", {})}
                )


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_has_from_no_mode_to_one_for_each_code_with_records(
    models: dict[str, LatentRows], kind: str
) -> None:
    facts, _ = models[kind].state()
    used = facts["used"][1]

    for n_modes in (0, used):
        found = type(models[kind]).array_bytes({**facts, "n_modes": [0, n_modes, 0, 0]})
        assert found["centres"] == found["reaches"] == 8 * n_modes
    for n_modes in (-1, used + 1):
        with pytest.raises(ReleaseFileError):
            type(models[kind]).array_bytes({**facts, "n_modes": [0, n_modes, 0, 0]})


def test_cost_grows_with_steps_and_ends_with_the_seconds() -> None:
    for kind in KINDS:
        short, long = (
            KINDS[kind].training_cost(DOMAIN, 1_000, replace(TRAININGS[kind], steps=n)) for n in (10, 10_000)
        )
        held = KINDS[kind].training_cost(DOMAIN, 1_000, replace(TRAININGS[kind], steps=10**9, seconds=5.0))

        assert 0 < short.seconds < long.seconds
        assert held.seconds == 5.0
        assert short.memory_mb > 0
