"""Marginals of products of tables, against the full product."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.models.factor_graph import FactorGraph, ImpossibleError
from syntabula.models.tables import eliminate


def graph_of(sizes: tuple[int, ...], factors: list[tuple[int, ...]]) -> FactorGraph:
    order = eliminate(sizes, [sum(1 << i for i in axes) for axes in factors])
    return FactorGraph(sizes, factors, order)


def brute_force(
    sizes: tuple[int, ...], factors: list[tuple[int, ...]], tables: list[np.ndarray]
) -> np.ndarray:
    """Multiply all tables out over all columns, and normalise."""
    joint = np.ones(sizes)
    for axes, table in zip(factors, tables, strict=True):
        joint = joint * table.reshape([size if i in axes else 1 for i, size in enumerate(sizes)])
    return joint / joint.sum()


def random_graph(seed: int) -> tuple[tuple[int, ...], list[tuple[int, ...]], list[np.ndarray]]:
    """Draw up to 14 tables, some with zeros, over up to six columns, some of them in none."""
    rng = np.random.default_rng(seed)
    sizes = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 7)))
    sets = [c for k in (1, 2, 3) for c in combinations(range(len(sizes)), k)]
    factors = [sets[i] for i in rng.integers(0, len(sets), rng.integers(1, 15))]
    tables = []
    for axes in factors:
        table = rng.random([sizes[i] for i in axes]) + 0.01
        table[rng.random(table.shape) < 0.1] = 0.0
        table.flat[0] = 1.0  # the first cell of the product stays possible
        tables.append(table)
    return sizes, factors, tables


def test_marginals_are_those_of_the_full_product() -> None:
    for seed in range(60):
        sizes, factors, tables = random_graph(seed)

        found = graph_of(sizes, factors).marginals(tables)

        joint = brute_force(sizes, factors, tables)
        for axes, marginal in zip(factors, found, strict=True):
            expected = joint.sum(axis=tuple(i for i in range(len(sizes)) if i not in axes))
            np.testing.assert_allclose(marginal, expected, rtol=1e-10, atol=1e-14, err_msg=str(seed))


def test_single_precision_stays_single() -> None:
    for seed in range(10):
        sizes, factors, tables = random_graph(seed)
        graph = graph_of(sizes, factors)

        found = graph.marginals([t.astype(np.float32) for t in tables])

        for marginal, expected in zip(found, graph.marginals(tables), strict=True):
            assert marginal.dtype == np.float32, seed
            np.testing.assert_allclose(marginal, expected, rtol=1e-4, atol=1e-6, err_msg=str(seed))


def test_many_tables_around_one_column() -> None:
    rng = np.random.default_rng(0)
    sizes = (3,) + (2,) * 11
    factors = [(0, i) for i in range(1, 12)] + [(i, i + 1) for i in range(1, 11)]
    tables = [rng.random([sizes[i] for i in axes]) for axes in factors]

    found = graph_of(sizes, factors).marginals(tables)

    joint = brute_force(sizes, factors, tables)
    for axes, marginal in zip(factors, found, strict=True):
        expected = joint.sum(axis=tuple(i for i in range(len(sizes)) if i not in axes))
        np.testing.assert_allclose(marginal, expected, rtol=1e-10)


def test_tables_without_a_common_possibility_are_refused() -> None:
    graph = graph_of((2,), [(0,), (0,)])

    with pytest.raises(ImpossibleError):
        graph.marginals([np.array([1.0, 0.0]), np.array([0.0, 1.0])])


def test_extreme_tables_give_finite_probabilities() -> None:
    rng = np.random.default_rng(1)
    sizes, factors = (4, 4, 4), [(0, 1), (1, 2), (0, 2)]
    tables = []
    for _ in factors:
        table = np.exp(-rng.uniform(0, 600, (4, 4)))
        table[0, 0] = 1.0
        tables.append(table)

    found = graph_of(sizes, factors).marginals(tables)

    for marginal in found:
        assert np.isfinite(marginal).all()
        assert marginal.sum() == pytest.approx(1.0, abs=1e-9)


def test_tables_that_single_precision_cannot_hold_are_refused_in_it_alone() -> None:
    graph = graph_of((2, 2), [(0,), (1,), (0, 1)])
    tables = [np.array([1.0, 1e-30]), np.array([1.0, 1e-30]), np.array([[0.0, 1e-30], [1e-30, 1.0]])]

    found = graph.marginals(tables)

    with pytest.raises(ImpossibleError):
        graph.marginals([t.astype(np.float32) for t in tables])
    np.testing.assert_allclose(found[2], [[0, 1 / 3], [1 / 3, 1 / 3]], rtol=1e-9)
