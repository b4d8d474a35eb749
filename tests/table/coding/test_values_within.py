"""Values within bins follow other columns, and nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from syntabula.bins.uniform import Bins
from syntabula.marginals.domain import EncodedTable
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.values_within import InBins, ordered_values
from syntabula.table.schema.columns import Numeric
from syntabula.table.schema.schema import Schema

N = 20_000
EDGES = (0.0, 100.0, 110.0, 120.0, 140.0, 1000.0)
COLUMN = Numeric(0.0, 1000.0)


def codes_of(correlation: float, seed: int = 0, n: int = N) -> list[NDArray[np.intp]]:
    """Return five bins of two normal columns, of which the outer ones hold a tenth of the rows each."""
    rng = np.random.default_rng(seed)
    one = rng.standard_normal(n)
    other = correlation * one + np.sqrt(1 - correlation**2) * rng.standard_normal(n)
    return [np.searchsorted(np.quantile(x, [0.1, 0.4, 0.6, 0.9]), x).astype(np.intp) for x in (one, other)]


def in_bins(codes: NDArray[np.intp], groups: NDArray[np.intp] | None = None, **options: Any) -> InBins:
    column = Numeric(0.0, 1000.0, **options)
    return InBins.of(column, codes, Bins(EDGES, integer=False), None, groups)


def values(columns: Mapping[str, InBins], seed: int = 1) -> dict[str, NDArray[np.float64]]:
    return {n: c.values for n, c in ordered_values(columns, np.random.default_rng(seed)).items()}


def apart(columns: Mapping[str, InBins], seed: int = 1) -> dict[str, NDArray[np.float64]]:
    """Return what is drawn before it is dealt out."""
    rng = np.random.default_rng(seed)
    return {name: column.drawn(rng) for name, column in columns.items()}


def within(found: NDArray[np.float64], codes: NDArray[np.intp], code: int) -> NDArray[np.float64]:
    return np.sort(found[codes == code])


def rank_correlation(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float(np.corrcoef(one.argsort().argsort(), other.argsort().argsort())[0, 1])


class TestDependence:
    def test_rank_correlations_reach_those_of_normal_columns(self) -> None:
        for correlation in [0.95, -0.9, 0.7]:
            codes = codes_of(correlation)
            columns = {"a": in_bins(codes[0]), "b": in_bins(codes[1])}

            found, before = values(columns), apart(columns)

            # Of normal columns: 6 / pi arcsin(r / 2). The standard error is below .004, so .03 is over seven of them.
            real = 6 / np.pi * np.arcsin(correlation / 2)
            assert rank_correlation(found["a"], found["b"]) == pytest.approx(real, abs=0.03)
            assert abs(rank_correlation(before["a"], before["b"]) - real) > 0.03

    def test_columns_that_depend_on_each_other_little_keep_their_draws(self) -> None:
        codes = codes_of(0.05)
        columns = {"a": in_bins(codes[0]), "b": in_bins(codes[1])}

        found, before = values(columns), apart(columns)

        assert all(np.array_equal(found[name], before[name]) for name in columns)

    def test_a_single_column_keeps_its_draws(self) -> None:
        columns = {"a": in_bins(codes_of(0.9)[0])}

        assert np.array_equal(values(columns)["a"], apart(columns)["a"])

    def test_many_alike_columns_follow_each_other(self) -> None:
        rng = np.random.default_rng(3)
        common = rng.standard_normal(N)
        codes = {f"c{i}": common + 0.3 * rng.standard_normal(N) for i in range(12)}
        columns = {
            n: in_bins(np.searchsorted(np.quantile(x, [0.1, 0.4, 0.6, 0.9]), x).astype(np.intp))
            for n, x in codes.items()
        }

        found, before = values(columns), apart(columns)

        # Real ones are .91, with a standard error of .001.
        others = [n for n in codes if n != "c0"]
        assert min(rank_correlation(found["c0"], found[n]) for n in others) > 0.87
        assert max(rank_correlation(before["c0"], before[n]) for n in others) < 0.83


class TestWhatStays:
    def test_each_bin_keeps_its_values(self) -> None:
        codes = codes_of(0.9)
        columns = {"a": in_bins(codes[0]), "b": in_bins(codes[1])}

        found, before = values(columns), apart(columns)

        for name, column in zip("ab", codes, strict=True):
            for code in range(5):
                assert np.array_equal(within(found[name], column, code), within(before[name], column, code))

    def test_encoding_the_values_gives_the_same_codes(self) -> None:
        schema = Schema({"a": COLUMN, "b": COLUMN})
        codec = Codec(schema, {name: Bins(EDGES, integer=False) for name in "ab"})
        table = EncodedTable.from_mapping(codec.domain, dict(zip("ab", codes_of(0.9), strict=True)))

        decoded = codec.decode(table, np.random.default_rng(0))

        for name, codes in zip("ab", table.codes, strict=True):
            assert np.array_equal(codec.bins[name].codes(decoded[name].values), codes)

    def test_merged_bins_change_places_within_their_group_alone(self) -> None:
        codes, groups = codes_of(0.9), np.array([0, 1, 1, 2, 2])
        columns = {"a": in_bins(codes[0], groups), "b": in_bins(codes[1], groups)}

        found, before = values(columns), apart(columns)

        for name, column in zip("ab", codes, strict=True):
            group = groups[column]
            for number in range(3):
                assert np.array_equal(within(found[name], group, number), within(before[name], group, number))
            assert not np.array_equal(np.searchsorted(EDGES[1:-1], found[name], side="right"), column)

    def test_a_group_that_another_divides_counts_as_two(self) -> None:
        codes, groups = codes_of(0.9), np.array([0, 1, 2, 1, 3])
        columns = {"a": in_bins(codes[0], groups), "b": in_bins(codes[1])}

        found = values(columns)

        assert np.array_equal(np.searchsorted(EDGES[1:-1], found["a"], side="right"), codes[0])

    def test_missing_cells_stay_missing(self) -> None:
        codes = codes_of(0.9)
        gaps = np.random.default_rng(5).random(N) < 0.2
        with_gaps = np.where(gaps, 5, codes[0])
        columns = {"a": in_bins(with_gaps, nullable=True), "b": in_bins(codes[1])}

        found = ordered_values(columns, np.random.default_rng(1))
        before = apart(columns)

        assert np.array_equal(found["a"].missing, gaps)
        assert np.array_equal(np.sort(found["a"].values[~gaps]), np.sort(before["a"][~gaps]))
        assert rank_correlation(found["a"].values[~gaps], found["b"].values[~gaps]) > 0.85

    def test_few_rows_keep_their_draws(self) -> None:
        for n in [0, 1, 150]:
            codes = codes_of(0.9, n=400)
            columns = {"a": in_bins(codes[0][:n]), "b": in_bins(codes[1][:n])}

            found, before = values(columns), apart(columns)

            assert all(np.array_equal(found[name], before[name]) for name in columns)

    def test_columns_without_a_value_or_with_one_bin_change_nothing(self) -> None:
        codes = codes_of(0.9)
        columns = {
            "gone": in_bins(np.full(N, 5), nullable=True),
            "same": in_bins(np.full(N, 2)),
            "a": in_bins(codes[0]),
            "b": in_bins(codes[1]),
        }

        found = values(columns)

        assert all(np.isfinite(column).all() for column in found.values())
        assert rank_correlation(found["a"], found["b"]) > 0.85

    def test_the_same_seed_gives_the_same_values(self) -> None:
        codes = codes_of(0.9)
        columns = {"a": in_bins(codes[0]), "b": in_bins(codes[1])}

        assert np.array_equal(values(columns)["a"], values(columns)["a"])
