"""Selection of single cells: what it spends, what it asks, and that it learns."""

from __future__ import annotations

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
from syntabula.privacy.events import ExponentialEvent, GaussianEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.cell_queries import CHOOSE, MEASURE, TOTAL, CellQueries

DOMAIN = Domain.from_sizes({"a": 3, "b": 3, "c": 2})
PAIRS = list(combinations("abc", 2))
CELLS = 9 + 6 + 6


def table(n: int = 2000) -> EncodedTable:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    return EncodedTable(DOMAIN, (a, np.where(rng.random(n) < 0.9, a, 2 - a), rng.integers(0, 2, n)))


def curator(budget: Budget, rows: EncodedTable | None = None) -> Curator:
    return Curator(MemoryEngine(rows or table()), Ledger(budget), SeededNoise(0))


class TestBudget:
    def test_all_of_it_is_spent_and_no_more(self) -> None:
        for budget in [Budget(epsilon=1.0, delta=1e-5), Budget.pure(2.0)]:
            for cells_per_round in [1, 3, 8]:
                asked = curator(budget)

                CellQueries(cells_per_round=cells_per_round).select(asked, PGM())

                assert asked.ledger.spent <= budget.total
                assert float(asked.ledger.spent / budget.total) == pytest.approx(1.0, abs=1e-9)

    def test_rounds_have_the_noise_of_gem(self) -> None:
        # T = 6 rounds with 0.99 rho / 6 each: half of it for eps = sqrt(8 rho_s), half for sigma = sqrt(1 / (2 rho_m)).
        asked = curator(Budget.zcdp(1.0, 1e-6))

        CellQueries(rounds_per_column=2).select(asked, PGM())

        half = 0.99 / 6 / 2
        choices = [e.event for e in asked.ledger.entries if e.step == CHOOSE]
        measurements = [e.event for e in asked.ledger.entries if e.step == MEASURE]
        assert all(isinstance(e, ExponentialEvent) for e in choices)
        assert all(isinstance(e, GaussianEvent) for e in measurements)
        assert [e.epsilon for e in choices] == pytest.approx([np.sqrt(8 * half)] * 6)
        assert [e.sigma for e in measurements] == pytest.approx([np.sqrt(1 / (2 * half))] * 6)
        # No cell is asked for twice.
        assert [e.candidates for e in choices] == [CELLS - i for i in range(6)]

    def test_the_plan_is_what_is_spent(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        CellQueries(cells_per_round=2).select(asked, PGM(), share=Fraction(1, 2))

        planned = {step.name: float(step.share) / 2 for step in CellQueries(cells_per_round=2).plan(DOMAIN)}
        assert {s: share for s, _, share in asked.ledger.by_step()} == pytest.approx(planned, abs=1e-9)

    def test_there_are_no_more_rounds_than_cells(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        CellQueries(rounds_per_column=100, cells_per_round=4).select(asked, PGM())

        steps = [e.step for e in asked.ledger.entries]
        assert (steps.count(TOTAL), steps.count(CHOOSE), steps.count(MEASURE)) == (1, CELLS, 6)


class TestAccuracy:
    @pytest.mark.thorough
    def test_without_noise_all_cells_are_learned(self) -> None:
        model = CellQueries(rounds_per_column=100).select(curator(NO_PRIVACY), PGM())

        found = model.marginals(PAIRS)
        for exact, learned in zip(MemoryEngine(table()).counts(PAIRS), found, strict=True):
            assert np.abs(exact - learned).sum() / 2 / 2000 < 0.01

    def test_the_cells_farthest_off_come_first(self) -> None:
        # The pair (a, b) is far from even; the noise of 10 rounds at rho = 1 is a hundredth of that.
        model = CellQueries(workload=[["a", "b"]]).select(curator(Budget.zcdp(1.0, 1e-6)), PGM())

        (exact,), (learned,) = MemoryEngine(table()).counts([("a", "b")]), model.marginals([("a", "b")])
        assert np.abs(exact - learned).sum() / 2 / 2000 < 0.05

    def test_one_column_is_learned_too(self) -> None:
        asked = curator(NO_PRIVACY, table().project(["b"]))

        model = CellQueries().select(asked, PGM())

        (exact,) = MemoryEngine(table()).counts([("b",)])
        assert np.abs(model.marginals([("b",)])[0] - exact).max() < 20


class TestArguments:
    def test_senseless_options_are_refused(self) -> None:
        for options in [
            {"rounds_per_column": 0},
            {"cells_per_round": 0},
            {"measure_share": 0},
            {"workload": "pairs"},
        ]:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                CellQueries(**options)  # type: ignore[arg-type]
