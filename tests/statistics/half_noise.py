"""The planted bug of many tests: everything is drawn at half the scale that was paid for."""

from __future__ import annotations

from syntabula.privacy.noise import NoiseSource


class HalfNoise:
    """Another source, at half of each scale."""

    name = "half"
    is_private = False

    def __init__(self, inner: NoiseSource) -> None:
        self.inner = inner

    def begin_draw(self):
        self.inner.begin_draw()

    def discrete_gaussian(self, counts, sigma):
        return self.inner.discrete_gaussian(counts, sigma / 2)

    def discrete_laplace(self, counts, scale):
        return self.inner.discrete_laplace(counts, scale / 2)

    def noisy_max(self, scores, scale):
        return self.inner.noisy_max(scores, scale / 2)
