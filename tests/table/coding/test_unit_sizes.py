"""Synthetic units have as many rows as was released, whatever the pieces in which rows are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import SchemaError
from syntabula.table.coding.unit_sizes import UnitSizes


class TestUnitSizes:
    def test_shares_are_kept(self):
        numbers = UnitSizes((0.5, 0.25, 0.0, 0.25)).numbers(0, 100_000)
        rows = np.bincount(numbers)[:-1]

        assert np.bincount(rows)[1:] / rows.size == pytest.approx([0.5, 0.25, 0.0, 0.25], abs=1e-3)

    def test_few_rows_have_the_shares_of_many(self):
        numbers = UnitSizes((0.5, 0.5)).numbers(0, 12)

        assert np.bincount(np.bincount(numbers))[1:].tolist() == [4, 4]

    @pytest.mark.thorough
    def test_pieces_are_parts_of_the_whole(self):
        sizes = UnitSizes.of([3.0, 1.0, 2.0])
        whole = sizes.numbers(0, 1_500)

        for piece in (1, 7, 500):
            pieces = [sizes.numbers(first, min(piece, 1_500 - first)) for first in range(0, 1_500, piece)]
            assert (np.concatenate(pieces) == whole).all()

    def test_rows_of_a_unit_stand_together(self):
        numbers = UnitSizes.of([1.0, 1.0, 1.0]).numbers(0, 30_000)

        assert set(np.diff(numbers)) == {0, 1}

    def test_noise_below_zero_is_no_share_and_units_have_a_row_without_any(self):
        assert UnitSizes.of([3.0, -2.0, 1.0]).shares == (0.75, 0.0, 0.25)
        assert UnitSizes.of([-3.0, -2.0]).shares == (1.0, 0.0)

    def test_what_are_no_shares_is_refused(self):
        for shares in [(), (0.5,), (1.5, -0.5), (float("nan"),)]:
            with pytest.raises(SchemaError, match="sum to 1"):
                UnitSizes(shares)
