"""Spelling: what is written tells its code, and what can follow leads to codes alone."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.record_models.spelling import MOST_PLACES, Spelling, letters_of, spelling

NUMBERS = ["null", "00", "05", "17", "170", "19", "2"]
LABELS = [f'"{a}{b} is, {c}"' for a in ("", "x", "日") for b in range(20) for c in "abcde"]
ALIKE_AT_FIRST = ["a" * n for n in range(1, 40)]


def spelled(texts: list[str], *, ordered: bool = True, shares: np.ndarray | None = None) -> Spelling:
    parts = np.full(len(texts), 1 / len(texts)) if shares is None else shares
    return spelling(letters_of(texts, ordered=ordered), np.log(parts).astype(np.float32))


def parsed(tree: Spelling, letters: list[int]) -> int:
    """Return the code that letters lead to from the root, each of which can follow."""
    node = 0
    for letter in letters:
        assert node >= 0
        assert np.isfinite(tree.log_shares[node, letter])
        node = int(tree.follows[node, letter])
    return -1 - node


def test_what_is_written_of_each_code_parses_to_it() -> None:
    for texts, ordered in [
        (NUMBERS, True),
        (LABELS, False),
        (ALIKE_AT_FIRST, True),
        (["yes", "no", "null"], False),
        ([f"{i:04d}" for i in range(1000)], True),
        ([chr(0x4E00 + i) for i in range(400)], False),
    ]:
        tree = spelled(texts, ordered=ordered)

        for code in range(len(texts)):
            assert parsed(tree, tree.written[code, : tree.lengths[code]].tolist()) == code


def test_each_way_from_the_root_ends_at_a_code_of_its_own() -> None:
    for texts in [NUMBERS, LABELS, ALIKE_AT_FIRST]:
        tree = spelled(texts)
        open_nodes, ends = [0], []
        while open_nodes:
            node = open_nodes.pop()
            letters = np.flatnonzero(np.isfinite(tree.log_shares[node]))
            # A node at which but one letter could follow would say nothing.
            assert len(letters) >= 2
            for following in tree.follows[node, letters].tolist():
                (ends if following < 0 else open_nodes).append(following)

        assert sorted(-1 - end for end in ends) == list(range(len(texts)))


def test_shares_along_the_way_multiply_to_that_of_the_code() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(len(LABELS)))
    tree = spelled(LABELS, shares=shares)

    for code, length in enumerate(tree.lengths):
        steps = tree.log_shares[tree.nodes[code, :length], tree.written[code, :length]]
        assert steps.sum() == pytest.approx(np.log(shares[code]), abs=1e-4)


def test_labels_are_words_and_numbers_are_digits() -> None:
    assert spelled(["a", "b", "c"], ordered=False).nodes.shape == (3, 1)
    assert spelled(["10", "12", "21"]).lengths.tolist() == [2, 2, 1]


def test_a_single_code_is_not_written() -> None:
    for ordered in (True, False):
        tree = spelled(["17"], ordered=ordered)
        assert (tree.lengths.tolist(), len(tree.node_places)) == ([0], 0)


def test_texts_that_differ_at_too_many_places_are_written_as_positions() -> None:
    assert len(ALIKE_AT_FIRST) > MOST_PLACES
    assert letters_of(ALIKE_AT_FIRST, ordered=True)[17].tolist() == [1, 7]


def test_codes_that_are_written_alike_are_refused() -> None:
    with pytest.raises(ValueError, match="alike"):
        spelling(np.zeros((2, 1), np.uint16), np.log(np.full(2, 0.5)).astype(np.float32))
