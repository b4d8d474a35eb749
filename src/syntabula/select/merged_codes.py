"""Codes merged by one-way marginals until the counts of pairs stand out of their noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.doors.tables import Curator

ONE_WAY = "measure one-way marginals"

MERGING_ONE_WAY = Fraction(1, 5)
"""What the one-way marginals take where many codes are merged, as only they tell merged codes apart from then on."""

LEAST_SIGMAS = 3.0
"""Groups of codes hold at least so many standard deviations of the noise on one code."""

FEWEST_GROUPS = 3.0
"""No column is merged to fewer groups because its pairs would be too noisy; it may have fewer by itself."""

_SEARCHES = 40


def coarsen(
    one_way: Sequence[Measurement], *, domain: Domain, pair_sigma: float, records_per_noise: float
) -> Recoding:
    """Merge small neighbouring codes, so that a typical pair of columns is worth its noise.

    A code whose noisy count is at least 3 standard deviations stays alone. The others are joined in their
    order, each group until it holds as much: so the two tails of a column of bins stay apart, which one
    group of all rare codes would mix (McKenna, Miklau, Sheldon 2021, "Winning the NIST Contest", and SAS
    dpmm's AIM do that). Columns that still have more than m groups go on joining until they have m, the
    largest number for which m groups against the median column leave an average cell
    `records_per_noise` times the noise of a pair: what PrivMRF asks of a marginal (Cai et al. 2021,
    theta-usefulness). Small columns keep their codes that way, whose pairs with large ones are worth it.

    A group is divided again in proportion to the noisy counts of its codes, drawn towards their mean as far
    as noise explains how they differ (James and Stein 1961).

    All of it is post-processing of the measurements.

    Args:
        one_way: A measurement of each column that may be merged.
        domain: The domain that they were measured over.
        pair_sigma: Standard deviation of the noise that the counts of pairs will have; 0 for none.
        records_per_noise: Least records in an average cell of a typical pair, in standard deviations.

    Returns:
        The recoding of the columns that are merged.

    Raises:
        ArgumentError: If a measurement is not of one column.
    """
    if any(len(m.clique) != 1 for m in one_way):
        raise ArgumentError("codes are merged by measurements of single columns")
    noises = [float(np.max(m.sigma)) for m in one_way]
    groups = [_joined(m.values, LEAST_SIGMAS * s) for m, s in zip(one_way, noises, strict=True)]
    total = float(np.median([m.values.sum() for m in one_way])) if one_way else 0.0
    cells = total / (records_per_noise * pair_sigma) if pair_sigma > 0 else math.inf
    most = _most_groups([_number(g) for g in groups], cells)
    maps, shares = {}, {}
    for measurement, sigma, group in zip(one_way, noises, groups, strict=True):
        values = measurement.values
        merged = group if _number(group) <= most else _joined_to(values, most)
        if _number(merged) < values.size:
            column = measurement.clique[0]
            maps[column], shares[column] = merged, _shrunk(values, sigma, merged)
    return Recoding(domain, maps, shares)


def _joined(values: FloatArray, least: float) -> NDArray[np.intp]:
    """Return the group of each code [size]: large codes alone, small ones in runs that are large together.

    What is left over at the end is a group of its own, as joining it to another would mix the tails.
    """
    group = np.empty(values.size, dtype=np.intp)
    waiting: list[int] = []
    held, found = 0.0, 0
    for code, count in enumerate(values.tolist()):
        if count >= least:
            group[code] = found
            found += 1
            continue
        waiting.append(code)
        held += count
        if held >= least:
            group[waiting] = found
            found += 1
            waiting, held = [], 0.0
    group[waiting] = found
    return group


def _joined_to(values: FloatArray, most: float) -> NDArray[np.intp]:
    """Return groups as even as `_joined` makes them, at most so many: the least that a group holds is searched."""
    lower, upper = 0.0, max(float(np.abs(values).sum()), 1.0)
    best = np.zeros(values.size, dtype=np.intp)
    for _ in range(_SEARCHES):
        middle = (lower + upper) / 2
        group = _joined(values, middle)
        if _number(group) > most:
            lower = middle
            continue
        upper, best = middle, group
        if _number(group) > most - 1:
            break
    return best


def _most_groups(numbers: Sequence[int], cells: float) -> float:
    """Return the largest m at which m groups against the median column, cut to m groups, are so many cells."""
    lower, upper = 1.0, float(max(numbers, default=1))
    if upper * float(np.median(np.asarray(numbers or [1]))) <= cells:
        return upper
    for _ in range(_SEARCHES):
        middle = (lower + upper) / 2
        if middle * float(np.median(np.minimum(numbers, middle))) > cells:
            upper = middle
        else:
            lower = middle
    return max(lower, FEWEST_GROUPS)


def _shrunk(values: FloatArray, sigma: float, group: NDArray[np.intp]) -> FloatArray:
    """Return weights [size] of the codes within their groups: noisy counts, drawn towards the group's mean.

    Of the squared deviations, as much is kept as noise leaves unexplained.
    """
    sizes = np.bincount(group)
    means = np.bincount(group, values) / sizes
    deviations = values - means[group]
    squares = np.bincount(group, np.square(deviations))
    explained = (sizes - 1) * sigma**2
    by_noise = np.divide(explained, squares, out=np.ones(sizes.size), where=squares > explained)
    kept = 1 - by_noise
    weights: FloatArray = np.maximum(means[group] + kept[group] * deviations, 0.0)
    return weights


def _number(group: NDArray[np.intp]) -> int:
    return int(group.max()) + 1


@dataclass(frozen=True, eq=False)
class MergedStart:
    """Where a selector goes on from.

    Attributes:
        curator: Of the table with merged codes.
        measured: The one-way marginals over merged codes.
        recoding: How codes are merged.
        used: Share of the budget that was spent.
    """

    curator: Curator
    measured: list[Measurement]
    recoding: Recoding
    used: Fraction

    @classmethod
    def of(
        cls,
        curator: Curator,
        *,
        share: Fraction,
        first: Fraction,
        most: Fraction,
        records_per_noise: float | None,
        pair_sigma: Callable[[Fraction], float],
    ) -> MergedStart:
        """Measure every column, and again where much is merged; merging is post-processing.

        Args:
            curator: Of the table.
            share: Part of the whole budget for everything.
            first: Part of the whole budget for the columns.
            most: The same where a mean pair of columns has less than half of its cells left.
            records_per_noise: See `coarsen`; None merges nothing.
            pair_sigma: Standard deviation that the noise on a pair will have, given what is left of the share.
        """

        def recoded(one_way: list[Measurement], used: Fraction) -> Recoding:
            if records_per_noise is None:
                return Recoding.identity(curator.domain)
            sigma = pair_sigma(share - used)
            return coarsen(
                one_way, domain=curator.domain, pair_sigma=sigma, records_per_noise=records_per_noise
            )

        columns = [(c,) for c in curator.domain.columns]
        measured, used = curator.measure(columns, share=first, step=ONE_WAY), first
        recoding = recoded(measured, used)
        if most > first and _merges_much(recoding):
            again = curator.measure(columns, share=most - first, step=ONE_WAY)
            measured = [one.averaged(other) for one, other in zip(measured, again, strict=True)]
            used = most
            recoding = recoded(measured, used)
        merged = [recoding.merge_measurement(m) for m in measured]
        return cls(curator.recoded(recoding), merged, recoding, used)


def _merges_much(recoding: Recoding) -> bool:
    """Return whether a mean pair of columns has less than half of its cells left."""
    before, after = (
        sum(d.sizes) ** 2 - sum(n * n for n in d.sizes) for d in (recoding.domain, recoding.target)
    )
    return 2 * after < before
