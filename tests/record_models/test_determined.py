from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models.column_trees import ColumnTrees
from syntabula.record_models.determined import determined

pytest.importorskip("sklearn")

NUMBERS = tuple("uvwxyz")
DOMAIN = Domain((*NUMBERS, "class", "coin", "rare"), (200,) * 6 + (3, 2, 2), frozenset(NUMBERS))


def robots(n: int = 3_000) -> EncodedTable:
    """Rows whose class says by thresholds which of three numbers are low; one in fifty rows is rare, by chance."""
    rng = np.random.default_rng(0)
    numbers = [rng.integers(0, 200, n) for _ in NUMBERS]
    return EncodedTable(
        DOMAIN,
        tuple(
            c.astype(np.uint8)
            for c in (*numbers, rule(*numbers[:3]), rng.integers(0, 2, n), rng.random(n) < 0.02)
        ),
    )


def rule(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.where(u < 60, 0, np.where((v < 90) | (w < 20), 1, 2))


def found(table: EncodedTable) -> list[str]:
    return determined(table, partial(ColumnTrees(least_code=1)._grown, seed=0), np.random.default_rng(0))


class TestDetermined:
    def test_a_category_that_follows_from_others_is_found_and_what_is_left_to_chance_is_not(self) -> None:
        assert found(robots()) == ["class"]

    def test_a_category_that_is_nearly_constant_must_be_told_too(self) -> None:
        # .98 of the rows of "rare" are alike, and no column tells which are not.
        assert found(robots().project(["u", "rare"])) == []

    def test_of_two_that_tell_each_other_both_are(self) -> None:
        coin = np.random.default_rng(0).integers(0, 2, 300).astype(np.uint8)

        assert found(EncodedTable(Domain(("one", "two"), (2, 2)), (coin, 1 - coin))) == ["one", "two"]

    @pytest.mark.parametrize("n", [0, 1, 199])
    def test_few_records_determine_nothing(self, n: int) -> None:
        coin = np.random.default_rng(0).integers(0, 2, n).astype(np.uint8)

        assert found(EncodedTable(Domain(("one", "two"), (2, 2)), (coin, coin))) == []

    def test_numbers_constants_many_codes_and_single_columns_do_not_count(self) -> None:
        code = np.random.default_rng(0).integers(0, 60, 3_000).astype(np.uint8)
        domain = Domain(("number", "category", "constant"), (60, 60, 2), frozenset({"number"}))
        table = EncodedTable(domain, (code, code, np.zeros(3_000, np.uint8)))

        assert found(table) == []
        assert found(robots().project(["class"])) == []
