"""The type of a column of texts, from a noisy histogram of what its cells could be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from syntabula.prepare.found_types import find_type
from syntabula.privacy.budget import Budget
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.table.files.untyped_file import CELL_KINDS

N = 10_000
SHARE = Fraction(1, 100)
BUDGET = Budget.zcdp(0.05, 1e-5)  # noise of standard deviation 32: 6.1 of it stand out, 192 cells


def found(budget: Budget = BUDGET, seed: int = 0, **cells: int) -> str:
    counts = {kind.replace("_", " "): n for kind, n in cells.items()}
    kinds = np.concatenate([np.full(n, CELL_KINDS.index(kind)) for kind, n in counts.items()])
    ledger = Ledger(budget)

    physical = find_type("x", kinds.astype(np.int64), share=SHARE, ledger=ledger, noise=SeededNoise(seed))

    assert [entry.step for entry in ledger.entries] == ["find the type of 'x'"]
    assert budget.total is None or ledger.spent <= SHARE * budget.total
    if physical is None:
        return "hidden"
    assert (physical.timezone == "UTC") == (physical.name == "TIMESTAMP WITH TIME ZONE")
    return physical.name


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"true or false": N}, "BOOLEAN"),
        ({"whole": N}, "BIGINT"),
        ({"long whole": N}, "BIGINT"),
        ({"whole": N // 2, "real": N // 2}, "DOUBLE"),
        ({"long whole": N // 2, "real": N // 2}, "VARCHAR"),
        ({"day": N}, "DATE"),
        ({"day": N // 2, "local time": N // 2}, "TIMESTAMP"),
        ({"zoned time": N}, "TIMESTAMP WITH TIME ZONE"),
        ({"local time": N // 2, "zoned time": N // 2}, "VARCHAR"),
        ({"text": N}, "VARCHAR"),
        ({"whole": N // 2, "text": N // 2}, "VARCHAR"),
        ({"true or false": N // 2, "whole": N // 2}, "VARCHAR"),
    ],
    ids=lambda x: "+".join(x) if isinstance(x, dict) else x,
)
def test_it_reads_all_kinds_of_cells_that_stand_out(cells: dict, expected: str) -> None:
    # Seeded; noise alone passes one of the heights with probability below 1e-7.
    for budget in (BUDGET, Budget(1.0, 1e-5), Budget.pure(1.0)):
        assert found(budget, **{kind.replace(" ", "_"): n for kind, n in cells.items()}) == expected, budget


class TestFewCells:
    def test_do_not_change_the_type_of_many(self) -> None:
        assert {found(seed=seed, whole=N, real=9, text=9, true_or_false=9) for seed in range(20)} == {
            "BIGINT"
        }

    def test_alone_are_hidden_by_noise(self) -> None:
        assert {found(seed=seed, whole=9) for seed in range(20)} == {"hidden"}

    def test_count_without_privacy(self) -> None:
        free = Budget(math.inf)
        assert found(free, whole=N, text=1) == "VARCHAR"
        assert found(free, whole=N, real=1) == "DOUBLE"
        assert found(free, whole=1) == "BIGINT"
        assert found(free, text=0) == "hidden"
