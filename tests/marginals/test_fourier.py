"""Random Fourier features: their length, the kernel that they stand for, and the sets of columns that they cover."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.marginals.fourier import LENGTH_SCALES, FourierFeatures, draw_features

DOMAIN = Domain(("a", "b", "c"), (3, 20, 4), frozenset({"b"}))


def drawn(domain: Domain, *, most: int = 60, columns: int = 2, seed: int = 0) -> FourierFeatures:
    one_way = {c: np.ones(domain.size(c)) for c in domain}
    return draw_features(domain, one_way, most=most, columns=columns, rng=np.random.default_rng(seed))


def vector(features: FourierFeatures, record: dict[str, int]) -> np.ndarray:
    parts = []
    for clique, angles in features.blocks():
        angle = sum(a[record[c]] for c, a in zip(clique, angles, strict=True))
        parts.append(np.stack([np.cos(angle), np.sin(angle)], axis=-1))
    return np.concatenate(parts, axis=None) / np.sqrt(features.count)


def test_a_record_has_length_one() -> None:
    features = drawn(DOMAIN)

    assert np.linalg.norm(vector(features, {"a": 1, "b": 19, "c": 3})) == pytest.approx(1)


def test_scalar_products_are_near_the_kernel() -> None:
    features = drawn(DOMAIN, most=60_000)
    one, other = {"a": 1, "b": 4, "c": 3}, {"a": 1, "b": 6, "c": 0}

    found = vector(features, one) @ vector(features, other)

    near = np.mean([np.exp(-0.5 * (0.1 / scale) ** 2) for scale in LENGTH_SCALES])
    # Only (a, b) of the three pairs has equal categories; the deviation of a mean of 60,000 waves is below .003.
    assert found == pytest.approx(near / 3, abs=0.02)


def test_pairs_are_all_covered_and_columns_have_as_many_waves() -> None:
    for d in (2, 3, 4, 7, 10):
        domain = Domain(tuple(f"c{i}" for i in range(d)), (2,) * d)
        features = drawn(domain, most=500)

        sets = [frozenset(clique) for clique, _ in features.blocks()]

        assert {*sets} == {frozenset(pair) for pair in combinations(domain.columns, 2)}
        assert len({*Counter(c for s in sets for c in s).values()}) == 1
        assert features.count == len(sets) * features.waves


def test_sets_have_so_many_columns_or_all() -> None:
    assert {len(clique) for clique, _ in drawn(DOMAIN, columns=3).blocks()} == {3}
    assert {len(clique) for clique, _ in drawn(DOMAIN, columns=4).blocks()} == {3}
    assert {len(clique) for clique, _ in drawn(DOMAIN.project(["b"]), columns=2).blocks()} == {1}


def test_each_column_has_a_wave_even_where_fewer_are_asked_for() -> None:
    wide = Domain(tuple(f"c{i}" for i in range(40)), (2,) * 40)

    features = drawn(wide, most=10)

    assert {c for clique, _ in features.blocks() for c in clique} == {*wide}
    assert features.count == 40


def test_counts_that_noise_made_negative_give_ranks_too() -> None:
    one_way = {"a": np.zeros(3), "b": np.full(20, -5.0), "c": np.ones(4)}

    features = draw_features(DOMAIN, one_way, most=30, columns=2, rng=np.random.default_rng(0))

    assert all(np.isfinite(angles).all() for angles in features.angles)
