"""An audit of whole private searches: what is claimed for all trials together holds, and planted bugs are found.

The search is the real one, down to ledger and noise; its trial is a small one, the noisy distance that scores it. The
adversary reads what a search tells, knows the code and the records but for one, and sees how often the right or bugged
code makes how many trials. So the likelihood of what was told is known in both worlds: with a score of density f and
upper tail S, the best of k trials has density k f S^(k - 1). Its logged ratio L between the worlds bounds privacy from
below, as delta(epsilon) >= (1 - 1/e) P[L > epsilon + 1].

A false alarm needs so many searches with a ratio above the claim as have probability below 1e-7 if the claim holds. That
scores follow the likelihood is tested too, with a false alarm below 1e-7 (Massart 1990).
"""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import syntabula as st
from syntabula.errors import PrivacyWarning
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.privacy.doors.scores import STEPS_PER_RECORD
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.tuning import private

EPSILON, DELTA, TRIALS = 12.0, 1e-5, 8
ERROR = 1e-7
OF_SCORE = Fraction(9, 10)
SCHEMA = st.Schema({"a": st.Categorical(("x", "y"))})
DOMAIN = Domain(("a",), (2,), frozenset())
ESTIMATE = [np.array([10.0, 10.0])]
WITHOUT, WITH = 20, 21
"""Distance of the estimate from the records without the target, and with it."""


class SeenNoise(SeededNoise):
    """Noise that says how wide it was last."""

    sigma = 0.0

    def discrete_gaussian(self, counts: Any, sigma: float) -> Any:
        self.sigma = sigma
        return super().discrete_gaussian(counts, sigma)


class Trials:
    """The cheap trial, and what the adversary knows of the code: widths of noise, and numbers of trials."""

    def __init__(self) -> None:
        self.engine = MemoryEngine(EncodedTable(DOMAIN, (np.array([0] * 21 + [1] * 20),)))
        self.sigma, self.made = 0.0, 0

    def fit(self, trial: Any, table: Any, schema: Any, *, strict: bool, judging: Any) -> Any:
        """Let the search score what it knows of the records, the estimate, for the whole budget of the trial."""
        ledger, noise = Ledger(trial.budget), SeenNoise(trial.seed)
        judging.judge(None, None, None, ledger, noise)
        self.sigma, self.made = noise.sigma / STEPS_PER_RECORD, self.made + 1
        warnings.warn(PrivacyWarning("a value was clipped"), stacklevel=2)
        return SimpleNamespace()

    def distance(
        self, scored: Any, table: Any, codec: Any, model: Any, ledger: Ledger, noise: Any, rng: Any
    ) -> float:
        curator = Curator(self.engine, ledger, noise)
        return curator.measure_distance([("a",)], ESTIMATE, share=ledger.remaining_share, step="score")


class Audit:
    """Searches with the target, and the ratio of their likelihoods with and without it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, searches: int) -> None:
        trials = Trials()
        # The budget of a trial is the same in all searches, and slow to find.
        monkeypatch.setattr(private.Budget, "best_of", staticmethod(functools.cache(private.Budget.best_of)))
        monkeypatch.setattr(private, "fit", trials.fit)
        if not hasattr(private._Scored._distance, "exact"):
            monkeypatch.setattr(private._Scored, "_distance", lambda *given: trials.distance(*given))
        numbers, told, best = [], [], []
        for seed in range(searches):
            trials.made = 0
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                found = private.tune_privately(
                    st.MST(epsilon=EPSILON, delta=DELTA, seed=seed), None, SCHEMA, space={"bins": [2, 3]},
                    trials=TRIALS, score_share=OF_SCORE,
                )  # fmt: skip
            numbers.append(trials.made)
            told.append(sum("clipped" in str(one.message) for one in heard))
            best.append(found.distance)
        self.sigma, self.told, self.best = trials.sigma, np.array(told), np.array(best)
        self.laws = {
            t: Counter(n for n, said in zip(numbers, told, strict=True) if said == t) for t in set(told)
        }

    def tail(self, values: Any, mean: float, law: Counter[int]) -> Any:
        """Return the chance that the best score lies above each value."""
        above = stats.norm.sf(values, mean, self.sigma)
        return sum(n * above**k for k, n in law.items()) / law.total()

    def epsilon(self) -> float:
        """Return a lower bound on epsilon at the claimed delta, wrong with probability below `ERROR`."""
        if self.sigma == 0:
            return math.inf
        ratios = np.concatenate([self._ratios(said) for said in self.laws])
        most = DELTA / (1 - math.exp(-1))
        needed = int(stats.binom.isf(ERROR, self.best.size, most)) + 1
        return float(np.sort(ratios)[-needed]) - 1

    def _ratios(self, said: int) -> Any:
        values, law = self.best[self.told == said], self.laws[said]
        logs = []
        for mean in (WITH, WITHOUT):
            above = stats.norm.logsf(values, mean, self.sigma)
            parts = [math.log(n * k) + (k - 1) * above for k, n in law.items()]
            logs.append(stats.norm.logpdf(values, mean, self.sigma) + np.logaddexp.reduce(parts, axis=0))
        return logs[0] - logs[1]


@pytest.mark.thorough
def test_the_claim_holds_and_something_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = Audit(monkeypatch, searches := 400)

    found = audit.epsilon()
    print(f"empirical epsilon {found:.2f} of {EPSILON:g} claimed, from {searches} searches")
    assert 1.0 < found <= EPSILON
    assert [*audit.laws] == [1]
    empirical = np.arange(1, searches + 1) / searches
    gap = np.abs(1 - audit.tail(np.sort(audit.best), WITH, audit.laws[1]) - empirical).max()
    assert gap < math.sqrt(math.log(2 / ERROR) / (2 * searches)) + 1 / searches


@pytest.mark.thorough
def test_a_number_of_trials_that_is_told_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private, "_told_once", contextlib.nullcontext)

    assert Audit(monkeypatch, 500).epsilon() > EPSILON


@pytest.mark.thorough
def test_a_number_of_trials_that_is_fixed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private, "number_of_trials", lambda trials, seed: trials)

    assert Audit(monkeypatch, 500).epsilon() > EPSILON


def test_a_score_without_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def exact(*given: Any) -> float:
        return float(WITH)

    exact.exact = True  # type: ignore[attr-defined]
    monkeypatch.setattr(private._Scored, "_distance", exact)

    assert Audit(monkeypatch, 20).epsilon() > EPSILON
