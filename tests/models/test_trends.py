"""Tests of what the last fit is told of how columns rise together."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models import mirror_descent
from syntabula.models.pgm import PGM
from syntabula.models.targets import TREND_WEIGHT, Target, Trends

SIZE, RECORDS, SIGMA = 12, 10_000, 29.0


def rising() -> FloatArray:
    """Return counts of two columns that nearly tell each other."""
    places = np.arange(SIZE)
    exact = np.exp(-np.square(places[:, None] - places) / 0.5)
    return np.asarray(exact * (RECORDS / exact.sum()))


def target_of(counts: FloatArray, *, noise: bool = True) -> Target:
    cells = counts.size if noise else 0
    return Target(("a", "b"), counts, np.full(counts.shape, SIGMA**-2.0), cells / 2)


def domain_of(ordered: list[str], *, apart: int = 0) -> Domain:
    return Domain.from_sizes({"a": SIZE, "b": SIZE}, ordered, {"a": apart} if apart else {})


class TestTrends:
    def test_the_loss_is_that_of_the_product_of_ranks(self) -> None:
        exact = rising()
        trends = Trends.of(domain_of(["a", "b"]), [target_of(exact)])
        assert trends is not None
        difference = np.random.default_rng(0).normal(0, SIGMA, exact.shape)
        ranks = [np.cumsum(s) - s / 2 - s.sum() / 2 for s in (exact.sum(axis=1), exact.sum(axis=0))]
        products = np.outer(*ranks)

        loss, gradient = trends(difference.ravel())

        off = (products * difference).sum() / (SIGMA * np.linalg.norm(products))
        assert loss == pytest.approx(TREND_WEIGHT / 2 * off**2)
        again, _ = trends(difference.ravel() + 1e-6 * gradient)
        assert again - loss == pytest.approx(1e-6 * np.square(gradient).sum(), rel=1e-3)

    def test_codes_that_stand_apart_have_none(self) -> None:
        trends = Trends.of(domain_of(["a", "b"], apart=1), [target_of(rising())])

        assert trends is not None
        scores = trends.scores.reshape(SIZE, SIZE)
        assert not scores[-1].any()
        assert scores[:-1].all()

    @pytest.mark.parametrize(
        ("ordered", "counts", "noise"),
        [
            (["a"], rising(), True),
            (["a", "b"], np.full((SIZE, SIZE), RECORDS / SIZE**2), True),
            (["a", "b"], rising(), False),
        ],
    )
    def test_without_order_dependence_or_noise_there_are_none(
        self, ordered: list[str], counts: FloatArray, noise: bool
    ) -> None:
        assert Trends.of(domain_of(ordered), [target_of(counts, noise=noise)]) is None


def test_the_last_fit_keeps_a_strong_pair_as_far_as_its_trend_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact, domain = rising(), domain_of(["a", "b"])
    ranks = np.arange(SIZE) - (SIZE - 1) / 2
    products = np.outer(ranks, ranks)
    whole = float((exact * products).sum())
    kept: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(3):
        noise = np.random.default_rng(seed)
        measured = [
            Measurement(("a",), exact.sum(axis=1) + noise.normal(0, 12.0, SIZE), 12.0),
            Measurement(("b",), exact.sum(axis=0) + noise.normal(0, 12.0, SIZE), 12.0),
            Measurement(("a", "b"), exact + noise.normal(0, SIGMA, exact.shape), SIGMA),
        ]
        fitted = PGM().over(domain).fit(measured)
        for held in (True, False):
            with monkeypatch.context() as without:
                if not held:
                    without.setattr(mirror_descent.Trends, "of", lambda *_: None)
                (found,) = fitted.finished().marginals([("a", "b")])
            kept[held].append(float((found * products).sum()) / whole)

    # They are .95 to .98 and .93 to .94.
    assert min(kept[True]) > 0.945
    assert max(kept[False]) < 0.945
