"""Agreement of rows: a sum over pairs of columns, exact, and of two rows alone."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.agreement import Agreement, full_agreement, squared_agreement
from syntabula.marginals.domain import Domain, EncodedTable

DOMAIN = Domain(("a", "b", "c"), (3, 2, 40))


def rows(n: int, seed: int = 0) -> EncodedTable:
    rng = np.random.default_rng(seed)
    return EncodedTable(DOMAIN, tuple(rng.integers(0, size, n).astype(np.uint8) for size in DOMAIN.sizes))


def agreement(seed: int = 1) -> Agreement:
    rng = np.random.default_rng(seed)
    return Agreement([rng.normal(size=(size, 5)) for size in DOMAIN.sizes])


class TestAgreement:
    def test_it_is_the_squared_cosine_of_the_angle_between_rows(self) -> None:
        compare, some = agreement(), rows(50)
        numbers = np.hstack([t[c] for t, c in zip(compare.tables, some.codes, strict=True)])
        numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
        vectors = compare.vectors(some)

        found = squared_agreement(vectors, vectors) / full_agreement()

        np.testing.assert_allclose(found, (numbers @ numbers.T) ** 2, atol=0.05)
        np.testing.assert_allclose(np.diag(found), 1, atol=0.05)

    def test_two_rows_agree_alike_whatever_is_compared_beside_them(self) -> None:
        compare, asked, others = agreement(), rows(7), rows(300, seed=2)
        whole = squared_agreement(compare.vectors(asked), compare.vectors(others))

        for count in (1, 2, 3, 17, 299):
            part = EncodedTable(DOMAIN, tuple(c[:count] for c in others.codes))
            alone = squared_agreement(compare.vectors(asked), compare.vectors(part))
            assert np.array_equal(alone, whole[:, :count])

    def test_products_are_whole_numbers(self) -> None:
        vectors = agreement().vectors(rows(100)).astype(np.float64)

        assert np.array_equal(vectors, np.rint(vectors))
        assert np.abs(vectors @ vectors.T).max() < 2**24

    def test_codes_that_say_nothing_agree_with_nothing(self) -> None:
        silent = Agreement([np.zeros((size, 2)) for size in DOMAIN.sizes])
        vectors = silent.vectors(rows(5))

        assert not squared_agreement(vectors, vectors).any()
