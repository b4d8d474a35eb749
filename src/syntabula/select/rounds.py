"""How a budget is spread over rounds of choosing and measuring: what all adaptive strategies share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from syntabula._planning import PlannedFit, PlannedStep
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import HALF_NORMAL
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Candidates, Curator

_HALF_LAPLACE = math.sqrt(1 / 2)  # the same of Laplace noise of standard deviation 1
_NO_LIMIT = 1_000_000


class Rounds:
    """Rounds of a choice and a measurement until a share of the budget is spent, and no more.

    A rest that does not pay for a round and another one goes into that round.

    Args:
        share: Part of the whole budget for everything.
        used: Part of it that was spent before the first round.
        round_share: What a first round costs.
        measure_share: Part of a round that goes to the measurement; the rest pays for the choice.
        max_rounds: At most so many rounds, the last of which spends all that is left.
    """

    def __init__(
        self,
        *,
        share: Fraction,
        used: Fraction,
        round_share: Fraction,
        measure_share: Fraction | float,
        max_rounds: int | None = None,
    ) -> None:
        self._share = share
        self._used = used
        self._round = round_share
        self._part = Fraction(measure_share)
        self._max_rounds = max_rounds or _NO_LIMIT

    @property
    def done(self) -> float:
        """Part of the share that is spent, the present round included."""
        return float(self._used / self._share)

    def __iter__(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield what the measurement and the choice of each round may cost."""
        for number in range(1, self._max_rounds + 1):
            left = self._share - self._used
            if not left:
                return
            if left < 2 * self._round or number == self._max_rounds:
                self._round = left
            self._used += self._round
            yield self._part * self._round, (1 - self._part) * self._round

    def grow(self, factor: int) -> None:
        """Make later rounds cost so many times more."""
        self._round *= factor


def mean_noise(curator: Curator, n_marginals: int, share: Fraction | float) -> float:
    """Return the mean absolute noise on a cell of marginals that are measured together with a share. Free."""
    pure = curator.ledger.budget.currency == "epsilon"
    return curator.noise_sigma(n_marginals, share) * (_HALF_LAPLACE if pure else HALF_NORMAL)


def pairs_of(domain: Domain) -> list[Clique]:
    """Return all pairs of columns."""
    return list(combinations(domain.columns, 2))


def affordable(
    model: MarginalModel, candidates: Sequence[Clique], measured: Sequence[Clique], growth_mb: float
) -> list[Clique]:
    """Return the candidates that let a model grow no further than it may, or not at all.

    Args:
        model: Bound to a domain.
        candidates: What may be measured next.
        measured: What it is fitted to.
        growth_mb: Most megabytes beyond the model that is fitted to nothing.
    """
    limit = model.memory_mb([]) + growth_mb
    known = set(measured)
    new = [c for c in candidates if c not in known]
    sizes = dict(zip(new, model.memory_with_each_mb(list(known), new), strict=True))
    return [c for c in candidates if sizes.get(c, 0.0) <= limit]


def choose_worst(
    curator: Curator,
    model: MarginalModel,
    candidates: Sequence[Clique],
    *,
    picks: int,
    share: Fraction,
    noise: float,
    step: str,
    still_open: Callable[[Sequence[Clique], Sequence[Clique]], list[Clique]] | None = None,
    scale: float = 1.0,
) -> list[Clique]:
    """Choose candidates that a model gets most wrong, beyond the noise of their measurement, one after the other.

    Args:
        curator: Compares them with the table.
        model: Is fitted to all that is known.
        candidates: What may be measured next.
        picks: How many are to be chosen, at most; each choice costs an equal part of the share.
        share: For all choices.
        noise: Mean absolute noise on a cell when they are measured together.
        step: What the ledger calls the choices.
        still_open: Which of those left may still be chosen, given those left and those chosen; None for all.
        scale: By what the model's beliefs are multiplied.
    """
    penalties = [noise * curator.domain.cells(c) for c in candidates]
    believed = [scale * estimate for estimate in model.marginals(candidates)]
    asked = Candidates(curator, candidates, believed, penalties=penalties)
    left, chosen = np.ones(len(candidates), dtype=np.bool_), list[Clique]()
    while left.any() and len(chosen) < picks:
        position = asked.choose(share=share / picks, step=step, among=left)
        chosen.append(candidates[position])
        left[position] = False
        if still_open is not None:
            there = np.flatnonzero(left).tolist()
            kept = set(still_open([candidates[i] for i in there], chosen))
            left[there] = [candidates[i] in kept for i in there]
    return chosen


def plan_of_pairs(
    domain: Domain,
    *,
    one_way: Fraction,
    round_share: Fraction,
    measure_share: Fraction,
    names: tuple[str, str, str],
    picks: int = 1,
    max_model_mb: float | None = None,
    fits: int | None = None,
) -> list[PlannedStep]:
    """Say what one-way marginals cost, and then rounds of choosing and measuring pairs.

    Without a limit on the model's size, all pairs may come to be measured, and it must hold them. It is fitted
    `fits` times; None for once a round.
    """
    singles = tuple((c,) for c in domain.columns)
    pairs, cells = tuple(pairs_of(domain)), sum(domain.sizes)
    first = PlannedStep(
        name=names[0],
        share=one_way,
        cells=cells,
        noisy_cells=cells,
        fit=PlannedFit(cells=cells, cliques=singles),
    )
    if one_way == 1:
        return [first]
    counted = sorted((domain.cells(c) for c in pairs), reverse=True)
    chosen = math.ceil((1 - one_way) / round_share) * picks
    cliques = (*singles, *pairs)
    rounds = math.ceil((1 - one_way) / round_share) if fits is None else fits
    model_cells = sum(counted) if max_model_mb is None else int(max_model_mb * 2**20 / 8)
    fit = PlannedFit(
        cells=cells + model_cells, cliques=cliques, kept_small=max_model_mb is not None, times=rounds
    )
    choose = PlannedStep(
        name=names[1],
        share=(1 - one_way) * (1 - measure_share),
        cells=sum(counted),
        fit=replace(fit, times=0),
    )
    measure = replace(
        choose,
        name=names[2],
        share=(1 - one_way) * measure_share,
        cells=0,
        noisy_cells=sum(counted[:chosen]),
        fit=fit,
    )
    return [first, choose, measure]
