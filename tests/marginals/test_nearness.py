"""Agreement and nearness of rows: as brute force has them, exactly, and whatever other rows are compared at once."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals import nearness
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.nearness import Agreement, Nearness, full_agreement, squared_agreement

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


def test_it_is_so_where_equal_codes_are_told_apart_from_unlike_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearness, "_MOST_MULTIPLIED", 2)
    table, among = rows(300, 1), rows(60, 2)

    assert np.array_equal(NEARNESS.nearest(table, among), by_brute_force(table, among))


def test_many_categories_take_no_products() -> None:
    size, domain = 3_000, Domain(("a", "b"), (40, 3_000))
    near = Nearness([np.linspace(0, 1, 40)[:, None], np.eye(size) / 3])
    rng = np.random.default_rng(0)
    table, among = (
        EncodedTable(
            domain, (rng.integers(0, 40, n).astype(np.uint8), rng.integers(0, size, n).astype(np.uint16))
        )
        for n in (500, 200)
    )

    assert near._vectors(table, {1: np.float32(1)}).shape == (500, 1)
    multiplied = 2 * (near._vectors(table, {}) @ near._vectors(among, {}).T)
    wanted = np.argmax(multiplied - np.square(near._vectors(among, {})).sum(1), axis=1)
    assert np.array_equal(near.nearest(table, among), wanted)


def test_it_depends_on_no_other_row(monkeypatch: pytest.MonkeyPatch) -> None:
    table, among = rows(300, 1), rows(60, 2)
    whole = NEARNESS.nearest(table, among)

    monkeypatch.setattr(nearness, "_ROWS_AT_ONCE", 7)

    assert np.array_equal(NEARNESS.nearest(table, among), whole)


def test_numbers_are_whole_and_so_small_that_float32_holds_every_sum() -> None:
    for width in [1, 300, 4000]:
        rng = np.random.default_rng(0)
        near = Nearness([rng.normal(size=(7, width)) * 1e6, rng.normal(size=(3, width))])

        longest = sum(float(np.square(t.astype(np.float64)).sum(1).max()) for t in near.tables)

        assert all(np.array_equal(t, np.rint(t)) for t in near.tables)
        assert 3 * longest < 2**24


def test_too_many_numbers_for_exact_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearness, "_MOST_NUMBERS", 5)

    with pytest.raises(ArgumentError, match="at most 5"):
        Nearness([np.eye(6)])


PAIRED = Domain(("a", "b", "c"), (3, 2, 40))


def paired_rows(n: int, seed: int = 0) -> EncodedTable:
    rng = np.random.default_rng(seed)
    return EncodedTable(PAIRED, tuple(rng.integers(0, size, n).astype(np.uint8) for size in PAIRED.sizes))


def agreement(seed: int = 1) -> Agreement:
    rng = np.random.default_rng(seed)
    return Agreement([rng.normal(size=(size, 5)) for size in PAIRED.sizes])


class TestAgreement:
    def test_it_is_the_squared_cosine_of_the_angle_between_rows(self) -> None:
        compare, some = agreement(), paired_rows(50)
        numbers = np.hstack([t[c] for t, c in zip(compare.tables, some.codes, strict=True)])
        numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
        vectors = compare.vectors(some)

        found = squared_agreement(vectors, vectors) / full_agreement()

        np.testing.assert_allclose(found, (numbers @ numbers.T) ** 2, atol=0.05)
        np.testing.assert_allclose(np.diag(found), 1, atol=0.05)

    def test_two_rows_agree_alike_whatever_is_compared_beside_them(self) -> None:
        compare, asked, others = agreement(), paired_rows(7), paired_rows(300, seed=2)
        whole = squared_agreement(compare.vectors(asked), compare.vectors(others))

        for count in (1, 2, 3, 17, 299):
            part = EncodedTable(PAIRED, tuple(c[:count] for c in others.codes))
            alone = squared_agreement(compare.vectors(asked), compare.vectors(part))
            assert np.array_equal(alone, whole[:, :count])

    def test_products_are_whole_numbers(self) -> None:
        vectors = agreement().vectors(paired_rows(100)).astype(np.float64)

        assert np.array_equal(vectors, np.rint(vectors))
        assert np.abs(vectors @ vectors.T).max() < 2**24

    def test_codes_that_say_nothing_agree_with_nothing(self) -> None:
        silent = Agreement([np.zeros((size, 2)) for size in PAIRED.sizes])
        vectors = silent.vectors(paired_rows(5))

        assert not squared_agreement(vectors, vectors).any()
