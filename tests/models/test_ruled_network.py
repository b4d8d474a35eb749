"""Networks held to possible combinations, against the nearest distribution over all cells."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models import ruled_network
from syntabula.models.bayesian_network import BayesianNetwork
from syntabula.models.ruled_network import within_rules

DOMAIN = Domain.from_sizes({"a": 3, "b": 4, "c": 2, "d": 3})
POSSIBLE = {
    ("a", "d"): np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1]]) > 0,
    ("b", "c"): np.array([[1, 1], [1, 1], [0, 1], [1, 1]]) > 0,
}


def joint(model: BayesianNetwork) -> np.ndarray:
    return model.marginals([DOMAIN.columns])[0] / model.total


def fitted(possible: dict[tuple[str, ...], np.ndarray]) -> BayesianNetwork:
    rng = np.random.default_rng(3)
    cliques = [("a", "b"), ("b", "c"), ("c", "d")]
    measured = [Measurement(q, rng.integers(5, 100, DOMAIN.shape(q)).astype(float), 1.0) for q in cliques]
    return BayesianNetwork().with_possible(possible).over(DOMAIN).fit(measured)


class TestWithinRules:
    def test_it_is_the_nearest_with_the_same_columns(self):
        plain, ruled = joint(fitted({})), fitted(POSSIBLE)

        expected = plain * POSSIBLE["a", "d"][:, None, None, :] * POSSIBLE["b", "c"][None, :, :, None]
        for _ in range(200):
            for axis in range(4):
                others = tuple(i for i in range(4) if i != axis)
                ratio = plain.sum(axis=others) / expected.sum(axis=others)
                expected = expected * ratio.reshape([-1 if i == axis else 1 for i in range(4)])

        assert np.abs(joint(ruled) - expected).max() < 2e-3
        rows = ruled.sample(5000, np.random.default_rng(0))
        assert all(
            cells[tuple(rows.column(c).astype(int) for c in clique)].all()
            for clique, cells in POSSIBLE.items()
        )

    def test_it_survives_a_file(self):
        model = fitted(POSSIBLE)
        again = BayesianNetwork.from_state(*model.state())

        assert np.array_equal(joint(again), joint(model))

    def test_nothing_changes_without_rules_or_where_they_cannot_be_held(self, monkeypatch):
        network = fitted({})._conditionals
        nothing = {("a",): np.zeros(3, dtype=bool)}

        assert within_rules(DOMAIN, network, {}) is network
        assert within_rules(DOMAIN, network, nothing) is network
        monkeypatch.setattr(ruled_network, "MOST_MB", 1e-6)
        assert within_rules(DOMAIN, network, POSSIBLE) is network

    def test_a_code_that_no_combination_allows_has_no_rows(self):
        cells = np.ones((3, 3), dtype=bool)
        cells[1] = False

        found = fitted({("a", "d"): cells}).marginals([("a",)])[0]

        assert found[1] == 0
        assert found[0] > 0

    def test_tables_over_other_codes_are_left_out(self):
        wrong = {("a", "d"): np.zeros((9, 9), dtype=bool), ("x",): np.ones(2, dtype=bool)}

        assert np.array_equal(joint(fitted(wrong)), joint(fitted({})))


def test_the_size_is_bounded_before_a_fit():
    for possible in [{}, POSSIBLE]:
        model = fitted(possible)

        assert (
            sum(a.nbytes for a in model.state()[1].values())
            <= model.memory_mb([("a", "b"), ("b", "c"), ("c", "d")]) * 2**20
        )
