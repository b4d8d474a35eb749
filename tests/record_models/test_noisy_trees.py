"""Trees by noisy counts: what they find without noise, what noise leaves of it, and one-way marginals that stay."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.splits import PREDICTOR, leaf_nodes
from syntabula.record_models.noisy_trees import Level, NoisyTree
from syntabula.record_models.trees import Tree

DOMAIN = Domain(("a", "b", "c", "d"), (9, 30, 60, 3), frozenset({"b", "c"}))


def records(n: int = 20_000) -> EncodedTable:
    """A predictor without an order, one with, and c near 2 b for some codes of a, and near 58 - 2 b for others.

    d is 0 where a is 1, 4 or 7, and else 1 or 2.
    """
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, n), rng.integers(0, 30, n)
    special = np.isin(a, (1, 4, 7))
    c = np.clip(np.where(special, 2 * b, 58 - 2 * b) + rng.integers(0, 2, n), 0, 59)
    d = np.where(special, 0, 1 + rng.integers(0, 2, n))
    return EncodedTable(DOMAIN, tuple(x.astype(np.uint8) for x in (a, b, c, d)))


TABLE = records()
ONE_WAY = {c: np.bincount(TABLE.column(c), minlength=DOMAIN.size(c)).astype(float) for c in DOMAIN}


def grown(
    column: str,
    before: tuple[str, ...],
    sigma: float = 0.0,
    records: EncodedTable = TABLE,
    keep: list[np.ndarray] | None = None,
) -> Tree:
    rng = np.random.default_rng(1)
    tree = NoisyTree(DOMAIN, column, before, ONE_WAY)

    def ask(splits, groups):
        n_groups = int(groups.max()) + 1
        cells = splits.leaves(records, n_groups) + groups[records.column(column)]
        exact = np.bincount(cells, minlength=splits.n_leaves * n_groups)
        if keep is not None:
            keep.append(exact.reshape(-1, n_groups).sum(1))
        return exact + rng.normal(0, sigma, exact.size)

    for predictor in before:
        tree.grow(predictor, Level(sigma, 4.0), ask)
    rows = [TABLE.column(c) for c in before]
    found, _ = tree.finished(rows, TABLE.n_rows)
    found.check([DOMAIN.size(c) for c in before], DOMAIN.size(column))
    return found


def drawn(tree: Tree, before: tuple[str, ...]) -> np.ndarray:
    sizes = [DOMAIN.size(c) for c in before]
    return tree.draw([TABLE.column(c) for c in before], sizes, TABLE.n_rows, np.random.default_rng(2))


class TestGrow:
    def test_each_leaf_that_is_asked_for_can_hold_records(self) -> None:
        asked: list[np.ndarray] = []

        grown("d", ("b", "a"), keep=asked)

        # All 30 codes of b and 9 of a have records.
        assert asked[0].size == 30
        assert all((leaves > 0).all() for leaves in asked)

    def test_codes_that_say_the_same_are_joined_whatever_their_numbers(self) -> None:
        for sigma in [0.0, 20.0]:
            tree = grown("d", ("a",), sigma)

            made = drawn(tree, ("a",))
            special = np.isin(TABLE.column("a"), (1, 4, 7))
            assert 2 <= leaf_nodes(tree.nodes).size <= 3
            # The noise of this seed leaves a share of .0216 of the leaves to codes that are not theirs.
            assert np.mean((made == 0) == special) > (0.999 if sigma == 0 else 0.97)

    def test_leaves_that_two_columns_tell_are_found(self) -> None:
        for sigma in [0.0, 10.0]:
            # What a says shows only where b is known.
            tree = grown("c", ("b", "a"), sigma)

            made, own = drawn(tree, ("b", "a")).astype(int), TABLE.column("c").astype(int)
            assert np.mean(np.abs(made - own) <= 6) > (0.95 if sigma == 0 else 0.6)

    def test_a_column_that_tells_nothing_makes_hardly_any_leaves(self) -> None:
        for sigma in (0.0, 30.0):
            assert leaf_nodes(grown("b", ("a",), sigma).nodes).size <= 3

    def test_noise_that_hides_all_leaves_the_one_way_marginal(self) -> None:
        tree = grown("d", ("a",), 1e6)

        shares = np.bincount(drawn(tree, ("a",)), minlength=3) / TABLE.n_rows
        # Each share is off by less than 6 standard deviations of 20,000 draws: false alarm below 1e-8.
        assert np.abs(shares - ONE_WAY["d"] / TABLE.n_rows).max() < 6 * np.sqrt(0.25 / TABLE.n_rows)
        assert np.mean((drawn(tree, ("a",)) == 0) == np.isin(TABLE.column("a"), (1, 4, 7))) < 0.7

    def test_rows_have_the_one_way_marginal(self) -> None:
        for sigma in [0.0, 50.0]:
            made = drawn(grown("c", ("a", "b"), sigma), ("a", "b"))

            far = np.abs(np.bincount(made, minlength=60) - ONE_WAY["c"]).sum() / 2 / TABLE.n_rows
            # 60 codes of 20,000 draws are .022 off on average, with a standard deviation of .002.
            assert far < 0.05

    def test_no_records_make_a_root_that_draws(self) -> None:
        empty = EncodedTable(DOMAIN, tuple(np.zeros(0, np.uint8) for _ in DOMAIN))

        tree = grown("c", ("a", "b"), 5.0, empty)

        assert drawn(tree, ("a", "b")).size == TABLE.n_rows
        assert (tree.nodes[:, PREDICTOR] >= -1).all()
