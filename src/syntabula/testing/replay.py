"""Record what a run draws, and replay the answers to a run on a neighbouring table: the strongest privacy test.

It is exact and needs no statistics. Whatever the second run does otherwise than the first one follows from the
records and not from noisy answers, so it is a leak.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from syntabula.privacy.events import Event
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SeededNoise
from syntabula.privacy.rules import RULES

Spend = tuple[str, Event, str | None]
"""Step, event and question."""


@dataclass(frozen=True, eq=False)
class Call:
    """One draw of a noise source.

    Attributes:
        kind: Which method of the source was called.
        exact: The exact statistic.
        scale: Scale of the noise.
        answer: What came out.
        spend: Number of the spend that paid for it.
    """

    kind: str
    exact: np.ndarray
    scale: float
    answer: Any
    spend: int


@dataclass
class RecordingNoise:
    """Passes every call on to another source and keeps a record of it.

    Attributes:
        inner: Draws the noise.
        script: What another run was answered; if given, each call gets that answer, whatever it is given.
        calls: What was asked and answered.
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
        """Choose, or replay a choice."""
        return self._record("noisy_max", scores, scale)

    def _record(self, kind: str, exact: np.ndarray, scale: float) -> Any:
        number = len(self.calls)
        if self.script is None:
            answer = getattr(self.inner, kind)(exact, scale)
        else:
            assert number < len(self.script), "the run on the neighbour drew noise more often"
            expected = self.script[number]
            assert expected.kind == kind, f"draw {number} was {expected.kind} and is {kind} on the neighbour"
            assert np.shape(expected.exact) == np.shape(exact), (
                "the shape of a statistic depends on the records"
            )
            answer = expected.answer
        self.calls.append(Call(kind, np.array(exact, copy=True), float(scale), answer, len(self.spends) - 1))
        return answer


@dataclass(frozen=True, eq=False)
class Run:
    """One run and all that it drew, spent and returned.

    Attributes:
        calls: Its draws.
        spends: Step, event and question of each spend.
        result: What it returned, as comparable facts.
    """

    calls: list[Call]
    spends: list[Spend]
    result: Any


def recorded(work: Callable[[RecordingNoise], Any], script: list[Call] | None = None) -> Run:
    """Run something with a recording source of noise; with a script, on the answers of another run."""
    noise = RecordingNoise(script=script)
    original = Ledger.spend

    def spend(ledger: Ledger, event: Event, *, step: str, query: str | None = None) -> Any:
        noise.spends.append((step, event, query))
        return original(ledger, event, step=step, query=query)

    with patch.object(Ledger, "spend", spend):
        result = work(noise)
    return Run(noise.calls, noise.spends, result)


def check_alike(first: Run, second: Run) -> None:
    """Assert that two runs on neighbours differ in nothing but the inputs of the noise, within its sensitivity."""
    assert first.spends == second.spends, "which questions are asked depends on the records"
    assert len(first.calls) == len(second.calls), "how often noise is drawn depends on the records"
    for one, other in zip(first.calls, second.calls, strict=True):
        step, event, _ = first.spends[one.spend]
        assert one.scale == other.scale, f"the noise of step {step!r} depends on the records"
        moved = np.abs(np.asarray(one.exact, dtype=float) - np.asarray(other.exact, dtype=float))
        held = RULES[type(event)].covers(event, moved, one.scale)
        assert held, f"one record moves the statistic of step {step!r} by more than its stated sensitivity"
    assert first.result == second.result, "what comes out depends on the records beyond the noisy answers"
