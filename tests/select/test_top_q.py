"""RAP++'s selection: what it spends, what it asks, and that thresholds are counted like columns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.threshold import LinearThreshold, random_thresholds
from syntabula.models.pgm import PGM
from syntabula.models.relaxed_projection import RelaxedProjection
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.top_q import CHOOSE, MEASURE, ONE_WAY, TopQ

pytest.importorskip("torch")

DOMAIN = Domain.from_sizes({"x": 8, "y": 8, "c": 3, "d": 2}, ("x", "y"))
SMALL = RelaxedProjection(n_rows=50, iterations=30, device="cpu")


def table(n: int = 2000) -> EncodedTable:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 8, n)
    y = np.clip(x + rng.integers(-1, 2, n), 0, 7)
    return EncodedTable(DOMAIN, (x, y, (x > 4).astype(int) + rng.integers(0, 2, n), rng.integers(0, 2, n)))


def curator(budget: Budget, rows: EncodedTable | None = None) -> Curator:
    return Curator(MemoryEngine(rows or table()), Ledger(budget), SeededNoise(0))


class TestThresholdColumns:
    def test_are_counted_with_others(self) -> None:
        rows = table()
        threshold = LinearThreshold(("x", "y"), np.array([1.0, 0.5]), 0.8)

        wider = curator(NO_PRIVACY, rows).with_thresholds({"t": threshold})

        (found,) = wider.measure([("t", "c")], share=0.5, step="measure")
        assert found.values.sum() == 2000
        assert found.values[1].sum() == threshold.codes(rows).sum()

    def test_are_paid_for_on_the_same_ledger(self) -> None:
        first = curator(Budget.zcdp(1.0, 1e-6))
        wider = first.with_thresholds(random_thresholds(["x"], 2, np.random.default_rng(0)))

        wider.measure([("threshold 0",)], share=0.5, step="measure")

        assert float(first.ledger.spent) == pytest.approx(0.5)

    def test_cannot_have_the_name_of_a_column(self) -> None:
        with pytest.raises(ArgumentError, match="name"):
            curator(NO_PRIVACY).with_thresholds({"x": LinearThreshold(("y",), np.array([1.0]), 0.0)})


class TestBudget:
    @pytest.mark.parametrize("budget", [Budget(epsilon=1.0, delta=1e-5), Budget.pure(2.0)])
    @pytest.mark.parametrize("n_thresholds", [0, 10])
    def test_all_of_it_is_spent_and_no_more(self, budget: Budget, n_thresholds: int) -> None:
        asked = curator(budget)

        TopQ(n_thresholds=n_thresholds, chosen_per_round=2).select(asked, SMALL)

        assert asked.ledger.spent <= budget.total
        assert float(asked.ledger.spent / budget.total) == pytest.approx(1.0, abs=1e-9)

    def test_the_plan_is_what_is_spent(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        TopQ().select(asked, SMALL, share=Fraction(1, 2))

        planned = {step.name: float(step.share) / 2 for step in TopQ().plan(DOMAIN)}
        assert {s: share for s, _, share in asked.ledger.by_step()} == pytest.approx(planned, abs=1e-9)

    def test_kinds_take_turns_and_nothing_is_chosen_twice(self) -> None:
        # Six pairs, two a round: three rounds. Ten thresholds with two columns: four rounds, one per column.
        asked = curator(Budget.zcdp(1.0, 1e-6))

        TopQ(n_thresholds=10, chosen_per_round=2).select(asked, SMALL)

        choices = [e.event.candidates for e in asked.ledger.entries if e.step == CHOOSE]
        assert choices == [6, 5, 20, 19, 18, 17, 4, 3, 16, 15, 2, 1, 14, 13]
        assert sum(e.step == MEASURE for e in asked.ledger.entries) == 7

    def test_one_column_gets_the_whole_budget(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6), table().project(["x"]))

        TopQ(n_thresholds=10).select(asked, SMALL)

        assert [e.step for e in asked.ledger.entries] == [ONE_WAY]


class TestModels:
    def test_pairs_alone_can_be_fitted_by_any_model(self) -> None:
        model = TopQ().select(curator(Budget.zcdp(1.0, 1e-6)), PGM())

        (exact,), (learned,) = MemoryEngine(table()).counts([("x", "y")]), model.marginals([("x", "y")])
        # Independence is off by a TVD of 0.6; at this noise a wrong outcome is a many-sigma event.
        assert np.abs(exact - learned).sum() / 2 / 2000 < 0.2

    def test_a_model_that_grows_stays_within_its_limit_and_all_is_spent(self) -> None:
        # All pairs of six columns of 20 codes make one clique of 488 MB, a triangle one of 0.06 MB.
        rng = np.random.default_rng(0)
        domain = Domain.from_sizes({f"c{i}": 20 for i in range(6)})
        rows = EncodedTable(domain, tuple(rng.integers(0, 20, 500) for _ in domain.columns))
        asked = curator(Budget.zcdp(1.0, 1e-6), rows)

        model = TopQ(max_model_mb=0.2, chosen_per_round=4).select(asked, PGM(iterations=5))

        assert model.memory_mb(model.cliques) <= model.memory_mb([]) + 0.2
        assert float(asked.ledger.spent) == pytest.approx(1.0, abs=1e-9)

    def test_thresholds_need_free_soft_rows(self) -> None:
        with pytest.raises(ArgumentError, match="cannot hold thresholds"):
            TopQ(n_thresholds=5).select(curator(Budget.zcdp(1.0, 1e-6)), PGM())


class TestArguments:
    @pytest.mark.parametrize(
        "options",
        [
            {"rounds_per_column": 0},
            {"chosen_per_round": 0},
            {"n_thresholds": -1},
            {"threshold_seed": -1},
            {"measure_share": 1},
            {"one_way_share": 0},
            {"max_model_mb": 0},
        ],
    )
    def test_senseless_options_are_refused(self, options: dict[str, object]) -> None:
        with pytest.raises(ArgumentError, match=next(iter(options))):
            TopQ(**options)  # type: ignore[arg-type]
