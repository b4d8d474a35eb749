"""A fit with a journal: what a broken-off run spent counts when the same journal is given again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import BudgetError, BudgetExceededError, ReleaseFileError
from syntabula.prepare import found_columns
from syntabula.prepare.found_keys import SHAPES_SHARE
from syntabula.privacy.events import ThresholdEvent
from syntabula.privacy.journal import Journal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.rules import failure_of

FRAME = pd.DataFrame({"a": [0, 1, 2] * 20, "b": [0, 1] * 30, "c": [1, 1, 0, 0] * 15})
SCHEMA = st.Schema({name: st.Numeric(0, 2, integer=True) for name in FRAME})
BUDGET = st.Budget.zcdp(0.5, 1e-5)


class BreaksOff(SeededNoise):
    """A source of noise during whose draw number `at` the process dies."""

    def __init__(self, at: int) -> None:
        super().__init__(0)
        self.left = at

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise ConnectionAbortedError("the process dies here")

    def discrete_gaussian(self, counts, sigma):
        self._count()
        return super().discrete_gaussian(counts, sigma)

    def noisy_max(self, scores, scale):
        self._count()
        return super().noisy_max(scores, scale)


def break_off(path: Path, at: int) -> None:
    with pytest.raises(ConnectionAbortedError):
        st.MST(budget=BUDGET, noise=BreaksOff(at), journal=path).fit(FRAME, SCHEMA)


class TestBrokenOff:
    @pytest.mark.parametrize("at", range(5))
    def test_what_it_spent_counts_and_the_next_run_makes_do_with_the_rest(self, tmp_path, at):
        path = tmp_path / "journal"
        break_off(path, at)
        lost = Journal.read(path).records
        # A twenty-fifth is kept for trends, and measures the pairs once more where noise hides all of these.
        shares = [Fraction(n, 25) for n in (8, 4, 4, 8, 1)]
        assert len(lost) == at + 1
        assert [record.outcome is None for record in lost] == [False] * at + [True]
        if at == 4:  # the last spend was the whole rest
            with pytest.raises(BudgetExceededError, match="new journal"):
                st.MST(budget=BUDGET, seed=1, journal=path).fit(FRAME, SCHEMA)
            assert Journal.read(path).records[-1].step == lost[-1].step
            return

        release = st.MST(budget=BUDGET, seed=1, journal=path).fit(FRAME, SCHEMA)

        with Journal(path) as journal:
            both = Ledger(BUDGET, journal)
        assert sum(entry.cost for entry in both.entries[: at + 1]) <= sum(shares[: at + 1]) * BUDGET.total
        assert both.spent <= BUDGET.total
        assert float(both.spent / BUDGET.total) > 1 - 1e-12
        assert release.privacy.epsilon_spent <= BUDGET.epsilon
        assert sum(line.share for line in release.privacy.lines) == pytest.approx(1.0)

    def test_a_second_fit_of_a_full_journal_is_refused_before_it_draws(self, tmp_path):
        path = tmp_path / "journal"
        synthesizer = st.Independent(budget=BUDGET, seed=1, journal=path)
        synthesizer.fit(FRAME, SCHEMA)
        before = path.read_bytes()

        with pytest.raises(BudgetExceededError, match="new journal"):
            synthesizer.fit(FRAME, SCHEMA)

        assert path.read_bytes() == before

    def test_a_larger_budget_pays_for_both(self, tmp_path):
        path = tmp_path / "journal"
        st.Independent(budget=BUDGET, seed=1, journal=path).fit(FRAME, SCHEMA)

        st.MST(budget=st.Budget.zcdp(1.0, 1e-5), seed=1, journal=path).fit(FRAME, SCHEMA)

        with Journal(path) as journal:
            assert Ledger(st.Budget.zcdp(1.0, 1e-5), journal).spent <= 1

    @pytest.mark.parametrize(
        ("first", "match"), [({}, "protects one record"), ({"seed": 1}, "seeded noise")], ids=["unit", "seed"]
    )
    def test_what_protected_somebody_else_or_nobody_is_not_paid_for_twice(self, tmp_path, first, match):
        path = tmp_path / "journal"
        frame = FRAME.assign(person=[f"p{i // 3}" for i in range(len(FRAME))])
        columns = {**SCHEMA.columns, "person": st.Identifier()}
        records, persons = st.Schema(columns), st.Schema(columns, unit="person", rows_per_unit=3)
        st.Independent(budget=BUDGET, journal=path, **first).fit(frame, records)
        before = path.read_bytes()

        larger = st.Independent(budget=st.Budget.zcdp(1.0, 1e-5), journal=path)
        with pytest.raises(BudgetError, match=match):
            larger.fit(frame, persons)

        assert path.read_bytes() == before


class TestFailureProbabilities:
    """Columns whose categories are found share the delta that is set aside, and so do runs of one journal."""

    TEXTS = pd.DataFrame({name: [f"{name} {i % 3}" for i in range(600)] for name in ("x", "y", "z")})
    BUDGET = st.Budget(epsilon=3.0, delta=1e-5)
    ASIDE = Fraction(1, 10) * Fraction(1e-5)

    def fit(self, path: Path, budget: st.Budget = BUDGET) -> st.Release:
        return st.Independent(budget=budget, seed=1, journal=path).fit(self.TEXTS)

    def deltas(self, path: Path) -> list[Fraction]:
        return [
            failure_of(r.event) for r in Journal.read(path).records if isinstance(r.event, ThresholdEvent)
        ]

    @pytest.mark.thorough
    def test_the_parts_of_all_columns_add_up_to_what_is_set_aside_but_for_forms_of_keys(self, tmp_path):
        self.fit(tmp_path / "journal")

        parts = self.deltas(tmp_path / "journal")
        assert len(parts) == 3
        assert (
            self.ASIDE * (1 - SHAPES_SHARE - Fraction(1, 10**6))
            < sum(parts)
            <= self.ASIDE * (1 - SHAPES_SHARE)
        )

    @pytest.mark.thorough
    def test_a_larger_epsilon_pays_for_no_search_where_delta_is_spent(self, tmp_path):
        path = tmp_path / "journal"
        self.fit(path)
        # What forms of keys would have taken is left.
        self.fit(path, st.Budget(epsilon=6.0, delta=1e-5))
        before = path.read_bytes()

        with pytest.raises(BudgetExceededError, match="new journal"):
            self.fit(path, st.Budget(epsilon=9.0, delta=1e-5))

        assert path.read_bytes() == before
        assert sum(self.deltas(path)) <= self.ASIDE

    def test_columns_that_ask_for_nearly_half_of_it_each_are_refused(self, tmp_path, monkeypatch):
        right = found_columns.extract_column

        def greedy(name, raw, **options):
            return right(name, raw, **(options | {"delta": self.ASIDE * Fraction(9, 20)}))

        monkeypatch.setattr(found_columns, "extract_column", greedy)

        with pytest.raises(BudgetExceededError, match=r"domain of 'z'.* may fail with probability"):
            self.fit(tmp_path / "journal")

        assert len(self.deltas(tmp_path / "journal")) == 2


class TestLock:
    def test_a_journal_in_use_is_refused_and_is_free_after_a_fit_that_failed(self, tmp_path):
        path = tmp_path / "journal"
        with Journal(path), pytest.raises(ReleaseFileError, match="in use"):
            st.Independent(budget=BUDGET, seed=1, journal=path).fit(FRAME, SCHEMA)

        break_off(path, 0)

        with Journal(path) as journal:
            assert len(journal.records) == 1
