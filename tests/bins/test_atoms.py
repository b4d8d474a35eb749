"""Bins in which frequent values are alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntabula.bins.atoms import between_atoms, with_atoms
from syntabula.bins.roundness import Roundness
from syntabula.bins.spread import uniform_within
from syntabula.bins.uniform import Bins, UniformBins


class TestWholeNumbers:
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
    @pytest.mark.parametrize("unit", [None, Fraction(1, 10)])
    def test_each_atom_is_drawn_exactly_the_bounds_too(self, unit):
        bins = UniformBins(4).bins(0.0, 1.0, integer=False)
        atoms = [0.0, 0.1, 0.3, 0.7, 1.0]

        found = with_atoms(bins, atoms, unit)

        codes = found.codes(np.array(atoms))
        assert len({*codes.tolist()}) == len(atoms)
        if unit is None:
            drawn = uniform_within(found, np.repeat(codes, 50), np.random.default_rng(0))
        else:
            drawn = Roundness((unit,), (1, 0)).within(found, np.repeat(codes, 50), np.random.default_rng(0))
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
