"""Exact samplers with cryptographic randomness over arrays of numpy: OpenDP's, but for choices among many.

Only OpenDP's feature flag `contrib` is set, without which the library makes no measurement at all: it
says that the vetting of proofs is not complete. Flags that weaken the guarantee (`honest-but-curious`,
`idealized-numerics`) are not: counts are int64, and scores and scales are taken as exact rationals.

Counts get a vectorised `make_gaussian` or `make_laplace` over i64 (Canonne, Kamath and Steinke, 2020);
OpenDP adds in exact arithmetic and ends at the range of i64. A choice is `make_noisy_max` under zero-
concentrated divergence, which is the exponential mechanism (a candidate is drawn evenly and kept with
probability exp((score - largest score) / scale), exactly); under max divergence it would be
permute-and-flip, which has another distribution. Where a few scores are far above all others, that takes a trial for
each candidate, of 3 microseconds: above a thousand candidates our own `privacy.exact_choice` takes over, which
takes one trial in all. The number of candidates is public; each spend states it.

A vector call costs about 10 (Gaussian) or 6 (Laplace) microseconds a cell on one core; a call per cell
costs 60 to 70.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.privacy import exact_choice

Counts = NDArray[np.int64]

_CELLS_PER_CALL = 1 << 20
"""OpenDP returns a list of Python integers: longer arrays are drawn in parts, which bounds that list."""

_MEASUREMENTS_KEPT = 64

_MOST_BY_OPENDP = 1000
"""Candidates of a choice that OpenDP makes, in 0.06 to 3 milliseconds; the library's sampler is kept where it will do."""


def gaussian(counts: Counts, sigma: float) -> Counts:
    """Return counts, of any shape, plus noise of probability proportional to exp(-x^2 / (2 sigma^2)); sigma above 0."""
    return _draw_in_parts(_gaussian_measurement(sigma), counts)


def laplace(counts: Counts, scale: float) -> Counts:
    """Return counts, of any shape, plus noise of probability proportional to exp(-|x| / scale); scale above 0."""
    return _draw_in_parts(_laplace_measurement(scale), counts)


def choice(scores: NDArray[np.float64], scale: float) -> int:
    """Return position i with probability proportional to exp(scores[i] / scale); scale above 0, scores finite."""
    if scores.size > _MOST_BY_OPENDP:
        return exact_choice.choose(scores, scale)
    return int(_invoke(_noisy_max_measurement(scale), scores))


# Modules one by one: opendp.prelude loads scikit-learn and polars where they are installed.


@lru_cache(maxsize=_MEASUREMENTS_KEPT)
def _gaussian_measurement(sigma: float) -> Any:
    from opendp import domains, measurements, metrics

    _allow_contributions()
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance(T="i64")
    return measurements.make_gaussian(*space, scale=sigma)


@lru_cache(maxsize=_MEASUREMENTS_KEPT)
def _laplace_measurement(scale: float) -> Any:
    from opendp import domains, measurements, metrics

    _allow_contributions()
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l1_distance(T="i64")
    return measurements.make_laplace(*space, scale=scale)


@lru_cache(maxsize=_MEASUREMENTS_KEPT)
def _noisy_max_measurement(scale: float) -> Any:
    from opendp import domains, measurements, measures, metrics

    _allow_contributions()
    space = (
        domains.vector_domain(domains.atom_domain(T="f64", nan=False)),
        metrics.linf_distance(T="f64", monotonic=False),
    )
    return measurements.make_noisy_max(*space, measures.zero_concentrated_divergence(), scale=scale)


def _allow_contributions() -> None:
    """Allow OpenDP's samplers, which it counts among its contributions."""
    from opendp import mod

    mod.enable_features("contrib")


def _invoke(measurement: Callable[[Any], Any], statistic: NDArray[Any]) -> Any:
    try:
        return measurement(statistic)
    except Exception as error:
        # A message of OpenDP may show its argument, which is exact.
        raise ArgumentError(f"OpenDP refused a draw ({type(error).__name__})") from None


def _draw_in_parts(measurement: Callable[[Any], Any], counts: Counts) -> Counts:
    flat = np.ascontiguousarray(counts).ravel()
    noisy = np.empty_like(flat)
    for start in range(0, flat.size, _CELLS_PER_CALL):
        stop = start + _CELLS_PER_CALL
        noisy[start:stop] = _invoke(measurement, flat[start:stop])
    return noisy.reshape(counts.shape)
