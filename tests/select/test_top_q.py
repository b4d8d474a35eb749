"""RAP++'s selection: what it spends, and what it asks."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ArgumentError, SchemaError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.pgm import PGM
from syntabula.models.relaxed_projection import RelaxedProjection
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.queries import ThresholdCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select import base
from syntabula.select.top_q import CHOOSE, MEASURE, ONE_WAY, TOTAL, TopQ

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


class TestBudget:
    @pytest.mark.thorough
    def test_all_of_it_is_spent_and_no_more(self) -> None:
        for budget in [Budget(epsilon=1.0, delta=1e-5), Budget.pure(2.0)]:
            for n_thresholds in [0, 10]:
                for one_way_share in [None, 0.1]:
                    asked = curator(budget)

                    TopQ(n_thresholds=n_thresholds, threshold_rounds=4, one_way_share=one_way_share).select(
                        asked, SMALL
                    )

                    assert asked.ledger.spent <= budget.total
                    assert float(asked.ledger.spent / budget.total) == pytest.approx(1.0, abs=1e-9)

    def test_the_plan_is_what_is_spent(self) -> None:
        for options in [{}, {"one_way_share": Fraction(1, 10)}, {"deduct_noise": True}]:
            asked = curator(Budget.zcdp(1.0, 1e-6))

            TopQ(**options).select(asked, SMALL, share=Fraction(1, 2))

            planned = {step.name: float(step.share) / 2 for step in TopQ(**options).plan(DOMAIN)}
            assert {s: share for s, _, share in asked.ledger.by_step()} == pytest.approx(planned, abs=1e-9)

    @pytest.mark.thorough
    def test_seventeen_columns_take_six_rounds_of_three_pairs_as_in_the_paper(self) -> None:
        domain = Domain.from_sizes({f"c{i}": 2 for i in range(17)})
        rng = np.random.default_rng(0)
        asked = curator(
            Budget.zcdp(1.0, 1e-6), EncodedTable(domain, tuple(rng.integers(0, 2, 200) for _ in range(17)))
        )

        TopQ().select(asked, PGM(iterations=5))

        steps = Counter(e.step for e in asked.ledger.entries)
        assert steps == {TOTAL: 1, CHOOSE: 18, MEASURE: 6}
        spent = {step: float(cost) for step, cost, _ in asked.ledger.by_step()}
        assert spent == pytest.approx({TOTAL: 0.01, CHOOSE: 0.495, MEASURE: 0.495})
        assert all(e.event.l2_sensitivity_squared == 3 for e in asked.ledger.entries if e.step == MEASURE)

    @pytest.mark.thorough
    def test_kinds_take_turns_and_nothing_is_chosen_twice(self) -> None:
        # Six pairs, two a round: three rounds. Ten thresholds, two a round: four rounds of the five that there could be.
        asked = curator(Budget.zcdp(1.0, 1e-6))

        TopQ(n_thresholds=10, threshold_rounds=4, chosen_per_round=2, rounds_per_column=1).select(
            asked, SMALL
        )

        choices = [e.event.candidates for e in asked.ledger.entries if e.step == CHOOSE]
        assert choices == [6, 5, 10, 9, 8, 7, 4, 3, 6, 5, 2, 1, 4, 3]
        assert sum(e.step == MEASURE for e in asked.ledger.entries) == 7

    def test_kinds_share_the_budget_by_the_columns_that_they_look_at(self) -> None:
        # Four columns, two of them ordered: two thirds for pairs, and a third in four rounds for thresholds.
        asked = curator(Budget.zcdp(1.0, 1e-6))

        TopQ(n_thresholds=10, threshold_rounds=4, chosen_per_round=2).select(asked, SMALL)

        measured = [float(e.cost) for e in asked.ledger.entries if e.step == MEASURE]
        assert sorted(measured) == pytest.approx([0.99 / 2 / 3 / 4] * 4 + [0.99 / 2 * 2 / 3 / 2] * 2)

    def test_one_column_gets_the_whole_budget(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6), table().project(["x"]))

        TopQ(n_thresholds=10).select(asked, SMALL)

        assert [e.step for e in asked.ledger.entries] == [ONE_WAY]


class TestChoice:
    def test_the_number_of_records_is_known_before_anything_else_is(self) -> None:
        # Against an even table of one record, the fullest pair would win, not the one that is least even.
        domain = Domain.from_sizes({"skew": 2, "even": 2, "wide": 30})
        rng = np.random.default_rng(0)
        skew = (rng.random(3000) < 0.01).astype(int)
        rows = EncodedTable(domain, (skew, rng.integers(0, 2, 3000), rng.integers(0, 30, 3000)))
        asked = curator(NO_PRIVACY, rows)

        with pytest.MonkeyPatch.context() as patch:
            believed: list[float] = []
            right = base.Candidates.__init__
            patch.setattr(
                base.Candidates,
                "__init__",
                lambda self, private, cliques, estimates, **options: (
                    believed.extend(float(e.sum()) for e in estimates)
                    or right(self, private, cliques, estimates, **options)
                ),
            )
            TopQ(chosen_per_round=1, rounds_per_column=0.3).select(asked, PGM())

        assert believed == pytest.approx([3000.0] * 3)

    @pytest.mark.parametrize("deducts", [False, True])
    def test_noise_is_deducted_only_where_that_is_said(self, deducts: bool) -> None:
        deducted: list[list[float]] = []
        right = base.Candidates.__init__

        def made(self: Any, private: Any, cliques: Any, estimates: Any, *, penalties: list[float]) -> None:
            deducted.append(penalties)
            right(self, private, cliques, estimates, penalties=penalties)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(base.Candidates, "__init__", made)
            asked = curator(Budget.zcdp(1.0, 1e-6))
            TopQ(deduct_noise=deducts).select(asked, PGM())

        assert (min(deducted[0]) > 0) == deducts
        assert deducts or max(deducted[0]) == 0.0


class TestModels:
    def test_pairs_alone_can_be_fitted_by_any_model(self) -> None:
        model = TopQ(rounds_per_column=1).select(curator(Budget.zcdp(1.0, 1e-6)), PGM())

        (exact,), (learned,) = MemoryEngine(table()).counts([("x", "y")]), model.marginals([("x", "y")])
        # Independence is off by a TVD of 0.6; at this noise a wrong outcome is a many-sigma event.
        assert np.abs(exact - learned).sum() / 2 / 2000 < 0.2

    def test_a_model_that_grows_stays_within_its_limit_and_all_is_spent(self) -> None:
        # All pairs of six columns of 20 codes make one clique of 488 MB, a triangle one of 0.06 MB.
        rng = np.random.default_rng(0)
        domain = Domain.from_sizes({f"c{i}": 20 for i in range(6)})
        rows = EncodedTable(domain, tuple(rng.integers(0, 20, 500) for _ in domain.columns))
        asked = curator(Budget.zcdp(1.0, 1e-6), rows)

        model = TopQ(max_model_mb=0.2, chosen_per_round=4, rounds_per_column=1).select(
            asked, PGM(iterations=5)
        )

        assert model.memory_mb(model.cliques) <= model.memory_mb([]) + 0.2
        assert float(asked.ledger.spent) == pytest.approx(1.0, abs=1e-9)

    def test_thresholds_need_free_soft_rows(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        with pytest.raises(ArgumentError, match="cannot hold thresholds"):
            TopQ(n_thresholds=5).select(asked, PGM())

        assert asked.ledger.entries == ()

    @pytest.mark.thorough
    @pytest.mark.parametrize(("column", "others"), [(None, {"c", "d"}), ("d", {"d"}), ("x", {"x"})])
    def test_thresholds_are_crossed_with_the_column_that_is_named(
        self, column: str | None, others: set[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: set[str] = set()
        right = ThresholdCurator.measure

        def measure(self: ThresholdCurator, *given: Any, **options: Any) -> Any:
            found = right(self, *given, **options)
            seen.update(m.clique[1] for m in found)
            return found

        monkeypatch.setattr(ThresholdCurator, "measure", measure)
        TopQ(n_thresholds=30, threshold_rounds=4, crossed_with=column).select(
            curator(Budget.zcdp(1.0, 1e-6)), SMALL
        )

        assert seen == others

    def test_an_unknown_column_to_cross_with_is_refused_and_costs_nothing(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        with pytest.raises(SchemaError, match="no column 'e'"):
            TopQ(n_thresholds=5, crossed_with="e").select(asked, SMALL)

        assert asked.ledger.entries == ()


class TestArguments:
    def test_senseless_options_are_refused(self) -> None:
        cases = [
            {"rounds_per_column": 0},
            {"chosen_per_round": 0},
            {"n_thresholds": -1},
            {"threshold_seed": -1},
            {"measure_share": 1},
            {"one_way_share": 1},
            {"one_way_share": 0},
            {"one_way_share": False},
            {"deduct_noise": 1},
            {"threshold_rounds": 0},
            {"crossed_with": 3},
            {"crossed_with": ""},
            {"max_model_mb": 0},
        ]
        for options in cases:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                TopQ(**options)  # type: ignore[arg-type]
