"""Which codes have records, by noisy counts."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.measurement import Evidence, FloatArray, apart_level, evidence

SIGMA = 10.0


def found(counts: list[float], *, ordered: bool = True, apart: int = 0) -> Evidence:
    values = np.array(counts, dtype=float)
    return evidence(values, np.full(values.size, SIGMA), ordered=ordered, apart=apart)


class TestUnordered:
    def test_two_deviations_are_evidence(self) -> None:
        assert found([500, 20, 12, -19, 0], ordered=False).kept.tolist() == [True, True, False, False, False]

    def test_a_little_less_is_evidence_where_few_counts_are_negative(self) -> None:
        assert found([500, 17, -9], ordered=False).kept.tolist() == [True, True, False]
        assert found([500, 17, *[-9] * 5], ordered=False).kept.tolist() == [True, *[False] * 6]

    def test_small_codes_stay_where_their_joint_count_stands_out(self) -> None:
        assert found([500, *[15] * 9], ordered=False).kept.all()

    def test_codes_apart_are_judged_alone(self) -> None:
        # Together with the others the missing cells would stay.
        kept = found([500, *[15] * 9, 15], ordered=False, apart=1).kept

        assert kept[:-1].all()
        assert not kept[-1]

    def test_codes_apart_have_to_stand_out_more_the_more_there_are_in_the_table(self) -> None:
        values, sigmas = np.array([500.0, 200, 32]), np.full(3, SIGMA)

        levels = [apart_level(np.array([3.2, *[0.0] * (n - 1)])) for n in (20, 50)]
        kept = [evidence(values, sigmas, ordered=False, apart=1, least_apart=s).kept[-1] for s in levels]

        assert kept == [True, False]
        assert not found([500, 200, 30], ordered=False, apart=1).kept[-1]
        assert [round(apart_level(np.zeros(n)), 2) for n in (0, 20, 100)] == [3.09, 3.09, 3.54]

    def test_several_codes_apart_that_stand_out_need_less_each(self) -> None:
        many = np.array([2.5, 2.8, 2.7, 2.6, 2.9, 2.55, 2.6, *[0.1] * 5])

        # Seven chances of a thousandth, of which noise alone makes one in 150 codes.
        assert round(apart_level(many), 2) == 2.46
        assert apart_level(many[5:]) > 3
        # What is kept already counts among those that stand out.
        assert round(apart_level(np.array([*[np.inf] * 6, 2.5])), 2) == 2.46
        assert round(apart_level(np.full(60, np.inf)), 2) == 2.05

    def test_noise_alone_hardly_ever_stands_out_in_a_complete_table(self) -> None:
        rng, passed = np.random.default_rng(0), 0
        for _ in range(2_000):
            scores = rng.normal(size=20)
            passed += bool((scores >= apart_level(scores)).any())

        # In a fiftieth of the tables, with a deviation of 6.3 of 2,000: 75 is 5.5 of these away, below 1e-7.
        assert passed <= 75

    def test_where_noise_hides_all_codes_they_are_kept_except_those_apart(self) -> None:
        assert found([-50, -3, -20, 5], ordered=False, apart=1).kept.tolist() == [True, True, True, False]

    def test_known_codes_stay(self) -> None:
        known = np.array([False, False, True])

        kept = evidence(np.array([500.0, 0, -9]), np.full(3, SIGMA), ordered=False, known=known).kept

        assert kept.tolist() == [True, False, True]


class TestWithoutNoise:
    def test_every_code_is_kept(self) -> None:
        for ordered in [True, False]:
            result = evidence(np.array([5.0, 0, 3]), np.zeros(3), ordered=ordered)

            assert result.kept.all()
            assert not result.tails


class TestBetweenSureCodes:
    def test_a_code_below_two_deviations_is_evidence(self) -> None:
        assert found([500, 12, 400]).kept.all()

    def test_a_negative_count_is_none(self) -> None:
        assert found([500, -12, 400]).kept.tolist() == [True, False, True]

    def test_of_many_empty_codes_hardly_any_is_kept(self) -> None:
        # Every normal count of 2,000 empty codes; 46 have two deviations by chance.
        counts = np.random.default_rng(0).normal(0, SIGMA, 2000)

        kept = found([500, *counts, 400]).kept[1:-1]

        assert kept.sum() == (counts >= 2 * SIGMA).sum()

    def test_negative_counts_make_small_ones_doubtful(self) -> None:
        for count, kept in [(16, True), (12, False)]:
            assert found([500, count, -3, -14, 400]).kept.tolist() == [True, kept, False, False, True]


class TestOrdered:
    def test_an_empty_tail_has_no_records(self) -> None:
        result = found([500, 300, 100, 12, -8, 15, -20, 3, 11, -4])

        assert result.kept.tolist() == [True] * 3 + [False] * 7
        assert not result.tails

    def test_a_thin_tail_keeps_its_count_and_declines(self) -> None:
        result = found([500, 300, 100, 40, 20, 2, -8, 5])

        (tail,) = result.tails
        assert tail.codes.tolist() == [3, 4]
        assert tail.weights.sum() == pytest.approx(60)
        ratios = tail.weights[1:] / tail.weights[:-1]
        assert tail.weights[0] == pytest.approx(100 * ratios[0])

    def test_tails_lie_at_both_ends(self) -> None:
        result = found([3, 25, 100, 500, 300, 90, 30, -4])

        low, high = sorted(result.tails, key=lambda tail: tail.codes[0])
        assert (low.codes.tolist(), high.codes.tolist()) == ([1], [6])

    def test_a_gap_before_a_heavy_value_is_empty(self) -> None:
        result = found([500, 300, 8, -9, 4, 120, 3, -5])

        assert np.flatnonzero(result.kept).tolist() == [0, 1, 5]

    def test_missing_cells_are_in_no_tail(self) -> None:
        result = found([500, 300, 40, 0, 0, 5], apart=1)

        (tail,) = result.tails
        assert 5 not in tail.codes
        assert not result.kept[5]

    def test_where_no_code_is_sure_all_stay_together_or_those_that_stand_out(self) -> None:
        assert found([19, 30, 25, 10, 30]).kept.all()
        assert found([5, -30, 8, -20, 25]).kept.tolist() == [False, False, False, False, True]

    def test_a_tail_that_does_not_fall_is_even(self) -> None:
        (tail,) = found([5000, 20, 30, 35]).tails[:1] or found([500, 12, 18, 14]).tails

        assert np.all(np.diff(tail.weights) <= 1e-12)


def kept_counts(truth: FloatArray, *, apart: int, runs: int) -> FloatArray:
    """Return the noisy counts of kept codes, 0 for others, in many runs [runs, codes]."""
    rng = np.random.default_rng(0)
    sigmas = np.full(truth.size, SIGMA)
    results = []
    for _ in range(runs):
        values = truth + rng.normal(0, SIGMA, truth.size)
        results.append(np.where(evidence(values, sigmas, ordered=True, apart=apart).kept, values, 0))
    return np.array(results)


class TestOverNoise:
    def test_rare_codes_above_the_noise_are_unbiased_and_absent_ones_seldom_come_out(self) -> None:
        # A code of 6 deviations, missing cells of 6, an absent code apart.
        truth = np.array([2000.0, 60, 1500, 60, 0])

        counts = kept_counts(truth, apart=2, runs=2000)

        # The mean of 2,000 runs has a deviation of 0.23: 1.5 is 6 of them, below 1e-8 for both codes.
        assert np.abs(counts.mean(0)[[1, 3]] - 60).max() < 1.5
        # An absent code passes in a thousandth of the runs, in 2 of 2,000: more than 14 are drawn by chance below 1e-8.
        assert (counts[:, 4] > 0).sum() <= 14

    def test_noise_far_out_is_hardly_ever_taken_for_a_record(self) -> None:
        truth = np.array([3000.0, 2000, 800, *[0.0] * 30])

        counts = kept_counts(truth, apart=0, runs=1000)

        # 30 codes and runs of them pass with a chance below 4e-4 a run: more than 6 in 1,000 have one below 1e-6.
        assert (counts[:, 3:] > 0).any(1).sum() <= 6
