"""The student: what noisy votes tell of rows it learns, and noise alone tells it nothing."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.privacy.events import ExactEvent, GaussianEvent
from syntabula.privacy.pricing import NoisyVector
from syntabula.record_models.representation import column_lookups
from syntabula.record_models.teaching import Student, agreement_of

DOMAIN = Domain(("a", "b", "c", "many"), (6, 3, 4, 200), frozenset({"a"}))
TEACHERS = 100


def rows(n: int, seed: int) -> EncodedTable:
    rng = np.random.default_rng(seed)
    return EncodedTable(DOMAIN, tuple(rng.integers(0, s, n).astype(np.uint8) for s in DOMAIN.sizes))


def liked(some: EncodedTable) -> np.ndarray:
    """Return a part of the teachers that depends on two columns together."""
    high, first = some.column("a") > 2, some.column("b") == 0
    found: np.ndarray = np.where(high == first, 0.7, 0.4)
    return found


def agreement():
    counts = {c: np.full(DOMAIN.size(c), 100.0) for c in DOMAIN}
    lookups = column_lookups(DOMAIN, counts, waves=4)
    return agreement_of(dict(zip(DOMAIN, lookups, strict=True)))


def taught(sigma: float, n: int = 800, seed: int = 0) -> Student:
    some, rng = rows(n, seed), np.random.default_rng(seed)
    event = GaussianEvent(sigma, l2_sensitivity_squared=n, cells=n) if sigma else ExactEvent("votes")
    votes = NoisyVector(np.rint(TEACHERS * liked(some) + rng.normal(0, sigma, n)), event)
    return Student(agreement(), some, votes, TEACHERS)


class TestStudent:
    def test_it_learns_what_two_columns_say_together(self) -> None:
        others = rows(500, seed=9)

        found = taught(sigma=0).likely(others)

        assert np.corrcoef(found, liked(others))[0, 1] > 0.9
        assert abs(found.mean() - 0.5) < 0.05

    def test_noise_makes_it_less_sure_and_leaves_what_it_learns_right(self) -> None:
        others = rows(500, seed=9)

        found = [taught(sigma).likely(others) for sigma in (0, 20.0, 100.0)]

        right = [np.corrcoef(likely, liked(others))[0, 1] for likely in found]
        assert right == sorted(right, reverse=True)
        assert right[-1] > 0.5
        assert found[-1].std() < found[0].std()

    def test_noise_alone_teaches_next_to_nothing(self) -> None:
        n, rng = 600, np.random.default_rng(1)
        votes = NoisyVector(
            np.rint(50 + rng.normal(0, 300, n)), GaussianEvent(300.0, l2_sensitivity_squared=n, cells=n)
        )

        found = Student(agreement(), rows(n, 2), votes, TEACHERS).likely(rows(500, seed=9))

        # The noise on a row's votes is 3 times the number of teachers.
        assert np.abs(found - 0.5).mean() < 0.1

    def test_one_row_and_one_code_are_enough(self) -> None:
        domain = Domain(("a",), (1,))
        lookups = column_lookups(domain, {"a": np.array([5.0])}, waves=4)
        one = EncodedTable(domain, (np.zeros(1, np.uint8),))

        found = Student(
            agreement_of({"a": lookups[0]}), one, NoisyVector(np.array([3.0]), ExactEvent("votes")), 5
        )

        assert found.likely(one).tolist() == [0.5]


class TestAgreementOf:
    def test_each_column_weighs_alike_and_many_labels_have_few_numbers(self) -> None:
        tables = agreement().tables

        assert [t.shape for t in tables] == [(6, 4), (3, 3), (4, 4), (200, 32)]
        for table in tables:
            assert np.allclose(table.mean(0), 0)
            assert np.square(table).sum(1).mean() == pytest.approx(1.0)

    def test_a_label_without_records_says_nothing_and_a_number_what_the_nearest_says(self) -> None:
        domain = Domain(("a", "b"), (3, 3), frozenset({"a"}))
        counts = {"a": np.array([9.0, 0.0, 4.0]), "b": np.array([9.0, -1.0, 4.0])}
        lookups = column_lookups(domain, counts, waves=4)

        a, b = agreement_of(dict(zip(domain, lookups, strict=True))).tables

        assert np.array_equal(a[1], a[0])
        assert not b[1].any()
