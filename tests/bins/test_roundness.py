"""Draws at round numbers: only these, in their proportions, within each bin."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntabula.bins.roundness import Roundness, between_atoms, first_multiples, with_atoms
from syntabula.bins.uniform import Bins, UniformBins, cut, uniform_within
from syntabula.errors import SchemaError

HUNDREDS = Roundness((Fraction(1000), Fraction(500), Fraction(100)), (0.5, 0.2, 0.3, 0.0))
CENTS = Roundness((Fraction(1), Fraction(1, 10), Fraction(1, 100)), (0.6, 0.3, 0.0, 0.1))


def drawn(roundness: Roundness, bins: Bins, n: int) -> np.ndarray:
    return roundness.within(bins, np.repeat(np.arange(bins.size), n), np.random.default_rng(1))


class TestDraws:
    def test_levels_come_in_their_proportions(self):
        bins = UniformBins(1).bins(0, 9_999, integer=True)

        values = drawn(HUNDREDS, bins, 50_000)

        assert (values % 100 == 0).all()
        # Binomial with standard deviation at most .0023: .012 is above 5 of them, so below 1e-6.
        assert np.mean(values % 1000 == 0) == pytest.approx(0.5, abs=0.012)
        assert np.mean(values % 500 == 0) == pytest.approx(0.7, abs=0.012)

    def test_numbers_of_a_level_are_equally_likely(self):
        values = drawn(HUNDREDS, UniformBins(1).bins(0, 9_999, integer=True), 80_000)

        counts = np.bincount(values // 100, minlength=100)
        # 80 numbers share .3 of 80,000: 300 each, standard deviation 17.3; 6 of them for 80 draws are below 1e-6.
        only = counts[[i for i in range(100) if i % 5]]
        assert abs(only - 300).max() < 6 * 17.3

    def test_values_stay_in_their_bins_and_are_nearest_floats(self):
        bins = UniformBins(7).bins(0.0, 2.5, integer=False)

        values = drawn(CENTS, bins, 3_000)

        assert np.array_equal(bins.codes(values), np.repeat(np.arange(7), 3_000))
        wide = drawn(CENTS, UniformBins(1).bins(0.0, 100.0, integer=False), 40_000)
        # A tenth of the values may be any, the others are read from text: standard deviation .0015.
        assert np.mean([len(repr(float(v))) > 5 for v in wide]) == pytest.approx(0.1, abs=0.01)

    def test_a_bin_without_a_round_number_has_its_lower_end(self):
        bins = Bins((0, 950, 951, 999, 1001), integer=True)

        assert {*drawn(HUNDREDS, bins, 50)[50:150].tolist()} == {950, 951}


class TestParts:
    def test_single_values_may_be_beyond_signed_integers(self):
        bins = Bins((5, 2**63 + 1, 2**64 - 1, 2**64), integer=True)

        drawn = Roundness.of_lower_ends().within(bins, np.array([2, 0, 1]), np.random.default_rng(0))

        assert drawn.tolist() == [2**64 - 1, 5, 2**63 + 1]

    def test_shares_of_parts_are_those_of_draws(self):
        for roundness in [CENTS, Roundness((Fraction(1),), (1.0, 0.0))]:
            bins = UniformBins(2).bins(0.0, 5.0, integer=False)
            parts = cut(bins, None, [0.15, 0.3, 2.75, 3.0])

            shares = roundness.shares_of(parts.bins, parts.whole)

            values = drawn(roundness, bins, 40_000)
            found = np.bincount(parts.bins.codes(values), minlength=parts.bins.size) / 40_000
            # Standard deviation at most .0025.
            assert np.allclose(found, shares, atol=0.0135)


class TestMultiples:
    def test_the_nearest_float_stands_for_a_multiple(self):
        tenths = np.array([i / 10 for i in range(-50, 50)])

        assert first_multiples(tenths, Fraction(1, 10), integer=False).tolist() == [*range(-50, 50)]
        above = np.nextafter(tenths, np.inf)
        assert first_multiples(above, Fraction(1, 10), integer=False).tolist() == [*range(-49, 51)]


class TestRefusals:
    def test_what_makes_no_distribution(self):
        for steps, shares in [((5, 3), (1, 1, 0)), ((1, 10), (1, 1, 0)), ((1,), (1,)), ((1,), (-1, 0))]:
            with pytest.raises(SchemaError, match="roundness"):
                Roundness(steps, shares)

    def test_parts_of_whole_numbers(self):
        with pytest.raises(SchemaError, match="whole"):
            CENTS.check(UniformBins(3).bins(0, 99, integer=True))


class TestWholeNumbers:
    @pytest.mark.thorough
    @given(
        st.integers(1, 40),
        st.integers(-200, 0),
        st.integers(1, 3000),
        st.sets(st.integers(0, 3000), max_size=20),
        st.sampled_from([None, 1, 10, 100]),
    )
    def test_each_atom_is_alone_and_the_domain_stays(self, count, lower, width, places, unit):
        upper = lower + width
        atoms = sorted({lower + p for p in places if p <= width})
        bins = UniformBins(count).bins(lower, upper, integer=True)

        found = with_atoms(bins, atoms, None if unit is None else Fraction(unit))

        assert (found.edges[0], found.edges[-1]) == (lower, upper + 1)
        assert found.size <= bins.size + 2 * len(atoms)
        for atom in atoms:
            code = found.edges.index(atom)
            # No other atom, and no other multiple of the unit.
            others = range(atom + 1, found.edges[code + 1])
            assert not {*atoms} & {*others}
            assert not [x for x in others if x % (unit or 1) == 0]
        if unit is not None:
            allowed = {*atoms, *(a + 1 for a in atoms), lower, upper + 1}
            assert all(e % unit == 0 or e in allowed for e in found.edges)

    def test_an_atom_beside_an_edge_costs_one_code(self):
        bins = UniformBins(5).bins(0, 99, integer=True)

        assert with_atoms(bins, [21]).edges == (0, 21, 22, 40, 60, 80, 100)
        assert with_atoms(bins, [50]).edges == (0, 20, 40, 50, 51, 60, 80, 100)

    def test_no_atoms_change_nothing(self):
        bins = UniformBins(7).bins(-3, 99, integer=True)
        assert with_atoms(bins, []) == bins


class TestReals:
    def test_each_atom_is_drawn_exactly_the_bounds_too(self):
        # Without an atom at its end, the last value before that is drawn exactly too.
        for unit, last in itertools.product([None, Fraction(1, 10)], [0.9, 1.0]):
            bins = UniformBins(4).bins(0.0, 1.0, integer=False)
            atoms = [0.0, 0.1, 0.3, 0.7, last]

            found = with_atoms(bins, atoms, unit)

            codes = found.codes(np.array(atoms))
            assert len({*codes.tolist()}) == len(atoms)
            if unit is None:
                drawn = uniform_within(found, np.repeat(codes, 50), np.random.default_rng(0))
            else:
                drawn = Roundness((unit,), (1, 0)).within(
                    found, np.repeat(codes, 50), np.random.default_rng(0)
                )
            assert np.array_equal(drawn, np.repeat(atoms, 50))


class TestNothingElse:
    def test_bins_begin_at_the_atoms_and_hold_nothing_else(self):
        for integer, atoms in ((True, [3, 70, 99]), (False, [0.5, 70.0, 99.0])):
            bins = between_atoms(0, 99, atoms, integer=integer)
            codes = bins.codes(np.array(atoms))

            drawn = Roundness.of_lower_ends().within(bins, codes, np.random.default_rng(0))

            assert bins.size == 4
            assert drawn.tolist() == atoms
            assert isinstance(bins, Bins)


class TestOfCounts:
    """Levels of noisy counts."""

    STEPS = (Fraction(100), Fraction(10), Fraction(1))

    def test_round_numbers_that_noise_hides_are_as_frequent_as_others(self) -> None:
        found = Roundness.of_counts(self.STEPS, np.array([-60.0, 150, 2700, 0]), np.full(4, 200.0))

        assert found is not None
        # Of 100 numbers, one is a multiple of 100, nine others are of 10, and 90 are of neither.
        assert found.shares == pytest.approx((0.01, 0.09, 0.9, 0))

    def test_round_numbers_that_are_missing_clearly_stay_so(self) -> None:
        found = Roundness.of_counts(self.STEPS, np.array([3.0, 150, 27_000, 0]), np.full(4, 200.0))

        assert found is not None
        assert found.shares[1] == 0

    def test_finer_numbers_that_noise_hides_are_none(self) -> None:
        found = Roundness.of_counts(self.STEPS, np.array([100.0, 900, 150, 0]), np.full(4, 200.0))

        assert found is not None
        # One in ten is expected of the coarser level beside 900 of the other.
        assert found.shares == pytest.approx((0.1, 0.9, 0, 0))

    def test_without_a_level_that_stands_out_there_is_none(self) -> None:
        assert Roundness.of_counts(self.STEPS, np.array([3.0, 2, 1, 0]), np.full(4, 200.0)) is None
