"""LatentTree: every answer is compared with the sum over all hidden states and rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from syntabula.record_models.latent_tree import LatentTree, outwards

SIZES = (3, 4, 2, 3)
PARENTS = (1, -1, 1, 0)


def tree() -> LatentTree:
    """Four columns with two states each; 1 is the root, 3 is below 0."""
    rng = np.random.default_rng(0)
    transitions = rng.dirichlet((1, 1), (4, 2))
    transitions[1] = transitions[1, :1]
    emissions = tuple(rng.dirichlet(np.ones(size), 2).T for size in SIZES)
    return LatentTree(PARENTS, transitions, emissions)


def table() -> np.ndarray:
    """Return the probabilities of all rows, added up over all hidden states."""
    made, total = tree(), np.zeros(SIZES)
    for states in itertools.product(range(2), repeat=4):
        chance = 1.0
        for column, parent in enumerate(PARENTS):
            chance *= made.transitions[column, 0 if parent < 0 else states[parent], states[column]]
        blocks = [emission[:, state] for emission, state in zip(made.emissions, states, strict=True)]
        total += chance * np.einsum("a,b,c,d->abcd", *blocks)
    return total


class TestJoint:
    def test_all_marginals_are_sums_over_the_other_columns(self) -> None:
        for n in range(5):
            for columns in itertools.permutations(range(4), n):
                others = tuple(c for c in range(4) if c not in columns)
                kept = sorted(columns)
                wanted = table().sum(others).transpose([kept.index(c) for c in columns])

                np.testing.assert_allclose(tree().joint(columns), wanted, rtol=1e-12)


class TestRestricted:
    def test_the_probability_and_the_rows_given_conditions_are_exact(self) -> None:
        weights = {0: np.array([1.0, 0.25, 0.0]), 2: np.array([0.0, 1.0])}
        weighed = table() * weights[0][:, None, None, None] * weights[2][:, None]

        probability, found = tree().restricted(weights)

        assert probability == pytest.approx(weighed.sum(), rel=1e-12)
        np.testing.assert_allclose(found.joint(range(4)), weighed / weighed.sum(), rtol=1e-10)

    def test_what_cannot_be_has_probability_0(self) -> None:
        assert tree().restricted({3: np.zeros(3)})[0] == 0.0


class TestLikelihoods:
    def test_their_logarithm_is_that_of_the_codes_marginal(self) -> None:
        for columns in [(1,), (0, 3), (2, 3), (0, 1, 2, 3)]:
            rows = np.random.default_rng(1).integers(0, 2, (10, 4))

            _, logs = tree().likelihoods({c: tree().emissions[c][rows[:, c]] for c in columns})

            wanted = tree().joint(columns)[tuple(rows[:, c] for c in columns)]
            np.testing.assert_allclose(logs, np.log(wanted), rtol=1e-12)


class TestDraw:
    # The largest of 72 shares is off by more than 7 of its standard deviations with chance below 1e-9.
    def test_rows_have_their_probabilities(self) -> None:
        n = 100_000

        rows = tree().draw(n, np.random.default_rng(2))

        shares = np.bincount(np.ravel_multi_index(rows.T, SIZES), minlength=72) / n
        wanted = table().ravel()
        assert (np.abs(shares - wanted) < 7 * np.sqrt(wanted * (1 - wanted) / n)).all()

    def test_others_follow_known_codes(self) -> None:
        for known in [(3,), (0, 2), (1, 3)]:
            n = 100_000
            codes = {c: np.full(n, 1) for c in known}

            rows = tree().draw(n, np.random.default_rng(3), codes)

            place = tuple(1 if c in known else slice(None) for c in range(4))
            wanted = table()[place].ravel() / table()[place].sum()
            left = [c for c in range(4) if c not in known]
            shares = np.bincount(
                np.ravel_multi_index(rows[:, left].T, [SIZES[c] for c in left]), minlength=wanted.size
            )
            assert (rows[:, known] == 1).all()
            assert (np.abs(shares / n - wanted) < 7 * np.sqrt(wanted * (1 - wanted) / n)).all()

    def test_an_unknown_code_tells_nothing(self) -> None:
        n = 50_000

        rows = tree().draw(n, np.random.default_rng(4), {0: np.full(n, SIZES[0])})

        wanted = table().sum((0, 1, 2))
        shares = np.bincount(rows[:, 3], minlength=3) / n
        assert (np.abs(shares - wanted) < 7 * np.sqrt(wanted * (1 - wanted) / n)).all()

    def test_three_hundred_columns_in_a_chain_do_not_underflow(self) -> None:
        rng = np.random.default_rng(0)
        moves = rng.dirichlet((1, 1), (300, 2))
        moves[0] = moves[0, :1]
        sharp = np.full((1000, 2), 1e-30)
        sharp[0] = 1 - 999e-30
        long = LatentTree(tuple(range(-1, 299)), moves, (sharp,) * 300)

        rows = long.draw(10, rng, {c: np.full(10, 7) for c in range(299)})

        _, logs = long.likelihoods({c: sharp[[7]] for c in range(300)})
        assert rows.shape == (10, 300)
        assert logs == pytest.approx(300 * np.log(1e-30), rel=1e-6)


def test_what_is_no_tree_is_refused() -> None:
    for parents in [(), (-1, -1), (-1, 2, 1), (1, -1, 5)]:
        with pytest.raises(ValueError, match="root"):
            outwards(parents)
