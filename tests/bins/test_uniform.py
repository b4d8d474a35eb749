"""Uniform bins: exact for integers, safe for floats."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntabula.bins.uniform import Bins, UniformBins, integer_dtype, lone_values
from syntabula.errors import ArgumentError, SchemaError


class TestIntegerBins:
    def test_one_bin_per_value_where_values_are_few(self):
        bins = UniformBins(100).bins(17, 90, integer=True)
        assert bins.size == 74
        assert bins.codes(np.array([17, 18, 90])).tolist() == [0, 1, 73]

    def test_widths_differ_by_at_most_one(self):
        for lower, upper in [(0, 2**64 - 1), (-(2**63), 2**63 - 1), (2**53, 2**53 + 1000)]:
            edges = UniformBins(97).bins(lower, upper, integer=True).edges
            widths = [b - a for a, b in itertools.pairwise(edges)]
            assert len(widths) == 97
            assert max(widths) - min(widths) <= 1
            assert (edges[0], edges[-1]) == (lower, upper + 1)

    @pytest.mark.thorough
    @given(st.data())
    def test_codes_agree_with_exact_arithmetic(self, data):
        lower = data.draw(st.integers(-(2**63), 2**63 - 1))
        upper = data.draw(st.integers(lower, 2**63 - 1))
        bins = UniformBins(data.draw(st.integers(1, 50))).bins(lower, upper, integer=True)
        values = data.draw(st.lists(st.integers(lower, upper), min_size=1))
        for value, code in zip(values, bins.codes(np.array(values, dtype=np.int64)), strict=True):
            assert bins.edges[code] <= value < bins.edges[code + 1]

    def test_neighbours_beyond_double_precision_stay_apart(self):
        bins = UniformBins(2).bins(2**53, 2**53 + 1, integer=True)
        assert bins.codes(np.array([2**53, 2**53 + 1])).tolist() == [0, 1]

    def test_bounds_of_both_signs_beyond_64_bits_are_refused(self):
        with pytest.raises(SchemaError, match="64-bit"):
            integer_dtype(-1, 2**64 - 1)


class TestFloatBins:
    def test_codes_follow_the_formula(self):
        bins = UniformBins(4).bins(0.0, 1.0, integer=False)
        assert bins.edges == (0.0, 0.25, 0.5, 0.75, 1.0)
        assert bins.codes(np.array([0.0, 0.2, 0.25, 0.99, 1.0])).tolist() == [0, 0, 1, 3, 3]

    def test_a_constant_has_one_bin(self):
        bins = UniformBins(10).bins(3.5, 3.5, integer=False)
        assert bins.size == 1
        assert bins.codes(np.array([3.5])).tolist() == [0]

    def test_the_whole_float_range_does_not_overflow(self):
        edges = UniformBins(10).bins(-1.7e308, 1.7e308, integer=False).edges
        assert len(edges) == 11
        assert np.isfinite(edges).all()

    def test_neighbouring_floats_share_as_many_bins_as_there_are(self):
        upper = float(np.nextafter(1.0, 2.0))
        assert UniformBins(100).bins(1.0, upper, integer=False).edges == (1.0, upper)


class TestRefusals:
    def test_bin_counts_out_of_range_are_refused(self):
        for count in [0, True, 2.0, 10**9]:
            with pytest.raises(ArgumentError, match="bins"):
                UniformBins(count)

    def test_edges_that_make_no_bins_are_refused(self):
        cases = [
            ((1.0,), False),
            ((1.0, 0.0), False),
            ((0.0, 0.5, 0.5), False),
            ((0.0, float("nan")), False),
            ((0.0, float("inf")), False),
            ((0, 1), False),
            ((0, 0), True),
            ((0.0, 1.0), True),
            ((False, True), True),
        ]
        for edges, integer in cases:
            with pytest.raises(SchemaError):
                Bins(edges, integer=integer)


def test_lone_values_have_a_bin_of_their_own() -> None:
    bins = Bins((0.0, math.nextafter(0.0, 1.0), 2.5, math.nextafter(2.5, 3.0), math.nextafter(4.0, 3.0), 4.0))

    assert lone_values(bins) == {0.0, 2.5, 4.0}
    assert lone_values(Bins((0, 1, 2), integer=True)) == lone_values(None) == set()
