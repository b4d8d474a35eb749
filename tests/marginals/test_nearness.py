"""Which row is nearest: as brute force has it, exactly, and whatever other rows are compared at once."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals import nearness
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.nearness import Nearness

DOMAIN = Domain(("a", "b", "c"), (40, 3, 5))
NEARNESS = Nearness([np.linspace(0, 1, 40)[:, None], np.eye(3) / 3, np.zeros((5, 0))])


def rows(n: int, seed: int) -> EncodedTable:
    rng = np.random.default_rng(seed)
    return EncodedTable(DOMAIN, tuple(rng.integers(0, s, n).astype(np.uint8) for s in DOMAIN.sizes))


def by_brute_force(table: EncodedTable, among: EncodedTable) -> np.ndarray:
    """Return the first nearest row by whole numbers of Python."""

    def vector(some: EncodedTable, i: int) -> list[int]:
        return [
            int(x) for t, codes in zip(NEARNESS.tables, some.codes, strict=True) for x in t[int(codes[i])]
        ]

    held = [vector(among, k) for k in range(among.n_rows)]
    found = []
    for i in range(table.n_rows):
        own = vector(table, i)
        away = [sum((x - y) ** 2 for x, y in zip(own, other, strict=True)) for other in held]
        found.append(away.index(min(away)))
    return np.array(found)


def test_it_is_that_of_brute_force_and_the_first_of_several_as_near() -> None:
    table, among = rows(300, 1), rows(60, 2)

    found = NEARNESS.nearest(table, among)

    assert np.array_equal(found, by_brute_force(table, among))
    assert len(np.unique(np.stack(among.codes[:2], 1), axis=0)) < 60  # some are as near as others


def test_it_depends_on_no_other_row(monkeypatch: pytest.MonkeyPatch) -> None:
    table, among = rows(300, 1), rows(60, 2)
    whole = NEARNESS.nearest(table, among)

    monkeypatch.setattr(nearness, "_ROWS_AT_ONCE", 7)

    assert np.array_equal(NEARNESS.nearest(table, among), whole)


@pytest.mark.parametrize("width", [1, 300, 4000])
def test_numbers_are_whole_and_so_small_that_float32_holds_every_sum(width: int) -> None:
    rng = np.random.default_rng(0)
    near = Nearness([rng.normal(size=(7, width)) * 1e6, rng.normal(size=(3, width))])

    longest = sum(float(np.square(t.astype(np.float64)).sum(1).max()) for t in near.tables)

    assert all(np.array_equal(t, np.rint(t)) for t in near.tables)
    assert 3 * longest < 2**24


def test_too_many_numbers_for_exact_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearness, "_MOST_NUMBERS", 5)

    with pytest.raises(ArgumentError, match="at most 5"):
        Nearness([np.eye(6)])
