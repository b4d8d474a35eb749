"""Marginals chosen beforehand: what is measured, planned and fitted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import ArgumentError, SchemaError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable, Workload
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import GaussianEvent, LaplaceEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.fixed_marginals import AllPairs, GivenWorkload, OneWay

DOMAIN = Domain(("a", "b", "c"), (3, 2, 4))


def table(n: int = 400) -> EncodedTable:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    return EncodedTable(DOMAIN, (a, (a > 0).astype(np.int64), rng.integers(0, 4, n)))


def curator(budget: Budget | None = None) -> Curator:
    return Curator(MemoryEngine(table()), Ledger(budget or Budget(epsilon=1.0, delta=1e-5)), SeededNoise(0))


class TestAllPairs:
    def test_a_twentieth_goes_to_the_columns_and_the_rest_to_all_pairs(self) -> None:
        private = curator()

        AllPairs().select(private, PGM())

        columns, pairs = private.ledger.entries
        assert (columns.event.l2_sensitivity_squared, pairs.event.l2_sensitivity_squared) == (3, 3)
        total = private.ledger.budget.total
        assert [float(e.cost / total) for e in (columns, pairs)] == pytest.approx([0.05, 0.95])
        assert [float(s.share) for s in AllPairs().plan(DOMAIN)] == pytest.approx([0.05, 0.95])

    def test_pairs_of_many_codes_are_learned_from_merged_ones(self) -> None:
        # Noise moves half of the records of the pair's 3,600 cells, and a tenth in merged ones; the distances are
        # 0.5 and 0.3, many times their spread.
        rng = np.random.default_rng(0)
        wide = Domain(("a", "b"), (60, 60), frozenset({"a", "b"}))
        a, b = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 4000).T
        codes = tuple(np.clip((x + 4) * 60 / 8, 0, 59).astype(np.uint8) for x in (a, b))
        engine = MemoryEngine(EncodedTable(wide, codes))
        (exact,) = engine.counts([("a", "b")])
        distances = {}
        for least in (None, 4.0):
            distances[least] = []
            for seed in range(5):
                private = Curator(engine, Ledger(Budget.zcdp(0.02, 1e-6)), SeededNoise(seed))
                model = AllPairs(records_per_noise=least).select(private, PGM())
                (found,) = model.marginals([("a", "b")])
                distances[least].append(np.abs(found - exact).sum() / 2 / 4000)

        assert max(distances[4.0]) < 0.8 * min(distances[None])
        assert model.domain == wide

    def test_unmerged_the_whole_budget_goes_to_all_pairs_and_no_more(self) -> None:
        private = curator()

        AllPairs(records_per_noise=None).select(private, PGM())

        (entry,) = private.ledger.entries
        assert entry.event.l2_sensitivity_squared == 3
        assert 0 <= private.ledger.remaining < private.ledger.budget.total / 10**9

    def test_without_privacy_the_model_has_the_table_s_pairs(self) -> None:
        model = AllPairs().select(curator(NO_PRIVACY), PGM(tolerance=1e-9))

        exact = MemoryEngine(table()).counts([("a", "b"), ("b", "c")])
        for one, other in zip(exact, model.marginals([("a", "b"), ("b", "c")]), strict=True):
            assert np.abs(one - other).max() < 1

    def test_a_single_column_is_measured_alone(self) -> None:
        one = Domain(("a",), (3,))
        engine = MemoryEngine(table().project(("a",)))
        private = Curator(engine, Ledger(NO_PRIVACY), SeededNoise(0))

        model = AllPairs().select(private, PGM())

        assert [s.cells for s in AllPairs().plan(one)] == [3]
        assert np.allclose(model.marginals([("a",)])[0], engine.counts([("a",)])[0])

    def test_the_plan_names_what_the_model_must_hold(self) -> None:
        (step,) = AllPairs(records_per_noise=None).plan(DOMAIN)

        assert step.fit.cliques == (("a", "b"), ("a", "c"), ("b", "c"))
        assert step.share == 1
        assert step.cells == 6 + 12 + 8


class TestGivenWorkload:
    def test_weights_divide_the_budget(self) -> None:
        private = curator()
        workload = [{"columns": ["b", "a"], "weight": 3}, ["c"]]

        GivenWorkload(workload=workload).select(private, PGM())

        total = private.ledger.budget.total
        assert [float(e.cost / total) for e in private.ledger.entries] == pytest.approx([0.75, 0.25])
        assert private.ledger.spent <= total

    def test_equal_weights_are_one_spend(self) -> None:
        private = curator()

        GivenWorkload(workload=[["a", "b"], ["c"]]).select(private, PGM(), share=Fraction(1, 2))

        (entry,) = private.ledger.entries
        assert entry.event.l2_sensitivity_squared == 2
        assert float(entry.cost / private.ledger.budget.total) == pytest.approx(0.5)

    def test_a_column_outside_the_workload_comes_out_evenly(self) -> None:
        model = GivenWorkload(workload=[["a"]]).select(curator(NO_PRIVACY), PGM())

        assert np.allclose(model.marginals([("c",)])[0], 100)

    def test_a_senseless_workload_is_refused(self) -> None:
        for workload in [0, True, "ab"]:
            with pytest.raises(ArgumentError, match="workload"):
                GivenWorkload(workload=workload)

    def test_an_unknown_column_is_refused_before_anything_is_spent(self) -> None:
        private = curator()

        with pytest.raises(SchemaError, match="height"):
            GivenWorkload(workload=Workload((("a", "height"),))).select(private, PGM())

        assert private.ledger.entries == ()


COLUMNS = Domain.from_sizes({"a": 4, "b": 3, "c": 2})


def rows(n: int = 2_000) -> EncodedTable:
    """Draw rows where b follows a."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, n)
    return EncodedTable(COLUMNS, (a, np.minimum(a, 2), rng.integers(0, 2, n)))


def curator_of(budget: Budget, table: EncodedTable | None = None) -> Curator:
    return Curator(MemoryEngine(table or rows()), Ledger(budget), SeededNoise(0))


def test_one_joint_measurement_spends_everything() -> None:
    asked = curator_of(Budget.zcdp(0.5, 1e-6))

    OneWay().select(asked, PGM())

    (entry,) = asked.ledger.entries
    assert isinstance(entry.event, GaussianEvent)
    assert entry.event.sigma == pytest.approx(np.sqrt(3 / (2 * 0.5)))  # variance d / (2 rho)
    assert entry.event.l2_sensitivity_squared == 3
    assert entry.event.cells == 9
    assert asked.ledger.spent <= Fraction(1, 2)
    assert float(asked.ledger.spent) == pytest.approx(0.5)


def test_a_pure_budget_is_spent_on_laplace_noise() -> None:
    asked = curator_of(Budget.pure(1.5))

    OneWay().select(asked, PGM())

    (entry,) = asked.ledger.entries
    assert isinstance(entry.event, LaplaceEvent)
    assert entry.event.scale == pytest.approx(3 / 1.5)


def test_a_share_of_the_budget_is_kept_to() -> None:
    asked = curator_of(Budget.zcdp(0.5, 1e-6))

    OneWay().select(asked, PGM(), share=Fraction(1, 5))

    assert float(asked.ledger.spent) == pytest.approx(0.1)


def test_the_plan_names_the_step_that_is_spent_on() -> None:
    asked = curator_of(Budget.zcdp(0.5, 1e-6))

    OneWay().select(asked, PGM())

    (planned,) = OneWay().plan(COLUMNS)
    assert [entry.step for entry in asked.ledger.entries] == [planned.name]
    assert planned.share == 1
    assert planned.cells == planned.noisy_cells == planned.fit.cells == 9


def test_columns_come_out_right_and_independent() -> None:
    # Without noise the columns are met up to the fit's tolerance, and what hangs together is lost.
    table = rows()

    model = OneWay().select(curator_of(Budget.none(), table), PGM())

    cliques = [("a",), ("b",), ("c",)]
    for exact, learned in zip(MemoryEngine(table).counts(cliques), model.marginals(cliques), strict=True):
        np.testing.assert_allclose(learned, exact, atol=0.5)
    a, b, ab = model.marginals([("a",), ("b",), ("a", "b")])
    np.testing.assert_allclose(ab, np.outer(a, b) / 2_000, rtol=1e-9)


def test_the_steps_are_reported_to_the_end() -> None:
    seen: list[float] = []

    OneWay().select(curator_of(Budget.zcdp(0.5, 1e-6)), PGM(), progress=lambda step, done: seen.append(done))

    assert seen == sorted(seen)
    assert seen[-1] == 1.0
