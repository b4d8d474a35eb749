"""Soft rows: marginals against brute force, and samples that follow them."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ResourceError, SchemaError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models import product_mixture
from syntabula.models.product_mixture import ProductMixture, even_rows

DOMAIN = Domain.from_sizes({"a": 3, "b": 2, "c": 4, "d": 1})


def rows(n: int = 5, seed: int = 0, domain: Domain = DOMAIN) -> ProductMixture:
    rng = np.random.default_rng(seed)
    blocks = [rng.dirichlet(np.ones(size) / 2, n) for size in domain.sizes]
    return ProductMixture(domain, np.concatenate(blocks, axis=1).astype(np.float32))


def by_brute_force(soft: ProductMixture) -> np.ndarray:
    """Return the joint distribution of all columns, row by row and cell by cell."""
    joint = np.zeros(soft.domain.sizes)
    for row in range(len(soft.probabilities)):
        for cell in product(*map(range, soft.domain.sizes)):
            values = [soft.block(c)[row, code] for c, code in zip(soft.domain.columns, cell, strict=True)]
            joint[cell] += np.prod(np.array(values, dtype=np.float64))
    return joint / joint.sum()


def codes_of(table: EncodedTable, clique: tuple[str, ...]) -> np.ndarray:
    counts = np.zeros(table.domain.shape(clique))
    np.add.at(counts, tuple(table.column(c) for c in clique), 1)
    return counts


class TestMarginals:
    def test_of_every_set_of_columns_are_those_of_brute_force(self) -> None:
        for k in range(5):
            soft = rows()
            joint = by_brute_force(soft)
            cliques = list(combinations(DOMAIN.columns, k))

            found = soft.marginals(cliques)

            for clique, table in zip(cliques, found, strict=True):
                others = tuple(i for i, c in enumerate(DOMAIN.columns) if c not in clique)
                assert np.allclose(table, joint.sum(axis=others), atol=1e-6)

    def test_have_their_axes_in_the_order_asked_for(self) -> None:
        soft = rows()

        one, other, three, turned = soft.marginals([("a", "c"), ("c", "a"), ("a", "b", "c"), ("c", "a", "b")])

        assert np.array_equal(one, other.T)
        assert np.array_equal(three.transpose(2, 0, 1), turned)

    def test_too_large_for_the_limit_are_refused_with_numbers(self) -> None:
        wide = Domain.from_sizes(dict.fromkeys("abc", 1000))

        with pytest.raises(ResourceError, match="7,630 MB, above the limit of 100 MB"):
            even_rows(wide).marginals([("a", "b", "c")], limit_mb=100)

    def test_of_unknown_columns_are_refused(self) -> None:
        with pytest.raises(SchemaError, match="'z'"):
            rows().marginals([("a", "z")])

    def test_of_even_rows_are_even(self) -> None:
        (table,) = even_rows(DOMAIN).marginals([("a", "c")])

        assert np.allclose(table, 1 / 12)


class TestShape:
    def test_other_arrays_are_refused(self) -> None:
        for array in [
            np.ones((2, 9), dtype=np.float32),
            np.zeros((0, 10), dtype=np.float32),
            np.full((2, 10), 0.5, dtype=np.float32),
            np.full((2, 10), np.nan, dtype=np.float32),
        ]:
            with pytest.raises(ArgumentError):
                ProductMixture(DOMAIN, array)


class TestSample:
    def test_marginals_come_out_within_rounding(self) -> None:
        # Rounding leaves at most a code per soft row and column to chance: far less than independent draws.
        soft, n = rows(20), 20_000

        table = soft.sample(n, np.random.default_rng(1))

        for column in DOMAIN.columns:
            (wanted,) = soft.marginals([(column,)])
            assert np.abs(codes_of(table, (column,)) - n * wanted).max() <= 21

    def test_pairs_follow_the_soft_rows(self) -> None:
        # The standard deviation of a cell's part is below 0.5 / sqrt(100,000) = 0.0016; 0.012 is beyond seven.
        soft, n = rows(20), 100_000

        table = soft.sample(n, np.random.default_rng(1))

        for pair in combinations(DOMAIN.columns, 2):
            (wanted,) = soft.marginals([pair])
            assert np.abs(codes_of(table, pair) / n - wanted).max() < 0.012

    def test_order_is_random_and_follows_the_seed(self) -> None:
        soft = rows(20)

        one, same, other = (soft.sample(500, np.random.default_rng(s)) for s in (1, 1, 2))

        assert all(np.array_equal(x, y) for x, y in zip(one.codes, same.codes, strict=True))
        assert not all(np.array_equal(x, y) for x, y in zip(one.codes, other.codes, strict=True))
        first, last = one.column("c")[:250], one.column("c")[250:]
        # Means of two random halves of 250 codes in 0 .. 3 differ by 0.8 with probability below 1e-8.
        assert abs(first.mean() - last.mean()) < 0.8

    def test_fewer_rows_than_soft_ones_can_be_drawn(self) -> None:
        for n in [0, 1, 3]:
            assert rows(20).sample(n, np.random.default_rng(1)).n_rows == n

    @pytest.mark.thorough
    def test_few_rows_are_drawn_without_bias(self) -> None:
        # 4,000 samples of one row each: a part's standard deviation is below 0.008; 0.05 is beyond six.
        soft, rng = rows(20), np.random.default_rng(3)

        drawn = [int(soft.sample(1, rng).column("c")[0]) for _ in range(4000)]

        (wanted,) = soft.marginals([("c",)])
        assert np.abs(np.bincount(drawn, minlength=4) / 4000 - wanted).max() < 0.05

    def test_senseless_numbers_of_rows_are_refused(self) -> None:
        for n in [-1, 1.5, True]:
            with pytest.raises(ArgumentError):
                rows().sample(n, np.random.default_rng(1))  # type: ignore[arg-type]

    def test_more_rows_than_any_machine_holds_are_refused(self) -> None:
        with pytest.raises(ResourceError):
            rows().sample(10**11, np.random.default_rng(1))


class TestGiven:
    def test_columns_come_back_and_the_others_follow_them(self) -> None:
        # 60,000 rows for each given cell: a part's standard deviation is below 0.0021; 0.015 is beyond seven.
        soft, rng = rows(20), np.random.default_rng(1)
        joint = by_brute_force(soft)[..., 0]
        for a, c in [(0, 0), (2, 3)]:
            n = 60_000
            fixed = EncodedTable(
                DOMAIN.project(("a", "c")), (np.full(n, a, np.uint8), np.full(n, c, np.uint8))
            )

            table = soft.sample(n, rng, fixed)

            assert (table.column("a") == a).all()
            assert (table.column("c") == c).all()
            wanted = joint[a, :, c] / joint[a, :, c].sum()
            assert np.abs(codes_of(table, ("b",)) / n - wanted).max() < 0.015

    def test_rows_of_several_kinds_each_follow_their_own_values(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # 20,000 rows for each given cell: a part's standard deviation is below 0.0036; 0.025 is beyond seven.
        soft, rng = rows(20), np.random.default_rng(1)
        joint = by_brute_force(soft)[..., 0]
        a = np.random.default_rng(2).permutation(np.repeat(np.arange(3), 20_000)).astype(np.uint8)
        fixed = EncodedTable(DOMAIN.project(("a",)), (a,))

        whole = soft.sample(a.size, rng, fixed)
        monkeypatch.setattr(product_mixture, "_NUMBERS_AT_ONCE", 40)  # two kinds at once
        pieces = soft.sample(a.size, np.random.default_rng(1), fixed)

        for code in range(3):
            wanted = joint[code] / joint[code].sum()
            drawn = codes_of(whole, ("a", "b", "c"))[code] / 20_000
            assert np.abs(drawn - wanted).max() < 0.025
        assert all(np.array_equal(x, y) for x, y in zip(whole.codes, pieces.codes, strict=True))

    def test_equal_rows_are_weighed_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        soft, weighed = rows(20), []
        drawn = product_mixture._drawn

        def spied(chances: np.ndarray, *others: np.ndarray) -> np.ndarray:
            weighed.append(chances.shape)
            return drawn(chances, *others)

        monkeypatch.setattr(product_mixture, "_drawn", spied)
        fixed = EncodedTable(DOMAIN.project(("a",)), (np.tile(np.array([0, 2], np.uint8), 500),))

        soft.sample(1000, np.random.default_rng(1), fixed)

        assert weighed[0] == (2, 20)

    def test_another_number_of_rows_is_refused(self) -> None:
        fixed = EncodedTable(DOMAIN.project(("a",)), (np.zeros(3, np.uint8),))

        with pytest.raises(ArgumentError):
            rows().sample(4, np.random.default_rng(1), fixed)

    def test_a_column_of_another_size_is_refused(self) -> None:
        fixed = EncodedTable(Domain.from_sizes({"a": 5}), (np.zeros(3, np.uint8),))

        with pytest.raises(SchemaError):
            rows().sample(3, np.random.default_rng(1), fixed)
