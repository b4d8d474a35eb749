"""Sources of privacy noise: exact samplers, or a seeded substitute for experiments."""

from __future__ import annotations

import math
import os
import secrets
from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula.errors import ArgumentError
from syntabula.privacy import exact_samplers
from syntabula.privacy.exact_samplers import LARGEST_SCALE, saturating_sum
from syntabula.privacy.vector_samplers import gaussian_draws

Counts = NDArray[np.int64]
Scores = NDArray[np.float64]


@runtime_checkable
class NoiseSource(Protocol):
    """Draws the noise of every mechanism."""

    @property
    def name(self) -> str:
        """Name of this source in the privacy statement."""
        ...

    @property
    def is_private(self) -> bool:
        """Whether a release made with this source is protected."""
        ...

    def begin_draw(self) -> None:
        """Move on to the noise of the next spend, whether it will be drawn or was drawn by an earlier run.

        A seeded source draws each spend from its own stream, so that skipping some does not change the others.
        """
        ...

    def discrete_gaussian(self, counts: Counts, sigma: float) -> Counts:
        """Return counts plus noise of probability proportional to exp(-x^2 / (2 sigma^2)) on each cell.

        Args:
            counts: Exact counts, int64, any shape.
            sigma: Scale of the noise; 0 returns the exact counts.

        Returns:
            Noisy counts of the same shape. A sum beyond the range of int64 is clipped to it.

        Raises:
            ArgumentError: If counts are not an int64 array, or sigma is not a number in 0 .. LARGEST_SCALE.
        """
        ...

    def discrete_laplace(self, counts: Counts, scale: float) -> Counts:
        """Return counts plus noise of probability proportional to exp(-|x| / scale) on each cell.

        Arguments, result and errors are those of `discrete_gaussian`.
        """
        ...

    def noisy_max(self, scores: Scores, scale: float) -> int:
        """Return position i with probability proportional to exp(scores[i] / scale).

        This is the exponential mechanism (McSherry and Talwar, 2007); for epsilon, scale is twice the
        sensitivity of the scores over epsilon, whether or not the scores are monotone.

        Args:
            scores: Exact scores [candidates], float64, finite, at least one.
            scale: 0 returns the first position of the largest score.

        Returns:
            A position, 0 .. candidates - 1.

        Raises:
            ArgumentError: If scores are not such an array, or scale is negative or not finite.
        """
        ...


class _Sampled(ABC):
    """What our sources do alike: they check what noise is drawn on, and scale 0 gives the exact statistic.

    For the methods see `NoiseSource`, `units.UnitKeySource` and `training.records.TrainingNoise`.
    """

    def discrete_gaussian(self, counts: Counts, sigma: float) -> Counts:
        checked_counts(counts)
        return self._gaussian(counts, float(sigma)) if _counting_scale("sigma", sigma) else counts.copy()

    def discrete_laplace(self, counts: Counts, scale: float) -> Counts:
        checked_counts(counts)
        return self._laplace(counts, float(scale)) if _counting_scale("scale", scale) else counts.copy()

    def noisy_max(self, scores: Scores, scale: float) -> int:
        checked_scores(scores)
        return self._choice(scores, float(scale)) if checked_scale("scale", scale) else int(np.argmax(scores))

    def gaussian_vector(self, steps: Counts, sigma: float) -> Counts:
        checked_counts(steps)
        scale = _counting_scale("sigma", sigma)
        if scale == 0:
            return steps.copy()
        if scale < 1:
            raise ArgumentError(f"sigma is {scale:g}; noise on a vector is drawn from a scale of 1 on")
        draws = gaussian_draws(steps.size, scale, self._bytes)
        return saturating_sum(steps, draws.reshape(steps.shape))

    def sampled_records(self, n_records: int, rate: float) -> NDArray[np.intp]:
        from syntabula.privacy.training.taken import sampled_records

        return sampled_records(n_records, rate, self._bytes)

    @abstractmethod
    def _gaussian(self, counts: Counts, sigma: float) -> Counts: ...

    @abstractmethod
    def _laplace(self, counts: Counts, scale: float) -> Counts: ...

    @abstractmethod
    def _choice(self, scores: Scores, scale: float) -> int: ...

    @abstractmethod
    def _bytes(self, number: int) -> bytes: ...


class SecureNoise(_Sampled):
    """Exact discrete samplers with cryptographic randomness; protects a release.

    See `privacy.exact_samplers` and `privacy.vector_samplers`. The duration of a draw is not hidden.
    """

    name = "exact discrete samplers with cryptographic randomness, of OpenDP and, for many draws at once, our own"
    is_private = True

    def begin_draw(self) -> None:
        """Do nothing: no draw depends on another."""

    def begin_step(self, step: int) -> None:
        """Do nothing: no draw depends on another."""

    def loss_seed(self) -> int:
        """Return 63 random bits."""
        return int.from_bytes(os.urandom(8), "little") >> 1

    def unit_key(self) -> bytes:
        """Return 32 random bytes."""
        return os.urandom(32)

    def _gaussian(self, counts: Counts, sigma: float) -> Counts:
        return exact_samplers.gaussian(counts, sigma)

    def _laplace(self, counts: Counts, scale: float) -> Counts:
        return exact_samplers.laplace(counts, scale)

    def _choice(self, scores: Scores, scale: float) -> int:
        return exact_samplers.choice(scores, scale)

    def _bytes(self, number: int) -> bytes:
        # OpenSSL's generator, as OpenDP's library has it: seeded by the operating system's, anew after a fork, and
        # sixteen times as fast. Marginals are released without it.
        from ssl import RAND_bytes

        return RAND_bytes(number)

    def __repr__(self) -> str:
        return "SecureNoise()"


class SeededNoise(_Sampled):
    """The same distributions from a seeded numpy generator, with float64 accuracy; protects nobody.

    Whoever knows or guesses the seed can subtract the noise. For tests and experiments.

    Args:
        seed: An integer of at least 0. The same seed gives the same draws for the spend with the same number, in
            the same order of calls.

    Raises:
        ArgumentError: If the seed is not such an integer.
    """

    name = "seeded noise (not private)"
    is_private = False

    def __init__(self, seed: int) -> None:
        self._seed: int = count(0)("seed", seed)
        self._spends = 0
        self._generator = np.random.Generator(np.random.PCG64(self._seed))

    def begin_draw(self) -> None:
        """Turn to the stream of the next spend."""
        self._spends += 1
        self._turn_to(self._spends)

    def _turn_to(self, *place: int) -> None:
        stream = np.random.SeedSequence(self._seed, spawn_key=place)
        self._generator = np.random.Generator(np.random.PCG64(stream))

    def begin_step(self, step: int) -> None:
        """Turn to the stream of a step of this spend."""
        self._turn_to(self._spends, step)

    def loss_seed(self) -> int:
        """Return 63 bits of the stream."""
        return int(self._generator.integers(2**63))

    def unit_key(self) -> bytes:
        """Return 32 bytes of a stream that no spend has, for these count from 1."""
        return np.random.SeedSequence(self._seed, spawn_key=(0,)).generate_state(8).astype("<u4").tobytes()

    def _gaussian(self, counts: Counts, sigma: float) -> Counts:
        return saturating_sum(counts, self._gaussian_draws(counts.size, sigma).reshape(counts.shape))

    def _laplace(self, counts: Counts, scale: float) -> Counts:
        return saturating_sum(counts, self._laplace_draws(counts.size, scale).reshape(counts.shape))

    def _choice(self, scores: Scores, scale: float) -> int:
        with np.errstate(over="ignore"):
            relative = (scores - scores.max()) / scale
        # The largest of independent Gumbel draws around the scores has the distribution of the exponential
        # mechanism; minus the logarithm of an exponential draw is a Gumbel draw.
        gumbel = -np.log(self._generator.standard_exponential(scores.size))
        return int(np.argmax(relative + gumbel))

    def _bytes(self, number: int) -> bytes:
        return self._generator.bytes(number)

    def _laplace_draws(self, n: int, scale: float) -> Counts:
        """Return n draws of probability proportional to exp(-|x| / scale): a difference of two geometrics."""
        # The integer part of an exponential draw times scale is geometric: P(at least k) = exp(-k / scale).
        one, other = np.floor(scale * self._generator.standard_exponential((2, n)))
        draws: Counts = (one - other).astype(np.int64)
        return draws

    def _gaussian_draws(self, n: int, sigma: float) -> Counts:
        """Return n discrete Gaussian draws by rejection (Canonne, Kamath and Steinke, 2020, Algorithm 3)."""
        whole = math.floor(sigma) + 1
        accepted = np.empty(n, dtype=np.int64)
        filled = 0
        while filled < n:
            proposals = self._laplace_draws(n - filled, float(whole))
            # A sigma near 0 overflows the exponent to infinity, which rejects, as it should.
            with np.errstate(over="ignore"):
                exponent = np.square((np.abs(proposals) - sigma * sigma / whole) / sigma) / 2
            kept = proposals[self._generator.standard_exponential(proposals.size) > exponent]
            accepted[filled : filled + kept.size] = kept
            filled += kept.size
        return accepted

    def __repr__(self) -> str:
        return "SeededNoise(not private)"


def number_of_trials(trials: int, seed: int | None = None) -> int:
    """Draw how many trials are made: after each, the search stops with probability 1 / trials.

    Args:
        trials: Their average number.
        seed: Replaces cryptographic randomness, for experiments; the result is then NOT private.
    """
    if seed is not None:
        return int(np.random.default_rng(seed).geometric(1 / trials))
    made = 1
    while secrets.randbelow(trials):
        made += 1
    return made


def checked_counts(counts: object) -> Counts:
    """Return exact counts; raises ArgumentError if they are no array of int64."""
    if not isinstance(counts, np.ndarray) or counts.dtype != np.int64:
        kind = counts.dtype if isinstance(counts, np.ndarray) else type(counts).__name__
        raise ArgumentError(f"counts must be a numpy array of int64, not {kind}")
    return counts


def checked_scores(scores: object) -> Scores:
    """Return exact scores; raises ArgumentError if they are no array of float64 with one axis, or not finite."""
    if not isinstance(scores, np.ndarray) or scores.dtype != np.float64:
        kind = scores.dtype if isinstance(scores, np.ndarray) else type(scores).__name__
        raise ArgumentError(f"scores must be a numpy array of float64, not {kind}")
    if scores.ndim != 1 or scores.size == 0:
        raise ArgumentError(f"scores must have one axis and at least one candidate, not shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ArgumentError("scores must be finite; clip them first")
    return scores


def checked_scale(name: str, scale: object) -> float:
    """Return a scale of noise or of scores; raises ArgumentError if it is negative or not finite."""
    if isinstance(scale, bool) or not isinstance(scale, (int, float)):
        raise ArgumentError(f"{name} must be a number, not {type(scale).__name__}")
    if not math.isfinite(scale) or scale < 0:
        raise ArgumentError(f"{name} must be finite and at least 0; got {scale!r}")
    return float(scale)


def _counting_scale(name: str, scale: object) -> float:
    number = checked_scale(name, scale)
    if number > LARGEST_SCALE:
        raise ArgumentError(
            f"{name} must be at most {LARGEST_SCALE:g}, or the noise would hide any table; got {number:g}"
        )
    return number
