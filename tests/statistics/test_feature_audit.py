"""An audit of the sum of features with a canary record: what is claimed holds, and planted bugs are found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from audit_bounds import mu_of_scores
from half_noise import HalfNoise

from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.fourier import draw_features
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.training import features as module
from syntabula.privacy.training.features import FeatureCurator

DOMAIN = Domain(("a", "b"), (3, 8), frozenset({"b"}))
BUDGET = Budget(epsilon=10.0, delta=1e-5)
RUNS = 700
# Each of the two rates that a bound is made of errs with half of this: the audit alarms falsely below one in a million.
CONFIDENCE = 1 - 5e-7
FEATURES = draw_features(
    DOMAIN, {c: np.ones(DOMAIN.size(c)) for c in DOMAIN}, most=12, columns=2, rng=np.random.default_rng(0)
)


def records(*, canary: bool) -> EncodedTable:
    a, b = [0] * 20 + [2] * canary, [1] * 20 + [7] * canary
    return EncodedTable(DOMAIN, (np.array(a), np.array(b)))


def bound() -> float:
    """Return what the runs show of mu, by how far sums lie in the direction of the canary."""
    direction = np.concatenate(
        [
            np.stack([np.cos(angle), np.sin(angle)], axis=-1)
            for clique, angles in FEATURES.blocks()
            for angle in [sum(a[{"a": 2, "b": 7}[c]] for c, a in zip(clique, angles, strict=True))]
        ],
        axis=None,
    )
    scores = {}
    for canary in (True, False):
        engine = MemoryEngine(records(canary=canary))
        noise = SeededNoise(int(canary))
        sums = [
            FeatureCurator(Curator(engine, Ledger(BUDGET), noise)).sum(FEATURES, share=1, step="s").values
            for _ in range(RUNS)
        ]
        scores[canary] = np.array(sums) @ direction
    return mu_of_scores(scores[True], scores[False], CONFIDENCE)


CLAIMED = math.sqrt(BUDGET.total or 0)


@pytest.mark.thorough
def test_the_claim_holds_and_something_is_shown() -> None:
    assert CLAIMED / 2 < bound() <= CLAIMED


@pytest.mark.thorough
def test_halved_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = module.noisy_counts
    monkeypatch.setattr(
        module, "noisy_counts", lambda token, noise, counts: right(token, HalfNoise(noise), counts)
    )

    assert bound() > CLAIMED


@pytest.mark.thorough
def test_features_that_are_not_bounded_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Their number is forgotten, so a record's vector is as long as its square root.
    right = module._steps
    monkeypatch.setattr(module, "_steps", lambda angles, codes, count: right(angles, codes, 1))

    assert bound() > CLAIMED
