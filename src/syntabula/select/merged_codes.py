"""Merges codes, based on noisy one-way marginals, until the counts of pairs stand out from their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import MarginalModel
from syntabula.models.support import Support
from syntabula.privacy.doors.tables import Curator

ONE_WAY = "measure one-way marginals"

MERGING_ONE_WAY = Fraction(3, 10)
"""Share of the one-way marginals if many codes are merged: from then on only they tell merged codes apart."""

LEAST_SIGMAS = 3.0
"""Least count of a group, in standard deviations of the noise on one code."""

FEWEST_GROUPS = 3.0
"""Least number of groups to which noisy pairs reduce a column; its own small counts may leave fewer."""

_PER_GROUP = 0.65
"""Standard deviations of noise that an average cell must hold for each group (benchmarks/results/merging.md)."""

CELLS_OF_ORDERED = 2.0
"""Most cells of an ordered column with another, for each that a typical pair may have (benchmarks/results/merging.md)."""

ALONE_SIGMAS = 6.0
"""Least count of a group without an order, in standard deviations of a pair's noise, that stays apart however many there
are: a code that has only one other beside it shows that (benchmarks/results/merging.md)."""

CELLS_PER_NOISE = 1.4
"""Most cells of two columns without an order of which one stays whole, in records over a pair's noise."""

_HEAVY = 2.0
"""Count, in least counts of a group, from which a code of an ordered column stays alone among small ones."""

_SEARCHES = 40


def coarsen(
    one_way: Sequence[Measurement],
    *,
    domain: Domain,
    pair_sigma: float,
    records_per_noise: float,
    alone: bool = True,
) -> tuple[Recoding, list[Measurement]]:
    """Merge small neighbouring codes, so that a typical pair of columns stands out from its noise.

    A code whose noisy count is at least 3 standard deviations stays alone. The others are joined in order, in an ordered
    column to neighbours alone (`_joined`), each group until its count is as large. So the two tails of a binned column
    stay apart, while one group of all rare codes would mix them (as in McKenna, Miklau, Sheldon 2021, "Winning the
    NIST Contest", and in SAS dpmm's AIM). Columns that still have more than m groups are merged further until they
    have m: the largest number for which an average cell of m groups against the median column holds
    `records_per_noise` times the noise of a pair, as PrivMRF requires of a marginal (Cai et al. 2021, theta-
    usefulness). Small columns thus keep their codes, as their pairs with large ones stand out from the noise. Ordered
    columns are merged until any two columns, cut to as many groups, have at most twice as many cells: where most
    columns are small, the median says nothing of an amount beside another or beside many categories. Neighbouring
    codes of it tell nearly the same; those without an order tell different things, and keep more of a strong
    dependence whole than merged.

    Codes without an order that hold six standard deviations of a pair's noise stay alone however many they are, unless
    the widest other such column would leave an average cell less than .7 of that noise. Merged by their place
    in the alphabet, teams of several leagues would have none: what a code goes with is lost, while among whole codes the
    fit takes most of the noise from cells that are empty.

    Many groups must hold more: `_PER_GROUP` m times the noise, for m groups against as many. What m groups hide of how
    two columns depend on each other falls as 1 / m, while noise moves a part of the records that grows with the
    cells, m^2, so that the sum of both is least where m^3 is in proportion to records over noise.

    Codes without evidence (`marginals.measurement`) do not count: they join a neighbour, and get no share of it. Codes
    apart, such as missing values, are joined to no others.

    A group is divided again in proportion to the noisy counts of its codes, shrunk towards their mean by as
    much as noise explains their differences (James and Stein 1961).

    All of it is post-processing of the measurements.

    Args:
        one_way: A measurement of each column that may be merged.
        domain: The domain that they were measured over.
        pair_sigma: Standard deviation of the noise that the counts of pairs will have; 0 for none.
        records_per_noise: Least count of an average cell of a typical pair, in standard deviations of its noise.
        alone: Whether codes without an order stay alone that hold six standard deviations of a pair's noise.

    Returns:
        The recoding of the columns that are merged, and the measurements over merged codes.

    Raises:
        ArgumentError: If a measurement is not of one column.
    """
    if any(len(m.clique) != 1 for m in one_way):
        raise ArgumentError("codes can only be merged by measurements of single columns")
    support = Support.of(domain, one_way)
    one_way = [support.reduced(m) for m in one_way]
    domain = support.recoding.target
    noises = [float(np.min(m.sigma)) for m in one_way]
    aparts = [domain.apart.get(m.clique[0], 0) for m in one_way]
    groups = [
        _joined(m.values, LEAST_SIGMAS * s, apart, ordered=m.clique[0] in domain.ordered)
        for m, s, apart in zip(one_way, noises, aparts, strict=True)
    ]
    total = float(np.median([m.values.sum() for m in one_way])) if one_way else 0.0
    cells = most_cells(records=total, pair_sigma=pair_sigma, records_per_noise=records_per_noise)
    most = _most_groups([_number(g) for g in groups], cells)
    most_ordered = min(most, _most_of_pair([_number(g) for g in groups], CELLS_OF_ORDERED * cells))
    without_order = {
        m.clique[0]: _number(g)
        for m, g in zip(one_way, groups, strict=True)
        if m.clique[0] not in domain.ordered
    }
    maps, shares = {}, {}
    for measurement, sigma, group, apart in zip(one_way, noises, groups, aparts, strict=True):
        values = measurement.values
        ordered = measurement.clique[0] in domain.ordered
        limit = most_ordered if ordered else most
        merged = group if _number(group) <= limit else _joined_to(values, limit, apart, ordered=ordered)
        if alone and not ordered and _number(merged) < _number(group):
            least = max(LEAST_SIGMAS * sigma, ALONE_SIGMAS * pair_sigma)
            whole = _joined(values, least, apart)
            widest = max((n for c, n in without_order.items() if c != measurement.clique[0]), default=1)
            if _number(whole) * widest * pair_sigma <= CELLS_PER_NOISE * total:
                merged = max(merged, whole, key=_number)
        if _number(merged) < values.size:
            column = measurement.clique[0]
            maps[column], shares[column] = merged, _shrunk(values, sigma, merged)
    second = Recoding(domain, maps, shares)
    return support.recoding.then(second), [second.merge_measurement(m) for m in one_way]


def most_cells(*, records: float, pair_sigma: float, records_per_noise: float) -> float:
    """Return how many cells `coarsen` leaves a typical pair at most; infinite without noise.

    Args:
        records: Noisy, public or released number of records.
        pair_sigma: Standard deviation of the noise that the counts of pairs will have; 0 for none.
        records_per_noise: As for `coarsen`.
    """
    if pair_sigma <= 0:
        return math.inf
    noises = max(records, 0.0) / pair_sigma  # noise may leave fewer than none
    return min(noises / records_per_noise, math.pow(noises / _PER_GROUP, 2 / 3))


def _joined(values: FloatArray, least: float, apart: int = 0, *, ordered: bool = False) -> NDArray[np.intp]:
    """Return the group of each code [size]: large codes alone, small ones in runs that are large together.

    Runs of a column without an order pass over all large codes. In an ordered column they are of neighbours: a large
    code joins the small ones before it, unless it is heavy, such as a round amount among others. That stays alone, and
    the run goes on behind it; but if no small code is next there, the run joins the smaller of the groups beside it.

    What is left of runs at the end, and in an ordered column at the start, is a group of its own, as joining it to
    another would mix the tails. The codes apart come last, and each stays alone.
    """
    group = np.full(values.size, -1, dtype=np.intp)
    waiting: list[int] = []
    held, found = 0.0, 0
    counts = values[: values.size - apart].tolist()
    heavy = _HEAVY * least if ordered else least
    for code, count in enumerate(counts):
        if count >= (heavy if waiting else least):
            if ordered and waiting and all(following >= least for following in counts[code + 1 : code + 2]):
                if waiting[0] == 0:
                    group[waiting] = found
                    found += 1
                else:
                    before = group[waiting[0] - 1]
                    group[waiting] = before if values[group == before].sum() < count else found
                waiting, held = [], 0.0
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
    group[values.size - apart :] = found + bool(waiting) + np.arange(apart)
    return group


def _joined_to(values: FloatArray, most: float, apart: int, *, ordered: bool = False) -> NDArray[np.intp]:
    """Return at most `most` groups, as even as `_joined` makes them, by a search for the least count of a group."""
    lower, upper = 0.0, max(float(np.abs(values).sum()), 1.0)
    best = _joined(values, math.inf, apart, ordered=ordered)
    for _ in range(_SEARCHES):
        middle = (lower + upper) / 2
        group = _joined(values, middle, apart, ordered=ordered)
        if _number(group) > most:
            lower = middle
            continue
        upper, best = middle, group
        if _number(group) > most - 1:
            break
    return best


def _most_groups(numbers: Sequence[int], cells: float) -> float:
    """Return the largest m for which m groups times the median column, cut to m groups, have at most this many
    cells."""
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


def _most_of_pair(numbers: Sequence[int], cells: float) -> float:
    """Return the largest m for which any two columns, cut to m groups each, have at most this many cells."""
    if len(numbers) < 2:
        return math.inf
    second = sorted(numbers)[-2]
    return max(cells / max(min(second, math.sqrt(cells)), 1.0), FEWEST_GROUPS)


def _shrunk(values: FloatArray, sigma: float, group: NDArray[np.intp]) -> FloatArray:
    """Return weights [size] of the codes within their groups: noisy counts, shrunk towards the group's mean.

    The squared deviations are reduced to the part that noise does not explain.
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
    """The state from which a selector continues after the one-way marginals.

    Attributes:
        curator: Curator of the table with merged codes.
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
        n_pairs: int,
        measure_share: Fraction = Fraction(1),
        alone: bool = True,
    ) -> MergedStart:
        """Measure every column, and again if many codes are merged; merging is post-processing.

        Args:
            curator: Curator of the table.
            share: Fraction of the whole budget for everything.
            first: Fraction of the whole budget for the columns.
            most: The same if an average pair of columns keeps less than half of its cells.
            records_per_noise: See `coarsen`; None merges nothing.
            n_pairs: About how many pairs, or larger marginals, will be measured.
            measure_share: Fraction of what is left that measures them.
            alone: See `coarsen`.
        """

        def merged(one_way: list[Measurement], used: Fraction) -> tuple[Recoding, list[Measurement]]:
            if records_per_noise is None:
                return Recoding.identity(curator.domain), one_way
            sigma = curator.noise_sigma(n_pairs, (share - used) * measure_share)
            return coarsen(
                one_way,
                domain=curator.domain,
                pair_sigma=sigma,
                records_per_noise=records_per_noise,
                alone=alone,
            )

        columns = [(c,) for c in curator.domain.columns]
        measured, used = curator.measure(columns, share=first, step=ONE_WAY), first
        recoding, reduced = merged(measured, used)
        if most > first and _merges_much(recoding):
            again = curator.measure(columns, share=most - first, step=ONE_WAY)
            measured = [one.averaged(other) for one, other in zip(measured, again, strict=True)]
            used = most
            recoding, reduced = merged(measured, used)
        return cls(curator.recoded(recoding) if recoding.maps else curator, reduced, recoding, used)

    def restored(self, model: MarginalModel) -> MarginalModel:
        """Return a model of the merged table as a model of the original codes."""
        if not self.recoding.maps:
            return model
        from syntabula.models.recoded import RecodedModel

        return RecodedModel(model, self.recoding)


def _merges_much(recoding: Recoding) -> bool:
    """Return whether an average pair of columns keeps less than half of its cells."""
    before, after = (
        sum(d.sizes) ** 2 - sum(n * n for n in d.sizes) for d in (recoding.domain, recoding.target)
    )
    return 2 * after < before
