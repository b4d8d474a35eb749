"""Soft rows that are moved directly, and the simplices that they stay on: fits and files."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ReleaseFileError, ResourceError
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import model_from_state, model_state
from syntabula.models.relaxed_projection import RelaxedProjection, Simplices

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
    @pytest.mark.thorough
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

    @pytest.mark.thorough
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

    def test_senseless_options_are_refused_by_name(self) -> None:
        for options in [{"projection": "nearest"}, {"n_rows": 0}, {"learning_rate": -1}]:
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


torch = pytest.importorskip("torch")

SIZES = (7, 2, 4)


def columns(numbers: torch.Tensor) -> list[np.ndarray]:
    """Return the numbers of each column [codes, rows]."""
    return np.split(numbers.double().numpy(), np.cumsum(SIZES)[:-1])


def normal(scale: float, rows: int = 200, seed: int = 0) -> torch.Tensor:
    drawn = np.random.default_rng(seed).normal(0, scale, (sum(SIZES), rows))
    return torch.tensor(drawn, dtype=torch.float32)


def assert_nearest(numbers: torch.Tensor, found: torch.Tensor) -> None:
    """Check the conditions of the optimum: a common amount is taken off what stays above 0."""
    for given, nearest in zip(columns(numbers), columns(found), strict=True):
        assert np.allclose(nearest.sum(axis=0), 1, atol=1e-5)
        assert (nearest >= 0).all()
        taken = np.where(nearest > 0, given - nearest, np.nan)
        amount = np.nanmean(taken, axis=0)
        assert np.nanmax(np.abs(taken - amount)) < 1e-5
        assert ((given <= amount + 1e-5) | (nearest > 0)).all()


class TestNearest:
    def test_is_the_nearest_distribution_of_every_column(self) -> None:
        for scale in [0.01, 2.0, 10.0]:
            numbers = normal(scale)
            found = numbers.clone()

            Simplices(SIZES, 200, torch.device("cpu")).project(found)

            assert_nearest(numbers, found)

    def test_it_is_found_from_wherever_the_last_call_ended(self) -> None:
        """Far above, far below, and near: an amount that is left over never shows."""
        simplices = Simplices(SIZES, 200, torch.device("cpu"))

        for shift, seed in [(5.0, 1), (-5.0, 2), (-4.9, 3)]:
            numbers = normal(1.0, seed=seed) + shift
            found = numbers.clone()
            simplices.project(found)

            assert_nearest(numbers, found)

    def test_leaves_a_distribution_as_it_is(self) -> None:
        shares = torch.cat([torch.full((size, 1), 1 / size) for size in SIZES])
        found = shares.clone()

        Simplices(SIZES, 1, torch.device("cpu")).project(found)

        assert torch.allclose(found, shares)


class TestSoftmax:
    def test_is_in_proportion_to_exponentials(self) -> None:
        numbers = normal(3.0)

        found = Simplices(SIZES, 200, torch.device("cpu")).softmax(numbers)

        for given, shares in zip(columns(numbers), columns(found), strict=True):
            assert np.allclose(shares, np.exp(given) / np.exp(given).sum(axis=0), atol=1e-6)
