"""Looks for columns that depend on each other only together, by threes and fours, once a model holds their pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, combinations

import numpy as np

from syntabula._planning import PlannedStep
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement, consistent_total
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import mean_noise
from syntabula.select.exact_rounds import sampling_error
from syntabula.select.model_size import SizeLimit

LOOK = "look for interactions"
WEIGH = "weigh the interaction"
MEASURE = "measure the interaction"

HELD = Fraction(1, 5)
"""Share that rounds leave until somebody has looked; what finds nothing costs the look and the weighing alone."""

_LOOK, _WEIGH, _MEASURE = Fraction(1, 100), Fraction(1, 200), Fraction(3, 100)
# The part of all records by which the model must be off, beyond noise (real tables showed at most 0.11), and how many
# standard deviations of the weighing it must hold before anybody looks, as the look is about as uncertain.
_LEAST, _SURE = 0.2, 8.0
_DOUBT = 3.0
_MOST_CANDIDATES = 5_000  # of three columns, and of four
_MOST_CELLS = 20_000  # of a candidate, before codes are merged
_ALL_CELLS = 10_000_000
_RECORDS_PER_CELL = 20
_FEWEST_ROWS, _MOST_ROWS = 20_000, 200_000
_SEED = 0  # of rows drawn from the model, which is released anyway


def interactions(domain: Domain) -> list[Clique]:
    """Return the threes and fours of columns that are looked at: the smallest first, by declared facts alone.

    Of many columns those with the fewest codes take part: 32 in threes and 20 in fours.
    """
    found: list[Clique] = []
    sizes = dict(zip(domain.columns, domain.sizes, strict=True))
    by_size = sorted((c for c in domain.columns if sizes[c] > 1), key=sizes.__getitem__)
    for number in (3, 4):
        few = set(by_size)
        while math.comb(len(few), number) > _MOST_CANDIDATES:
            few = set(by_size[: len(few) - 1])
        taken = [c for c in domain.columns if c in few]
        found += [c for c in combinations(taken, number) if domain.cells(c) <= _MOST_CELLS]
    found.sort(key=domain.cells)
    kept = sum(1 for cells in accumulate(map(domain.cells, found)) if cells <= _ALL_CELLS)
    return found[:kept]


def planned(domain: Domain) -> list[PlannedStep]:
    """Return the cost of a look that finds one interaction; nothing if no columns can be looked at."""
    candidates = interactions(domain)
    if not candidates:
        return []
    cells = [domain.cells(c) for c in candidates]
    return [
        PlannedStep(name=LOOK, share=_LOOK, cells=sum(cells)),
        PlannedStep(name=WEIGH, share=_WEIGH, noisy_cells=1),
        PlannedStep(name=MEASURE, share=_MEASURE, noisy_cells=max(cells)),
    ]


def held_for(
    curator: Curator, candidates: Sequence[Clique], one_way: Sequence[Measurement], share: Fraction
) -> Fraction:
    """Return the share to leave for interactions: none without candidates, or if the budget is too small to show one.

    Args:
        curator: Curator of the table.
        candidates: What would be looked at.
        one_way: Measured columns, which tell the number of records.
        share: Fraction of the whole budget for everything.
    """
    records = consistent_total(one_way)
    shown = _SURE * curator.noise_sigma(1, _WEIGH * share) <= _LEAST * records
    return HELD * share if candidates and shown else Fraction(0)


def learn_interactions(
    curator: Curator,
    model: MarginalModel,
    measured: list[Measurement],
    candidates: Sequence[Clique],
    *,
    share: Fraction,
    fitting: SizeLimit,
) -> tuple[MarginalModel, Fraction]:
    """Measure the threes and fours of columns that a model of pairs gets far wrong, one after the other.

    No pair shows the parity of two columns or more: each is independent of the rest. Here the candidate that differs
    most from the model, beyond noise and sampling, is chosen; its distance is released; and if that is more than a fifth
    of all records it is measured, for three hundredths of the budget, and the next one looked for. Rows drawn from
    the model stand for it, as counting them takes a hundredth of the time of its exact marginals.

    Args:
        curator: Curator of the table in the model's coding.
        model: The model, fitted to what is measured.
        measured: What the model is fitted to; what is found is appended.
        candidates: What is looked at; those with few records a cell are left out.
        share: Fraction of the whole budget for everything; at most `HELD` of it is spent.
        fitting: Says which candidates keep the model small enough.

    Returns:
        The model, and the share that was spent.
    """
    domain, records, used = curator.domain, max(model.total, 1.0), Fraction(0)
    look, weigh, measure = _LOOK * share, _WEIGH * share, _MEASURE * share
    sigma, noise = curator.noise_sigma(1, weigh), mean_noise(curator, 1, measure)
    while used + look + weigh + measure <= HELD * share:
        known = [m.clique for m in measured]
        left = [c for c in candidates if c not in known and domain.cells(c) * _RECORDS_PER_CELL <= records]
        left = fitting(model, left, known, 1.0) if left else []
        if not left:
            break
        believed, drawn = _drawn(model, left)
        doubled = math.sqrt(1 + records / drawn)  # the drawn rows are a sample too
        tolerated = [
            doubled * sampling_error(e) + noise * domain.cells(c) for c, e in zip(left, believed, strict=True)
        ]
        best = curator.choose(left, believed, share=look, step=LOOK, penalties=tolerated)
        used += look
        if not fitting.confirms(model, left[best], known):
            continue
        distance = curator.measure_distance([left[best]], [believed[best]], share=weigh, step=WEIGH)
        used += weigh
        if distance - tolerated[best] <= max(_LEAST * records, _DOUBT * sigma):
            break
        measured += curator.measure([left[best]], share=measure, step=MEASURE)
        used += measure
        model = model.fit(measured)
    return model, used


def _drawn(model: MarginalModel, cliques: Sequence[Clique]) -> tuple[list[FloatArray], int]:
    """Return expected counts of cliques, by rows drawn from a model, and how many rows these are."""
    n = int(min(max(5 * model.total, _FEWEST_ROWS), _MOST_ROWS))
    rows = MemoryEngine(model.sample(n, np.random.default_rng(_SEED)))
    weight = model.total / n
    return [np.multiply(counts, weight, dtype=np.float64) for counts in rows.counts(cliques)], n
