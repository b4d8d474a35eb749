"""Exact draws by the million: against exact probabilities, with planted errors, and where float64 cannot decide.

Secure draws are fresh in each run: about 10 p-values, each compared with 1e-9, so a run fails by chance with
probability below 2e-8.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from syntabula.errors import ArgumentError
from syntabula.privacy import exact_samplers, vector_samplers
from syntabula.privacy.noise import SecureNoise, SeededNoise
from syntabula.privacy.training.records import TrainingNoise
from syntabula.privacy.vector_samplers import gaussian_draws

pytestmark = pytest.mark.fresh_noise

LEAST_P = 1e-9
SIGMAS = [1.0, 2.7, 33.3, 1000.0, 1e6, 3.5e9]
DRAWS = 200_000


def seeded(seed: int = 3):
    return np.random.Generator(np.random.PCG64(seed)).bytes


def tails(at: np.ndarray, sigma: float) -> np.ndarray:
    """P(X >= at) of the discrete Gaussian, for whole numbers."""
    if sigma > 10_000:
        # Sums at whole steps and the integral at half steps differ by less than 1 / (10 sigma^2).
        return stats.norm.sf((at - 0.5) / sigma)
    support = np.arange(-math.ceil(10 * sigma) - 2, math.ceil(10 * sigma) + 3, dtype=np.float64)
    masses = np.exp(-np.square(support / sigma) / 2)
    above = np.append(np.cumsum(masses[::-1])[::-1] / masses.sum(), 0.0)
    return above[np.clip(at - support[0], 0, support.size).astype(int)]


def p_value(draws: np.ndarray, sigma: float) -> float:
    """Chi-square over up to 120 bins of whole numbers, each with at least 20 draws expected."""
    edges = np.unique(np.round(stats.norm.ppf(np.linspace(0.0005, 0.9995, 119)) * sigma))
    above = tails(edges, sigma)
    expected = np.concatenate([[1 - above[0]], -np.diff(above), [above[-1]]]) * draws.size
    observed = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)
    kept = expected >= 20
    pooled = (
        np.append(observed[kept], observed[~kept].sum()),
        np.append(expected[kept], expected[~kept].sum()),
    )
    some = pooled[1] > 0
    statistic = np.sum((pooled[0][some] - pooled[1][some]) ** 2 / pooled[1][some])
    return float(stats.chi2.sf(statistic, some.sum() - 1))


class TestDraws:
    def test_follow_the_discrete_gaussian(self) -> None:
        for sigma, source in [
            *((sigma, "secure") for sigma in SIGMAS),
            *((sigma, "seeded") for sigma in (SIGMAS[0], SIGMAS[-1])),
        ]:
            drawn = gaussian_draws(DRAWS, sigma, os.urandom if source == "secure" else seeded())

            assert p_value(drawn, sigma) > LEAST_P

    def test_of_a_wrong_scale_are_told_apart(self) -> None:
        for sigma, wrong in [(33.3, 0.5), (33.3, 0.95), (33.3, 1.05), (1e6, 1.05)]:
            assert p_value(gaussian_draws(DRAWS, sigma * wrong, seeded()), sigma) < LEAST_P

    def test_on_a_wrong_grid_are_told_apart(self) -> None:
        # Twice as far apart, and with the same standard deviation.
        drawn = 2 * gaussian_draws(DRAWS, 1.35, seeded())

        assert p_value(drawn, 2.7) < LEAST_P

    @pytest.mark.parametrize("planted", ["never rejected", "rows of the next block", "lost places kept"])
    def test_with_a_planted_error_are_told_apart(self, monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
        if planted == "rows of the next block":
            # 2,000 rows of 65,536 are that of a block beside theirs.
            block_of = vector_samplers._staircase(1000.0).block_of.copy()
            block_of[30_000:32_000] += 24
            stairs = replace(vector_samplers._staircase(1000.0), block_of=block_of)
            monkeypatch.setattr(vector_samplers, "_staircase", lambda sigma: stairs)
        else:
            everything = lambda numbers, *rest: np.ones(numbers.size, dtype=np.bool_)  # noqa: E731
            if planted == "never rejected":
                monkeypatch.setattr(vector_samplers, "_are_kept", everything)
            monkeypatch.setattr(vector_samplers, "_BLOCKS", 32)
            vector_samplers._staircase.cache_clear()
        if planted == "lost places kept":
            lost = vector_samplers._lost
            monkeypatch.setattr(vector_samplers, "_lost", lambda *rest: lost(*rest)[:0])
        try:
            assert p_value(gaussian_draws(DRAWS, 1000.0, seeded()), 1000.0) < LEAST_P
        finally:
            monkeypatch.undo()
            vector_samplers._staircase.cache_clear()

    def test_of_rows_with_units_of_several_blocks_are_told_apart_too(self) -> None:
        stairs = vector_samplers._staircase(1000.0)
        shared = np.flatnonzero(stairs.block_of < 0)
        # One trial of 32 more replaces what is lost: here nothing.
        rows = np.full(4125, shared[len(shared) // 2], dtype="<u4")
        rest = np.arange(4125, dtype="<u8") * 15
        answers = iter([bytes(4 * 4125) + rows.tobytes(), rest.tobytes()])

        numbers = gaussian_draws(4000, 1000.0, lambda n: next(answers))

        units = (int(rows[0]) << 16) + rest[:4000].astype(np.int64)
        ends = np.cumsum(stairs.units)
        blocks = np.array([np.flatnonzero(unit < ends)[0] for unit in units])
        assert (numbers >> stairs.width_bits).tolist() == (blocks - 512).tolist()
        assert len(np.unique(blocks)) == 2

    def test_that_are_lost_are_replaced_by_the_spare_ones_in_their_order(self) -> None:
        n_replaced = n_left = 0
        for seed, size in [(seed, size) for seed in range(40) for size in (32, 320)]:
            stairs, trials = vector_samplers._staircase(1000.0), np.zeros(size + size // 32, dtype=np.int64)
            source = seeded(seed)
            unsure = vector_samplers._tried(trials, 0, stairs, source)
            lost = vector_samplers._lost(trials, unsure, stairs, source).tolist()
            spare = [trials[place] for place in range(size, trials.size) if place not in lost]
            wanted = trials[:size].tolist()
            for place in [place for place in lost if place < size]:
                n_replaced += bool(spare)
                wanted[place] = spare.pop(0) if spare else None

            drawn = gaussian_draws(size, 1000.0, seeded(seed)).tolist()

            n_left += wanted.count(None)
            assert all(number in (found, None) for number, found in zip(wanted, drawn, strict=True))
        # Those beyond the spare ones are drawn anew.
        assert n_replaced > 50
        assert n_left > 0

    def test_in_pieces_are_as_many_as_asked_for(self) -> None:
        assert gaussian_draws(0, 5.0, seeded()).size == 0
        assert gaussian_draws(200_001, 5.0, seeded()).size == 200_001

    def test_differ_in_all_bits_of_a_large_number(self) -> None:
        drawn = gaussian_draws(DRAWS, 1e6, os.urandom)

        for bit in range(12):
            ones = int(((drawn >> bit) & 1).sum())
            assert stats.binomtest(ones, DRAWS).pvalue > LEAST_P / 12


class TestStaircase:
    def test_covers_the_bell_and_fills_all_units(self) -> None:
        for sigma in [1.0, 2.7, 3.5e9, 2.0**40, 1.0000001, 31.99999, 32.0]:
            stairs = vector_samplers._staircase(sigma)
            width = 1 << stairs.width_bits

            assert 512 * width >= 16 * sigma
            assert sum(stairs.units) == 2**32 - 1
            with mpmath.workdps(60):
                for block in [0, 1, 100, 400, 510, 511, 512, 513, 600, 1022, 1023]:
                    start = (block - 512) * width
                    nearest = min(abs(start), abs(start + width - 1))
                    farthest = max(abs(start), abs(start + width - 1))
                    height = stairs.scale * mpmath.exp(
                        -(mpmath.mpf(nearest) ** 2) / (2 * mpmath.mpf(sigma) ** 2)
                    )
                    assert stairs.units[block] >= height
                    least = stairs.scale * mpmath.exp(
                        -(mpmath.mpf(farthest) ** 2) / (2 * mpmath.mpf(sigma) ** 2)
                    )
                    assert int(stairs.sure[block]) <= least / stairs.units[block] * 2**16

    def test_keeps_its_last_unit_for_numbers_beyond(self) -> None:
        for sigma in [1.0, 1000.0, 3.5e9]:
            stairs = vector_samplers._staircase(sigma)

            assert stairs.block_of[-1] == -1
            assert np.searchsorted(stairs.ends, [2**32 - 2, 2**32 - 1], side="right").tolist() == [1023, 1024]

    def test_gives_each_block_its_units_exactly(self) -> None:
        for sigma in [1.0, 1000.0, 3.5e9]:
            stairs = vector_samplers._staircase(sigma)
            whole = stairs.block_of >= 0
            found = np.bincount(stairs.block_of[whole], minlength=1024) * 2**16
            limits = np.append(0, stairs.ends)
            for row in np.flatnonzero(~whole):
                found += np.diff(np.clip(limits, row << 16, (row + 1) << 16))

            assert found.tolist() == stairs.units.tolist()

    def test_keeps_by_16_bits_of_a_point_only_what_all_bits_keep(self) -> None:
        for sigma in [1.0, 31.99999, 1000.0, 3.5e9, 2.0**40]:
            stairs = vector_samplers._staircase(sigma)
            rows = np.arange(65536, dtype=np.uint32)
            whole = stairs.block_of >= 0
            sure = np.where(whole, stairs.sure[stairs.block_of], 0).astype(np.int64)

            assert (sure <= 65536).all()
            assert (sure[stairs.block_of == 512] > 60_000).all()
            # Points from two below the first that is not sure to the next; the rest of each trial is zeros.
            for step in (-2, -1, 0, 1):
                points = np.clip(sure + step, 0, 65535)
                words = points.astype(np.uint32) << np.uint32(16) | rows
                drawn, numbers = (
                    bytes(stairs.word.itemsize * 65536) + words.tobytes(),
                    np.zeros(65536, np.int64),
                )

                unsure = vector_samplers._tried(numbers, 7, stairs, lambda n, drawn=drawn: drawn[:n])

                kept = np.ones(65536, dtype=np.bool_)
                kept[unsure.places - 7] = False
                starts = (stairs.block_of.astype(np.int64) - 512) << stairs.width_bits
                assert (points[kept] < sure[kept]).all()
                assert (points[~kept] >= sure[~kept] - 1).all()
                assert (numbers[kept] == starts[kept]).all()
                assert (unsure.firsts == words[~kept]).all()

    def test_places_in_blocks_are_the_upper_bits_of_a_word(self) -> None:
        for sigma, size in [(1.0, 4), (1000.0, 4), (1.3e8, 4), (1.4e8, 8), (2.0**40, 8)]:
            stairs = vector_samplers._staircase(sigma)
            places = np.random.default_rng(1).integers(0, 1 << stairs.width_bits, 500)
            lower = np.random.default_rng(2).integers(0, 1 << 10, 500)
            words = (places.astype(np.uint64) << np.uint64(8 * size - stairs.width_bits)) | lower.astype(
                np.uint64
            )
            rows = np.random.default_rng(3).choice(np.flatnonzero(stairs.block_of >= 0), 500)
            blocks = stairs.block_of[rows].astype(np.int64)
            drawn = words.astype(f"<u{size}").tobytes() + rows.astype("<u4").tobytes()
            numbers = np.zeros(500, dtype=np.int64)

            unsure = vector_samplers._tried(numbers, 0, stairs, lambda n, drawn=drawn: drawn)
            tried = numbers.copy()
            vector_samplers._lost(numbers, unsure, stairs, bytes)

            assert stairs.word.itemsize == size
            wanted = ((blocks - 512) << stairs.width_bits) + places
            sure = np.delete(np.arange(500), unsure.places)
            assert (tried[sure] == wanted[sure]).all()
            assert (numbers == wanted).all()

    def test_loses_few_trials(self) -> None:
        stairs = vector_samplers._staircase(3.5e6)

        assert stairs.scale * 3.5e6 * math.sqrt(2 * math.pi) / (1 << stairs.width_bits) > 0.95 * 2**32


def answering(*words: int):
    """Random bytes of these words of 64 bits, one a call."""
    rest = iter(words)
    return lambda n: next(rest).to_bytes(n, "little")


class TestBeyond:
    @pytest.mark.parametrize("sigma", [1.0, 40.0])
    def test_each_number_is_tried_once_and_as_likely_as_it_must_be(
        self, monkeypatch: pytest.MonkeyPatch, sigma: float
    ) -> None:
        stairs = vector_samplers._staircase(sigma)
        reach, width = 512 << stairs.width_bits, 1 << stairs.width_bits
        bounds: list[tuple[Fraction, Fraction]] = []
        monkeypatch.setattr(
            vector_samplers, "_is_below", lambda drawn, bits, *bound: bounds.append(bound[:2]) or drawn == 7
        )
        probabilities = {}
        for block in range(5):
            for sign in (0, 1 << 63):
                for place in range(width):
                    # Higher bits of both words are of no account but for the sign.
                    words = answering((1 << 40 | 1) << block, sign | 1 << 50 | place, 7)

                    number, kept = vector_samplers._tried_beyond(stairs, words)

                    ratio, exponent = bounds[-1]
                    assert kept
                    assert exponent == Fraction(number) ** 2 / (2 * Fraction(sigma) ** 2)
                    # Of a trial, but for exp(-exponent): unit, block, side, place, and the point below its bound.
                    probabilities[number] = Fraction(1, 2**32) / 2 ** (block + 1) / 2 / width * ratio

        assert sorted(probabilities) == [
            *range(-reach - 5 * width, -reach),
            *range(reach, reach + 5 * width),
        ]
        # A number of a block has w / 2^32 / W * S / w.
        assert set(probabilities.values()) == {Fraction(stairs.scale, 2**32 * width)}

    def test_a_word_without_a_coin_goes_on(self) -> None:
        stairs = vector_samplers._staircase(1.0)

        number, kept = vector_samplers._tried_beyond(stairs, answering(0, 0, 8, 0, *[2**64 - 1] * 3))

        assert number == 512 + 64 + 64 + 3
        assert not kept

    def test_bounds_are_below_one(self) -> None:
        for sigma in [1.0, 31.99999, 32.0, 32.00001, 3.5e9, 2.0**40]:
            stairs = vector_samplers._staircase(sigma)
            assert 0 < stairs.scale <= 2**32
            for block in range(2000):
                nearest = (512 + block) << stairs.width_bits
                assert (block + 34) * math.log(2) - (nearest / sigma) ** 2 / 2 < -80

    def test_are_drawn_where_the_last_unit_is(self) -> None:
        sigma, kept = 1000.0, []
        stairs = vector_samplers._staircase(sigma)
        reach = 512 << stairs.width_bits
        for point in (0, 1):
            # The last unit; then coins, place and the first 64 digits of the point; zeros go on to the end.
            answers = iter([b"\xff" * 8, b"\xff" * 8, *(n.to_bytes(8, "little") for n in (1, 5, point))])
            drawn = np.zeros(1, dtype=np.int64)
            unsure = vector_samplers._tried(drawn, 0, stairs, lambda n, answers=answers: next(answers))

            lost = vector_samplers._lost(
                drawn, unsure, stairs, lambda n, answers=answers: next(answers, bytes(n))
            )

            kept.append(lost.size == 0)
            assert drawn.tolist() == [reach + 5]
        assert kept == [True, False]

    def test_too_many_of_them_are_told_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # A planted error: each is kept, and of the last row's units a half are theirs.
        stairs = vector_samplers._staircase(1000.0)
        ends = stairs.ends.copy()
        ends[:-1] = np.minimum(ends[:-1], 2**31)
        ends[-1] = 2**31
        planted = replace(stairs, ends=ends, block_of=np.full(65536, -1, dtype=np.int16))
        monkeypatch.setattr(vector_samplers, "_staircase", lambda sigma: planted)
        monkeypatch.setattr(vector_samplers, "_tried_beyond", lambda *rest: (17_000, True))

        assert p_value(gaussian_draws(20_000, 1000.0, seeded()), 1000.0) < LEAST_P


class TestUndecided:
    @pytest.mark.thorough
    @given(
        x=st.integers(-40, 40),
        sigma=st.floats(1.0, 10.0),
        part=st.fractions(Fraction(1, 100), 1),
        nudge=st.sampled_from([-1, 1]),
    )
    def test_points_are_decided_by_as_many_digits_as_it_takes(
        self, x: int, sigma: float, part: Fraction, nudge: int
    ) -> None:
        exponent = Fraction(x) ** 2 / (2 * Fraction(sigma) ** 2)
        bits, more = 40, 128
        with mpmath.workdps(400):
            bound = mpmath.mpf(part.numerator) / part.denominator
            bound *= mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
            point = int(mpmath.floor(mpmath.ldexp(bound, bits + more))) + 3 * nudge
        digits = iter([(point >> 64) & (2**64 - 1), point & (2**64 - 1), 0, 0])

        below = vector_samplers._is_below(
            point >> more, bits, part, exponent, lambda n: next(digits).to_bytes(n, "little")
        )

        assert below is (nudge < 0)

    def test_trials_go_there_where_float64_cannot_tell(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stairs = vector_samplers._staircase(1000.0)
        number = 700
        block = 512 + (number >> stairs.width_bits)
        bound = stairs.scale / stairs.units[block] * math.exp(-0.5 * (number / 1000.0) ** 2) * 2.0**64
        points = np.array([bound * (1 - 2e-11), bound, bound * (1 + 2e-11)]).astype(np.uint64)
        asked: list[int] = []
        monkeypatch.setattr(
            vector_samplers, "_is_below", lambda drawn, *rest: asked.append(drawn) or vector_samplers is None
        )

        kept = vector_samplers._are_kept(np.full(3, number), np.full(3, block), points, stairs, os.urandom)

        assert asked == [int(points[1])]
        assert kept.tolist() == [True, False, False]

    def test_float64_decides_only_what_exact_arithmetic_decides_alike(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Points on both sides of each bound, from next to it to clear of it; what is asked about is left out.
        for sigma in [1.0, 1000.0, 3.5e9, 2.0**40]:
            stairs = vector_samplers._staircase(sigma)
            bits, wrong, n_decided = 64, 0, 0
            for block in range(0, 1024, 31):
                start = (block - 512) << stairs.width_bits
                for number in {start, start + (1 << stairs.width_bits) - 1}:
                    exponent = Fraction(number) ** 2 / (2 * Fraction(sigma) ** 2)
                    low, high = vector_samplers.exponential_bounds(exponent, bits + 64)
                    ratio = Fraction(stairs.scale, int(stairs.units[block])) / 2**64
                    least, most = math.floor(ratio * low), math.ceil(ratio * high)
                    near = [0, 1, 2, *((1 << n) for n in range(2, bits - 1, 3))]
                    points = {p + d for p in (least, most) for n in near for d in (n, -n)}
                    held = np.array(sorted(p for p in points if 0 <= p < 1 << bits), dtype=np.uint64)
                    asked: list[int] = []
                    note = lambda drawn, *rest, asked=asked: bool(asked.append(drawn))  # noqa: E731
                    monkeypatch.setattr(vector_samplers, "_is_below", note)
                    numbers, blocks = np.full(held.size, number), np.full(held.size, block)

                    kept = vector_samplers._are_kept(numbers, blocks, held, stairs, os.urandom)

                    for point, is_kept in zip(held.tolist(), kept.tolist(), strict=True):
                        if point not in asked:
                            n_decided += 1
                            wrong += not (point + 1 <= ratio * low if is_kept else point >= ratio * high)

            assert wrong == 0
            assert n_decided > 500


class TestSources:
    def test_both_draw_for_training(self) -> None:
        for noise in [SecureNoise(), SeededNoise(1)]:
            assert isinstance(noise, TrainingNoise)
            exact = np.arange(6, dtype=np.int64).reshape(2, 3) * 10**12

            noisy = noise.gaussian_vector(exact, 100.0)

            assert noisy.shape == (2, 3)
            assert (np.abs(noisy - exact) < 1700).all()
            assert (noisy != exact).any()
            assert (noise.gaussian_vector(exact, 0) == exact).all()

    def test_a_seed_gives_the_same_for_a_spend_of_the_same_number(self) -> None:
        one, other = SeededNoise(5), SeededNoise(5)
        other.gaussian_vector(np.zeros(10, dtype=np.int64), 5.0)
        for noise in (one, other):
            noise.begin_draw()
        zeros = np.zeros(10, dtype=np.int64)

        assert (one.gaussian_vector(zeros, 5.0) == other.gaussian_vector(zeros, 5.0)).all()
        assert (one.sampled_records(99, 0.3) == other.sampled_records(99, 0.3)).all()

    def test_many_counts_are_drawn_by_it_and_few_by_opendp(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[int] = []
        monkeypatch.setattr(
            exact_samplers,
            "gaussian_draws",
            lambda n, *rest: asked.append(n) or np.full(n, 3, dtype=np.int64),
        )
        for shape, sigma in [((19,), 5.0), ((4, 5), 5.0), ((200,), 0.9)]:
            counts = np.arange(math.prod(shape)).reshape(shape)

            noisy = SecureNoise().discrete_gaussian(counts, sigma)

            assert noisy.shape == shape
            assert (noisy - counts == 3).all() == (shape == (4, 5))
        assert asked == [20]

    def test_sums_that_pass_the_range_stay_at_its_end(self) -> None:
        ends = np.full(1000, np.iinfo(np.int64).max)

        assert (SeededNoise(1).gaussian_vector(ends, 2.0**40) > 0).all()

    def test_other_scales_are_refused(self) -> None:
        for sigma in [-1.0, 0.5, math.inf, 2.0**41]:
            with pytest.raises(ArgumentError):
                SecureNoise().gaussian_vector(np.zeros(3, dtype=np.int64), sigma)
