"""Generated rows: independent ones, weights that keep the marginals, and rows drawn by weight."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models.generated_rows import code_shares, drawn_again, independent_rows, odds, raked
from syntabula.record_models.representation import column_lookups

DOMAIN = Domain(("a", "b"), (3, 2), frozenset({"a"}))
COUNTS = {"a": np.array([50.0, -3.0, 150.0]), "b": np.array([30.0, 70.0])}


def shares() -> dict[str, np.ndarray]:
    lookups = column_lookups(DOMAIN, COUNTS, waves=4)
    return code_shares(DOMAIN, dict(zip(DOMAIN, lookups, strict=True)))


def counted(rows: EncodedTable, weights: np.ndarray) -> np.ndarray:
    found = np.zeros((3, 2))
    np.add.at(found, (rows.column("a"), rows.column("b")), weights)
    return found


class TestShares:
    def test_they_are_those_of_the_marginals_with_nothing_below_zero(self) -> None:
        np.testing.assert_allclose(shares()["a"], [0.25, 0, 0.75], atol=0.01)
        np.testing.assert_allclose(shares()["b"], [0.3, 0.7], atol=0.01)

    def test_independent_rows_have_them(self) -> None:
        rows = independent_rows(shares(), DOMAIN, 20_000, seed=0)

        found = counted(rows, np.full(20_000, 1 / 20_000))

        # The standard deviation of a cell is below 0.0036.
        np.testing.assert_allclose(found, np.outer(shares()["a"], shares()["b"]), atol=0.02)


class TestWeights:
    def test_odds_grow_with_what_the_student_thinks_and_have_a_bound(self) -> None:
        np.testing.assert_allclose(odds(np.array([0.5, 0.75, 7.0]), 2.0), [1, 9, 361])

    def test_raking_keeps_the_marginals_and_the_odds_ratio(self) -> None:
        rows = independent_rows(shares(), DOMAIN, 20_000, seed=0)
        raw = np.where((rows.column("a") == 2) == (rows.column("b") == 1), 4.0, 1.0)

        found = counted(rows, raked(raw, rows, shares()))

        np.testing.assert_allclose(found.sum(1), shares()["a"], atol=1e-3)
        np.testing.assert_allclose(found.sum(0), shares()["b"], atol=1e-9)
        before, after = counted(rows, raw)[[0, 2]], found[[0, 2]]
        ratio = before[0, 0] * before[1, 1] / before[0, 1] / before[1, 0]
        assert after[0, 0] * after[1, 1] / after[0, 1] / after[1, 0] == pytest.approx(ratio)

    def test_a_code_that_no_row_has_is_left_out(self) -> None:
        rows = EncodedTable(DOMAIN, (np.array([0, 0], np.uint8), np.array([0, 1], np.uint8)))

        np.testing.assert_allclose(raked(np.ones(2), rows, shares()), shares()["b"], atol=1e-9)

    def test_rows_are_drawn_as_often_as_their_weights_say(self) -> None:
        rows = EncodedTable(DOMAIN, (np.array([0, 1, 2], np.uint8), np.array([0, 1, 0], np.uint8)))

        found = drawn_again(rows, np.array([0.5, 0.0, 0.25]), 300, seed=0)

        counts = np.bincount(found.column("a"), minlength=3)
        assert counts.sum() == 300
        assert abs(counts[0] - 200) <= 1
        assert counts[1] == 0
        assert np.any(np.diff(found.column("a").astype(int)) < 0)
