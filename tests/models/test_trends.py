"""Tests of what the last fit is told of how columns rise together."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.marginals.trend import Trend, scores_of
from syntabula.models import mirror_descent
from syntabula.models.held_trends import TREND_WEIGHT, Trends
from syntabula.models.pgm import PGM
from syntabula.models.recoded import Supported
from syntabula.models.targets import Target

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
                    without.setattr(mirror_descent.Trends, "of", lambda *_, **__: None)
                (found,) = fitted.finished().marginals([("a", "b")])
            kept[held].append(float((found * products).sum()) / whole)

    # They are .95 to .98 and .93 to .94.
    assert min(kept[True]) > 0.945
    assert max(kept[False]) < 0.945


class TestScores:
    def test_they_rise_to_a_half_and_codes_apart_have_none(self) -> None:
        scores = scores_of(np.array([5.0, 1.0, 0.0, 3.0, 1.0, 7.0]), 5)

        assert (np.diff(scores[:5]) >= 0).all()
        assert np.abs(scores).max() == pytest.approx(0.5)
        assert scores[5] == 0

    def test_a_code_of_few_records_leaves_the_others_large(self) -> None:
        scores = scores_of(np.array([*[1000.0] * 10, 1.0]), 11)

        assert scores[9] > 0.3

    @pytest.mark.filterwarnings("error")
    def test_a_column_of_one_code_has_none(self) -> None:
        assert not scores_of(np.array([9.0, 4.0]), 1).any()

    def test_a_new_code_has_the_mean_of_its_old_ones(self) -> None:
        domain = Domain.from_sizes({"a": 3, "b": 2}, ["a", "b"])
        recoding = Recoding(domain, {"a": np.array([0, 1, 1])}, {"a": np.array([1.0, 3.0, 1.0])})
        trend = Trend(("a", "b"), (np.array([-0.5, 0.1, 0.5]), np.array([-0.5, 0.5])), 3.0, 1.0)

        first, second = trend.merged(recoding).scores

        assert first == pytest.approx([-0.5, 0.2])
        assert second is trend.scores[1]


@pytest.mark.parametrize("turned", [False, True])
def test_a_fit_is_held_to_the_measured_trend_of_a_pair_that_was_not_counted(turned: bool) -> None:
    exact, domain = rising(), domain_of(["a", "b"])
    scores = tuple(scores_of(exact.sum(axis=axis), SIZE) for axis in (1, 0))
    whole = float(scores[0] @ exact @ scores[1])
    first, second = scores[::-1] if turned else scores
    trend = Trend(("b", "a") if turned else ("a", "b"), (first, second), whole, 5.0)
    measured = [Measurement(("a",), exact.sum(axis=1), 10.0), Measurement(("b",), exact.sum(axis=0), 10.0)]

    fitted = Supported(PGM()).over(domain).fit(measured).with_trends([trend]).fit(measured)

    for model in (fitted, fitted.finished()):
        (found,) = model.marginals([("a", "b")])
        assert float(scores[0] @ found @ scores[1]) == pytest.approx(whole, rel=0.02)
        assert found.sum(axis=1) == pytest.approx(exact.sum(axis=1), abs=40)


def test_a_tilt_brings_a_pair_to_its_trend() -> None:
    scores = scores_of(np.ones(SIZE), SIZE)
    believed = np.full((SIZE, SIZE), RECORDS / SIZE**2)
    trend = Trend(("a", "b"), (scores, scores), 600.0, 1.0)

    turned = believed * np.exp(trend.tilt(("a", "b"), believed))
    turned *= RECORDS / turned.sum()

    assert scores @ turned @ scores == pytest.approx(600.0, abs=0.1)
    # One that noise put beyond any table is gone towards as far as the limit allows.
    beyond = Trend(("a", "b"), (scores, scores), 2.0 * RECORDS, 1.0).tilt(("a", "b"), believed)
    assert np.isfinite(beyond).all()
    assert beyond.max() <= 16


def test_a_fit_of_cells_alone_is_finished_as_it_is() -> None:
    scores = scores_of(np.ones(SIZE), SIZE)
    known = [Measurement((c,), np.full(SIZE, RECORDS / SIZE), 2.0) for c in "ab"]
    trend = Trend(("a", "b"), (scores, scores), 300.0, 20.0)
    fitted = PGM(stop_at_noise=False).over(domain_of(["a", "b"])).with_trends([trend]).fit(known)

    (before,), (after,) = (model.marginals([("a", "b")]) for model in (fitted, fitted.finished()))

    assert np.array_equal(before, after)


def test_trends_take_few_steps_beside_marginals_that_are_known_far_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = "abcdef"
    domain = Domain.from_sizes(dict.fromkeys(columns, SIZE), columns)
    even, scores = np.full(SIZE, RECORDS / SIZE), scores_of(np.ones(SIZE), SIZE)
    known = [Measurement((c,), even, 2.0) for c in columns]
    model = PGM().over(domain).fit(known)
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("e", "f")]
    trends = [Trend(pair, (scores, scores), 300.0, 20.0) for pair in pairs]
    asked: list[int] = []
    once = mirror_descent._Objective.__call__

    def counted(self: mirror_descent._Objective, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        asked.append(theta.size)
        return once(self, theta)

    monkeypatch.setattr(mirror_descent._Objective, "__call__", counted)

    fitted = model.with_trends(trends).fit(known)

    for pair in pairs:
        (table,) = fitted.marginals([pair])
        assert scores @ table @ scores == pytest.approx(300.0, abs=70)
    assert len(asked) <= 40
