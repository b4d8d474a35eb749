"""How many records the far codes of a column hold."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.far_tails import far_counts
from syntabula.marginals.measurement import evidence

SIGMA = 12.0
EDGES = np.array([0.0, *2.0 ** np.arange(1, 15)])
LOG_NORMAL = np.random.default_rng(0).lognormal(3.0, 1.3, 10_000)
COUNTS = np.histogram(LOG_NORMAL, EDGES)[0].astype(float)


def noisy(counts: np.ndarray, seed: int) -> np.ndarray:
    """Return counts with noise."""
    return counts + np.random.default_rng(seed).normal(0, SIGMA, counts.size)


def off(counts: np.ndarray) -> float:
    """Return by what factor, as a logarithm, the root of the second moment differs from the real one."""
    squares = np.square((EDGES[1:] + EDGES[:-1]) / 2)
    return abs(np.log(max(counts @ squares, 1.0) / (COUNTS @ squares))) / 2


class TestFarCounts:
    def test_a_tail_that_noise_hides_is_nearer_than_cut_off_or_as_counted(self) -> None:
        first = int(np.flatnonzero(COUNTS > 4.5 * SIGMA)[-1]) + 1
        told, cut, counted = [], [], []
        for seed in range(100):
            values = noisy(COUNTS, seed)
            far = far_counts(values, SIGMA, EDGES, first)
            assert far is not None
            told.append(off(np.concatenate([values[:first], far])))
            cut.append(off(np.concatenate([values[:first], np.zeros(COUNTS.size - first)])))
            counted.append(off(np.maximum(values, 0.0)))

        # Off by 1.19 on average, where without a tail .77 is left, and noise makes it 2.3 times as large.
        assert 1.4 * np.mean(told) < min(np.mean(cut), np.mean(counted))

    def test_hardly_any_records_lie_beyond_an_end(self) -> None:
        ended = np.array([250.0, 500, 750, 1000, 1250, 1250, 1250, 1500, 0, 0, 0, 0, 0, 0])

        far = [far_counts(noisy(ended, seed), SIGMA, EDGES, 8) for seed in range(50)]

        assert np.mean([f.sum() for f in far if f is not None]) < 1.5 * SIGMA

    def test_nothing_is_told_where_no_codes_come_before(self) -> None:
        assert far_counts(np.array([9000.0, 3, 1]), SIGMA, np.arange(4.0), 1) is None

    def test_nothing_is_told_by_much_noise(self) -> None:
        values = noisy(COUNTS, 3)

        assert far_counts(values, SIGMA, EDGES, 10) is not None
        assert far_counts(values, 30.0, EDGES, 10) is None

    def test_nothing_is_told_of_codes_longer_than_doublings(self) -> None:
        edges = np.array([*EDGES[:11], 1e6])
        values = noisy(np.append(COUNTS[:10], COUNTS[10:].sum()), 3)

        assert far_counts(values, SIGMA, edges, 10) is None

    def test_bins_of_one_width_decline_however_far_out(self) -> None:
        # From code 53 on they are narrower than a fiftieth of their distance; single values only among wider ones.
        edges = np.arange(201.0)
        counts = np.histogram(np.random.default_rng(0).lognormal(1.5, 1.2, 20_000), edges)[0].astype(float)
        first = 60

        far = far_counts(noisy(counts, 0), SIGMA, edges, first)

        assert far is not None
        assert far.sum() == pytest.approx(counts[first:].sum(), rel=0.5)
        assert far[-40:].sum() > 0

    def test_nothing_is_told_of_single_values_among_wider_bins(self) -> None:
        edges = np.array([0, 1, 2, 4, 8, 8.01, 8.02, 8.03])
        values = np.array([9000.0, 800, 400, 100, 30, 20, 10])

        assert far_counts(values, SIGMA, edges, 4) is None

    def test_nothing_is_told_by_more_codes_than_memory_allows(self) -> None:
        size = 4_000
        counts = 400 * np.exp(-np.arange(size) / 300)

        assert far_counts(noisy(counts, 0), SIGMA, np.arange(size + 1.0), 1_500) is None

    @pytest.mark.parametrize("largest", [1e-300, 1e308])
    def test_distances_of_any_unit_are_finite(self, largest: float) -> None:
        values = noisy(COUNTS, 3)
        wanted = far_counts(values, SIGMA, EDGES, 10)

        assert np.allclose(far_counts(values, SIGMA, EDGES * (largest / EDGES[-1]), 10), wanted, rtol=1e-6)

    def test_bins_of_hundreds_of_doublings_do_no_harm(self) -> None:
        edges = np.geomspace(1e-300, 1e308, COUNTS.size + 1)

        with np.errstate(all="raise", under="ignore"):
            far = far_counts(noisy(COUNTS, 3), SIGMA, edges, 10)

        assert far is None or np.isfinite(far).all()

    def test_scale_and_unit_do_not_matter(self) -> None:
        values = noisy(COUNTS, 3)

        assert np.allclose(
            far_counts(values, SIGMA, EDGES, 10), far_counts(values, SIGMA, 7 + 100 * EDGES, 10), rtol=1e-6
        )


class TestEvidenceOfBins:
    def test_both_tails_join_the_last_codes_that_have_records(self) -> None:
        values, edges = noisy(COUNTS, 1), tuple(EDGES.tolist())
        sigmas = np.full(values.size, SIGMA)

        (upper,) = evidence(values, sigmas, ordered=True, edges=edges).tails
        mirrored = evidence(values[::-1], sigmas, ordered=True, edges=tuple(-EDGES[::-1])).tails
        (lower,) = [t for t in mirrored if t.codes[-1] < t.codes[0]]

        assert upper.joins == upper.codes[0] - 1
        assert (upper.codes + lower.codes).tolist() == [values.size - 1] * upper.codes.size
        assert np.allclose(upper.weights, lower.weights)
        assert (np.diff(upper.weights) < 0).all()

    def test_texts_and_missing_cells_have_no_part_in_it(self) -> None:
        values, edges = noisy(COUNTS, 1), tuple(EDGES.tolist())
        alone = evidence(values, np.full(values.size, SIGMA), ordered=True, edges=edges).tails
        beside = np.append(values, 5_000.0)

        found = evidence(beside, np.full(beside.size, SIGMA), ordered=True, apart=1, edges=edges).tails

        assert [t.weights.tolist() for t in found] == [t.weights.tolist() for t in alone]
