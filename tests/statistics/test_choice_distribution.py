"""Choices among many by our own sampler, against exact probabilities and against OpenDP's.

All draws are fresh in each run. Some 30 p-values are compared with 1e-9, so a run fails by chance with probability
below 1e-7; the power of `test_fail_at_another_scale` fails by chance less often.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from syntabula.privacy import exact_samplers

pytestmark = pytest.mark.fresh_noise

LEAST_P = 1e-9
FULL = np.finfo(np.float64).max

FEW = {
    "2": (np.array([0.0, 1.0]), 1.0),
    "2 far": (np.array([0.0, 6.0]), 1.0),
    "2 whose difference is beyond float64": (np.array([-FULL, FULL]), FULL),
    "2 of the least scale": (np.array([0.0, 5e-324]), 5e-324),
    "10": (np.linspace(-3.0, 3.0, 10)[::-1].copy(), 1.7),
    "10 with ties": (np.array([1.0, 2.0, 2.0, 2.0, 0.0, 0.0, 1.0, 2.0, 1.0, 0.0]), 0.8),
    "10 in steps of the table": (np.arange(10) / 64, 1.0),
    "around -1e6": (-1e6 + np.array([0.0, 1.0, 2.0, 3.0]), 1.0),
}
MANY = {
    "all tied": (np.full(1200, 3.25), 0.1),
    "waves": (np.sin(np.arange(1200.0)), 2.0),
    "one above": (np.append(np.zeros(1200), 8.0), 1.0),
}


@pytest.fixture(params=[32, 2])
def unit_bits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bits of the units: with fewer the digits behind them decide of one candidate in some, not in 10^9."""
    monkeypatch.setattr(exact_samplers, "_UNIT_BITS", request.param)
    return int(request.param)


def frequencies(scores: np.ndarray, scale: float, n: int) -> np.ndarray:
    return np.bincount(
        [exact_samplers.choose_among_many(scores, scale) for _ in range(n)], minlength=scores.size
    )


def probabilities(scores: np.ndarray, scale: float) -> np.ndarray:
    weights = np.exp(scores / scale - scores.max() / scale)
    return weights / weights.sum()


class TestFew:
    @pytest.mark.thorough
    @pytest.mark.parametrize("name", FEW)
    def test_follow_the_exponential_mechanism(self, name: str, unit_bits: int) -> None:
        scores, scale = FEW[name]

        observed = frequencies(scores, scale, 8_000)

        assert stats.chisquare(observed, probabilities(scores, scale) * 8_000).pvalue > LEAST_P

    @pytest.mark.thorough
    def test_fail_at_another_scale_and_for_permute_and_flip(self, unit_bits: int) -> None:
        # Two candidates one scale apart: the better has 0.7311, with a deviation of 0.004 over 12 000 draws, and what
        # it is compared with is 12 of those away.
        better = int(frequencies(np.array([0.0, 1.0]), 1.0, 12_000)[1])

        for wrong in (1 - np.exp(-1) / 2, 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(-0.5)), 0.78, 0.68):
            assert stats.binomtest(better, 12_000, wrong).pvalue < LEAST_P

    def test_take_digits_of_the_point_where_units_are_wide(
        self, unit_bits: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        drawn, draw = [], exact_samplers.secrets.randbits
        monkeypatch.setattr(exact_samplers.secrets, "randbits", lambda bits: drawn.append(bits) or draw(bits))

        frequencies(np.array([0.0, -0.7, -1.5]), 1.0, 400)

        # With 4 units a trial in five hits a unit that holds a weight; with 2^32, one of 400 trials does in less than
        # one run of a million.
        assert len(drawn) == 0 if unit_bits == 32 else len(drawn) > 20


class TestMany:
    @pytest.mark.thorough
    @pytest.mark.parametrize("name", MANY)
    def test_follow_the_exponential_mechanism(self, name: str) -> None:
        scores, scale = MANY[name]
        expected = probabilities(scores, scale) * 24_000

        observed = frequencies(scores, scale, 24_000)

        assert expected.min() > 4
        assert stats.chisquare(observed, expected).pvalue > LEAST_P

    @pytest.mark.thorough
    def test_are_taken_as_opendp_takes_them(self) -> None:
        scores, scale, n = np.tile(np.arange(30.0), 40), 4.0, 4000
        others = [
            exact_samplers._invoke(exact_samplers._noisy_max_measurement(scale), scores) for _ in range(n)
        ]

        ours = frequencies(scores, scale, n).reshape(40, 30).sum(axis=0)

        theirs = np.bincount(others, minlength=scores.size).reshape(40, 30).sum(axis=0)
        seen = ours + theirs > 20
        assert stats.chi2_contingency([ours[seen], theirs[seen]]).pvalue > LEAST_P
