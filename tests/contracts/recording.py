"""Noise sources that record what they are given, and replay what another run was answered."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Call:
    """One call of a noise source: its kind, the exact statistic, the scale and the answer."""

    kind: str
    exact: np.ndarray
    scale: float
    answer: np.ndarray | int


@dataclass
class RecordingNoise:
    """Passes every call on to another source and keeps a record of it."""

    inner: object
    name: str = "recorded"
    is_private: bool = False
    calls: list[Call] = field(default_factory=list)

    def begin_draw(self):
        self.inner.begin_draw()

    def _answer(self, kind: str, exact: np.ndarray, scale: float):
        return getattr(self.inner, kind)(exact, scale)

    def _record(self, kind: str, exact: np.ndarray, scale: float):
        answer = self._answer(kind, exact, scale)
        self.calls.append(Call(kind, np.array(exact, copy=True), float(scale), answer))
        return answer

    def discrete_gaussian(self, counts, sigma):
        return self._record("discrete_gaussian", counts, sigma)

    def discrete_laplace(self, counts, scale):
        return self._record("discrete_laplace", counts, scale)

    def noisy_max(self, scores, scale):
        return self._record("noisy_max", scores, scale)

    def gaussian_vector(self, steps, sigma):
        return self._record("gaussian_vector", steps, sigma)

    def sampled_records(self, n_records, rate):
        return self.inner.sampled_records(n_records, rate)

    def begin_step(self, step):
        self.inner.begin_step(step)

    def loss_seed(self):
        return self.inner.loss_seed()

    def unit_key(self):
        return self.inner.unit_key()


@dataclass
class ReplayingNoise(RecordingNoise):
    """Answers each call with what another run was answered, whatever it is given."""

    script: list[Call] = field(default_factory=list)

    def _answer(self, kind: str, exact: np.ndarray, scale: float):
        expected = self.script[len(self.calls)] if len(self.calls) < len(self.script) else None
        assert expected is not None, "the run on the neighbour drew noise more often"
        assert expected.kind == kind, f"call {len(self.calls)} was {expected.kind} and is {kind}"
        assert np.shape(expected.exact) == np.shape(exact), "the shape of a statistic depends on the data"
        return expected.answer
