"""Numbers in texts have three digits, and a mean and its spread the same decimals."""

from __future__ import annotations

import math
import re

import numpy as np

from syntabula._figures import short, with_spread


class TestShort:
    def test_numbers_have_three_digits_and_whole_parts_all(self) -> None:
        for value, shown in [
            (0.0, "0"),
            (1.23e-33, "0"),
            (-1e-17, "0"),
            (2e-9, "2e-09"),
            (0.33712, "0.337"),
            (0.5, "0.5"),
            (-12.345, "-12.3"),
            (54321.4, "54321"),
            (math.inf, "inf"),
            (math.nan, "nan"),
        ]:
            assert short(value) == shown


class TestWithSpread:
    def test_mean_and_spread_have_the_same_decimals(self) -> None:
        for mean, spread, shown in [
            (0.337, 2.37e-05, "0.337 ± <0.001"),
            (0.11, 0.0141, "0.110 ± 0.014"),
            (0.5, 0.0, "0.500 ± 0"),
            (0.5, 1e-17, "0.500 ± 0"),
            (0.5, math.nan, "0.5"),
            (0.0, 0.0, "0 ± 0"),
            (1.2e-33, 3e-34, "0 ± 0"),
            (0.00012, 0.5, "0.000 ± 0.500"),
            (-0.00012, 0.5, "0.000 ± 0.500"),
            (-0.25, 0.1, "-0.250 ± 0.100"),
            (1234.5, 0.4, "1234 ± <1"),
            (1234.5, 88.8, "1234 ± 89"),
            (2.3e-06, 1e-07, "2.30e-06 ± 0.10e-06"),
            (2.3e-06, 1e-09, "2.30e-06 ± <0.01e-06"),
            (9.996, 0.01, "10.0 ± <0.1"),
            (9.996e-05, 1e-06, "0.000100 ± 0.000001"),
            (math.inf, 1.0, "inf ± 1"),
        ]:
            assert with_spread(mean, spread) == shown

    def test_decimals_match_and_values_are_right_whatever_their_sizes(self) -> None:
        rng = np.random.default_rng(0)
        for mean, spread in 10.0 ** rng.uniform(-8.9, 6, (2000, 2)):
            found = re.fullmatch(r"([\d.]+)(e-\d\d)? ± (<?)([\d.]+)(e-\d\d)?", with_spread(mean, spread))

            assert found, (mean, spread)
            of_mean, power, less, of_spread, same = found.groups()
            assert (power, len(of_mean.partition(".")[2])) == (same, len(of_spread.partition(".")[2]))
            unit = float(f"1{power or ''}") * 10.0 ** -len(of_mean.partition(".")[2])
            assert abs(float(of_mean + (power or "")) - mean) <= 0.501 * unit
            if less:
                assert spread < float(of_spread + (power or ""))
            else:
                assert abs(float(of_spread + (power or "")) - spread) <= 0.501 * unit
            # Three digits of the larger one, at least.
            assert unit <= max(mean, spread) / 99.9 or unit == 1
