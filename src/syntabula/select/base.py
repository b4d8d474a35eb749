"""The interface that every selector implements, and the rounds of those that measure again and again."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, Protocol, Self

import numpy as np

from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import HALF_NORMAL
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Candidates, Curator
from syntabula.privacy.statement_facts import MethodChoice


class Selector(Protocol):
    """Decides which marginals to measure, and with what share of the budget; plug-ins inherit from this class.

    It is a frozen dataclass: its public fields are its options, which it validates on construction.

    Attributes:
        key: Its lower-case name in statements and commands.
        adaptive: Whether it repeatedly measures where the model is wrong, until the budget is spent.
        chooses: Whether it chooses among methods, and `learn` returns which.
        weighs_codes: Whether it measures every column alone, so that codes without records are told from others. If it
            does not, undeclared columns have a code for missing cells only where these are found before.
        columns_apart: Whether it learns columns one by one on purpose, so that nothing else learns what they tell of
            each other.
    """

    key: ClassVar[str]
    adaptive: ClassVar[bool] = False
    chooses: ClassVar[bool] = False
    weighs_codes: ClassVar[bool] = True
    columns_apart: ClassVar[bool] = False

    @abstractmethod
    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of each step for a domain, without data.

        Args:
            domain: The columns, and how many codes each has.

        Returns:
            The steps in order. Their shares are fractions of the selector's budget and add up to at most 1.
        """
        ...

    @abstractmethod
    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure, fit and return the fitted model.

        Args:
            curator: Answers queries with noise; its `domain` is the one passed to `plan`.
            model: The model to fit, with options but no domain: `model.over(curator.domain).fit(measurements)`.
            share: The selector's budget, as a fraction of the whole budget; a planned step of half the selector's
                budget costs `share / 2`. The ledger refuses spends beyond the whole budget, not beyond this share.
            progress: Called with the name of a step and the fraction done, 0 .. 1.

        Returns:
            The fitted model.
        """
        ...

    def learn(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> tuple[MarginalModel, MethodChoice | None]:
        """Like `select`, and also return which method was chosen and why; None if there was no choice."""
        return self.select(curator, model, share=share, progress=progress), None

    def within(self, memory_mb: float) -> Self:
        """Return this selector, or one that chooses no method which may need more memory than this."""
        del memory_mb
        return self


_HALF_LAPLACE = math.sqrt(1 / 2)  # the same of Laplace noise of standard deviation 1
_NO_LIMIT = 1_000_000


class Rounds:
    """Rounds of a choice and a measurement that spend exactly a share of the budget.

    A remainder that does not pay for two rounds goes into one.

    Args:
        share: Fraction of the whole budget for everything.
        used: Fraction of the whole budget that was spent before the first round.
        round_share: Cost of the first round.
        measure_share: Fraction of a round for the measurement; the rest pays for the choice.
        max_rounds: Most rounds; the last one spends all that is left.
        held: Fraction of the whole budget that is kept back until `release`; one round at least follows that.
    """

    def __init__(
        self,
        *,
        share: Fraction,
        used: Fraction,
        round_share: Fraction,
        measure_share: Fraction | float,
        max_rounds: int | None = None,
        held: Fraction = Fraction(0),
    ) -> None:
        self._share = share
        self._used = used
        self._round = round_share
        self._part = Fraction(measure_share)
        self._max_rounds = max_rounds or _NO_LIMIT
        self._held = held
        self._number = 0

    @property
    def done(self) -> float:
        """Fraction of the share that is spent, including the current round."""
        return float(self._used / self._share)

    def __iter__(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield the shares of the measurement and the choice of each round."""
        while left := self._share - self._held - self._used:
            if self._held and self._number and left < self._round:
                return  # what is left goes on with what is kept back
            self._number += 1
            last = left < 2 * self._round and not self._held
            if last or left < self._round or self._number >= self._max_rounds - bool(self._held):
                self._round = left
            self._used += self._round
            yield self._part * self._round, (1 - self._part) * self._round

    def release(self, used: Fraction) -> None:
        """Leave what was kept back to further rounds, except the part of it that was used elsewhere."""
        self._used += used
        self._held = Fraction(0)

    def give_back(self, part: Fraction) -> None:
        """Leave a part of the current round, which was not spent, to further rounds."""
        self._used -= part

    def grow(self, factor: int) -> None:
        """Multiply the cost of later rounds by a factor."""
        self._round *= factor


def mean_noise(curator: Curator, n_marginals: int, share: Fraction | float) -> float:
    """Return the mean absolute noise on a cell of marginals that are measured together with a share; costs
    nothing."""
    pure = curator.ledger.budget.currency == "epsilon"
    return curator.noise_sigma(n_marginals, share) * (_HALF_LAPLACE if pure else HALF_NORMAL)


def pairs_of(domain: Domain) -> list[Clique]:
    """Return all pairs of columns."""
    return list(combinations(domain.columns, 2))


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
    """Choose one by one the candidates that a model gets most wrong, beyond the noise of their measurement.

    Args:
        curator: Compares them with the table.
        model: The model, fitted to all measurements so far.
        candidates: Marginals that may be measured next.
        picks: Most choices; each costs an equal part of the share.
        share: Fraction of the whole budget for all choices.
        noise: Mean absolute noise on a cell when they are measured together.
        step: Name of the choices in the ledger.
        still_open: Returns which candidates may still be chosen, from those left and those chosen; None allows all.
        scale: Factor for the model's estimates.
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
    """Return the cost of one-way marginals, then of rounds of choosing and measuring pairs.

    Without a limit on the model's size, all pairs may be measured, and it must hold them. It is fitted `fits`
    times; None means once per round.
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
