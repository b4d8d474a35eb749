"""Record the noise of a run and replay its answers on a neighbouring table: the strongest privacy test.

It is exact and needs no statistics. Any difference in what the second run does depends on the records and not
on noisy answers, so it is a leak.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from syntabula.privacy.events import Event, TrainingEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SeededNoise
from syntabula.privacy.rules import RULES
from syntabula.privacy.training.records import TrainingNoise
from syntabula.privacy.units import unit_key_of

Spend = tuple[str, Event, str | None]
"""Step, event and question."""


@dataclass(frozen=True, eq=False)
class Call:
    """One draw of a noise source.

    Attributes:
        kind: The method of the source that was called.
        exact: The exact statistic.
        scale: Scale of the noise.
        answer: The noisy answer.
        spend: Number of the spend that paid for it.
    """

    kind: str
    exact: np.ndarray
    scale: float
    answer: Any
    spend: int


@dataclass
class RecordingNoise:
    """Forwards every call to another source and records it.

    Attributes:
        inner: Draws the noise.
        script: Calls of another run; if given, each call returns the recorded answer, whatever its input.
        calls: The calls so far, with their answers.
        spends: Step, event and question of each spend of the run.
    """

    inner: NoiseSource = field(default_factory=lambda: SeededNoise(0))
    script: list[Call] | None = None
    name: str = "recorded"
    is_private: bool = False
    calls: list[Call] = field(default_factory=list)
    spends: list[Spend] = field(default_factory=list)

    def begin_draw(self) -> None:
        """Begin the noise of a spend."""
        self.inner.begin_draw()

    def discrete_gaussian(self, counts: np.ndarray, sigma: float) -> Any:
        """Add Gaussian noise, or replay an answer."""
        return self._record("discrete_gaussian", counts, sigma)

    def discrete_laplace(self, counts: np.ndarray, scale: float) -> Any:
        """Add Laplace noise, or replay an answer."""
        return self._record("discrete_laplace", counts, scale)

    def noisy_max(self, scores: np.ndarray, scale: float) -> Any:
        """Choose with noise, or replay a choice."""
        return self._record("noisy_max", scores, scale)

    def gaussian_vector(self, steps: np.ndarray, sigma: float) -> Any:
        """Add Gaussian noise to sums of gradients, or replay an answer."""
        return self._record("gaussian_vector", steps, sigma)

    def sampled_records(self, n_records: int, rate: float) -> Any:
        """Sample records, on the neighbour anew."""
        return self._training.sampled_records(n_records, rate)

    def begin_step(self, step: int) -> None:
        """Turn to a step of training."""
        self._training.begin_step(step)

    def loss_seed(self) -> int:
        """Return the seed of what a loss draws."""
        return self._training.loss_seed()

    def unit_key(self) -> bytes:
        """Return the secret by which rows of units are chosen: the same for all runs with the same source."""
        return unit_key_of(self.inner)

    @property
    def _training(self) -> TrainingNoise:
        assert isinstance(self.inner, TrainingNoise), "the inner source has no draws for training"
        return self.inner

    def _record(self, kind: str, exact: np.ndarray, scale: float) -> Any:
        number = len(self.calls)
        if self.script is None:
            answer = getattr(self.inner, kind)(exact, scale)
        else:
            assert number < len(self.script), "the run on the neighbour drew noise more often"
            expected = self.script[number]
            assert expected.kind == kind, f"draw {number} was {expected.kind} but is {kind} on the neighbour"
            assert np.shape(expected.exact) == np.shape(exact), (
                "the shape of a statistic depends on the records"
            )
            answer = expected.answer
        self.calls.append(Call(kind, np.array(exact, copy=True), float(scale), answer, len(self.spends) - 1))
        return answer


@dataclass(frozen=True, eq=False)
class Run:
    """One run: everything it drew, spent and returned.

    Attributes:
        calls: Its draws.
        spends: Step, event and question of each spend.
        result: Its return value, as comparable facts.
    """

    calls: list[Call]
    spends: list[Spend]
    result: Any


def recorded(work: Callable[[RecordingNoise], Any], script: list[Call] | None = None) -> Run:
    """Run something with a recording noise source; with a script, on the answers of another run."""
    noise = RecordingNoise(script=script)
    original = Ledger.spend

    def spend(ledger: Ledger, event: Event, *, step: str, query: str | None = None) -> Any:
        noise.spends.append((step, event, query))
        return original(ledger, event, step=step, query=query)

    with patch.object(Ledger, "spend", spend):
        result = work(noise)
    return Run(noise.calls, noise.spends, result)


def check_alike(first: Run, second: Run) -> None:
    """Assert that two runs on neighbours differ only in the inputs to the noise, and there within its sensitivity."""
    assert first.spends == second.spends, "which questions are asked depends on the records"
    assert len(first.calls) == len(second.calls), "how often noise is drawn depends on the records"
    for one, other in zip(first.calls, second.calls, strict=True):
        step, event, _ = first.spends[one.spend]
        assert one.scale == other.scale, f"the noise of step {step!r} depends on the records"
        if isinstance(event, TrainingEvent):
            # Each run samples its own records; that one record moves a sum by the clip is tested at the door.
            continue
        moved = np.abs(np.asarray(one.exact, dtype=float) - np.asarray(other.exact, dtype=float))
        held = RULES[type(event)].covers(event, moved, one.scale)
        assert held, f"one record moves the statistic of step {step!r} by more than its stated sensitivity"
    assert first.result == second.result, "the result depends on the records beyond the noisy answers"
