"""Sums of tables, and the tables of cliques, against plain numpy."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from syntabula.marginals.domain import Domain
from syntabula.models.junction_tree.calibration import clique_tables
from syntabula.models.junction_tree.tree import junction_tree
from syntabula.models.tables import sum_over


def test_sums_over_any_axes_are_those_of_numpy() -> None:
    for shape in [(3,), (2, 30, 40), (3, 1, 2, 4, 2), (100, 2, 2)]:
        for order in ("C", "F"):
            table = np.asarray(np.random.default_rng(0).random(shape), order=order)

            for n in range(len(shape) + 1):
                for axes in combinations(range(len(shape)), n):
                    np.testing.assert_allclose(
                        sum_over(table, axes), table.sum(axis=axes), rtol=1e-12, err_msg=str(order)
                    )


def test_tables_that_contradict_each_other_are_not_lost() -> None:
    for depth in [1.0, 200.0, 600.0]:
        domain = Domain.from_sizes({"a": 2, "b": 2})
        pair = np.array([[0.0, -depth], [-depth, 0.0]])
        first, second = np.array([0.0, -depth]), np.array([-depth, 0.0])
        potentials = {("a", "b"): pair, ("a",): first, ("b",): second}

        (found,) = clique_tables(junction_tree(domain, potentials), potentials)

        logarithm = pair + first[:, None] + second
        expected = np.exp(logarithm - logarithm.max())
        np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-12)
