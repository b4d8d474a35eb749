"""MargNet's selection: what it spends, when its budget doubles, and that it learns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExponentialEvent, GaussianEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.base import Rounds
from syntabula.select.doubling import (
    CHOOSE,
    CHOOSE_CELL,
    MEASURE,
    MEASURE_CELL,
    ONE_WAY,
    FirstTimeDoubling,
)
from syntabula.select.exact_rounds import sampling_error

DOMAIN = Domain.from_sizes({"a": 4, "b": 4, "c": 4, "d": 3})
PAIRS = list(combinations(DOMAIN.columns, 2))


def table(n: int = 5000) -> EncodedTable:
    """Draw rows where b follows a, and c follows b; d stands alone."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.8, b, rng.integers(0, 4, n))
    return EncodedTable(DOMAIN, (a, b, c, rng.integers(0, 3, n)))


def curator(budget: Budget, rows: EncodedTable | None = None, seed: int = 0) -> Curator:
    return Curator(MemoryEngine(rows or table()), Ledger(budget), SeededNoise(seed))


class Watched(PGM):
    """Counts fits, and how many measurements each saw."""

    fits: ClassVar[list[int]] = []

    def fit(self, measurements: Sequence[object]) -> Watched:
        type(self).fits.append(len(measurements))
        return super().fit(measurements)  # type: ignore[arg-type, return-value]


class Deaf(PGM):
    """A model that learns nothing from pairs."""

    def fit(self, measurements: Sequence[object]) -> Deaf:
        return super().fit([m for m in measurements if len(m.clique) == 1])  # type: ignore[attr-defined, return-value]


class TestRounds:
    def test_exactly_the_share_is_spent(self) -> None:
        for max_rounds, factor in product((None, 1, 3, 50), (1, 2, 4)):
            rounds = Rounds(
                share=Fraction(2, 3),
                used=Fraction(1, 10),
                round_share=Fraction(1, 37),
                measure_share=0.9,
                max_rounds=max_rounds,
            )

            spent = Fraction(1, 10)
            for measure, choose in rounds:
                spent += measure + choose
                rounds.grow(factor)

            assert spent == Fraction(2, 3), (max_rounds, factor)
            assert rounds.done == 1.0, (max_rounds, factor)

    def test_the_last_round_is_never_a_sliver(self) -> None:
        rounds = Rounds(share=Fraction(1), used=Fraction(0), round_share=Fraction(3, 10), measure_share=0.5)

        assert [m + c for m, c in rounds] == [Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)]

    def test_what_is_held_joins_what_was_left(self) -> None:
        # 4 twentieths are open: one round of 3; the 1 that is left goes on with the 10 that come back of 15.
        rounds = Rounds(
            share=Fraction(1),
            used=Fraction(1, 20),
            round_share=Fraction(3, 20),
            measure_share=0.5,
            held=Fraction(15, 20),
        )

        assert [m + c for m, c in rounds] == [Fraction(3, 20)]
        rounds.release(Fraction(5, 20))
        assert [20 * (m + c) for m, c in rounds] == [3, 3, 5]
        assert rounds.done == 1.0

    def test_a_first_round_that_is_too_large_spends_what_is_open(self) -> None:
        rounds = Rounds(
            share=Fraction(1),
            used=Fraction(0),
            round_share=Fraction(1, 2),
            measure_share=0.5,
            held=Fraction(3, 4),
        )

        assert [m + c for m, c in rounds] == [Fraction(1, 4)]


class TestBudget:
    def test_all_of_it_is_spent_and_no_more(self) -> None:
        for budget in [Budget(epsilon=1.0, delta=1e-5), Budget.pure(2.0)]:
            asked = curator(budget)

            FirstTimeDoubling().select(asked, PGM())

            assert asked.ledger.spent <= budget.total
            assert float(asked.ledger.spent / budget.total) == pytest.approx(1.0, abs=1e-9)

    def test_the_first_round_has_the_noise_of_the_paper(self) -> None:
        # Algorithm 1 with d = 4, c = 64: rho_m = 0.9 rho / 64, rho_s = 0.1 rho / 64.
        asked = curator(Budget.zcdp(1.2, 1e-6))

        FirstTimeDoubling().select(asked, PGM())

        one_way, choice, measurement = (entry.event for entry in asked.ledger.entries[:3])
        assert isinstance(one_way, GaussianEvent)
        assert isinstance(choice, ExponentialEvent)
        assert isinstance(measurement, GaussianEvent)
        assert one_way.sigma == pytest.approx(np.sqrt(64 / (2 * 0.9 * 1.2)))
        assert one_way.l2_sensitivity_squared == 4
        assert choice.epsilon == pytest.approx(np.sqrt(8 * 0.1 * 1.2 / 64))
        assert choice.candidates == len(PAIRS)
        assert measurement.sigma == pytest.approx(one_way.sigma)

    def test_laplace_noise_is_deducted_with_its_mean(self, monkeypatch: pytest.MonkeyPatch) -> None:
        deducted: list[Sequence[float]] = []
        choose = Curator.choose

        def watched(self: Curator, *args: Any, penalties: Sequence[float], **options: Any) -> int:
            deducted.append(penalties)
            return choose(self, *args, penalties=penalties, **options)

        monkeypatch.setattr(Curator, "choose", watched)

        FirstTimeDoubling().select(curator(Budget.pure(2.0)), PGM())

        # A first measurement costs 0.9 / 64 of the budget, so the scale, which is the mean, is 64 / (0.9 * 2).
        assert deducted[0] == pytest.approx([64 / 1.8 * DOMAIN.cells(p) for p in PAIRS], rel=0.01)

    def test_the_plan_is_what_is_spent(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        FirstTimeDoubling().select(asked, PGM())

        planned = {step.name: float(step.share) for step in FirstTimeDoubling().plan(DOMAIN)}
        spent = {step: share for step, _, share in asked.ledger.by_step()}
        assert spent == pytest.approx(planned, abs=1e-9)

    def test_a_share_of_the_budget_is_kept_to(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        FirstTimeDoubling().select(asked, PGM(), share=Fraction(1, 4))

        assert float(asked.ledger.spent) == pytest.approx(0.25, abs=1e-9)

    def test_one_column_gets_the_whole_budget(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6), table().project(["a"]))

        FirstTimeDoubling().select(asked, PGM())

        assert [e.step for e in asked.ledger.entries] == [ONE_WAY]
        assert float(asked.ledger.spent) == pytest.approx(1.0, abs=1e-9)


class TestDoubling:
    @pytest.mark.thorough
    def test_pairs_that_bring_nothing_double_the_cost_once_each(self) -> None:
        """A deaf model never moves: the budget doubles for each new pair, and for no pair twice."""
        asked = curator(Budget.zcdp(1.0, 1e-6))

        FirstTimeDoubling(rounds_per_column=200).select(asked, Deaf())

        costs = [float(e.cost) for e in asked.ledger.entries if e.step == MEASURE][:-1]
        ratios = np.round(np.divide(costs[1:], costs[:-1]), 6)
        assert set(ratios) <= {1.0, 2.0}
        assert 1 <= (ratios == 2.0).sum() <= len(PAIRS)
        assert ratios[0] == 2.0

    def test_the_model_is_fitted_once_more_with_nothing_new(self) -> None:
        Watched.fits = []

        FirstTimeDoubling(rounds_per_column=2).select(curator(Budget.zcdp(1.0, 1e-6)), Watched())

        seen = Watched.fits
        assert seen[-1] == seen[-2]
        assert seen[:-1] == list(range(4, 4 + len(seen) - 1))


class TestCells:
    def test_all_of_the_budget_is_spent_on_single_cells(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        FirstTimeDoubling(queries="cells", rounds_per_column=4).select(asked, PGM())

        assert float(asked.ledger.spent) == pytest.approx(1.0, abs=1e-9)
        measured = [e.event for e in asked.ledger.entries if e.step == MEASURE_CELL]
        chosen = [e.event for e in asked.ledger.entries if e.step == CHOOSE_CELL]
        assert len(measured) == len(chosen) > 2
        assert {e.cells for e in measured} == {1}
        assert {e.candidates for e in chosen} == {sum(DOMAIN.cells(p) for p in PAIRS)}

    def test_a_cell_that_brings_nothing_doubles_the_cost(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        FirstTimeDoubling(queries="cells").select(asked, Deaf())

        costs = [float(e.cost) for e in asked.ledger.entries if e.step == MEASURE_CELL][:-1]
        assert costs[1] == pytest.approx(2 * costs[0])


class TestAccuracy:
    def test_the_strong_pairs_are_measured(self) -> None:
        asked = curator(Budget.zcdp(1.2, 1e-6))

        model = FirstTimeDoubling().select(asked, PGM())

        for pair in (("a", "b"), ("b", "c")):
            (exact,), (learned,) = MemoryEngine(table()).counts([pair]), model.marginals([pair])
            # Independence is off by a TVD of 0.6; at this noise a wrong outcome is a many-sigma event.
            assert np.abs(exact - learned).sum() / 2 / 5000 < 0.1

    def test_without_noise_it_ends_when_there_is_nothing_to_learn(self) -> None:
        asked = curator(NO_PRIVACY)

        model = FirstTimeDoubling().select(asked, PGM())

        found = model.marginals(PAIRS)
        # What is left is within the error that a sample of as many records would have.
        for exact, learned in zip(MemoryEngine(table()).counts(PAIRS), found, strict=True):
            assert np.abs(exact - learned).sum() < 1.01 * sampling_error(learned)
        assert sum(e.step == CHOOSE for e in asked.ledger.entries) <= len(PAIRS) + 1


class TestArguments:
    def test_senseless_options_are_refused(self) -> None:
        for options in [{"rounds_per_column": 0}, {"measure_share": 1}, {"queries": "rows"}]:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                FirstTimeDoubling(**options)  # type: ignore[arg-type]
