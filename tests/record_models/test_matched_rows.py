"""Rows for given places among free ones: which are found, whose other columns they have, and how many are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.record_models.matched_rows import matched_rows, pairs
from syntabula.record_models.representation import ColumnLookup, Places, column_lookup


class Source:
    """Draws rows of a column a with two codes, of which the second is as rare as asked, of b in 1,000, and of c = a."""

    def __init__(self, rare: float) -> None:
        self.rng, self.rare, self.drawn = np.random.default_rng(0), rare, []  # type: ignore[var-annotated]

    def __call__(self, n: int) -> Places:
        self.drawn.append(n)
        a = (self.rng.random(n) < self.rare).astype(np.intp)
        return np.stack([a, self.rng.integers(0, 1_000, n), a], 1)


def lookups() -> list[ColumnLookup]:
    return [column_lookup(np.ones(2), waves=None), column_lookup(np.ones(1_000), waves=0)]


class TestMatched:
    @pytest.mark.parametrize("rare", [0.5, 0.05])
    def test_every_row_has_one_where_enough_free_ones_do(self, rare: float) -> None:
        source = Source(rare)

        rows, found = matched_rows(lookups()[:1], np.ones((3_000, 1), np.intp), source, [0])

        assert found.all()
        assert (rows[:, 2] == 1).all()
        # One in 20 takes 60,000 rows, and few more.
        assert sum(source.drawn) < 1.5 * 3_000 / rare + 4_096

    def test_no_free_row_is_taken_twice(self) -> None:
        source = Source(0.05)

        rows, _ = matched_rows(lookups()[:1], np.ones((3_000, 1), np.intp), source, [0])

        # Of 3,000 rows of 1,000 values each value has 3 or so; a row taken twice would double some.
        assert np.bincount(rows[:, 1], minlength=1_000).max() < 16

    def test_few_free_rows_are_drawn_where_too_few_match(self) -> None:
        source = Source(0.001)

        rows, found = matched_rows(lookups()[:1], np.ones((50_000, 1), np.intp), source, [0])

        assert 0 < found.sum() < 50
        assert (rows[found, 2] == 1).all()
        assert sum(source.drawn) < 10_000

    def test_a_place_that_no_code_has_is_not_found(self) -> None:
        _, found = matched_rows(lookups()[:1], np.array([[0], [2]]), Source(0.5), [0])

        assert found.tolist() == [True, False]

    def test_numbers_of_many_codes_are_alike_within_a_hundredth_of_the_records(self) -> None:
        wanted = np.random.default_rng(1).integers(0, 1_000, (2_000, 1))

        rows, found = matched_rows(lookups()[1:], wanted, Source(0.5), [1])

        assert found.all()
        assert (rows[:, 1] // 10 == wanted[:, 0] // 10).all()

    def test_few_rows_are_drawn_at_once(self) -> None:
        source = Source(0.05)

        matched_rows(lookups()[:1], np.ones((20_000, 1), np.intp), source, [0])

        assert max(source.drawn) <= 65_536


def test_pairs_have_the_same_cells_and_are_as_many_as_can_be() -> None:
    wanted = np.array([[0, 1], [0, 1], [2, 2], [0, 1], [3, 0]])
    offered = np.array([[2, 2], [0, 1], [1, 0], [2, 2], [0, 1]])

    takes, taken = pairs(wanted, offered)

    assert dict(zip(takes.tolist(), taken.tolist(), strict=True)) == {0: 1, 1: 4, 2: 0}
