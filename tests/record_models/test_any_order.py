"""The network in torch and its drawing in numpy are one distribution; its loss is that of drawing in random order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from syntabula.record_models.any_order import AnyOrderNetwork, first_weights, head_units, shapes_of
from syntabula.record_models.any_order_sampling import Drawing, _reached, drawn_from, with_marginals
from syntabula.record_models.representation import column_lookup

torch = pytest.importorskip("torch")

LOOKUPS = [
    column_lookup(np.array([3.0, 0, 5, 1]), waves=None),
    column_lookup(np.array([1.0, 2, 3, 4, 0]), waves=3),
    column_lookup(np.array([2.0, 2]), waves=None),
]
SIZES = [lookup.size for lookup in LOOKUPS]


def network(seed: int = 0, *, first: bool = False) -> AnyOrderNetwork:
    shapes = shapes_of(SIZES, [False, True, False], embedding=4, waves=3, units=8, layers=3)
    random = torch.Generator().manual_seed(seed)
    weights = first_weights(LOOKUPS, shapes, device="cpu", random=random)
    if not first:
        for name, weight in weights.items():
            weights[name] = weight + 0.4 * torch.randn(weight.shape, generator=random)
    return AnyOrderNetwork(LOOKUPS, weights)


def drawing(of: AnyOrderNetwork) -> Drawing:
    return Drawing(LOOKUPS, {name: weight.numpy() for name, weight in of.parameters.items()})


def by_torch(of: AnyOrderNetwork, codes: list[int], column: int) -> np.ndarray:
    heads = of._heads(torch.tensor([codes]))
    found: np.ndarray = torch.softmax(of._logits()[column](heads[:, column]), 1)[0].numpy()
    return found


class TestDistributions:
    def test_numpy_and_torch_agree_whatever_is_known(self) -> None:
        made = network()
        drawn = drawing(made)
        for known in ([3, 4, 2], [1, 4, 2], [3, 2, 0], [0, 1, 1]):
            rows = np.array([[*known]])
            for column in range(3):
                hidden = drawn.first(np.where(np.arange(3) == column, SIZES, rows))
                asked = [SIZES[column] if j == column else known[j] for j in range(3)]

                found = drawn.chances(hidden, column)[0]

                np.testing.assert_allclose(found, by_torch(made, asked, column), atol=1e-5)

    def test_what_is_told_step_by_step_is_what_is_told_at_once(self) -> None:
        drawn = drawing(network())
        hidden = drawn.first(drawn.unknown(2))
        rows = np.array([[1, 0, 1], [0, 3, 0]])

        for column in (2, 0, 1):
            drawn.tell(hidden, column, rows[:, column])

        np.testing.assert_allclose(hidden, drawn.first(rows), atol=1e-5)

    def test_an_untrained_network_is_near_the_one_way_marginals(self) -> None:
        made = drawing(network(first=True))

        for column, lookup in enumerate(LOOKUPS):
            chances = made.chances(made.first(made.unknown(1)), column)[0]

            np.testing.assert_allclose(chances, np.exp(lookup.log_shares), atol=0.06)

    @pytest.mark.thorough
    def test_rows_are_drawn_from_the_product_of_the_conditionals(self) -> None:
        made = network()
        drawn, n = drawing(made), 200_000
        rows = drawn.unknown(n)

        drawn.draw(rows, [2, 0, 1], np.random.default_rng(0))

        expected = {}
        for a, b, c in np.ndindex(*SIZES):
            chance = by_torch(made, [3, 4, 2], 2)[c] * by_torch(made, [3, 4, c], 0)[a]
            expected[a, b, c] = chance * by_torch(made, [a, 4, c], 1)[b]
        keys, counts = np.unique(rows, axis=0, return_counts=True)
        found = dict(zip(map(tuple, keys.tolist()), counts.tolist(), strict=True))
        # Six standard deviations in each of 24 cells: false alarms below 1e-7.
        for cell, chance in expected.items():
            assert abs(found.get(cell, 0) - n * chance) < 6 * (n * chance) ** 0.5 + 6


class TestMarginals:
    def test_orders_that_are_drawn_together_give_what_each_gives_alone(self) -> None:
        drawn, n_orders = drawing(network()), 40

        found = _reached(drawn, SIZES, n_orders, np.random.default_rng(3))

        rng, expected = np.random.default_rng(3), [np.zeros(size) for size in SIZES]
        for _ in range(n_orders):
            order, rows = rng.permutation(3).tolist(), drawn.unknown(64)
            for column in order:
                chances = drawn.chances(drawn.first(rows), column)
                expected[column] += chances.sum(0) / (64 * n_orders)
                rows[:, column] = drawn_from(chances, rng)
        # A point next to the edge of two codes may fall to the other one.
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-3)

    def test_columns_return_to_the_marginals_that_noise_moved_them_from(self) -> None:
        weights = {name: weight.numpy() for name, weight in network().parameters.items()}

        moved = with_marginals(LOOKUPS, weights, np.random.default_rng(0))

        before, after = (marginals(Drawing(LOOKUPS, w)) for w in (weights, moved))
        shares = [np.exp(lookup.log_shares) for lookup in LOOKUPS]
        farthest = [max(np.abs(a - b).max() for a, b in zip(m, shares, strict=True)) for m in (before, after)]
        # Six rounds leave some of so much; means of 4,096 rows are off by less than .008.
        assert farthest[0] > 0.5
        assert farthest[1] < 0.06


def marginals(drawn: Drawing) -> list[np.ndarray]:
    """Return the exact distribution of each column when columns are drawn in random order."""
    found = [np.zeros(size) for size in SIZES]
    for order in permutations(range(3)):
        known = {tuple(SIZES): 1.0}
        for column in order:
            later: dict[tuple[int, ...], float] = {}
            for codes, weight in known.items():
                chances = drawn.chances(drawn.first(np.array([codes])), column)[0]
                for code, chance in enumerate(chances.tolist()):
                    now = (*codes[:column], code, *codes[column + 1 :])
                    later[now] = later.get(now, 0.0) + weight * chance
                found[column] += weight * chances / 6
            known = later
    return found


class TestDrawnFrom:
    def test_codes_of_no_chance_are_never_drawn(self) -> None:
        chances = np.tile(np.array([0.0, 0.25, 0.0, 0.5, 0.0], np.float32), (5_000, 1))

        places = drawn_from(chances, np.random.default_rng(0))

        assert set(places) == {1, 3}
        # 1,667 expected, standard deviation 33.
        assert abs(int((places == 1).sum()) - 1_667) < 200


class TestLoss:
    @pytest.mark.thorough
    def test_its_mean_is_that_of_drawing_all_columns_in_random_order(self) -> None:
        made, record, n = network(), [1, 2, 0], 60_000
        orders = []
        for order in permutations(range(3)):
            codes, total = [*SIZES], 0.0
            for column in order:
                total -= float(np.log(by_torch(made, codes, column)[record[column]]))
                codes[column] = record[column]
            orders.append(total)

        losses = made.losses(torch.tensor([record] * n), torch.Generator().manual_seed(0))

        assert losses.shape == (n,)
        # Six standard errors.
        assert abs(float(losses.mean()) - np.mean(orders)) < 6 * float(losses.std()) / n**0.5

    def test_a_table_of_one_column_has_the_loss_of_its_marginal(self) -> None:
        shapes = shapes_of([3], [False], embedding=2, waves=2, units=4, layers=1)
        weights = first_weights(LOOKUPS[:1], shapes, device="cpu", random=torch.Generator().manual_seed(0))
        made = AnyOrderNetwork(LOOKUPS[:1], weights)

        losses = made.losses(torch.tensor([[0], [2]]), torch.Generator().manual_seed(0))

        chances = torch.softmax(made._logits()[0](made._heads(torch.tensor([[3]]))[:, 0]), 1)[0]
        np.testing.assert_allclose(losses.numpy(), -np.log(chances[[0, 2]].numpy()), atol=1e-5)


def test_heads_are_narrower_where_columns_are_many() -> None:
    assert [head_units(n) for n in (1, 64, 256, 5_000)] == [64, 64, 16, 8]
