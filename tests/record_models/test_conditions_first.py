"""Conditions first: what is kept of tried rows has the distribution of the condition, and rare ones are refused."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ResourceError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.restricted import Restricted
from syntabula.record_models.conditions_first import Tried, conditions_first, rarest_first
from syntabula.record_models.representation import column_lookup

DOMAIN = Domain(("a",), (4,))
CHANCES = np.array([1.0, 0.5, 0.25, 0.0])


def restricted(scale: float = 1.0) -> Restricted:
    """Rows that are drawn evenly and kept with chances of their codes."""

    def tried(n: int, rng: np.random.Generator) -> Tried:
        rows = rng.integers(0, 4, (n, 1))
        return rows, 0.1, scale * CHANCES[rows[:, 0]]

    def finished(rows: np.ndarray, rng: np.random.Generator) -> EncodedTable:
        return EncodedTable(DOMAIN, (rows[:, 0].astype(np.uint8),))

    return conditions_first(tried, finished, is_exact=False)


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
        lambda n, rng: (np.zeros((n, 1), np.intp), 0.5, np.ones(n)),
        lambda rows, rng: EncodedTable(DOMAIN, (rows[:, 0].astype(np.uint8),)),
        is_exact=True,
    )
    assert exact.cheap is None


def test_what_is_almost_never_kept_is_refused() -> None:
    with pytest.raises(ResourceError, match="loosen them"):
        restricted(1e-5)


def test_the_rarest_condition_is_first() -> None:
    lookups = {
        c: column_lookup(np.array(counts), waves=None) for c, counts in {"a": [9.0, 1], "b": [1.0, 1]}.items()
    }

    assert rarest_first(lookups, {"b": np.array([0.0, 1.0]), "a": np.array([0.0, 1.0])}) == ["a", "b"]
    assert rarest_first(lookups, {"b": np.array([0.0, 1.0]), "a": np.array([1.0, 0.0])}) == ["b", "a"]
