"""Rounds of equal cost: what they spend, how many pairs they choose, and that they learn."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.fixed_rounds import CHOOSE, MEASURE, ONE_WAY, FixedRounds

DOMAIN = Domain.from_sizes({"a": 4, "b": 4, "c": 4, "d": 3})
PAIRS = list(combinations(DOMAIN.columns, 2))


def table(n: int = 5000) -> EncodedTable:
    """Draw rows where b follows a, and c follows b; d stands alone."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.8, b, rng.integers(0, 4, n))
    return EncodedTable(DOMAIN, (a, b, c, rng.integers(0, 3, n)))


def curator(budget: Budget, rows: EncodedTable | None = None) -> Curator:
    return Curator(MemoryEngine(rows or table()), Ledger(budget), SeededNoise(0))


OPTIONS = [{}, {"pairs_per_round": 4}, {"pairs_per_round": 4, "again": False}, {"rounds_per_column": 1}]


class TestBudget:
    @pytest.mark.thorough
    def test_all_of_it_is_spent_and_no_more(self) -> None:
        for budget in [Budget(epsilon=1.0, delta=1e-5), Budget.pure(2.0)]:
            for options in OPTIONS:
                asked = curator(budget)

                FixedRounds(**options).select(asked, PGM())

                assert asked.ledger.spent <= budget.total
                assert float(asked.ledger.spent / budget.total) == pytest.approx(1.0, abs=1e-9)

    def test_rounds_cost_what_margnet_s_spends(self) -> None:
        # 0.1 rho for the start, then 5 d = 20 rounds with 0.45 rho / 20 for the choice and as much for the counts.
        asked = curator(Budget.zcdp(1.0, 1e-6))

        FixedRounds().select(asked, PGM())

        costs = {s: [float(e.cost) for e in asked.ledger.entries if e.step == s] for s in (CHOOSE, MEASURE)}
        assert costs[CHOOSE] == pytest.approx([0.45 / 20] * 20)
        assert costs[MEASURE] == pytest.approx([0.45 / 20] * 20)

    @pytest.mark.parametrize("options", OPTIONS)
    def test_the_plan_is_what_is_spent(self, options: dict[str, int]) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        FixedRounds(**options).select(asked, PGM(), share=Fraction(1, 2))

        planned = {step.name: float(step.share) / 2 for step in FixedRounds(**options).plan(DOMAIN)}
        assert {s: share for s, _, share in asked.ledger.by_step()} == pytest.approx(planned, abs=1e-9)

    def test_no_pair_comes_twice_where_that_is_said(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        FixedRounds(pairs_per_round=4, again=False).select(asked, PGM())

        assert Counter(e.step for e in asked.ledger.entries) == {ONE_WAY: 1, CHOOSE: len(PAIRS), MEASURE: 2}
        choices = [e.event.candidates for e in asked.ledger.entries if e.step == CHOOSE]
        assert choices == [6, 5, 4, 3, 2, 1]

    def test_one_column_gets_the_whole_budget(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6), table().project(["a"]))

        FixedRounds().select(asked, PGM())

        assert [e.step for e in asked.ledger.entries] == [ONE_WAY]
        assert float(asked.ledger.spent) == pytest.approx(1.0, abs=1e-9)


class TestAccuracy:
    @pytest.mark.parametrize("budget", [Budget.zcdp(1.2, 1e-6), NO_PRIVACY])
    def test_the_strong_pairs_are_measured(self, budget: Budget) -> None:
        # Independence is off by a TVD of 0.6; at this noise a wrong outcome is a many-sigma event.
        model = FixedRounds().select(curator(budget), PGM())

        for pair in (("a", "b"), ("b", "c")):
            (exact,), (learned,) = MemoryEngine(table()).counts([pair]), model.marginals([pair])
            assert np.abs(exact - learned).sum() / 2 / 5000 < 0.1


class TestArguments:
    def test_senseless_options_are_refused(self) -> None:
        for options in [
            {"rounds_per_column": 0},
            {"pairs_per_round": 1.5},
            {"measure_share": 1},
            {"one_way_share": 0},
            {"again": 1},
        ]:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                FixedRounds(**options)  # type: ignore[arg-type]
