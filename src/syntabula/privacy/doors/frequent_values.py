"""Released values that many records share, with their noisy counts, as the bytes of one answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.asked_points import AskedPoints
from syntabula.marginals.sorted_points import SortedPoints
from syntabula.privacy.journal import NoisyArray
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import Sensitive, frequent
from syntabula.privacy.noise import NoiseSource


def frequent_values(
    token: Token,
    noise: NoiseSource,
    points: SortedPoints | AskedPoints,
    *,
    public: NDArray[Any],
    least: int,
    most: int,
) -> NoisyArray:
    """Return the bytes of the values whose noisy counts are released, in ascending order, and of these counts.

    Args:
        token: Pays for the noise.
        noise: Draws it.
        points: The values of a column (sensitive).
        public: Values that are released whatever their count [k], ascending, of the type of the others.
        least: Number of records below which another value is not released.
        most: Largest number of other values; of more, those with the largest noisy counts are kept.
    """
    shared = points.shared(least)
    others = shared.where(~np.isin(shared.values, public))
    exact = np.concatenate([points.counts_of(public), others.counts - (least - 1)])
    kept, noisy = frequent(token, noise, Sensitive(exact), public.size)
    is_other = kept >= public.size
    counts = noisy + np.where(is_other, least - 1, 0)
    # Values, not their positions among those that occur, which would reveal how many occur.
    values = np.concatenate([public, others.values])[kept]
    places = np.flatnonzero(is_other)
    largest = places[np.argsort(-counts[places], kind="stable")[:most]]
    released = np.append(np.flatnonzero(~is_other), largest)
    released = released[np.argsort(values[released], kind="stable")]
    parts = values[released], counts[released]
    return np.frombuffer(b"".join(part.tobytes() for part in parts), dtype=np.uint8)


def unpacked(answer: NoisyArray, kind: np.dtype[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the values of an answer, as int or float, and their noisy counts."""
    values, counts = np.split(answer, [answer.size * kind.itemsize // record_size(kind)])
    return values.view(kind).tolist(), counts.view(np.int64)


def record_size(kind: np.dtype[Any]) -> int:
    """Return the number of bytes of one value of a type, with its count."""
    return kind.itemsize + np.dtype(np.int64).itemsize
