from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from syntabula.metrics import transport
from syntabula.metrics.roads import roads_between
from syntabula.metrics.transport import Axis, in_the_plane

KINDS = ["nn", "nm", "mn", "mm", "nc", "cn", "mc", "cm", "nk", "km"]


def axis(kind: str, n: int, rng: np.random.Generator) -> Axis:
    """Numbers (n), some of them missing (m), few categories (c), or many (k)."""
    if kind in "ck":
        size = 4 if kind == "c" else 15
        codes = rng.integers(0, size, size=(2, n)).astype(np.uint8)
        return Axis.of_categories(codes[0], codes[1], size)
    numbers = np.round(rng.random((2, n)), 2)
    if kind == "m":
        numbers[rng.random((2, n)) < 0.2] = math.nan
    return Axis.of_numbers(numbers[0], numbers[1])


@pytest.mark.parametrize("kinds", KINDS)
def test_the_shortest_way_along_roads_is_the_distance(kinds):
    rng = np.random.default_rng(1)
    first, second = (axis(kind, 150, rng) for kind in kinds)
    places = np.concatenate([first.real, first.synthetic]), np.concatenate([second.real, second.synthetic])
    x, y = np.unique(np.stack(places), axis=1)

    roads = roads_between(first.line(), second.line(), (x, y), 10**6)

    ends = coo_array((roads.lengths, (roads.starts, roads.ends)), shape=(roads.n_nodes, roads.n_nodes))
    # Roads of no length would count as none.
    assert roads.lengths.min() > 0
    ways = dijkstra(ends.tocsr(), directed=False)[: x.size, : x.size]
    assert ways == pytest.approx(first.costs(x, x) + second.costs(y, y), abs=1e-12)


@pytest.mark.parametrize("kinds", KINDS)
def test_transports_along_roads_cost_as_much_as_all_moves(kinds, monkeypatch):
    rng = np.random.default_rng(2)
    axes = [axis(kind, 300, rng) for kind in kinds]

    costs = []
    for few in (0, 10**9):
        monkeypatch.setattr(transport, "_FEW", few)
        monkeypatch.setattr(transport, "_ROADS", 10.0)
        costs.append(in_the_plane(*axes))

    assert costs[0] == pytest.approx(costs[1], abs=1e-10)


def test_points_in_the_plane_need_few_roads():
    rng = np.random.default_rng(3)
    first, second = (Axis.of_numbers(*rng.random((2, 1000))) for _ in range(2))
    places = [np.concatenate([each.real, each.synthetic]) for each in (first, second)]

    roads = roads_between(first.line(), second.line(), (places[0], places[1]), 10**6)

    # 1,000 times 1,000 moves.
    assert roads.starts.size < 40_000


def test_points_of_few_columns_see_but_the_nearest_of_each():
    rng = np.random.default_rng(4)
    coarse = Axis.of_numbers(*rng.integers(0, 20, (2, 1000)).astype(float) / 19)
    fine = Axis.of_numbers(*rng.random((2, 1000)))
    ends = []
    for first, second in ((coarse, fine), (fine, coarse)):
        places = [np.concatenate([each.real, each.synthetic]) for each in (first, second)]
        roads = roads_between(first.line(), second.line(), (places[0], places[1]), 10**6)
        ends.append(np.unique(np.sort([roads.starts, roads.ends], axis=0), axis=1))
        # No road is there twice.
        assert ends[-1].shape[1] == roads.starts.size

    # Of columns the nearest point above and below that none hides; farther ones were taken too, ten times as many.
    assert ends[0].shape[1] < 2000 * 10
    assert np.array_equal(*ends)


def test_two_falling_lines_have_too_many_roads():
    # Each point sees all near ones on the other line.
    one = np.arange(300) / 600
    first, second = Axis.of_numbers(one, one + 0.4), Axis.of_numbers(one[::-1].copy(), one[::-1] + 0.4)
    places = [np.concatenate([each.real, each.synthetic]) for each in (first, second)]

    assert roads_between(first.line(), second.line(), (places[0], places[1]), 9_000) is None
    assert in_the_plane(first, second) == pytest.approx(0.8, abs=1e-9)
