"""Heavy values that are no multiples of the step that most values of a column are multiples of."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.bins.roundness import levels_of
from syntabula.prepare.atoms import Atoms, Others, find_atoms
from syntabula.prepare.refinement import CountedLevels, count_levels
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.events import GaussianEvent, ThresholdEvent
from syntabula.privacy.journal import Journal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.table.parts.points import Expected

N = 12_000
BUDGET = Budget(epsilon=1.0, delta=1e-5).with_failure_delta(1e-6)
STEPS = (Fraction(5), Fraction(1), Fraction(1, 2), Fraction(1, 100))


def prices(*others: float, share: float = 0.2) -> np.ndarray:
    """Return multiples of 5 up to 195, and in their place other values, which share a part of the rows."""
    rng = np.random.default_rng(0)
    found = rng.integers(1, 40, N) * 5.0
    replaced = rng.random(N) < share
    found[replaced] = rng.choice(others, replaced.sum()) if others else found[replaced]
    return found


def levels(points: np.ndarray, budget: Budget = BUDGET) -> CountedLevels:
    column = ColumnCurator(levels_of(points, STEPS, integer=False), Ledger(budget), SeededNoise(0))
    return count_levels(column, STEPS, integer=False, share=Fraction(1, 200), step="levels")


def found(points: np.ndarray, budget: Budget = BUDGET, **told: Any) -> tuple[Atoms, Ledger]:
    ledger = Ledger(budget)
    options: dict[str, Any] = {
        "unit": Fraction(5),
        "others": Others(None, float(N)),
        "count": 40,
        "n_estimated": N,
        "share": Fraction(1, 50),
        "delta": Fraction(1, 10**6) if budget.failure_delta else Fraction(0),
        "step": "atoms",
    } | told
    return find_atoms(ColumnCurator(points, ledger, SeededNoise(0)), 0.0, 10_000.0, **options), ledger


class TestWhetherTheyAreAskedFor:
    def test_multiples_alone_ask_for_no_others(self) -> None:
        for seed in range(20):
            column = ColumnCurator(
                levels_of(prices(), STEPS, integer=False), Ledger(BUDGET), SeededNoise(seed)
            )
            counted = count_levels(column, STEPS, integer=False, share=Fraction(1, 200), step="levels")

            # Four levels of nothing, of which noise shows each with odds of at most 1 in 10,000; seeded.
            assert counted.others(Fraction(5), least=0.0) == ()

    def test_a_level_must_hold_what_an_atom_holds(self) -> None:
        counted = levels(prices(49.99))

        assert counted.unit(0.0, 10_000.0) == 5
        assert counted.others(Fraction(5), least=0.0) == (Fraction(1, 100),)
        assert counted.others(Fraction(5), least=N / 2) == ()

    def test_values_that_are_multiples_of_nothing_are_a_level_of_their_own(self) -> None:
        assert levels(prices(1 / 30)).others(Fraction(5), least=0.0) == (0,)

    def test_the_finest_step_that_is_counted_has_few_multiples(self) -> None:
        counted = levels(prices(37.0, 49.99))
        among = counted.others(Fraction(5), least=0.0)

        assert among == (1, Fraction(1, 100))
        assert counted.finest(0.0, 1000.0, among) == 1
        assert counted.finest(0.0, 10.0, among) == Fraction(1, 100)
        assert counted.finest(0.0, 1e5, among) is None
        assert counted.finest(0.0, 1.0, (Fraction(0),)) is None


class TestAtoms:
    def test_one_question_finds_them_beside_the_multiples(self) -> None:
        points = prices(49.99, 1 / 30)
        points[:600] = 100.0

        atoms, ledger = found(points)

        assert {49.99, 1 / 30, 100.0} <= {*atoms.points}
        # Those between 5 and 195 are alike, and left to bins.
        assert len(atoms.points) <= 5
        assert [type(entry.event) for entry in ledger.entries] == [ThresholdEvent]

    def test_values_of_few_records_are_not_found(self) -> None:
        points = prices(49.99)
        points[:2] = 77.77

        assert 77.77 not in found(points)[0].points

    def test_multiples_have_the_noise_that_a_histogram_has(self) -> None:
        points = prices(49.99)

        threshold = found(points)[1].entries[0].event
        histogram = found(points, others=None)[1].entries[0].event

        assert isinstance(threshold, ThresholdEvent)
        assert isinstance(histogram, GaussianEvent)
        assert threshold.sigma == histogram.sigma

    def test_a_pure_budget_counts_the_multiples_of_the_finest_step(self) -> None:
        points = np.where(prices() == 35.0, 37.0, prices())
        points[:1_500] = 37.0

        atoms, _ = found(points, Budget.pure(1.0), others=Others(Fraction(5, 2), float(N)))
        finer, _ = found(points, Budget.pure(1.0), others=Others(Fraction(1), float(N)))
        without, _ = found(points, Budget.pure(1.0), others=Others(None, float(N)))

        # 10,000 has too many whole numbers to be counted here, which is not checked again.
        assert 37.0 in finer.points
        assert 37.0 not in {*atoms.points, *without.points}

    def test_few_multiples_and_others_may_be_all(self) -> None:
        points = np.random.default_rng(0).choice([10.0, 100.0, 1_000.0, 5_000.0, 49.99, 1 / 30], N)

        atoms, _ = found(points)

        assert atoms.is_all
        assert {*atoms.points} == {*points.tolist()}


class TestRoundness:
    def test_of_the_others_is_left_as_it_is(self) -> None:
        ends = (9.99, 19.99, 29.99, 49.99, 79.99, 99.99)
        counted = levels(prices(*ends))

        # As a level whose values are alike they would be taken for a sample of multiples of a hundredth.
        alike = Atoms(ends, (N * 0.2 / 6,) * 6, deviation=20.0)
        roundness = counted.beside(alike, Fraction(5))
        taken = counted.beside(alike)

        assert roundness is not None
        assert taken is not None
        assert roundness.unit == 5
        assert taken.unit == Fraction(1, 100)

    def test_of_other_values_that_are_not_heavy_is_kept(self) -> None:
        points = prices(49.99)
        points[: N // 4] = np.random.default_rng(1).integers(0, 10_000, N // 4) + 0.5
        heavy = float((points == 49.99).sum())

        roundness = levels(points).beside(Atoms((49.99,), (heavy,), deviation=20.0), Fraction(5))

        assert roundness is not None
        assert roundness.unit == Fraction(1, 2)


INTEGERS = st.Schema({"x": st.Numeric(0, 40_000, integer=True), "z": st.Numeric(-10, 10)})
DECIMALS = st.Schema({"x": st.Numeric(0, 10_000, decimals=2), "z": st.Numeric(-10, 10)})
FLOATS = st.Schema({"x": st.Numeric(0, 10_000), "z": st.Numeric(-10, 10)})


def table(*others: float, scale: int = 1) -> pd.DataFrame:
    points = prices(*others) * scale
    return pd.DataFrame({"x": points, "z": np.random.default_rng(1).normal(size=N)})


class TestReleases:
    def test_heavy_values_and_the_step_of_the_others_are_kept(self) -> None:
        for schema in [DECIMALS, FLOATS, None]:
            frame = table(49.99, 3.33)

            made = st.MST(epsilon=1.0, seed=0).fit(frame, schema).sample(N, seed=0)["x"]

            for value in (49.99, 3.33):
                assert (made == value).mean() == pytest.approx((frame["x"] == value).mean(), rel=0.15)
            assert (made[~made.isin([49.99, 3.33])] % 5 == 0).all()

    def test_of_integers_too(self) -> None:
        for schema in [INTEGERS, None]:
            frame = table(0.2, scale=185).astype({"x": int})  # 37 among multiples of 925

            made = st.MST(epsilon=1.0, seed=0).fit(frame, schema).sample(N, seed=0)["x"]

            assert (made == 37).mean() == pytest.approx((frame["x"] == 37).mean(), rel=0.15)
            assert (made[made != 37] % 5 == 0).all()

    @pytest.mark.thorough
    @pytest.mark.parametrize("schema", [FLOATS, None], ids=["declared", "found"])
    def test_of_a_table_in_parts_are_those_of_the_table_in_memory(
        self, schema: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        frame = table(49.99, 1 / 30)
        for part in range(3):
            frame.iloc[part * N // 3 : (part + 1) * N // 3].to_parquet(tmp_path / f"{part}.parquet")

        def rows(source: Any) -> pd.DataFrame:
            made = st.MST(epsilon=1.0, seed=0).fit(source, schema).sample(500, seed=0)
            return made if isinstance(made, pd.DataFrame) else made.to_pandas()

        whole = rows(frame)
        assert whole["x"].isin([49.99, 1 / 30]).sum() > 50
        pd.testing.assert_frame_equal(rows(tmp_path), whole)
        monkeypatch.setattr(Expected, "most", 10)
        pd.testing.assert_frame_equal(rows(tmp_path), whole)

    def test_the_ledger_is_charged_what_was_planned(self, tmp_path: Path) -> None:
        method = st.MST(epsilon=1.0, seed=0, journal=tmp_path / "journal", bins=40)
        frame, step = table(49.99), "find the frequent values of 'x'"

        planned = {s.name: s.share for s in method.plan(DECIMALS, N).steps}
        release = method.fit(frame, DECIMALS)

        paid = {line.step: line.share for line in release.privacy.lines}
        assert paid[step] == pytest.approx(planned[step], rel=1e-6)
        with Journal(tmp_path / "journal") as journal:
            asked = [e.event for e in Ledger(release.privacy.budget, journal).entries if e.step == step]
        assert [type(event) for event in asked] == [ThresholdEvent]
        assert release.privacy.epsilon_spent <= 1.0
