"""White-box audits of whole systems on their worst pair of neighbours, with a planted bug as control.

The adversary of reliability section C.4 reads everything that the system released and knows its code: both
worlds are replayed on the same noisy answers, which gives the likelihood of these answers in each world, choices
included. It says "the target is in" where they are likelier with it. From how often it errs follows a lower
bound on mu of Gaussian privacy, and from that on epsilon at the stated delta.

Worst case: thirty records that are all alike, and a target that differs in every column.

A bound errs upwards with probability at most 1e-3 for another seed. A false alarm needs far more, as the claim
lies above what the noise allows: at epsilon 4 all of the budget in Gaussian noise has mu 0.864, where the claim
stands for 0.925. With 300 runs or more in each world a bound above that has probability below 7e-8 (summed over
both binomial counts of errors): below 3e-7 for the three audits. At half of the noise a bound of 300 runs stays below
the claim with probability 0.7 %, so that what is not found by the audit of one system is found by that of another.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import audit_bounds as bounds
import numpy as np
import pandas as pd
import pytest
from half_noise import HalfNoise
from recording import Call, RecordingNoise, ReplayingNoise

import syntabula as st
from syntabula.models.pgm import PGM
from syntabula.privacy import ledger, pricing
from syntabula.privacy.conversion import epsilon_from_mu
from syntabula.privacy.noise import SeededNoise
from syntabula.select.adaptive import Adaptive
from syntabula.table.raw import RawTable
from syntabula.table.read import read

EPSILON, DELTA = 4.0, 1e-5
BUDGET = st.Budget(EPSILON, DELTA)
CONFIDENCE = 0.999
RUNS = 300
# AIM in fewer rounds than by default, to save time: the same mechanisms at the same total. What is fitted to the
# answers of the other comes after all of them.
SYSTEMS = {
    "independent": (st.Independent, {"model": PGM(iterations=1)}),
    "aim": (st.AIM, {"selector": Adaptive(rounds_per_column=4)}),
}
SCHEMA = st.Schema({name: st.Categorical(("low", "high")) for name in "abc"})


def world(with_target: bool) -> RawTable:
    rows = ["low"] * 30 + ["high"] * with_target
    return read(pd.DataFrame(dict.fromkeys(SCHEMA, rows)))


WITH, WITHOUT = world(True), world(False)
KEYED = st.Schema({"who": st.Identifier(), **SCHEMA.columns}, unit="who", rows_per_unit=3)


def keyed_world(with_target: bool) -> RawTable:
    """Return ten persons with three rows each that are all alike, and a target with more rows than are used."""
    who = [f"p{i // 3}" for i in range(30)] + ["target"] * 5 * with_target
    rows = ["low"] * 30 + ["high"] * 5 * with_target
    return read(pd.DataFrame({"who": who, **dict.fromkeys(SCHEMA, rows)}))


KEYED_WITH, KEYED_WITHOUT = keyed_world(True), keyed_world(False)


@pytest.fixture(autouse=True)
def costs_are_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs spend the same, and half of their time would go into what their statements say of it."""
    monkeypatch.setattr(ledger, "epsilon_from_mu", cache(ledger.epsilon_from_mu))


def log_likelihood(calls: list[Call]) -> float:
    """Log-probability of all answers given the exact statistics, up to what both worlds share."""
    total = 0.0
    for call in calls:
        if call.kind == "discrete_gaussian":
            total -= float(np.square(call.answer - call.exact).sum()) / (2 * call.scale**2)
        else:
            assert call.kind == "noisy_max"
            scores = call.exact / call.scale
            total += float(scores[call.answer] - scores.max() - np.log(np.exp(scores - scores.max()).sum()))
    return total


def evidence(method: str, *, target_is_in: bool, seed: int, halved: bool, keyed: bool = False) -> float:
    """Run once, replay the answers in the other world, and return the log-likelihood ratio for the target."""
    source = HalfNoise(SeededNoise(seed)) if halved else SeededNoise(seed)
    worlds = (KEYED_WITH, KEYED_WITHOUT) if keyed else (WITH, WITHOUT)
    schema = KEYED if keyed else SCHEMA
    here, there = worlds if target_is_in else worlds[::-1]
    first = RecordingNoise(source)
    kind, options = SYSTEMS[method]
    kind(budget=BUDGET, noise=first, **options).fit(here, schema)
    second = ReplayingNoise(source, script=first.calls)
    kind(budget=BUDGET, noise=second, **options).fit(there, schema)
    difference = log_likelihood(first.calls) - log_likelihood(second.calls)
    return difference if target_is_in else -difference


def epsilon_bound(method: str, *, halved: bool = False, keyed: bool = False) -> float:
    """Lower bound on epsilon at the stated delta from `RUNS` runs in each world."""
    found = {
        inside: np.array(
            [
                evidence(method, target_is_in=inside, seed=2 * i + inside, halved=halved, keyed=keyed)
                for i in range(RUNS)
            ]
        )
        for inside in (True, False)
    }
    misses, false_alarms = int((found[True] <= 0).sum()), int((found[False] > 0).sum())
    return epsilon_from_mu(bounds.mu_of_rates(false_alarms, misses, RUNS, (1 - CONFIDENCE) / 2), DELTA)


@pytest.mark.thorough
class TestAudits:
    @pytest.mark.parametrize("method", SYSTEMS)
    def test_a_system_is_as_private_as_claimed_and_the_audit_is_not_blind(self, method: str) -> None:
        # What so few runs cost leaves a quarter of the claim; an adversary that learns nothing would show 0.
        assert 0.25 * EPSILON <= epsilon_bound(method) <= EPSILON

    def test_half_of_the_noise_is_flagged(self) -> None:
        # AIM draws both of what the adversary reads: choices, and noise on counts.
        assert epsilon_bound("aim", halved=True) > EPSILON


@pytest.mark.thorough
class TestPersons:
    def test_a_person_with_many_rows_is_as_protected_as_claimed_and_the_audit_is_not_blind(self) -> None:
        assert 0.25 * EPSILON <= epsilon_bound("independent", keyed=True) <= EPSILON

    def test_rows_counted_in_the_place_of_persons_are_flagged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = pricing._price
        monkeypatch.setattr(
            pricing,
            "_price",
            lambda ledger, share, **options: replace(right(ledger, share, **options), rows=1),
        )

        assert epsilon_bound("independent", keyed=True) > EPSILON


def test_the_likelihood_of_a_choice_is_that_of_the_exponential_mechanism() -> None:
    scores = np.array([1.0, 3.0, 2.0])

    total = sum(math.exp(log_likelihood([Call("noisy_max", scores, 0.7, i)])) for i in range(3))
    ratio = log_likelihood([Call("noisy_max", scores, 0.7, 1)]) - log_likelihood(
        [Call("noisy_max", scores, 0.7, 2)]
    )

    assert total == pytest.approx(1.0)
    assert ratio == pytest.approx(1.0 / 0.7)
