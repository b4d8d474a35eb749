"""Private-PGM's estimate against the optimum over the full joint table."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.pgm import PGM

EXACT = {"stop_at_noise": False, "iterations": 50_000, "tolerance": 1e-10}


def onto(domain: Domain, joint: np.ndarray, clique: Clique) -> np.ndarray:
    """Sum a joint table onto a clique whose columns are in the domain's order."""
    return joint.sum(axis=tuple(i for i, c in enumerate(domain.columns) if c not in clique))


def spread(domain: Domain, table: np.ndarray, clique: Clique) -> np.ndarray:
    """View a clique's table so that it broadcasts over the joint table."""
    return table.reshape([domain.size(c) if c in clique else 1 for c in domain.columns])


def least_loss(domain: Domain, measurements: list[Measurement], total: float) -> float:
    """Minimise the loss over all joint tables of a total, by L-BFGS over their logarithms."""

    def loss(logits: np.ndarray) -> tuple[float, np.ndarray]:
        weights = np.exp(logits - logits.max())
        joint = (weights / weights.sum()).reshape(domain.sizes)
        value, slope = 0.0, np.zeros(domain.sizes)
        for m in measurements:
            difference = (total * onto(domain, joint, m.clique) - m.values) / np.square(m.sigma)
            value += 0.5 * float((np.square(m.sigma) * np.square(difference)).sum())
            slope = slope + total * spread(domain, difference, m.clique)
        flat = joint.ravel()
        gradient = slope.ravel()
        return value, flat * (gradient - flat @ gradient)

    start = np.zeros(int(np.prod(domain.sizes)))
    # It ends within 3e-6 of the least loss, far nearer than what is asserted.
    done = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 20_000, "ftol": 1e-11, "gtol": 1e-6}
    )
    return float(done.fun)


def own_loss(model: PGM, measurements: list[Measurement]) -> float:
    tables = model.marginals([m.clique for m in measurements])
    return sum(
        0.5 * float(np.square((t - m.values) / m.sigma).sum())
        for t, m in zip(tables, measurements, strict=True)
    )


@pytest.mark.thorough
def test_the_loss_is_the_least_that_any_table_has() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        domain = Domain.from_sizes({f"c{i}": int(rng.integers(1, 5)) for i in range(4)})
        sets = [c for k in (1, 2, 3) for c in combinations(domain.columns, k)]
        joint = 200 * rng.dirichlet(np.full(int(np.prod(domain.sizes)), 0.3)).reshape(domain.sizes)
        measurements = []
        for i in rng.choice(len(sets), 4, replace=False):
            exact = onto(domain, joint, sets[i])
            sigma = float(rng.choice([2.0, 8.0]))  # many cells fall below zero
            measurements.append(Measurement(sets[i], exact + rng.normal(0, sigma, exact.shape), sigma))

        model = PGM(**EXACT).over(domain).fit(measurements)

        best = least_loss(domain, measurements, model.total)
        assert own_loss(model, measurements) == pytest.approx(best, rel=2e-3, abs=1e-3)


def test_consistent_exact_marginals_of_a_tree_are_met() -> None:
    domain = Domain.from_sizes({"a": 3, "b": 4, "c": 2, "d": 3})
    joint = 100 * np.random.default_rng(1).dirichlet(np.ones(72)).reshape(domain.sizes)
    cliques = [("a", "b"), ("b", "c"), ("c", "d")]

    model = PGM(**EXACT).over(domain).fit([Measurement(c, onto(domain, joint, c), 0.0) for c in cliques])

    for clique, table in zip(cliques, model.marginals(cliques), strict=True):
        np.testing.assert_allclose(table, onto(domain, joint, clique), atol=1e-3)
    # Out of the tree: a and d are independent given b and c.
    ab, bc, cd = (onto(domain, joint, c) for c in cliques)
    expected = np.einsum("ab,bc,cd->ad", ab / ab.sum(axis=0), bc, cd / cd.sum(axis=1, keepdims=True))
    (found,) = model.marginals([("a", "d")])
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_the_total_is_weighted_by_inverse_variance() -> None:
    domain = Domain.from_sizes({"a": 2, "b": 4})
    measurements = [
        Measurement(("a",), np.array([60.0, 50.0]), 1.0),  # sum 110, variance 2
        Measurement(("b",), np.array([20.0, 20.0, 20.0, 20.0]), 3.0),  # sum 80, variance 36
    ]

    model = PGM().over(domain).fit(measurements)

    assert model.total == pytest.approx((110 / 2 + 80 / 36) / (1 / 2 + 1 / 36))


def test_a_total_below_one_becomes_one() -> None:
    domain = Domain.from_sizes({"a": 2})

    model = PGM().over(domain).fit([Measurement(("a",), np.array([-30.0, -20.0]), 5.0)])

    assert model.total == 1.0
    (table,) = model.marginals([("a",)])
    assert np.isfinite(table).all()
    assert table.sum() == pytest.approx(1.0)


def test_several_measurements_of_a_clique_are_joined() -> None:
    domain = Domain.from_sizes({"a": 2})
    measurements = [
        Measurement(("a",), np.array([10.0, 90.0]), 1.0),
        Measurement(("a",), np.array([30.0, 70.0]), 2.0),
    ]

    model = PGM(**EXACT).over(domain).fit(measurements)

    (table,) = model.marginals([("a",)])
    np.testing.assert_allclose(table, [14.0, 86.0], atol=1e-3)


@pytest.mark.parametrize(
    "possible",
    [
        {("a", "b"): np.zeros((2, 2), np.bool_)},
        # Each leaves a cell, and both together none.
        {
            ("a", "b"): np.array([[True, True], [False, False]]),
            ("a", "c"): np.array([[False, False], [True, True]]),
        },
    ],
)
def test_zeros_that_leave_no_cell_are_left_to_whoever_draws_rows(
    possible: dict[Clique, np.ndarray],
) -> None:
    domain = Domain.from_sizes({"a": 2, "b": 2, "c": 2})
    joint = 100 * np.random.default_rng(1).dirichlet(np.ones(8)).reshape(domain.sizes)
    cliques: list[Clique] = [("a", "b"), ("c",)]

    model = PGM(**EXACT).over(domain).with_possible(possible)
    model = model.fit([Measurement(c, onto(domain, joint, c), 1.0) for c in cliques])

    for clique, table in zip(cliques, model.marginals(cliques), strict=True):
        np.testing.assert_allclose(table, onto(domain, joint, clique), atol=1e-2)


def test_columns_may_come_in_any_order() -> None:
    domain = Domain.from_sizes({"a": 2, "b": 3})
    values = np.array([[5.0, 10.0], [20.0, 5.0], [30.0, 30.0]])

    model = PGM(**EXACT).over(domain).fit([Measurement(("b", "a"), values, 1.0)])

    (table,) = model.marginals([("b", "a")])
    np.testing.assert_allclose(table, values, atol=1e-2)


def test_stopping_at_the_noise_keeps_every_marginal_within_it() -> None:
    rng = np.random.default_rng(5)
    domain = Domain.from_sizes({"a": 10, "b": 10, "c": 10})
    joint = 20_000 * rng.dirichlet(np.full(1000, 0.05)).reshape(domain.sizes)
    cliques = [("a",), ("a", "b"), ("b", "c")]
    measurements = [
        Measurement(c, onto(domain, joint, c) + rng.normal(0, 30, domain.shape(c)), 30.0) for c in cliques
    ]

    model = PGM().over(domain).fit(measurements)

    for m, table in zip(measurements, model.marginals(cliques), strict=True):
        loss = 0.5 * np.square((table - m.values) / 30.0).sum()
        half = table.size / 2
        unlikely = 3 + np.log(3)  # a bound for three marginals together
        assert loss <= half + np.sqrt(2 * half * unlikely) + unlikely + 1e-9


@pytest.mark.thorough
def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    rng = np.random.default_rng(6)
    domain = Domain.from_sizes({"a": 4, "b": 4, "c": 4})
    joint = 5000 * rng.dirichlet(np.full(64, 0.3)).reshape(domain.sizes)
    cliques = [("a",), ("b",), ("c",), ("a", "b"), ("b", "c"), ("a", "c")]
    measurements = [
        Measurement(c, onto(domain, joint, c) + rng.normal(0, 5, domain.shape(c)), 5.0) for c in cliques
    ]

    warm = PGM(**EXACT).over(domain)
    for known in range(3, 7):
        warm = warm.fit(measurements[:known])
    cold = PGM(**EXACT).over(domain).fit(measurements)

    for one, other in zip(warm.marginals(cliques), cold.marginals(cliques), strict=True):
        assert np.abs(one - other).sum() / 2 / 5000 < 1e-3


class TestArguments:
    def test_no_measurement(self) -> None:
        with pytest.raises(ArgumentError, match="at least one"):
            PGM().over(Domain.from_sizes({"a": 2})).fit([])

    def test_a_measurement_of_the_wrong_shape(self) -> None:
        with pytest.raises(ArgumentError, match="shape"):
            PGM().over(Domain.from_sizes({"a": 2})).fit([Measurement(("a",), np.ones(3), 1.0)])

    def test_a_tree_that_is_too_large_names_its_largest_clique(self) -> None:
        domain = Domain.from_sizes(dict.fromkeys("abcd", 100))
        measurements = [Measurement(c, np.ones((100, 100)), 1.0) for c in combinations("abcd", 2)]

        with pytest.raises(ResourceError, match=r"\('a', 'b', 'c', 'd'\).*Measure fewer"):
            PGM(max_memory_mb=10.0).over(domain).fit(measurements)

    def test_an_unbound_model(self) -> None:
        with pytest.raises(ArgumentError, match="over"):
            PGM().fit([Measurement(("a",), np.ones(2), 1.0)])

    def test_senseless_options(self) -> None:
        for options in [{"iterations": 0}, {"tolerance": 0.0}, {"max_memory_mb": -1}, {"stop_at_noise": 1}]:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                PGM(**options)  # type: ignore[arg-type]


class TestSinglePrecision:
    """Where noise is coarse, tables are held in single precision."""

    def fitted(self, sigma: float, **options: float) -> tuple[PGM, list[Measurement]]:
        """Fit noisy pairs of a chain of columns with 10,000 records."""
        rng = np.random.default_rng(0)
        domain = Domain.from_sizes({f"c{i}": 4 for i in range(5)})
        joint = 10_000 * rng.dirichlet(np.full(4**5, 0.3)).reshape(domain.sizes)
        measurements = [
            Measurement(c, onto(domain, joint, c) + rng.normal(0, sigma, (4, 4)), sigma)
            for c in ((f"c{i}", f"c{i + 1}") for i in range(4))
        ]
        return PGM(**options).over(domain).fit(measurements), measurements

    def test_single_tables_stay_within_a_tenth_of_the_noise(self) -> None:
        sigma = 0.5
        single, measurements = self.fitted(sigma)
        facts, arrays = single.state()

        double = PGM.from_state({**facts, "precision": "float64"}, arrays)

        assert facts["precision"] == "float32"
        for m in measurements:
            (one,), (other,) = single.marginals([m.clique]), double.marginals([m.clique])
            assert one.dtype == np.float64
            np.testing.assert_allclose(one, other, atol=sigma / 10)

    def test_finer_noise_or_an_exact_optimum_takes_double(self) -> None:
        for sigma, options in [(0.01, {}), (0.0, {}), (5.0, {"stop_at_noise": False})]:
            model, _ = self.fitted(sigma, **options)

            assert model.state()[0]["precision"] == "float64"

    def test_a_reloaded_model_draws_the_same_rows(self) -> None:
        model, _ = self.fitted(5.0)
        again = PGM.from_state(*model.state())

        rows, same = (m.sample(500, np.random.default_rng(0)) for m in (model, again))

        for one, other in zip(rows.codes, same.codes, strict=True):
            np.testing.assert_array_equal(one, other)
