"""The learner of Tab-PE: rows evolve by the votes of records for the nearest of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from syntabula._arguments import count, normalise, positive, refusal, share
from syntabula._planning import FitCost, PlannedStep, Progress, times_are_asked
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Domain
from syntabula.models.base import Model
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.record_models.generated_rows import code_shares, drawn_again, independent_rows, raked
from syntabula.record_models.learner import ONE_WAY
from syntabula.record_models.one_way import ONE_WAY_SHARE, OneWayStart
from syntabula.record_models.population import Ballot, ComparedColumns, EvolvedRows, Population, nearness_of
from syntabula.record_models.representation import column_lookups, one_way_counts
from syntabula.record_models.too_short import warn_if_few

_LEAST_ASKED, _MOST_ASKED = 16, 2000
_ALL_COMPARED = 3
"""Of so many rounds one compares rows in all columns, so that dependence of many is seen too."""
_FIRST_CHANGE, _LAST_CHANGE, _FALL = 0.5, 0.01, 0.2
_FEWEST_ROWS, _MOST_ROWS = 1000, 1_000_000
"""Of a release, which has as many rows as there are records otherwise: a few rows hold less than their weights say."""

# Measured on one processor.
_SECONDS_PER_COMPARISON = 3.3e-9
_USUAL_ASKED = 300
_RAKED = 16


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """How rows evolve.

    Attributes:
        rounds: How often records vote.
        columns: Columns in which a round compares rows, those that were least compared together; each third round
            compares all of them. None for all of them in each round, as in the paper.
        crowd: Number of records that vote for a row on average, in standard deviations of the noise on it: a
            larger one asks about fewer rows, which are told apart better from noise.
        candidates: Rows of the population.
        one_way_share: Fraction of the budget for the one-way marginals; the rounds share the rest equally.
        seconds: As many of the rounds are held as take so long on one processor by the estimate of `plan`, for the
            released number of records, but one at least; None for all. This is settled before the first vote is paid for,
            whatever the machine.

    Raises:
        ArgumentError: If an argument is outside its range.
    """

    rounds: int = tunable(40, Range(low=10, high=80, log=True))
    columns: int | None = tunable(4, Range(low=2, high=8))
    crowd: float = 10.0
    candidates: int = 20_000
    one_way_share: Fraction = ONE_WAY_SHARE
    seconds: float | None = None

    def __post_init__(self) -> None:
        normalise(
            self,
            rounds=count(),
            columns=count().or_none,
            crowd=positive,
            candidates=count(2),
            one_way_share=share,
            seconds=positive.or_none,
        )

    @property
    def round_share(self) -> Fraction:
        """Fraction of the budget for the votes of a round."""
        return (1 - self.one_way_share) / self.rounds

    def asked_for(self, total: float, sigma: float) -> int:
        """Return how many rows records vote for, by a released number of records and the noise on each row's votes."""
        wanted = total / (self.crowd * sigma) if sigma > 0 else _MOST_ASKED
        return min(max(round(min(wanted, _MOST_ASKED)), _LEAST_ASKED), self.candidates)

    def compared_in(self, r: int) -> int | None:
        """Return in how many columns round r compares rows; None for all."""
        return None if (r + 1) % _ALL_COMPARED == 0 else self.columns

    def change(self, r: int) -> float:
        """Return how much a variation changes after round r, from 0.5 down to 0.01 (as the paper's code has it)."""
        done = float((r / self.rounds) ** _FALL)
        return _FIRST_CHANGE - (_FIRST_CHANGE - _LAST_CHANGE) * done


@dataclass(frozen=True, kw_only=True)
class EvolutionLearner:
    """Measures one-way marginals, and lets rows evolve by votes (`synthesizers.tabpe`).

    Attributes:
        evolution: How.
        seed: Of all that is drawn. No privacy rests on it.
        is_noisy: Whether there is a budget; without one the plan knows that as many rows are asked about as can be.
        is_resumed: Whether an interrupted run may have paid for votes.
    """

    evolution: Evolution = field(default_factory=Evolution)
    seed: int = 0
    is_noisy: bool = True
    is_resumed: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.evolution, Evolution):
            raise refusal("evolution", "an Evolution", self.evolution)

    @property
    def name(self) -> str:
        """The kind of the rows."""
        return EvolvedRows.kind

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost."""
        evolution, cells = self._in_time(domain, n_rows), sum(domain.sizes)
        if times_are_asked():
            self._tell_of_few_rounds(evolution, domain, n_rows)
        rows, asked = max(n_rows, evolution.candidates), min(_MOST_ASKED, evolution.candidates)
        # Codes and choices of the population and its successor, and some records compared with all rows asked.
        numbers = rows * (3 * len(domain) + 2 * evolution.rounds) + 4096 * (3 * asked + 2 * cells)
        return [
            PlannedStep(name=ONE_WAY, share=evolution.one_way_share, cells=cells, noisy_cells=cells),
            *(
                PlannedStep(
                    name=_vote(r),
                    share=evolution.round_share,
                    noisy_cells=asked,
                    cost=FitCost(numbers * 8 / 2**20, self._seconds_of(r, domain, n_rows)),
                    remedy=f"lower candidates, which is {evolution.candidates:,}",
                )
                for r in range(evolution.rounds)
            ),
        ]

    def try_parts(self, domain: Callable[[], Domain], budget: Budget, *, memory_mb: float) -> None:
        """Warn of a limit of time that leaves next to no rounds even for the smallest table."""
        del budget, memory_mb  # this learner has the one, and what is made up takes little of the other
        if self.evolution.seconds is not None and not self.is_resumed:
            columns = domain()
            self._tell_of_few_rounds(self._in_time(columns, 1), columns, 1)

    def _tell_of_few_rounds(self, held: Evolution, domain: Domain, n_rows: int) -> None:
        """Warn of a limit of time that leaves next to no rounds, though all of the budget is spent."""
        whole, seconds = self.evolution, self.evolution.seconds
        if self.is_noisy and seconds is not None:
            taken = sum(self._seconds_of(r, domain, n_rows) for r in range(whole.rounds))
            warn_if_few(held.rounds, whole.rounds, seconds, taken, planned_rows=n_rows, unit="round")

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Measure the one-way marginals, let the records vote round by round, and return the last rows."""
        progress(ONE_WAY, 0.0)
        start = OneWayStart.of(doors, share=share * self.evolution.one_way_share, step=ONE_WAY)
        doors, domain, one_way = start.doors, start.doors.domain, one_way_counts(start.measured)
        total = max(float(np.mean([counts.sum() for counts in one_way.values()])), 1.0)
        shares = code_shares(domain, dict(zip(domain, column_lookups(domain, one_way, waves=1), strict=True)))
        evolution = self._in_time(domain, round(total))
        rng = np.random.default_rng([self.seed, evolution.rounds])
        paid = share * evolution.round_share
        asked_for = evolution.asked_for(total, doors.nearest.sigma(evolution.candidates, paid))
        population = Population.of(independent_rows(shares, domain, evolution.candidates, self.seed))
        compared, ballots = ComparedColumns(domain, rng), list[Ballot]()
        for r in range(evolution.rounds):
            progress(_vote(r), r / evolution.rounds)
            columns = compared.next(evolution.compared_in(r))
            nearness = nearness_of(domain, shares, columns)
            asked = population.asked(columns, asked_for, rng)
            votes = doors.nearest.vote(nearness, asked, share=paid, step=_vote(r))
            population, ballot = population.told(nearness, asked, votes.values / total, votes.sigma / total)
            ballots.append(ballot)
            is_last = r == evolution.rounds - 1
            n = self._last_rows(total) if is_last else evolution.candidates
            population = population.next(ballots, shares, n, evolution.change(r), rng)
        progress(_vote(evolution.rounds - 1), 1.0)
        rows = population.rows
        followed = drawn_again(rows, raked(np.ones(rows.n_rows), rows, shares), rows.n_rows, self.seed)
        return start.restored(EvolvedRows.of(followed, total)), None

    def _last_rows(self, total: float) -> int:
        """Return the number of rows of the release."""
        fewest = min(_FEWEST_ROWS, self.evolution.candidates)
        return round(min(max(total, fewest), _MOST_ROWS))

    def _in_time(self, domain: Domain, n_rows: int) -> Evolution:
        """Return the evolution with as many rounds as the limit of time lets, by public and released numbers alone."""
        evolution, taken = self.evolution, 0.0
        for r in range(evolution.rounds):
            taken += self._seconds_of(r, domain, n_rows)
            if evolution.seconds is not None and taken > evolution.seconds:
                return replace(evolution, rounds=max(r, 1))
        return evolution

    def _seconds_of(self, r: int, domain: Domain, n_rows: int) -> float:
        """Return about how long a round takes: records choose in its vote, new rows in all votes so far."""
        asked = min(_MOST_ASKED, self.evolution.candidates)
        usual = min(max(n_rows // 100, _LEAST_ASKED), _USUAL_ASKED) if self.is_noisy else asked
        compared = n_rows + self.evolution.candidates * (r + 3) / 2
        return compared * (usual + _RAKED * len(domain)) * _SECONDS_PER_COMPARISON


def _vote(r: int) -> str:
    """Return the name of a round's spend."""
    return f"records vote, round {r + 1}"
