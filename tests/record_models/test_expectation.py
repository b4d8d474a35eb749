"""Expectation-maximisation on a tree: expected counts are the posteriors' sums, and records become more probable."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from syntabula.record_models.latent_tree import LatentTree
from syntabula.record_models.representation import column_lookup

torch = pytest.importorskip("torch")

SIZES, PARENTS = (3, 39, 2), (1, -1, 0)


def records(n: int = 600) -> np.ndarray:
    """Rows in which the second column is ordered and near 13 times the first, and the third says which side."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, n)
    second = 13 * first + rng.integers(0, 13, n)
    return np.stack([first, second, (second % 13 > 6).astype(int)], 1)


def fit(rows: np.ndarray, *, states: int = 3, smoothing: float = 5.0) -> Any:
    from syntabula.record_models.expectation import LatentTreeFit

    # Codes that these rows lack are no other codes.
    counts = [np.bincount(rows[:, c], minlength=size) + 0.01 for c, size in enumerate(SIZES)]
    lookups = [column_lookup(n, waves=1 if c == 1 else None) for c, n in enumerate(counts)]
    return LatentTreeFit(
        lookups,
        PARENTS,
        states=states,
        n_records=len(rows),
        smoothing=smoothing,
        start=rows,
        device=torch.device("cpu"),
        random=torch.Generator().manual_seed(0),
    )


def tree_of(made: Any) -> LatentTree:
    emissions, transitions = made.tables(**made.parameters)
    return LatentTree(PARENTS, transitions.astype(float), tuple(e.astype(float) for e in emissions))


def losses(made: Any, rows: np.ndarray) -> np.ndarray:
    found: np.ndarray = made.losses(torch.as_tensor(rows), torch.Generator()).numpy()
    return found


class TestCounts:
    def test_losses_are_those_of_the_tree(self) -> None:
        rows = records(50)
        made = fit(rows)

        _, logs = tree_of(made).likelihoods({c: tree_of(made).emissions[c][rows[:, c]] for c in range(3)})

        np.testing.assert_allclose(-losses(made, rows), logs, rtol=1e-4)

    def test_a_whole_step_leaves_the_sums_of_posteriors(self) -> None:
        rows = records(40)
        made = fit(rows)
        tree = tree_of(made)
        pairs, counts = np.zeros((3, 3, 3)), [np.zeros((size, 3)) for size in SIZES]
        for row in rows:
            chances = {}
            for states in itertools.product(range(3), repeat=3):
                chance = 1.0
                for c, parent in enumerate(PARENTS):
                    chance *= tree.transitions[c, 0 if parent < 0 else states[parent], states[c]]
                    chance *= tree.emissions[c][row[c], states[c]]
                chances[states] = chance
            for states, chance in chances.items():
                share = chance / sum(chances.values()) / len(rows)
                for c, parent in enumerate(PARENTS):
                    pairs[c, 0 if parent < 0 else states[parent], states[c]] += share
                    counts[c][row[c], states[c]] += share

        made.moved(torch.as_tensor(rows), 1.0)

        np.testing.assert_allclose(made.parameters["pairs"], pairs, atol=1e-5)
        np.testing.assert_allclose(made.parameters["counts"], np.concatenate(counts), atol=1e-5)

    def test_whole_steps_make_the_records_more_probable(self) -> None:
        rows = records()
        made = fit(rows, states=8, smoothing=0.0)

        seen = [float(made.moved(torch.as_tensor(rows), 1.0).mean()) for _ in range(30)]

        # The marginals that are spread over the states may cost a little at each step.
        assert all(after < before + 0.005 for before, after in itertools.pairwise(seen))
        assert seen[-1] < seen[0] - 0.2


class TestSmoothing:
    def test_codes_keep_their_shares_of_the_column(self) -> None:
        rows = records()
        made = fit(rows)
        for _ in range(5):
            made.moved(torch.as_tensor(rows), 0.5)

        marginal = tree_of(made).joint([1])

        wanted = np.bincount(rows[:, 1], minlength=39) / len(rows)
        assert np.abs(marginal - wanted).sum() / 2 < 0.01

    def test_neighbours_tell_of_a_code_in_an_ordered_column(self) -> None:
        rows = records()
        # Three records with code 20, said to belong elsewhere than their neighbours.
        kept = (rows[:, 1] != 20) | (np.cumsum(rows[:, 1] == 20) <= 3)
        odd = rows[kept]
        odd[odd[:, 1] == 20, 0] = 0

        def told(smoothing: float) -> float:
            made = fit(odd, states=12, smoothing=smoothing)
            for _ in range(20):
                made.moved(torch.as_tensor(odd), 1.0)
            joint = tree_of(made).joint([0, 1])[:, 20]
            return float(joint[1] / joint.sum())

        assert told(0.0) < 0.4 < 0.55 < told(200.0)
