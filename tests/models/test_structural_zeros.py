"""Private-PGM gives impossible combinations of codes probability 0, and fits the rest to the measurements."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import model_from_state, model_state
from syntabula.models.pgm import PGM

DOMAIN = Domain.from_sizes({"a": 3, "b": 4, "c": 2})
POSSIBLE = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 1]], dtype=bool)


def truth(seed=0):
    """Return counts of a table that has none of the impossible combinations."""
    counts = np.random.default_rng(seed).integers(5, 60, DOMAIN.sizes).astype(float)
    return counts * POSSIBLE[:, :, None]


def measured(counts, cliques, sigma=0.0, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for clique in cliques:
        axes = tuple(i for i, c in enumerate(DOMAIN.columns) if c not in clique)
        values = counts.sum(axis=axes)
        noisy = values + rng.normal(0, sigma, values.shape) if sigma else values
        found.append(Measurement(clique, noisy, sigma or 1e-3))
    return found


def model(cells=POSSIBLE, clique=("a", "b")):
    return (
        PGM(iterations=4000, tolerance=1e-9, stop_at_noise=False).with_possible({clique: cells}).over(DOMAIN)
    )


class TestFit:
    @pytest.mark.thorough
    def test_impossible_cells_are_zero_and_measured_marginals_are_met(self):
        for cliques in [
            [("a",), ("b",), ("c",)],
            [("a", "c"), ("b",)],
            [("a", "b"), ("c",)],
            [("a", "c"), ("b", "c")],
            [("a", "b", "c")],
        ]:
            counts = truth()

            fitted = model().fit(measured(counts, cliques))

            (pair,) = fitted.marginals([("a", "b")])
            assert (pair[~POSSIBLE] == 0).all()
            for clique in cliques:
                axes = tuple(i for i, c in enumerate(DOMAIN.columns) if c not in clique)
                np.testing.assert_allclose(fitted.marginals([clique])[0], counts.sum(axis=axes), atol=0.5)

    def test_the_order_of_columns_does_not_matter(self):
        counts = truth()

        fitted = model(POSSIBLE.T, ("b", "a")).fit(measured(counts, [("a",), ("b",), ("c",)]))

        assert (fitted.marginals([("a", "b")])[0][~POSSIBLE] == 0).all()

    def test_noise_in_impossible_cells_has_no_weight(self):
        counts = truth()
        noisy = measured(counts, [("a", "b"), ("b", "c")], sigma=20.0)

        fitted = PGM().with_possible({("a", "b"): POSSIBLE}).over(DOMAIN).fit(noisy)

        pair = fitted.marginals([("a", "b")])[0]
        assert (pair[~POSSIBLE] == 0).all()
        # The standard deviation is 20: no cell is farther off than eight of them.
        assert np.abs(pair - counts.sum(axis=2)).max() < 160

    @pytest.mark.thorough
    def test_a_second_fit_begins_where_the_first_ended(self):
        counts = truth()
        first = model().fit(measured(counts, [("a",), ("b",)]))

        second = first.fit(measured(counts, [("a",), ("b",), ("b", "c"), ("a", "b")]))

        assert (second.marginals([("a", "b")])[0][~POSSIBLE] == 0).all()
        np.testing.assert_allclose(second.marginals([("b", "c")])[0], counts.sum(axis=0), atol=0.5)

    def test_one_column_may_have_impossible_codes(self):
        counts = truth()
        cells = np.array([True, False, True])

        fitted = model(cells, ("a",)).fit(measured(counts, [("a",), ("b",)]))

        assert fitted.marginals([("a",)])[0][1] == 0

    def test_memory_counts_the_table(self):
        zeros, plain = model(), PGM().over(DOMAIN)

        assert zeros.memory_mb([("a",)]) == plain.memory_mb([("a",), ("a", "b")])
        assert zeros.memory_with_each_mb([("a",)], [("b", "c")]) == plain.memory_with_each_mb(
            [("a",), ("a", "b")], [("b", "c")]
        )

    def test_tables_of_another_domain_are_ignored(self):
        other = Domain.from_sizes({"a": 2, "b": 4})

        fitted = model().over(other).fit([Measurement(("a", "b"), np.full((2, 4), 5.0), 1.0)])

        assert (fitted.marginals([("a", "b")])[0] > 0).all()


class TestRows:
    def fitted(self):
        return model().fit(measured(truth(), [("a",), ("b", "c")], sigma=5.0))

    def test_none_has_an_impossible_combination(self):
        rows = self.fitted().sample(20_000, np.random.default_rng(1))

        assert POSSIBLE[rows.column("a"), rows.column("b")].all()

    def test_nor_under_conditions(self):
        fitted = self.fitted()
        found = fitted.restricted({"c": np.array([1.0, 0.0])})

        rows = found.draw(5_000, np.random.default_rng(1))

        assert POSSIBLE[rows.column("a"), rows.column("b")].all()
        assert (rows.column("c") == 0).all()

    def test_nor_after_a_file(self):
        fitted = self.fitted()

        loaded = model_from_state(*model_state(fitted))

        assert (loaded.marginals([("a", "b")])[0][~POSSIBLE] == 0).all()
        for one, other in zip(loaded.marginals([("a", "b")]), fitted.marginals([("a", "b")]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
        rows = loaded.sample(5_000, np.random.default_rng(1))
        assert POSSIBLE[rows.column("a"), rows.column("b")].all()


def test_a_model_without_zeros_fits_the_same_numbers():
    noisy = measured(truth(), [("a", "b"), ("b", "c")], sigma=10.0)

    with_none = PGM().with_possible({}).over(DOMAIN).fit(noisy)
    plain = PGM().over(DOMAIN).fit(noisy)

    for one, other in zip(with_none._potentials.values(), plain._potentials.values(), strict=True):
        np.testing.assert_array_equal(one, other)
