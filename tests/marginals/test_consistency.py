"""Noisy counts made to agree: what holds afterwards, and that it is the best average where that is known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from syntabula.errors import ArgumentError
from syntabula.marginals.consistency import agreeing_marginals
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement, consistent_total, project_simplex

VALUES = arrays(np.float64, array_shapes(max_dims=3, max_side=6), elements=st.floats(-1e6, 1e6))
TOTALS = st.floats(1e-3, 1e6)


class TestProjectSimplex:
    @pytest.mark.thorough
    @given(VALUES, TOTALS)
    def test_has_the_total_and_no_negative_cell(self, values, total):
        projected = project_simplex(values, total)
        assert projected.shape == values.shape
        assert (projected >= 0).all()
        assert projected.sum() == pytest.approx(total, rel=1e-12)

    @pytest.mark.thorough
    @given(VALUES, TOTALS)
    def test_twice_equals_once(self, values, total):
        once = project_simplex(values, total)
        assert np.allclose(project_simplex(once, total), once, rtol=1e-9, atol=1e-9 * total)

    @pytest.mark.thorough
    @given(VALUES, TOTALS)
    def test_meets_the_conditions_of_the_nearest_point(self, values, total):
        projected = project_simplex(values, total)
        # Karush-Kuhn-Tucker: value - projection is one number where the projection is positive, and no more
        # than it elsewhere.
        gap = values - projected
        tolerance = 1e-9 * (total + np.abs(values).max() + 1)
        threshold = gap[projected > 0].max()
        assert gap[projected > 0].min() >= threshold - tolerance
        assert (gap <= threshold + tolerance).all()

    @settings(max_examples=20)
    @given(arrays(np.float64, 4, elements=st.floats(-5, 5)), st.floats(0.1, 8))
    def test_no_random_point_of_the_simplex_is_nearer(self, values, total):
        others = np.random.default_rng(0).dirichlet(np.full(4, 0.5), size=2000) * total
        ours = np.square(project_simplex(values, total) - values).sum()
        assert ours <= np.square(others - values).sum(axis=1).min() + 1e-9

    def test_keeps_digits_of_a_small_total_under_huge_values(self):
        assert project_simplex(np.array([1e20, 0.0, -1e20]), 1.0).tolist() == [1.0, 0.0, 0.0]

    def test_of_total_zero_is_zero(self):
        assert project_simplex(np.array([3.0, -1.0]), 0.0).tolist() == [0.0, 0.0]

    @pytest.mark.parametrize("total", [-1.0, float("nan"), float("inf"), "1"])
    def test_an_impossible_total_is_refused(self, total):
        with pytest.raises(ArgumentError, match="total"):
            project_simplex(np.ones(3), total)

    @pytest.mark.parametrize("values", [[], [1.0, float("nan")], [float("inf")]])
    def test_values_that_are_no_counts_are_refused(self, values):
        with pytest.raises(ArgumentError, match="values"):
            project_simplex(np.array(values), 1.0)


class TestConsistentTotal:
    def test_weighs_sums_by_the_inverse_of_their_variance(self):
        wide = Measurement(("a",), np.array([10.0, 20.0, 30.0]), 2.0)  # sum 60, variance 12
        narrow = Measurement(("b",), np.array([20.0, 24.0]), np.array([1.0, 2.0]))  # sum 44, variance 5
        expected = (60 / 12 + 44 / 5) / (1 / 12 + 1 / 5)
        assert consistent_total([wide, narrow]) == pytest.approx(expected, rel=1e-14)

    def test_a_measurement_without_noise_outweighs_all(self):
        exact = Measurement(("a",), np.array([5.0, 6.0]), 0.0)
        noisy = Measurement(("b",), np.array([90.0]), 1e-9)
        assert consistent_total([noisy, exact]) == 11.0

    def test_is_at_least_one(self):
        assert consistent_total([Measurement(("a",), np.array([-3.0, -4.0]), 1.0)]) == 1.0

    def test_keeps_its_weights_at_extreme_noise(self):
        some = [Measurement(("a",), np.array([v]), 1e-150) for v in (10.0, 20.0)]
        assert consistent_total(some) == pytest.approx(15.0)

    @pytest.mark.thorough
    def test_has_the_spread_that_theory_says(self):
        # Variance of 2000 draws of a Gaussian against theory: standard error 3.2 %, bound at 6 standard errors,
        # false alarm 2e-9 (and the seed is fixed).
        rng = np.random.default_rng(1)
        sigmas, cells = (3.0, 1.0), (4, 9)
        totals = [
            consistent_total(
                [
                    Measurement(("a",), 100 / k + s * rng.standard_normal(k), s)
                    for s, k in zip(sigmas, cells, strict=True)
                ]
            )
            for _ in range(2000)
        ]
        theory = 1 / sum(1 / (s**2 * k) for s, k in zip(sigmas, cells, strict=True))
        assert np.var(totals) == pytest.approx(theory, rel=0.19)
        assert np.mean(totals) == pytest.approx(100, abs=6 * np.sqrt(theory / 2000))

    def test_without_measurements_is_refused(self):
        with pytest.raises(ArgumentError, match="without a measurement"):
            consistent_total([])


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

    @pytest.mark.parametrize("rounds", [0, True, 1.5])
    def test_rounds_must_be_a_count(self, rounds: object) -> None:
        with pytest.raises(ArgumentError, match="rounds"):
            agreeing_marginals(measured([("a",)], 1.0), rounds=rounds)  # type: ignore[arg-type]
