"""Blocks of logits: what is worked out together is what each block gives on its own."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.record_models.blocks import Blocks, first_weights

torch = pytest.importorskip("torch")

SIZES = (3, 1, 5, 3, 2)
BLOCKS = Blocks(SIZES)


def block(logits: np.ndarray, column: int) -> np.ndarray:
    start = BLOCKS.starts[column]
    return logits[:, start : start + SIZES[column]].astype(np.float64)


def shares(logits: np.ndarray, column: int) -> np.ndarray:
    heights = np.exp(block(logits, column) - block(logits, column).max(1, keepdims=True))
    found: np.ndarray = heights / heights.sum(1, keepdims=True)
    return found


def random_logits(rows: int, spread: float = 2.0) -> np.ndarray:
    return (spread * np.random.default_rng(0).normal(size=(rows, BLOCKS.width))).astype(np.float32)


def test_blocks_lie_side_by_side_without_gaps() -> None:
    held = np.concatenate([np.arange(s, s + n) for s, n in zip(BLOCKS.starts, SIZES, strict=True)])

    assert sorted(held.tolist()) == [*range(14)]


class TestLosses:
    # Others' logits of up to 1e4 do not reach a block.
    def test_each_column_has_its_own_log_probability(self) -> None:
        for spread in [1.0, 1e4]:
            logits = random_logits(6, spread)
            codes = np.random.default_rng(1).integers(0, SIZES, (6, 5))

            found = BLOCKS.cross_entropies(torch.tensor(logits), torch.tensor(codes + BLOCKS.starts)).numpy()

            for column in range(5):
                held = block(logits, column)
                sums = held.max(1) + np.log(np.exp(held - held.max(1, keepdims=True)).sum(1))
                np.testing.assert_allclose(
                    found[:, column], sums - held[np.arange(6), codes[:, column]], rtol=1e-4, atol=1e-4
                )


class TestDraws:
    def test_codes_have_the_probabilities_of_their_block(self) -> None:
        n, logits = 40_000, random_logits(1)

        drawn = BLOCKS.draws(np.tile(logits, (n, 1)), np.random.default_rng(0))

        for column, size in enumerate(SIZES):
            wanted = shares(logits, column)[0]
            found = np.bincount(drawn[:, column], minlength=size) / n
            # Six standard deviations in each of 14 cells: false alarms below 1e-7.
            assert (np.abs(found - wanted) <= 6 * np.sqrt(wanted * (1 - wanted) / n)).all()
            np.testing.assert_allclose(BLOCKS.shares(logits, column)[0], wanted, atol=1e-6)

    def test_soft_draws_are_distributions_whose_largest_is_a_draw(self) -> None:
        n, logits = 20_000, random_logits(1)
        random = torch.Generator().manual_seed(0)

        soft = BLOCKS.soft_draws(torch.tensor(np.tile(logits, (n, 1))), 0.2, random).numpy()

        for column, size in enumerate(SIZES):
            found = np.bincount(block(soft, column).argmax(1), minlength=size) / n
            wanted = shares(logits, column)[0]
            np.testing.assert_allclose(block(soft, column).sum(1), 1.0, atol=1e-5)
            # Six standard deviations.
            assert (np.abs(found - wanted) <= 6 * np.sqrt(wanted * (1 - wanted) / n) + 1e-9).all()


def test_first_weights_are_small_and_biases_zero() -> None:
    made = first_weights(
        {"layer": (4, 50), "bias": (3,), "none": (0, 3)},
        device="cpu",
        random=torch.Generator().manual_seed(0),
    )

    assert made["layer"].abs().max() <= 0.5
    assert made["layer"].std() > 0.2
    assert not made["bias"].any()
    assert made["none"].shape == (0, 3)
