"""Measures how ordered columns rise together, where a model that holds its pairs gets that far wrong."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from syntabula._planning import PlannedStep, Progress
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.trend import FEWEST_CODES, Trend, scores_of
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import pairs_of

if TYPE_CHECKING:
    from syntabula.select.model_size import SizeLimit

CHOOSE = "choose a trend"
MEASURE = "measure the trend"

TRENDS = Fraction(1, 25)
"""Share of the budget for all trends."""

_ROUNDS, _AT_ONCE = 8, 4
"""Rounds, after each of which the model is fitted, and trends that are measured in each."""

_SURE = 3.0
"""Standard deviations of its noise by which a model must be off: where the worst is nearer, nobody asks for more."""

_LARGEST = 0.25
"""By how much one record changes a trend at most."""

_SECONDS_PER_COLUMN = 0.045
"""Time of all rounds, by fits of 60 columns at epsilon 5, which took .04."""

_MOST_PAIRS = 2_000
"""Pairs that are compared in each round, as the model's belief about each takes time."""


def planned_trends(domain: Domain) -> list[PlannedStep]:
    """Return the cost of trends; nothing if no two columns can have one."""
    pairs = _candidates(domain)
    if not pairs:
        return []
    cells = sum(domain.cells(p) for p in pairs)
    return [
        PlannedStep(name=CHOOSE, share=TRENDS / 2, cells=cells, of_trends=True),
        PlannedStep(
            name=MEASURE,
            share=TRENDS / 2,
            noisy_cells=_ROUNDS * _AT_ONCE,
            work_seconds=_SECONDS_PER_COLUMN * len(domain),
            of_trends=True,
        ),
    ]


def held_for_trends(curator: Curator, model: MarginalModel, share: Fraction) -> Fraction:
    """Return the share to leave for trends: none if the model ignores them, no two columns can have one, or privacy is
    switched off, where trends say nothing beyond exact pairs."""
    wanted = model.takes_trends and curator.is_private and _candidates(curator.domain)
    return TRENDS * share if wanted else Fraction(0)


def learn_trends(
    curator: Curator,
    model: MarginalModel,
    measured: Sequence[Measurement],
    *,
    share: Fraction,
    fitting: SizeLimit,
    progress: Progress,
) -> tuple[MarginalModel, Fraction]:
    """Choose, measure and fit the trends that a model gets most wrong, until the worst is within noise.

    A marginal of two columns has a hundred cells, each with noise. The sum over records of the product of both scores
    is one number, which a record changes by a quarter at most: for a few hundredths of the budget it is known better than
    from all cells. So a pair that a model knows only through a third column, or that few records have, keeps how it
    rises. This is no part of any of the papers.

    Args:
        curator: Curator of the table in the model's coding.
        model: The model, fitted to what is measured.
        measured: What it is fitted to, every column among it.
        share: Fraction of the whole budget for all trends.
        fitting: Says which pairs keep the model small enough.
        progress: Called with the name of a step and the fraction of the rounds that are done.

    Returns:
        The model, held to the trends, and the share that was spent.
    """
    from syntabula.models.pair_questions import products_of_scores
    from syntabula.privacy.doors.queries import TrendCurator

    pairs = _candidates(curator.domain)
    part, used = share / (2 * _ROUNDS * _AT_ONCE), Fraction(0)
    # Trends of a model and a table are half of all records apart at most.
    if not pairs or _SURE * curator.noise_sigma(1, part) * _LARGEST > model.total / 2:
        return model, used
    asked = TrendCurator(curator, pairs, _scores(curator.domain, pairs, measured))
    place = {column: i for i, column in enumerate(asked.scores)}
    firsts, seconds = ([place[pair[side]] for pair in pairs] for side in (0, 1))
    found = list[Trend]()
    for number in range(_ROUNDS):
        left = list(range(len(pairs)))
        believed = products_of_scores(model, asked.scores)[firsts, seconds]
        new = list[Trend]()
        while len(new) < _AT_ONCE:
            held = [*(m.clique for m in measured), *(t.clique for t in found + new)]
            # Each trend makes the model larger, so that another one may no longer fit.
            possible = set(fitting(model, [pairs[i] for i in left], held, 1.0)) - {t.clique for t in found}
            left = [i for i in left if pairs[i] in possible]
            if not left:
                break
            chosen = asked.choose(believed, among=left, share=part, step=CHOOSE)
            trend = asked.measure(chosen, share=part, step=MEASURE)
            used += 2 * part
            # Another pair of the same column may be right once this one is.
            left = [i for i in left if not set(pairs[i]) & set(pairs[chosen])]
            if abs(trend.value - believed[chosen]) > _SURE * trend.sigma:
                new.append(trend)
            else:
                break
        if not new:
            break
        try:
            model = model.with_trends([*found, *new]).fit(measured)
        except ResourceError:
            # Larger than estimated: these trends are paid and of no use, and what is left goes to the pairs.
            break
        found += new
        progress(MEASURE, (number + 1) / _ROUNDS)
    return model, used


def fitted_again(model: MarginalModel, measured: Sequence[Measurement]) -> MarginalModel:
    """Return a model with trends fitted to more measurements, without the trends if they make it too large by now."""
    try:
        return model.fit(measured)
    except ResourceError:
        return model.with_trends([]).fit(measured)


def _candidates(domain: Domain) -> list[Clique]:
    """Return the pairs of ordered columns that can have a trend; those of the widest columns, if there are many."""
    sizes = {c: domain.size(c) - domain.apart.get(c, 0) for c in domain.columns if c in domain.ordered}
    rising = sorted((c for c, n in sizes.items() if n >= FEWEST_CODES), key=lambda c: -sizes[c])
    most = int((1 + np.sqrt(1 + 8 * _MOST_PAIRS)) / 2)
    kept = set(rising[:most])
    return [pair for pair in pairs_of(domain) if kept.issuperset(pair)]


def _scores(
    domain: Domain, pairs: Sequence[Clique], measured: Sequence[Measurement]
) -> dict[str, FloatArray]:
    """Return the scores of the codes of each column of some pairs."""
    rising, found = {c for pair in pairs for c in pair}, dict[str, FloatArray]()
    for measurement in measured:
        column = measurement.clique[0]
        if len(measurement.clique) == 1 and column in rising and column not in found:
            inner = domain.size(column) - domain.apart.get(column, 0)
            found[column] = scores_of(measurement.values, inner)
    return found
