"""Conditions first: what is kept of tried rows has the distribution of the condition, and rare ones are refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from syntabula.errors import ResourceError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.restricted import Restricted
from syntabula.record_models.conditions_first import Tried, conditions_first, orders_of, rarest_first
from syntabula.record_models.representation import column_lookup

DOMAIN = Domain(("a",), (4,))
CHANCES = np.array([1.0, 0.5, 0.25, 0.0])


def restricted(scale: float = 1.0) -> Restricted:
    """Rows that are drawn evenly and kept with chances of their codes."""

    def tried(order: Sequence[str], n: int, rng: np.random.Generator) -> Tried:
        rows = rng.integers(0, 4, (n, 1))
        return rows, 0.1, scale * CHANCES[rows[:, 0]]

    def finished(rows: np.ndarray, rng: np.random.Generator) -> EncodedTable:
        return EncodedTable(DOMAIN, (rows[:, 0].astype(np.uint8),))

    return conditions_first(tried, finished, [["a"]], is_exact=False)


def test_rows_are_kept_with_their_chances() -> None:
    for n in [0, 1, 9_000]:
        found = restricted()

        rows = found.draw(n, np.random.default_rng(0)).column("a")

        assert rows.size == n
        assert found.probability == pytest.approx(0.1 * CHANCES.mean(), rel=0.05)
        if n > 1:
            # Standard deviation of each share: .005.
            assert np.abs(np.bincount(rows, minlength=4) / n - CHANCES / CHANCES.sum()).max() < 0.03


def test_it_says_how_many_rows_are_cheap() -> None:
    # Of 20,000 that are tried, and as many as one likes where none is discarded.
    assert restricted(scale=0.01).cheap == pytest.approx(200 * CHANCES.mean(), rel=0.05)
    exact = conditions_first(
        lambda order, n, rng: (np.zeros((n, 1), np.intp), 0.5, np.ones(n)),
        lambda rows, rng: EncodedTable(DOMAIN, (rows[:, 0].astype(np.uint8),)),
        [["a"]],
        is_exact=True,
    )
    assert exact.cheap is None


def test_rare_conditions_are_told_by_their_chances_and_drawn_by_these_relative_to_the_largest() -> None:
    found = restricted(1e-9)

    rows = found.draw(9_000, np.random.default_rng(0)).column("a")

    wanted = 1e-10 * CHANCES.mean()
    assert found.error == pytest.approx(1e-10 * CHANCES.std() / np.sqrt(20_000), rel=0.05)
    assert abs(found.probability - wanted) < 6 * found.error
    assert np.abs(np.bincount(rows, minlength=4) / 9_000 - CHANCES / CHANCES.sum()).max() < 0.03


def test_what_is_never_kept_is_refused_and_so_is_what_one_row_alone_makes_likely() -> None:
    def once(order: Sequence[str], n: int, rng: np.random.Generator) -> Tried:
        rows = np.arange(n)[:, None]
        return rows, 0.1, np.where(rows[:, 0] == 7, 1e-5, 1e-12)

    with pytest.raises(ResourceError, match="loosen them"):
        restricted(0.0)
    with pytest.raises(ResourceError, match="loosen them"):
        conditions_first(once, lambda rows, rng: None, [["a"]], is_exact=False)


def test_the_probability_is_the_mean_over_orders_each_summed_where_it_can_be() -> None:
    def tried(order: Sequence[str], n: int, rng: np.random.Generator) -> Tried:
        kept = rng.random(n) if order[0] == "a" else np.full(n, 0.5)
        return np.zeros((n, 2), np.intp), 0.1 if order[0] == "a" else 0.3, kept

    def of(summed: dict[str, float]) -> Restricted:
        return conditions_first(
            tried,
            lambda rows, rng: None,
            orders_of(["a", "b"]),
            is_exact=False,
            summed=lambda o: summed.get(o[0]),
        )

    estimated, half, exact = of({}), of({"a": 0.05}), of({"a": 0.05, "b": 0.16})

    assert orders_of(["a", "b"]) == [["a", "b"], ["b", "a"]]
    assert estimated.probability == pytest.approx((0.05 + 0.15) / 2, abs=6 * estimated.error)
    assert estimated.error == pytest.approx(0.1 / np.sqrt(12) / np.sqrt(10_000) / 2, rel=0.1)
    assert half.probability == pytest.approx(0.1)
    assert exact.probability == pytest.approx((0.05 + 0.16) / 2)
    assert half.error == exact.error == 0.0


def test_of_many_columns_six_orders_are_taken() -> None:
    assert len({tuple(order) for order in orders_of(["a", "b", "c"])}) == 6
    of_five = orders_of(["a", "b", "c", "d", "e"])
    assert of_five[0] == ["a", "b", "c", "d", "e"]
    assert len(of_five) == 6
    assert all(sorted(order) == of_five[0] for order in of_five)


def test_the_rarest_condition_is_first() -> None:
    lookups = {
        c: column_lookup(np.array(counts), waves=None) for c, counts in {"a": [9.0, 1], "b": [1.0, 1]}.items()
    }

    assert rarest_first(lookups, {"b": np.array([0.0, 1.0]), "a": np.array([0.0, 1.0])}) == ["a", "b"]
    assert rarest_first(lookups, {"b": np.array([0.0, 1.0]), "a": np.array([1.0, 0.0])}) == ["b", "a"]
