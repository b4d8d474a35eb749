"""White-box audits of training on records, with a canary, and with each planted bug.

The canary's gradient is a hundred times the clip, and all other records' are zero: nothing but noise hides it. The
adversary adds up the evidence of all noisy gradients (its logarithm, with sampling). From how often it errs follows a
lower bound on mu of Gaussian privacy, and from that on epsilon. It may not exceed the claim and must reach a stated
part of it. Runs are seeded and so fixed; another seed would exceed a true claim with probability at most 1e-3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import audit_bounds as bounds
import numpy as np
import pytest

from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.privacy.budget import Budget
from syntabula.privacy.conversion import epsilon_from_mu
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import Event, TrainingEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.training import records as door
from syntabula.privacy.training.per_record import clipped_sum
from syntabula.privacy.training.sampled import training_mu

torch = pytest.importorskip("torch", reason="the neural extra is not installed")

CONFIDENCE = 0.999
DELTA, PART = 1e-5, 1e-9
OTHERS, CLIP, TOTAL = 20, 0.5, 20.0
DOMAIN = Domain.from_sizes({"a": 3, "b": 3})


@dataclass(frozen=True)
class Paid:
    """A token without a ledger."""

    event: Event
    checkpoint: None = None

    def consume(self) -> Event:
        return self.event


class Network:
    """Its loss rises along a record's codes, the faster the further it has come."""

    def __init__(self) -> None:
        self.parameters = {"w": torch.zeros(2, 1)}

    def losses(self, records, random):
        return 100 * torch.nn.functional.softplus(records.float() @ self.parameters["w"])[:, 0]


def evidence(noise, multiplier: float, rate: float, steps: int, runs: int, *, canary: bool) -> np.ndarray:
    """Return what each run of so many steps tells for the canary."""
    codes = np.zeros((OTHERS + canary, 2), dtype=np.uint8)
    codes[OTHERS:] = 2, 1
    table = Curator(MemoryEngine(EncodedTable(DOMAIN, tuple(codes.T))), Ledger(Budget.none()), noise)
    network = Network()
    event = TrainingEvent(multiplier, rate, steps * runs, CLIP, 2, PART)
    session = door.TrainingSession(
        table,
        Paid(event),
        noise,
        network.losses,
        network.parameters,
        rate=rate,
        steps=steps * runs,
        total=TOTAL,
    )
    direction = torch.tensor([[2.0], [1.0]]) / 5**0.5
    found = np.zeros(runs)
    for run in range(runs):
        network.parameters["w"].zero_()
        for _ in range(steps):
            gradient = session.gradient()["w"]
            network.parameters["w"] -= 0.1 * gradient
            seen = float((gradient * direction).sum()) * rate * TOTAL / CLIP
            found[run] += np.log1p(rate * np.expm1((seen - 0.5) / multiplier**2)) if rate < 1 else seen
    return found


def mu_found(multiplier: float, rate: float, steps: int, runs: int, noise: Callable = SeededNoise) -> float:
    inside = evidence(noise(1), multiplier, rate, steps, runs, canary=True)
    outside = evidence(noise(2), multiplier, rate, steps, runs, canary=False)
    return bounds.mu_of_scores(inside, outside, CONFIDENCE)


def assert_within(found: float, claim: float, least: float) -> None:
    assert least * claim <= found <= claim
    assert epsilon_from_mu(found, DELTA) <= epsilon_from_mu(claim, DELTA)


class TestHonest:
    @pytest.mark.thorough
    def test_one_step_is_as_private_as_claimed_and_no_more(self) -> None:
        assert_within(mu_found(0.4, 1.0, 1, 1000), training_mu(0.4, 1.0, 1, PART), 0.75)

    @pytest.mark.thorough
    def test_a_short_training_is_as_private_as_claimed_and_no_more(self) -> None:
        # Few runs show less: by the interval alone, a bound of 0.7 is to be expected.
        assert_within(mu_found(0.8, 1.0, 4, 500), training_mu(0.8, 1.0, 4, PART), 0.55)

    @pytest.mark.thorough
    def test_a_training_on_samples_is_too(self) -> None:
        # A curve of samples touches that of its mu in one place, which a test with one threshold need not find, and so
        # few runs show less.
        found = mu_found(1.5, 0.5, 20, 500)

        assert_within(found, training_mu(1.5, 0.5, 20, PART), 0.4)


def without_clip(losses, parameters, records, random, *, clip):
    return clipped_sum(losses, parameters, records, random, clip=1e9)


def with_mean_clipped(losses, parameters, records, random, *, clip):
    whole = without_clip(losses, parameters, records, random, clip=clip)
    length = float(whole["w"].norm()) / max(len(records), 1)
    return {"w": whole["w"] * min(1.0, clip / max(length, 1e-12))}


class MeanNoise(SeededNoise):
    """Noise for a mean, added to a sum."""

    def gaussian_vector(self, steps, sigma):
        return super().gaussian_vector(steps, sigma / TOTAL)


class SameNoise(SeededNoise):
    """Each step draws what the first one drew, so that a difference of two has none."""

    def begin_step(self, step):
        super().begin_step(0)


class TestPlantedBug:
    """Each is found from few runs."""

    @pytest.mark.thorough
    @pytest.mark.parametrize("planted", [without_clip, with_mean_clipped])
    def test_in_the_clip_is_found(self, monkeypatch: pytest.MonkeyPatch, planted: Callable) -> None:
        monkeypatch.setattr(door, "clipped_sum", planted)

        # The canary then lies so far out that no run errs: mu can be shown up to what so many runs show.
        assert mu_found(1.0, 1.0, 1, 200) > training_mu(1.0, 1.0, 1, PART) * 1.5

    @pytest.mark.thorough
    def test_of_noise_that_was_scaled_to_the_mean_is_found(self) -> None:
        assert mu_found(1.0, 1.0, 1, 200, MeanNoise) > training_mu(1.0, 1.0, 1, PART) * 1.5

    def test_of_noise_that_repeats_is_found(self) -> None:
        # One step differs from run to run by its noise alone, and here it does not differ at all.
        assert np.ptp(evidence(SameNoise(1), 1.0, 1.0, 1, 20, canary=True)) == 0
        assert np.ptp(evidence(SeededNoise(1), 1.0, 1.0, 1, 20, canary=True)) > 1

    @pytest.mark.thorough
    def test_of_a_step_that_is_lost_from_the_charge_or_one_too_many_is_found(self) -> None:
        # Both make two steps where one was charged.
        assert mu_found(0.4, 1.0, 2, 800) > training_mu(0.4, 1.0, 1, PART)

    @pytest.mark.thorough
    def test_of_records_that_are_always_taken_is_found(self) -> None:
        class Eager(SeededNoise):
            def sampled_records(self, n_records, rate):
                return np.arange(n_records)

        assert mu_found(1.0, 0.1, 3, 400, Eager) > training_mu(1.0, 0.1, 3, PART)
