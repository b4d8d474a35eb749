"""Scales of ranges that span decades."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.bins.scale import CELLS, Scale, even_bins
from syntabula.bins.uniform import Bins


def scale(lower: float, upper: float, *, integer: bool = True, **options: object) -> Scale:
    made = Scale.of(lower, upper, integer=integer, **options)  # type: ignore[arg-type]
    assert made is not None
    return made


class TestOf:
    def test_a_narrow_range_needs_none(self) -> None:
        assert Scale.of(0, 120, integer=True) is None
        assert Scale.of(0.0, 1.0, integer=False) is None
        assert Scale.of(0, 99_999, integer=True, unit=100.0) is None

    def test_a_range_of_ten_thousand_units_has_one(self) -> None:
        assert Scale.of(0, 1_000_000, integer=True, unit=100.0) is not None
        assert Scale.of(-5e3, 5e3, integer=False) is not None

    def test_a_usual_range_makes_one_where_the_bounds_go_beyond_it(self) -> None:
        assert Scale.of(0, 300, integer=True, usual=(20, 40)) is not None
        assert Scale.of(20, 40, integer=True, usual=(20, 40)) is None


class TestScale:
    def test_its_cells_cover_the_range(self) -> None:
        for made in [
            scale(0, 10**6),
            scale(-(10**6), 10**9),
            scale(-1e308, 1e308, integer=False),
            scale(-(2**63), 2**63 - 1),
            scale(0, 2**64 - 1),
            scale(0, 10**6, usual=(500, 3000)),
        ]:
            cells = Bins(made.edges, integer=made.integer)

            assert cells.edges[0] == made.lower
            assert cells.edges[-1] == made.upper + made.integer
            assert CELLS / 4 < made.size <= CELLS + 2
            assert 0 in made.edges or made.lower > 0

    def test_its_cells_widen_by_a_constant_factor(self) -> None:
        edges = np.array(scale(0, 10**9).edges[-1000:], dtype=float)

        factors = edges[1:] / edges[:-1]
        assert factors == pytest.approx(np.full(999, factors[0]), rel=1e-4)

    def test_it_is_undone(self) -> None:
        made = scale(-(10**6), 10**6, usual=(-20, 500))
        values = np.array([-(10.0**6), -300, -20, 0, 3, 240, 500, 501, 1e5])

        assert made.back(made.at(values)) == pytest.approx(values)
        assert np.all(np.diff(made.at(values)) > 0)

    def test_three_quarters_of_it_are_usual(self) -> None:
        made = scale(0, 10**7, usual=(20_000, 90_000))
        low, high, first, last = made.at(np.array([20_000.0, 90_000, 0, 10**7]))

        assert (high - low) / (last - first) == pytest.approx(0.75)

    def test_bins_of_cells_hold_the_same_points(self) -> None:
        made = scale(0, 10**6)
        points = np.arange(0, 10**6, 997)
        coarse = Bins((0, 40, 900, made.size), integer=True)

        assert made.bins(coarse).codes(points).tolist() == coarse.codes(made.cells(points)).tolist()

    def test_long_bins_at_the_ends_are_cut_into_doublings(self) -> None:
        made = scale(-(10**6), 10**6)
        # One bin of the bulk is short, on either side of zero.
        coarse = Bins(
            (0, *(made.cells(np.array([-300, -200, 0, 200, 300]))).tolist(), made.size), integer=True
        )

        fine = made.with_short_ends(coarse, 40)

        whole, edges = np.array(made.bins(coarse).edges), np.array(made.bins(fine).edges)
        assert {*whole.tolist()} <= {*edges.tolist()}
        assert {*edges[np.abs(edges) <= 300].tolist()} == {*whole[np.abs(whole) <= 300].tolist()}
        for outer in (edges[edges >= whole[-2]], -edges[edges <= whole[1]][::-1]):
            factors = outer[1:] / outer[:-1]
            assert factors.max() < 2.02
            # As even as cells allow.
            assert factors == pytest.approx(np.full(factors.size, factors.mean()), rel=0.02)

    def test_no_more_cuts_are_made_than_allowed(self) -> None:
        made = scale(0, 10**9)
        coarse = Bins((0, int(made.cells(np.array([50]))[0]), made.size), integer=True)

        assert made.with_short_ends(coarse, 60).size > 20
        assert made.with_short_ends(coarse, 6).size <= coarse.size + 6
        assert made.with_short_ends(coarse, 0) == coarse

    def test_the_usual_range_is_not_cut(self) -> None:
        made = scale(0, 10**6, usual=(500, 3000))
        coarse = Bins((0, int(made.cells(np.array([1500]))[0]), made.size), integer=True)

        edges = np.array(made.bins(made.with_short_ends(coarse, 40)).edges)

        assert np.sum(edges < 3000) == 2
        assert np.sum(edges > 3000) > 5

    def test_its_steepness_is_its_derivative(self) -> None:
        made = scale(0, 10**6, usual=(100, 900))
        for x in (150.0, 5000.0, 2e5):
            slope = (made.at(np.array([x + 0.01])) - made.at(np.array([x - 0.01])))[0] / 0.02
            assert made.steepness(x) == pytest.approx(slope, rel=1e-5)


class TestEvenBins:
    def test_they_widen_on_a_scale(self) -> None:
        bins = even_bins(20, 0, 10**6, integer=True, scale=scale(0, 10**6))

        widths = np.diff(np.array(bins.edges))
        assert bins.size == 20
        assert widths[0] < 300
        assert widths[-1] > 100_000

    def test_a_domain_of_few_values_has_one_bin_each(self) -> None:
        assert even_bins(100, 0, 50, integer=True, scale=scale(0, 50, usual=(3, 9))).size == 51
