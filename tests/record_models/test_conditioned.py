"""Conditions: how often each is drawn, and that records have them."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.record_models.conditioned import (
    condition_shares,
    picks_by_condition,
    trained_condition_shares,
)
from syntabula.record_models.encoding import Encoding, fitted_encoding

torch = pytest.importorskip("torch")

DOMAIN = Domain(("a", "b", "c"), (3, 100, 2), frozenset({"b"}))


def encoding() -> Encoding:
    one_way = {"a": np.array([90.0, 9, 1]), "b": np.ones(100), "c": np.array([100.0, 0])}
    return fitted_encoding(DOMAIN, one_way, 5)[0]


def table() -> np.ndarray:
    a = np.repeat([0, 1, 2], [90, 9, 1])
    return np.stack([a, np.arange(100), np.zeros(100)], 1).astype(np.int32)


def drawn(n: int, multiple: int = 1) -> np.ndarray:
    pick = picks_by_condition(torch.as_tensor(table()), encoding(), multiple=multiple)
    found: np.ndarray = pick(n, torch.Generator().manual_seed(0)).numpy()
    return found


class TestPicks:
    def test_columns_are_drawn_evenly_and_categories_by_the_logarithm_of_their_counts(self) -> None:
        n = 40_000
        weights = np.log(np.array([91, 10, 2]))
        wanted = np.append(weights / weights.sum() / 2, 0.5)

        found = np.bincount(drawn(n)[:, -1], minlength=4) / n

        # Six standard deviations in each of four cells: false alarms below 1e-7.
        assert (np.abs(found - wanted) <= 6 * np.sqrt(wanted / n)).all()
        # A record is added to each column in the encoding.
        np.testing.assert_allclose(trained_condition_shares(encoding(), 100), wanted, atol=0.02)

    def test_records_have_their_condition_and_are_else_as_likely(self) -> None:
        rows = drawn(40_000)

        for code in range(3):
            assert (rows[rows[:, -1] == code, 0] == code).all()
        counts = np.bincount(rows[rows[:, -1] == 1, 1], minlength=100)[90:99]
        # Six standard deviations in each of nine cells.
        assert np.abs(counts - counts.mean()).max() <= 6 * np.sqrt(counts.mean())

    def test_batches_are_whole_packs_and_may_be_larger_than_the_table(self) -> None:
        for asked, multiple, had in [(1, 1, 2), (1, 10, 10), (95, 10, 100), (300, 7, 301)]:
            assert drawn(asked, multiple).shape == (had, 4)

    def test_without_categories_all_records_are_as_likely(self) -> None:
        only = Domain(("b",), (100,), frozenset({"b"}))
        held = fitted_encoding(only, {"b": np.ones(100)}, 5)[0]

        rows = picks_by_condition(torch.as_tensor(table()[:, 1:2]), held, multiple=10)(
            20_000, torch.Generator().manual_seed(0)
        )

        assert not rows[:, 1].any()
        # 200 expected of each, six standard deviations of 14: false alarms below 1e-6.
        assert np.abs(np.bincount(rows[:, 0].numpy(), minlength=100) - 200).max() <= 85


def test_rows_are_drawn_under_conditions_by_true_frequency() -> None:
    # One record is added to each column, in equal parts to the codes that there are.
    wanted = (np.array([90, 9, 1]) + 1 / 3) / 101 / 2

    np.testing.assert_allclose(condition_shares(encoding()), [*wanted, 0.5], rtol=1e-5)


def test_without_categories_there_are_no_conditions() -> None:
    only = fitted_encoding(Domain(("b",), (100,), frozenset({"b"})), {"b": np.ones(100)}, 5)[0]

    assert condition_shares(only).size == trained_condition_shares(only, 100).size == 0
