"""Noisy counts made to agree: what holds afterwards, and that it is the best average where that is known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.consistency import agreeing_marginals
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement

DOMAIN = Domain.from_sizes({"a": 4, "b": 3, "c": 5, "d": 2})
SETS: list[list[Clique]] = [
    [("a",), ("b",)],  # nothing shared but the total
    [("a",), ("a", "b")],  # one within the other
    [("a", "b"), ("b", "c"), ("c", "d")],  # a chain
    [("a", "b"), ("b", "c"), ("c", "a")],  # a cycle, axes in another order
    [("a", "b", "c"), ("c", "b", "d"), ("a",), ("b", "d")],  # two columns shared
    list(combinations("abcd", 2)),  # all pairs
    [("a", "b"), ("b", "a")],  # twice the same
]


def joint(seed: int = 0, n: float = 10_000.0) -> FloatArray:
    probabilities = np.random.default_rng(seed).dirichlet(np.full(120, 0.5)).reshape(DOMAIN.sizes)
    return n * probabilities


def onto(table: FloatArray, clique: Clique, wanted: Clique) -> FloatArray:
    """Sum counts of a clique to some of its columns, axes in the order wanted."""
    summed = table.sum(axis=tuple(i for i, c in enumerate(clique) if c not in wanted))
    kept = [c for c in clique if c in wanted]
    return summed.transpose([kept.index(c) for c in wanted])


def measured(cliques: list[Clique], sigma: float, seed: int = 0) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    exact = [onto(joint(), DOMAIN.columns, c) for c in cliques]
    return [
        Measurement(c, e + sigma * rng.normal(size=e.shape), sigma)
        for c, e in zip(cliques, exact, strict=True)
    ]


@pytest.mark.parametrize("cliques", SETS)
class TestAgreement:
    def test_counts_are_not_negative_and_have_one_total(self, cliques: list[Clique]) -> None:
        for sigma in [1.0, 30.0, 1000.0]:
            found = agreeing_marginals(measured(cliques, sigma))

            totals = [table.sum() for table in found.values()]
            assert min(totals) >= 1 - 1e-9
            np.testing.assert_allclose(totals, totals[0])
            assert all((table >= 0).all() for table in found.values())

    def test_marginals_agree_on_what_they_share(self, cliques: list[Clique]) -> None:
        for sigma in [1.0, 30.0]:
            # Within twice the tolerance: what was negative is at most a thousandth of the records.
            found = agreeing_marginals(measured(cliques, sigma), rounds=5000)

            for (one, first), (other, second) in combinations(found.items(), 2):
                shared = tuple(c for c in one if c in other)
                difference = onto(first, one, shared) - onto(second, other, shared)
                assert np.abs(difference).sum() <= 4e-3 * first.sum()

    def test_marginals_that_agree_stay_as_they_are(self, cliques: list[Clique]) -> None:
        exact = measured(cliques, 0.0)

        found = agreeing_marginals(exact)

        for m in exact:
            clique = next(c for c in found if set(c) == set(m.clique))
            np.testing.assert_allclose(onto(found[clique], clique, m.clique), m.values, atol=1e-6)

    def test_each_set_of_columns_comes_back_once(self, cliques: list[Clique]) -> None:
        found = agreeing_marginals(measured(cliques, 1.0))

        assert [frozenset(c) for c in found] == list(dict.fromkeys(frozenset(c) for c in cliques))


class TestAverage:
    def test_it_is_least_squares_where_nothing_is_negative(self) -> None:
        # Two marginals that share column b: minimise the squared differences, weighted by inverse variance,
        # under agreement on b. Solved here by its normal equations.
        rng = np.random.default_rng(3)
        one, other = 100 + rng.normal(size=(2, 3)), 80 + rng.normal(size=(3, 4))
        measurements = [Measurement(("a", "b"), one, 1.0), Measurement(("b", "c"), other, 3.0)]
        onto_b = np.zeros((3, 18))
        for b in range(3):
            onto_b[b, [0 * 3 + b, 1 * 3 + b]] = 1
            onto_b[b, 6 + b * 4 : 10 + b * 4] = -1
        values = np.concatenate([one.ravel(), other.ravel()])
        variances = np.array([1.0] * 6 + [9.0] * 12)
        spread = onto_b * variances
        best = values - spread.T @ np.linalg.solve(spread @ onto_b.T, onto_b @ values)

        found = agreeing_marginals(measurements)

        np.testing.assert_allclose(found[("a", "b")].ravel(), best[:6])
        np.testing.assert_allclose(found[("b", "c")].ravel(), best[6:])

    def test_less_noise_weighs_more(self) -> None:
        exact, rough = np.array([10.0, 90.0]), np.array([[30.0], [70.0]])

        found = agreeing_marginals([Measurement(("a",), exact, 0.01), Measurement(("a", "b"), rough, 10.0)])

        np.testing.assert_allclose(found[("a", "b")].ravel(), exact, atol=1e-3)

    def test_repeats_are_averaged_by_inverse_variance(self) -> None:
        found = agreeing_marginals(
            [
                Measurement(("a",), np.array([50.0, 50.0]), 1.0),
                Measurement(("a",), np.array([60.0, 40.0]), 2.0),
            ]
        )

        np.testing.assert_allclose(found[("a",)], [52.0, 48.0])

    def test_agreeing_marginals_are_nearer_to_the_truth_than_measured_ones(self) -> None:
        cliques = list(combinations("abcd", 2))
        noisy = measured(cliques, 100.0)

        found = agreeing_marginals(noisy)

        exact = {m.clique: onto(joint(), DOMAIN.columns, m.clique) for m in noisy}
        before = sum(np.abs(m.values - exact[m.clique]).sum() for m in noisy)
        after = sum(np.abs(found[c] - exact[c]).sum() for c in exact)
        assert after < 0.8 * before

    def test_noise_alone_leaves_one_record(self) -> None:
        (found,) = agreeing_marginals([Measurement(("a",), np.array([-50.0, -60.0, -3.0]), 40.0)]).values()

        np.testing.assert_allclose(found, [0, 0, 1])

    def test_noise_of_any_size_keeps_the_total(self) -> None:
        rng = np.random.default_rng(0)
        huge = [
            Measurement(p, rng.normal(size=DOMAIN.shape(p)) * 1e18, 1e18) for p in combinations("abcd", 2)
        ]

        found = agreeing_marginals(huge)

        np.testing.assert_allclose([t.sum() for t in found.values()], next(iter(found.values())).sum())


class TestArguments:
    def test_nothing_measured_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="measurement"):
            agreeing_marginals([])

    def test_rounds_must_be_a_count(self) -> None:
        for rounds in [0, True, 1.5]:
            with pytest.raises(ArgumentError, match="rounds"):
                agreeing_marginals(measured([("a",)], 1.0), rounds=rounds)  # type: ignore[arg-type]
