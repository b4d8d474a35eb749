"""A Bayesian network against brute force: its structure, marginals, rows and file."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ReleaseFileError, ResourceError, SchemaError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import model_from_state, model_state
from syntabula.models.bayesian_network import BayesianNetwork
from syntabula.models.network_structure import estimate, families

DOMAIN = Domain(("a", "b", "c", "d"), (3, 2, 4, 2))
NETWORK = [("c",), ("c", "a"), ("c", "a", "d"), ("a", "d", "b")]


def network_table(seed: int = 0) -> np.ndarray:
    """Joint counts of 1000 records that follow NETWORK exactly: p(c) p(a|c) p(d|c,a) p(b|a,d)."""
    rng = np.random.default_rng(seed)
    c = rng.dirichlet(np.ones(4))
    a = rng.dirichlet(np.ones(3), 4)
    d = rng.dirichlet(np.ones(2), (4, 3))
    b = rng.dirichlet(np.ones(2), (3, 2))
    return 1000 * np.einsum("c,ca,cad,adb->abcd", c, a, d, b)


def margin(joint: np.ndarray, clique: tuple[str, ...]) -> np.ndarray:
    kept = [i for i, c in enumerate(DOMAIN.columns) if c in clique]
    summed = joint.sum(axis=tuple(i for i in range(4) if i not in kept))
    names = [DOMAIN.columns[i] for i in kept]
    return summed.transpose([names.index(c) for c in clique])


def measured(joint: np.ndarray, cliques, sigma: float = 0.0, seed: int = 0) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    return [
        Measurement(c, margin(joint, c) + sigma * rng.standard_normal(DOMAIN.shape(c)), sigma)
        for c in cliques
    ]


def subsets() -> list[tuple[str, ...]]:
    return [c for k in range(5) for c in combinations(DOMAIN.columns, k)]


class TestStructure:
    def test_the_families_of_a_network_come_back_in_its_order(self) -> None:
        noisy = measured(network_table(), NETWORK, sigma=20.0)

        assert [set(f) for f in families(DOMAIN, noisy)] == [
            {"c"},
            {"c", "a"},
            {"c", "a", "d"},
            {"a", "d", "b"},
        ]
        assert [f[-1] for f in families(DOMAIN, noisy)] == ["c", "a", "d", "b"]

    def test_of_all_pairs_comes_the_tree_with_the_largest_dependences(self) -> None:
        rng = np.random.default_rng(1)
        a = rng.integers(0, 3, 5000)
        c = np.where(rng.random(5000) < 0.9, a, 3)
        b = np.where(rng.random(5000) < 0.95, c % 2, 1 - c % 2)
        d = np.where(rng.random(5000) < 0.9, b, 1 - b)
        joint = np.zeros(DOMAIN.sizes)
        np.add.at(joint, (a, b, c, d), 1)

        found = list(families(DOMAIN, measured(joint, list(combinations(DOMAIN.columns, 2)), sigma=5.0)))

        assert {frozenset(f) for f in found if len(f) == 2} == {
            frozenset("ac"), frozenset("bc"), frozenset("bd"),
        }  # fmt: skip

    def test_one_way_marginals_make_no_edges(self) -> None:
        assert list(families(DOMAIN, measured(network_table(), [("b",), ("a",)]))) == [
            ("b",), ("a",), ("c",), ("d",),
        ]  # fmt: skip


class TestEstimate:
    def test_measurements_are_averaged_by_their_precision(self) -> None:
        wide = Measurement(("a", "b"), np.full((3, 2), 10.0), 2.0)
        narrow = Measurement(("a",), np.full(3, 26.0), 1.0)

        found = estimate(DOMAIN, [wide, narrow], ("b", "a"))

        # The margin of the pair has variance 2 * 4 around 20: weight 1 / 8 against 1.
        assert found.values.sum(axis=0) == pytest.approx((20 / 8 + 26) / (1 / 8 + 1))
        assert found.values.shape == (2, 3)

    def test_a_larger_measurement_is_summed(self) -> None:
        wide = Measurement(("c", "a"), np.arange(12.0).reshape(4, 3), 1.0)

        found = estimate(DOMAIN, [wide], ("a",))

        assert np.array_equal(found.values, [18, 22, 26])
        assert np.array_equal(found.variances, [4, 4, 4])


class TestMarginals:
    def test_a_network_is_recovered_exactly_from_its_families(self) -> None:
        joint = network_table()

        model = BayesianNetwork().over(DOMAIN).fit(measured(joint, NETWORK))

        for clique, table in zip(subsets(), model.marginals(subsets()), strict=True):
            assert np.allclose(table, margin(joint, clique))

    def test_axes_follow_the_clique(self) -> None:
        model = BayesianNetwork().over(DOMAIN).fit(measured(network_table(), NETWORK))

        one, other = model.marginals([("b", "c"), ("c", "b")])

        assert np.array_equal(one, other.T)

    def test_where_the_whole_does_not_fit_the_ancestors_may(self) -> None:
        joint = network_table()
        small = BayesianNetwork(max_memory_mb=25 * 8 / 2**20).over(DOMAIN).fit(measured(joint, NETWORK))

        assert not small._fits
        assert np.allclose(small.marginals([("a", "c")])[0], margin(joint, ("a", "c")))
        assert "_rows" not in vars(small)

    def test_where_neither_fits_they_are_counted_on_even_rows(self) -> None:
        joint = network_table()
        small = BayesianNetwork(max_memory_mb=25 * 8 / 2**20).over(DOMAIN).fit(measured(joint, NETWORK))

        found = small.marginals([("b", "c")])[0]

        assert "_rows" in vars(small)
        assert np.abs(found - margin(joint, ("b", "c"))).max() < 1000 * 0.002

    def test_an_unfitted_model_is_uniform(self) -> None:
        (table,) = BayesianNetwork().over(DOMAIN).marginals([("a", "d")])

        assert np.allclose(table, 1 / 6)

    def test_a_marginal_that_is_too_large_is_refused(self) -> None:
        model = BayesianNetwork(max_memory_mb=1e-5).over(DOMAIN)

        with pytest.raises(ResourceError, match="fewer columns"):
            model.marginals([("a", "c")])

    def test_impossible_parents_leave_the_child_its_own_distribution(self) -> None:
        joint = np.zeros(DOMAIN.sizes)
        joint[0, :, :, :] = [[[30, 10]]]  # a is always 0; d is 0 in three of four

        model = BayesianNetwork().over(DOMAIN).fit(measured(joint, [("a", "d")]))

        assert np.allclose(model._conditionals["a", "d"], [[0.75, 0.25]] * 3)


class TestFit:
    def test_noise_is_made_non_negative_and_the_total_is_that_of_the_measurements(self) -> None:
        noisy = measured(network_table(), NETWORK, sigma=50.0)

        model = BayesianNetwork().over(DOMAIN).fit(noisy)

        for table in model.marginals(subsets()):
            assert (table >= 0).all()
            assert table.sum() == pytest.approx(model.total)

    def test_an_empty_clique_counts_towards_the_total(self) -> None:
        model = BayesianNetwork().over(DOMAIN).fit([Measurement((), np.array(70.0), 1.0)])

        assert model.total == 70
        assert np.allclose(model.marginals([("b",)])[0], 35)

    def test_wrong_measurements_are_refused(self) -> None:
        model = BayesianNetwork().over(DOMAIN)

        with pytest.raises(ArgumentError, match="shape"):
            model.fit([Measurement(("a",), np.zeros(2), 1.0)])
        with pytest.raises(SchemaError, match="height"):
            model.fit([Measurement(("height",), np.zeros(2), 1.0)])
        with pytest.raises(ArgumentError):
            model.fit([])

    def test_memory_is_bounded_by_the_cliques(self) -> None:
        model = BayesianNetwork().over(DOMAIN)
        fitted = model.fit(measured(network_table(), NETWORK))

        assert sum(t.size for t in fitted._conditionals.values()) * 8 / 2**20 <= model.memory_mb(NETWORK)

    def test_senseless_options_are_refused(self) -> None:
        for options in [{"max_memory_mb": 0}, {"estimate_rows": 0}, {"estimate_rows": 1.5}]:
            with pytest.raises(ArgumentError):
                BayesianNetwork(**options)


class TestSample:
    def fitted(self) -> BayesianNetwork:
        return BayesianNetwork().over(DOMAIN).fit(measured(network_table(), NETWORK))

    def test_rows_follow_the_network(self) -> None:
        rows = self.fitted().sample(100_000, np.random.default_rng(0))

        joint = np.zeros(DOMAIN.sizes)
        np.add.at(joint, tuple(c.astype(np.intp) for c in rows.codes), 0.01)
        for clique in (("a", "d", "b"), ("b", "c")):
            # Rounding leaves less than independent draws: standard deviation below 2 in 1000, 10 of them here.
            assert np.abs(margin(joint, clique) - margin(network_table(), clique)).max() < 16

    def test_the_same_generator_draws_the_same_rows(self) -> None:
        one, other = (self.fitted().sample(50, np.random.default_rng(3)) for _ in range(2))

        assert all(np.array_equal(x, y) for x, y in zip(one.codes, other.codes, strict=True))

    def test_given_columns_stay_and_the_others_follow_them(self) -> None:
        joint = network_table()
        given = EncodedTable(Domain(("b",), (2,)), (np.ones(100_000, dtype=np.uint8),))

        rows = self.fitted().sample(100_000, np.random.default_rng(0), given)

        expected = joint[:, 1].sum(axis=(1, 2)) / joint[:, 1].sum()
        # Independent draws: standard deviation at most 0.0016, six of them here.
        assert np.abs(np.bincount(rows.column("a"), minlength=3) / 100_000 - expected).max() < 0.0096
        assert (rows.column("b") == 1).all()

    def test_wrong_numbers_are_refused(self) -> None:
        model = self.fitted()
        given = EncodedTable(Domain(("b",), (3,)), (np.zeros(5, dtype=np.uint8),))

        with pytest.raises(ArgumentError):
            model.sample(-1, np.random.default_rng(0))
        with pytest.raises(ArgumentError, match="given rows"):
            model.sample(4, np.random.default_rng(0), given)
        with pytest.raises(SchemaError, match="number of codes"):
            model.sample(5, np.random.default_rng(0), given)
        with pytest.raises(ResourceError):
            model.sample(10**11, np.random.default_rng(0))


class TestFile:
    def test_a_saved_model_answers_the_same(self) -> None:
        model = BayesianNetwork(estimate_rows=7).over(DOMAIN).fit(measured(network_table(), NETWORK, 9.0))

        other = model_from_state(*model_state(model))

        assert isinstance(other, BayesianNetwork)
        assert other.families == model.families
        assert other.estimate_rows == 7
        for one, two in zip(model.marginals(subsets()), other.marginals(subsets()), strict=True):
            assert np.array_equal(one, two)

    def test_a_damaged_state_is_refused(self) -> None:
        for change in [
            lambda facts, arrays: facts.update(families=[["a"], ["b"], ["d"], ["d", "c"]]),
            lambda facts, arrays: facts.update(families=[["c", "a"], ["c"], ["d"], ["b"]]),
            lambda facts, arrays: facts.update(total=0.0),
            lambda facts, arrays: facts.pop("sizes"),
            lambda facts, arrays: arrays.update({"conditional/0": arrays["conditional/0"] * 2}),
            lambda facts, arrays: arrays.update({"conditional/9": np.ones(2)}),
            lambda facts, arrays: facts.update(max_memory_mb="much"),
        ]:
            facts, arrays = model_state(
                BayesianNetwork().over(DOMAIN).fit(measured(network_table(), NETWORK))
            )
            change(facts, arrays)

            with pytest.raises(ReleaseFileError):
                model_from_state(facts, arrays)

    def test_an_unbound_model_says_so(self) -> None:
        with pytest.raises(ArgumentError, match="over"):
            replace(BayesianNetwork()).marginals([("a",)])
