"""MeanEmbedding: that rows take on what is released, and what a file holds."""

from __future__ import annotations

import math
import sys

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, ReleaseFileError, TrainingError
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.record_models import mean_embedding
from syntabula.record_models.mean_embedding import MeanEmbedding

pytest.importorskip("torch")

DOMAIN = Domain(("a", "b"), (4, 30), frozenset({"b"}))
SMALL = MeanEmbedding(features=300, rows=64, units=16, steps=150, learning_rate=1e-2)


def codes(n: int = 4_000) -> list[np.ndarray]:
    """Rows in which b is near 7 a; no a is 3."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    return [a, 7 * a + rng.integers(0, 7, n)]


@pytest.fixture(scope="module")
def model() -> MeanEmbedding:
    columns = codes()
    counts = {
        c: np.bincount(x, minlength=DOMAIN.size(c)).astype(float)
        for c, x in zip(DOMAIN, columns, strict=True)
    }
    features = SMALL.drawn_features(DOMAIN, counts, 0)
    sums = []
    for clique, angles in features.blocks():
        angle = sum(a[columns[DOMAIN.index(c)]] for c, a in zip(clique, angles, strict=True))
        sums.append(np.stack([np.cos(angle).sum(0), np.sin(angle).sum(0)], axis=-1))
    one_way = [Measurement((c,), values, 1.0) for c, values in counts.items()]
    return SMALL.trained(one_way, features, np.concatenate(sums, axis=None), sigma=1.0, seed=0)


class TestTraining:
    @pytest.mark.thorough
    def test_rows_take_on_the_dependence_that_is_in_the_features_alone(self, model: MeanEmbedding) -> None:
        made = model.sample(5_000, np.random.default_rng(0))

        assert np.mean(made.column("b").astype(int) // 7 == made.column("a")) > 0.7

    @pytest.mark.thorough
    def test_columns_have_the_measured_marginals(self, model: MeanEmbedding) -> None:
        a, b = codes()

        found = model.marginals([("a",), ("b",)])

        np.testing.assert_allclose(found[0], np.bincount(a, minlength=4), atol=10)
        np.testing.assert_allclose(found[1], np.bincount(b, minlength=30), atol=20)

    def test_conditions_hold(self, model: MeanEmbedding) -> None:
        found = model.restricted({"a": np.array([0.0, 1.0, 0.0, 0.0])})

        assert found.probability == pytest.approx(1 / 3, abs=0.03)
        assert (found.draw(100, np.random.default_rng(0)).column("a") == 1).all()


class TestFiles:
    def test_state_brings_back_the_same_samples_without_torch(
        self, model: MeanEmbedding, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        facts, arrays = model.state()
        monkeypatch.setitem(sys.modules, "torch", None)

        loaded = MeanEmbedding.from_state(facts, arrays)

        one, two = (m.sample(500, np.random.default_rng(5)) for m in (model, loaded))
        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
        assert MeanEmbedding.array_bytes(facts) == {n: a.nbytes for n, a in arrays.items()}

    def test_parts_that_do_not_fit_are_refused(self, model: MeanEmbedding) -> None:
        for change in [
            {"facts": {"total": -1}},
            {"facts": {"rows": 65}},
            {"facts": {"label": 3}},
            {"facts": {"sizes": [4, 31]}},
            {"arrays": {"rows": np.full((64, 34), np.nan, np.float32)}},
            {"arrays": {"other": np.zeros(3, np.float32)}},
        ]:
            facts, arrays = model.state()

            with pytest.raises(ReleaseFileError):
                MeanEmbedding.from_state(
                    {**facts, **change.get("facts", {})}, {**arrays, **change.get("arrays", {})}
                )


@pytest.mark.thorough
def test_cost_grows_with_steps_and_rows() -> None:
    little, long, wide = (
        MeanEmbedding(units=8, features=40, **options).training_cost(DOMAIN)
        for options in ({"rows": 8, "steps": 10}, {"rows": 8, "steps": 10_000}, {"rows": 4096, "steps": 10})
    )

    assert 0 < little.seconds < long.seconds
    assert little.memory_mb < wide.memory_mb


def test_a_label_that_is_no_column_is_refused_before_anything_is_paid() -> None:
    with pytest.raises(ArgumentError, match="label names column 'c', which is not learned"):
        MeanEmbedding(label="c").training_cost(DOMAIN)


def test_rows_that_are_no_distributions_any_more_are_a_training_that_diverged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.choice([*"abc"], (200, 3)), columns=[*"xyz"])
    method = st.DPMERF(epsilon=math.inf, seed=0).with_options(features=60, rows=32, units=8, steps=2)
    monkeypatch.setattr(mean_embedding, "_raked", lambda domain, table, counts: np.full_like(table, np.nan))

    with pytest.raises(
        TrainingError, match=r"no distributions any more; lower learning_rate, which is 0\.003"
    ):
        method.fit(frame)
