"""Frequent values and round numbers, found under differential privacy."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.bins.roundness import levels_of
from syntabula.prepare.atoms import Atoms, candidates, find_atoms
from syntabula.prepare.refinement import CountedLevels, count_levels, steps_of
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise


def money(n: int = 25_000) -> np.ndarray:
    """Amounts: a tenth 0, 3 % a limit of 50,000, 2 % of 1,200, half of the others multiples of 100."""
    rng = np.random.default_rng(0)
    amounts = np.clip(rng.lognormal(7.5, 1.0, n).round(2), 0.01, 49_000)
    amounts = np.where(np.arange(n) % 2, np.maximum((amounts / 100).round(), 1) * 100, amounts)
    for value, share in ((0.0, 0.1), (50_000.0, 0.03), (1_200.0, 0.02)):
        amounts[rng.random(n) < share] = value
    return amounts


def curator(points: np.ndarray, budget: Budget) -> ColumnCurator:
    return ColumnCurator(points, Ledger(budget), SeededNoise(3))


class TestFrequentValues:
    def test_a_share_of_a_twentieth_column_finds_what_holds_two_percent(self):
        # A twentieth of a tenth of epsilon 1, half of it for atoms: the noise has a standard deviation of about 75.
        budget = Budget(epsilon=1.0, delta=1e-5).with_failure_delta(1e-6)

        found = find_atoms(
            curator(money(), budget),
            0.0,
            1e6,
            unit=None,
            count=40,
            n_estimated=25_000,
            share=Fraction(1, 400),
            delta=Fraction(1, 20_000_000),
            step="x",
        )

        assert {0.0, 50_000.0, 1_200.0} <= {*found.points}
        assert all(value % 100 == 0 for value in found.points)

    def test_zeros_are_kept_where_other_values_of_as_many_records_are_not(self):
        # The noise has a standard deviation of about 75: 5.3 of it hide any other value, and 2.3 of it hide 0.
        budget = Budget(epsilon=1.0, delta=1e-5).with_failure_delta(1e-6)
        others = np.random.default_rng(0).lognormal(4, 1, 2_500)

        for n_zeros, expected in [(300, (0.0,)), (0, ())]:
            found = find_atoms(
                curator(np.concatenate([others, np.zeros(n_zeros), np.full(300, 1.25)]), budget),
                0.0,
                1e6,
                unit=None,
                count=40,
                n_estimated=3_000,
                share=Fraction(1, 400),
                delta=Fraction(1, 20_000_000),
                step="x",
            )

            assert found.points == expected

    def test_no_noise_is_drawn_for_values_of_far_fewer_records_than_noise_adds(self, monkeypatch):
        # The noise has a standard deviation of about 75.
        budget = Budget(epsilon=1.0, delta=1e-5).with_failure_delta(1e-6)
        values = np.concatenate([np.arange(15_000) / 7, np.repeat([0.5, 2.5, 5_000.5], [6, 8, 10_000])])
        drawn: list[int] = []
        right = SeededNoise.discrete_gaussian

        def noted(self, counts, sigma):
            drawn.extend(np.sort(counts).tolist())
            return right(self, counts, sigma)

        monkeypatch.setattr(SeededNoise, "discrete_gaussian", noted)

        found = find_atoms(
            curator(values, budget),
            0.0,
            1e6,
            unit=None,
            count=40,
            n_estimated=25_000,
            share=Fraction(1, 400),
            delta=Fraction(1, 20_000_000),
            step="x",
        )

        # Of what is left of counts above a tenth of it, and of 0 and the upper bound, which are public.
        assert drawn == [0, 1, 8 - 6, 10_000 - 6]
        assert found.points == (5_000.5,)

    def test_a_pure_budget_counts_zero_and_both_bounds(self):
        found = find_atoms(
            curator(money(), Budget.pure(1.0)),
            0.0,
            50_000.0,
            unit=None,
            count=40,
            n_estimated=0,
            share=Fraction(1, 50),
            delta=Fraction(0),
            step="x",
        )

        assert found.points == (0.0, 50_000.0)

    def test_a_smooth_column_has_none_and_a_dense_one_is_not_taken_apart(self):
        for values in (
            np.random.default_rng(0).normal(2000, 300, 20_000).round(),
            np.arange(20_000) % 3_000,
        ):
            found = find_atoms(
                curator(values.astype(np.int64), Budget(epsilon=1.0, delta=1e-5)),
                0,
                4_000,
                unit=Fraction(1),
                count=40,
                n_estimated=20_000,
                share=Fraction(1, 100),
                delta=Fraction(0),
                step="x",
            )
            # Noise alone makes one of two columns one atom on average: five have odds below 1e-4 each, and are seeded.
            assert len(found.points) <= 5

    def test_frequent_values_are_kept_beside_neighbours_that_are_as_frequent(self):
        # Each of ten tenths holds 1,000 of 10,000 records, as much as four bins and 13 standard deviations of noise.
        tenths = np.arange(10) / 10
        found = find_atoms(
            curator(np.repeat(tenths, 1_000), Budget(epsilon=1.0, delta=1e-5)),
            -1.0,
            2.0,
            unit=Fraction(1, 10),
            count=40,
            n_estimated=10_000,
            share=Fraction(1, 400),
            delta=Fraction(0),
            step="x",
        )

        assert found.points == tuple(tenths)

    def test_the_rounder_a_number_is_the_sooner_noise_is_told_from_it(self):
        # The noise has a standard deviation of about 75: 5.3 of it hide what is not round.
        budget = Budget(epsilon=1.0, delta=1e-5).with_failure_delta(1e-6)
        others = np.random.default_rng(0).uniform(0, 20, 5_000)
        values = np.concatenate([others, np.full(345, 10.0), np.full(345, 1 / 3)])
        steps = tuple(Fraction(s).limit_denominator(100) for s in (10, 5, 1, 0.5, 0.1, 0.05, 0.01))

        def found(seed: int) -> tuple[int | float, ...]:
            asked = ColumnCurator(values, Ledger(budget), SeededNoise(seed))
            return find_atoms(
                asked,
                0.0,
                20.0,
                unit=None,
                steps=steps,
                count=40,
                n_estimated=5_690,
                share=Fraction(1, 400),
                delta=Fraction(1, 20_000_000),
                step="x",
            ).points

        # 4.6 standard deviations are missed once in 40 times where 2.6 are asked for, and 9 of 10 times where 5.3 are.
        every = [found(seed) for seed in range(12)]
        assert sum(10.0 in points for points in every) >= 8
        assert sum(1 / 3 in points for points in every) <= 6

    def test_few_distinct_values_are_all_kept_without_privacy(self):
        values = np.random.default_rng(0).choice(np.arange(1, 205) ** 2 / 7, 5_000)
        found = find_atoms(
            curator(values, Budget.none()),
            0.0,
            1e5,
            unit=None,
            count=30,
            n_estimated=5_000,
            share=Fraction(1, 100),
            delta=Fraction(0),
            step="x",
        )

        assert found.is_all
        assert {*found.points} == {*values.tolist()}

    def test_a_column_is_not_taken_for_one_value_where_noise_may_hide_others(self):
        # Half a percent of the records, as late fees are.
        values = np.concatenate([np.zeros(9_950), np.random.default_rng(0).uniform(5, 50, 50)])
        for budget, is_all in (
            (Budget(epsilon=5.0, delta=1e-5).with_failure_delta(1e-6), False),
            (Budget.none(), True),
        ):
            found = find_atoms(
                curator(values if not is_all else np.zeros(10_000), budget),
                0.0,
                200.0,
                unit=None,
                count=40,
                n_estimated=10_000,
                share=Fraction(1, 1000),
                delta=Fraction(1, 20_000_000),
                step="x",
            )

            assert found.points == (0.0,)
            assert found.is_all == is_all

    def test_most_records_at_frequent_values_keep_all_of_these(self):
        # Each of 120 values holds 200 of 26,000 records, 7 standard deviations of noise above a quarter of a bin.
        steady = np.repeat(np.round(np.random.default_rng(0).uniform(-10, 40, 120), 2), 200)
        values = np.concatenate([steady, np.random.default_rng(1).uniform(-10, 40, 2_000)])

        found = find_atoms(
            curator(values, Budget(epsilon=5.0, delta=1e-5).with_failure_delta(1e-6)),
            -10.0,
            40.0,
            unit=None,
            count=60,
            n_estimated=26_000,
            share=Fraction(1, 200),
            delta=Fraction(1, 20_000_000),
            step="x",
        )

        assert {*found.points} == {*steady}
        assert not found.is_all

    def test_hundreds_of_values_are_all_kept_where_they_lie_far_apart(self):
        sparse = np.sort(np.random.default_rng(0).choice(100_000, 300, replace=False))
        for different, is_all in ((sparse, True), (np.arange(300), False)):
            # Each value holds 80 records, 7 standard deviations of noise above the threshold.
            found = find_atoms(
                curator(np.repeat(different, 80), Budget(epsilon=5.0, delta=1e-5).with_failure_delta(1e-6)),
                0,
                100_000,
                unit=None,
                count=60,
                n_estimated=24_000,
                share=Fraction(1, 50),
                delta=Fraction(1, 2_000_000),
                step="x",
            )

            assert found.is_all == is_all
            assert ({*found.points} == {*different.tolist()}) == is_all

    @pytest.mark.thorough
    def test_noise_of_the_others_does_not_make_frequent_values_all_there_are(self):
        rng = np.random.default_rng(0)
        points = np.where(
            rng.random(12_000) < 0.1, rng.integers(0, 4096, 12_000), rng.integers(1, 5, 12_000) * 900
        )
        budget = Budget(epsilon=1.0, delta=1e-5)

        def all_of(n_present: float) -> int:
            found = [
                find_atoms(
                    ColumnCurator(points, Ledger(budget), SeededNoise(seed)),
                    0,
                    4095,
                    unit=Fraction(1),
                    count=40,
                    n_estimated=12_000,
                    n_present=n_present,
                    share=Fraction(1, 400),
                    delta=Fraction(0),
                    step="x",
                )
                for seed in range(12)
            ]
            return sum(atoms.is_all for atoms in found)

        # Four counts of a deviation of 75 reach 99 % of 12,000 with nine tenths of them in no run.
        assert all_of(12_000) == 0
        assert all_of(0) > 0

    def test_candidates_are_multiples_zero_and_both_bounds(self):
        assert candidates(-5, 31, Fraction(10), integer=True) == [-5, 0, 10, 20, 30, 31]
        assert candidates(0.05, 0.35, Fraction(1, 10), integer=False) == [0.05, 0.1, 0.2, 0.3, 0.35]
        assert candidates(1, 9, None, integer=True) == [1, 9]


class TestRoundness:
    def test_steps_follow_from_the_declaration(self):
        assert steps_of(st.Numeric(0, 2_000, integer=True))[:3] == (1000, 500, 100)
        assert steps_of(st.Numeric(0, 2_000, step=0.25))[-3:] == (4, 2, 1)
        assert steps_of(st.Numeric(0, 70, integer=True, step=7)) == ()
        assert steps_of(st.Date(dt.date(2020, 1, 1), dt.date(2024, 1, 1))) == ()
        hours = st.Datetime(dt.datetime(2020, 1, 1), dt.datetime(2024, 1, 1), resolution="hour")
        assert steps_of(hours) == (24, 1)
        assert steps_of(st.Time()) == (60, 15, 5, 1)
        assert steps_of(st.Numeric(0.0, 1.0))[0] == 1

    def test_clock_times_of_time_sheets_stay_multiples_of_five_minutes(self):
        minutes = np.random.default_rng(0).normal(480, 35, 1_500).astype(int) // 5 * 5
        frame = pd.DataFrame({"begin": [f"{m // 60:02d}:{m % 60:02d}" for m in minutes]})

        release = st.Independent(epsilon=1.0, seed=0).fit(frame, st.Schema({"begin": st.Time()}))

        drawn = release.sample(1_000, seed=0)["begin"].astype(str)
        assert (drawn.str[3:5].astype(int) % 5 == 0).mean() > 0.95

    def test_levels_are_those_of_the_nearest_float_of_64_or_32_bits(self):
        steps = (Fraction(1), Fraction(1, 10), Fraction(1, 100))
        points = np.array([3.0, 0.7, 0.29, 0.123, 0.0, float(np.float32(0.7))])

        assert levels_of(points, steps, integer=False).tolist() == [0, 1, 2, 3, 4, 1]

    def test_proportions_are_those_of_the_column(self):
        steps = (Fraction(1000), Fraction(100), Fraction(1))
        values = np.where(
            np.arange(30_000) % 3 == 0, 100 * (1 + np.arange(30_000) % 9), 1 + np.arange(30_000) % 99
        )
        levels = levels_of(values, steps, integer=True)

        counted = count_levels(
            curator(levels, Budget(epsilon=1.0, delta=1e-5)),
            steps,
            integer=True,
            share=Fraction(1, 100),
            step="x",
        )
        found = counted.beside(Atoms())

        assert found is not None
        assert found.shares[0] == 0  # no multiple of 1000, only noise
        assert found.shares[1] == pytest.approx(1 / 3, abs=0.02)


class TestReleases:
    SCHEMA = st.Schema(
        {"amount": st.Numeric(0, 100_000, decimals=2), "paid": st.Numeric(0, 100_000, step=100)}
    )

    @pytest.mark.parametrize("epsilon", [1.0, np.inf])
    def test_spikes_and_roundness_are_kept(self, epsilon, tmp_path):
        amounts = money()
        frame = pd.DataFrame(
            {"amount": amounts, "paid": np.where(amounts > 5_000, 5_000.0, (amounts // 100) * 100)}
        )

        release = st.MST(epsilon=epsilon, seed=0).fit(frame, self.SCHEMA)
        release.save(tmp_path / "x.syn")
        made = st.load(tmp_path / "x.syn").sample(25_000, seed=0)

        for value in (0.0, 50_000.0, 1_200.0):
            assert (made["amount"] == value).mean() == pytest.approx((amounts == value).mean(), rel=0.15)
        assert (made["amount"] % 100 == 0).mean() == pytest.approx((amounts % 100 == 0).mean(), abs=0.1)
        assert (made["paid"] % 100 == 0).all()
        assert (made["paid"] == 5_000).mean() == pytest.approx((frame["paid"] == 5_000).mean(), rel=0.15)

    def test_declared_atoms_cost_nothing_and_have_codes_of_their_own(self):
        declared = self.SCHEMA.with_column("amount", st.Numeric(0, 100_000, decimals=2, atoms=[0, 50_000]))
        frame = pd.DataFrame({"amount": money(), "paid": 100.0})
        for method in (
            st.Independent(seed=0, preprocessing=st.Preprocessing(discretizer="uniform")),
            st.Independent(seed=0),
        ):
            release = method.fit(frame, declared)

            assert "find the frequent values of 'amount'" not in {x.step for x in release.privacy.lines}
            assert {0, 1, 5_000_000, 5_000_001} <= {*release.codec.bins["amount"].edges}
            made = release.sample(5_000, seed=0)["amount"]
            assert (made == 50_000).mean() > 0.02

    def test_conditions_on_values_within_a_round_column(self):
        frame = pd.DataFrame({"amount": money(), "paid": 100.0})
        release = st.Independent(seed=0).fit(frame, self.SCHEMA)

        rows = release.sample(300, where={"amount": (1_150, 1_250)}, seed=0)

        assert rows["amount"].between(1_150, 1_250).all()
        assert (rows["amount"] == 1_200).mean() > 0.3

    def test_the_options_are_refused_in_words(self):
        with pytest.raises(st.errors.ArgumentError, match="atoms"):
            st.Preprocessing(atoms="all")
        with pytest.raises(st.errors.ArgumentError, match="within"):
            st.Preprocessing(within="rounded")


def test_noise_does_not_make_integers_multiples_of_nothing() -> None:
    steps = (Fraction(100), Fraction(1))
    found: list[CountedLevels] = []
    for seed in range(200):
        levels = ColumnCurator(np.repeat([0, 1], 5000), Ledger(Budget.zcdp(0.05, 1e-6)), SeededNoise(seed))
        found.append(count_levels(levels, steps, integer=True, share=Fraction(1, 100), step="levels"))

    # Some of these counts of nothing are large enough to be taken for values.
    assert max(f.answer.values[2] / f.answer.sigma for f in found) > 2
    for levels_found in found:
        roundness = levels_found.beside(Atoms())
        assert roundness is not None
        assert roundness.shares[-1] == 0


class TestFoundBounds:
    def test_a_bound_to_which_values_were_moved_is_no_value_of_its_own(self):
        atoms = Atoms((0, 30, 480), (900.0, 40.0, 317.0), deviation=20.0)

        kept, moved = atoms.without_moved((0, 480), 415.0)

        assert (kept.points, kept.counts, kept.deviation) == ((0, 30), (900.0, 40.0), 20.0)
        assert moved == (480,)

    def test_a_bound_that_many_records_have_stays_and_so_does_each_declared_one(self):
        atoms = Atoms((0, 480), (900.0, 317.0))

        assert atoms.without_moved((0, 480), 100.0) == (atoms, ())
        assert atoms.without_moved((0, 480), 0.0) == (atoms, ())

    def test_what_lies_beyond_is_drawn_below_the_bound_and_a_cap_as_it_is(self):
        rng = np.random.default_rng(0)
        tail = np.where(rng.random(12_000) < 0.5, 0.0, rng.lognormal(4, 1.2, 12_000).round(2))
        capped = np.minimum(rng.gamma(4, 15, 12_000).round(2), 100.0)
        frame = pd.DataFrame({"tail": tail, "capped": capped})

        release = st.Independent(epsilon=1.0, seed=3).fit(frame)
        made = release.sample(12_000, seed=0)

        bound = float(release.schema["tail"].upper)
        # What lies beyond the bound was drawn at it.
        # Every run draws the same; of eight other seeds none was beyond these limits.
        assert 0.005 < (tail > bound).mean() < 0.05
        assert (made["tail"] == bound).mean() < 0.002
        assert (made["tail"] > 0.5 * bound).mean() == pytest.approx((tail > 0.5 * bound).mean(), abs=0.01)
        assert (made["capped"] == 100.0).mean() == pytest.approx((capped == 100.0).mean(), abs=0.03)
