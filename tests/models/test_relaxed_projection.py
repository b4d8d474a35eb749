"""Soft rows that are moved directly: fits and files."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ReleaseFileError, ResourceError
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.relaxed_projection import RelaxedProjection
from syntabula.models.storage import model_from_state, model_state

pytest.importorskip("torch")

DOMAIN = Domain.from_sizes({"a": 4, "b": 3, "c": 5})
PAIRS = list(combinations("abc", 2))
SMALL = {"n_rows": 100, "iterations": 1000, "device": "cpu"}


def exact(cliques: list[tuple[str, ...]]) -> list[np.ndarray]:
    joint = np.random.default_rng(0).dirichlet(np.ones(60) / 2).reshape(4, 3, 5) * 10_000
    return [joint.sum(axis=tuple(i for i, c in enumerate("abc") if c not in q)) for q in cliques]


def measured(sigma: float) -> list[Measurement]:
    rng = np.random.default_rng(1)
    return [
        Measurement(q, m + rng.normal(0, sigma, m.shape) if sigma else m, sigma)
        for q, m in zip(PAIRS, exact(PAIRS), strict=True)
    ]


class TestFit:
    @pytest.mark.parametrize("projection", ["softmax", "sparsemax"])
    def test_noiseless_pairs_are_learned(self, projection: str) -> None:
        model = RelaxedProjection(
            projection=projection,
            tolerance=1e-6,
            learning_rate=0.05 if projection == "softmax" else 0.005,
            **SMALL,
        ).over(DOMAIN)

        model = model.fit(measured(0.0))

        for found, wanted in zip(model.marginals(PAIRS), exact(PAIRS), strict=True):
            assert np.abs(found - wanted).sum() / 20_000 < 0.02

    def test_a_second_fit_goes_on_from_the_first(self) -> None:
        first = RelaxedProjection(**SMALL | {"iterations": 30}).over(DOMAIN).fit(measured(0.0))

        again = first.fit(measured(0.0))

        (one,), (two,), (wanted,) = first.marginals(PAIRS[:1]), again.marginals(PAIRS[:1]), exact(PAIRS[:1])
        assert np.abs(two - wanted).sum() < np.abs(one - wanted).sum()

    def test_the_same_seed_gives_the_same_model(self) -> None:
        one, same, other = (
            RelaxedProjection(seed=s, **SMALL).over(DOMAIN).fit(measured(5.0)) for s in (0, 0, 1)
        )

        assert np.array_equal(one.rows.probabilities, same.rows.probabilities)
        assert not np.array_equal(one.rows.probabilities, other.rows.probabilities)


class TestLimits:
    def test_a_fit_beyond_the_memory_is_refused_before_it_starts(self) -> None:
        wide = Domain.from_sizes(dict.fromkeys("abcd", 3000))

        with pytest.raises(ResourceError, match="100 MB"):
            RelaxedProjection(max_memory_mb=100.0).over(wide).fit([Measurement(("a",), np.zeros(3000), 1.0)])

    @pytest.mark.parametrize("options", [{"projection": "nearest"}, {"n_rows": 0}, {"learning_rate": -1}])
    def test_senseless_options_are_refused_by_name(self, options: dict[str, object]) -> None:
        with pytest.raises(ArgumentError, match=next(iter(options))):
            RelaxedProjection(**options)  # type: ignore[arg-type]


class TestState:
    def test_a_model_comes_back_and_can_be_fitted_on(self) -> None:
        model = RelaxedProjection(**SMALL).over(DOMAIN).fit(measured(5.0)[:2])

        back = model_from_state(*model_state(model))

        assert np.array_equal(back.marginals(PAIRS)[0], model.marginals(PAIRS)[0])
        one, other = back.fit(measured(5.0)), model.fit(measured(5.0))
        assert np.array_equal(one.marginals(PAIRS)[0], other.marginals(PAIRS)[0])

    def test_damaged_arrays_are_refused(self) -> None:
        facts, arrays = model_state(RelaxedProjection(**SMALL).over(DOMAIN).fit(measured(5.0)))

        for name in arrays:
            with pytest.raises(ReleaseFileError):
                model_from_state(facts, arrays | {name: arrays[name] * np.nan})
            with pytest.raises(ReleaseFileError):
                model_from_state(facts, arrays | {name: arrays[name][1:]})
