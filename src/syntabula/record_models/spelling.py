"""How the values of one column are written in tokens, and which tokens can follow what is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.record_models.representation import FloatTable

MOST_LETTERS = 256
MOST_PLACES = 24
_MOST_CELLS = 50_000_000

Letters = NDArray[np.uint16]
"""What stands at each place of each code's text [codes, places], from 0 to the number of letters - 1."""


def letters_of(texts: Sequence[str], *, ordered: bool) -> Letters:
    """Return how the codes of a column are written.

    A label of at most 256 is one letter: a word of its own. Numbers, days and the labels of larger columns are
    written in characters, and places at which these never tell two of them apart are left out. Where they differ at more
    than 24 places the code's position is written instead, in decimal digits.

    Args:
        texts: Of each code with records.
        ordered: Whether the codes follow an order.
    """
    if not ordered and len(texts) <= MOST_LETTERS:
        return np.arange(len(texts), dtype=np.uint16)[:, None]
    longest = max(map(len, texts))
    if len(texts) * longest <= _MOST_CELLS:
        # A text that is shorter than others ends in zeros, which no text holds.
        written = np.array(texts, dtype=f"U{max(longest, 1)}").view(np.uint32).reshape(len(texts), -1)
        places, told_apart = _telling_places(written)
        letters, found = np.unique(written[:, places], return_inverse=True)
        if told_apart and len(places) <= MOST_PLACES and len(letters) <= MOST_LETTERS:
            return found.reshape(len(texts), len(places)).astype(np.uint16)
    width = len(str(len(texts) - 1))
    positions = np.arange(len(texts))[:, None] // 10 ** np.arange(width - 1, -1, -1) % 10
    return positions.astype(np.uint16)


def _telling_places(written: NDArray[np.uint32]) -> tuple[list[int], bool]:
    """Return the places that tell texts apart which are the same up to there, and whether all differ in the end."""
    groups, n_groups = np.zeros(len(written), dtype=np.int64), 1
    places = []
    for place in range(written.shape[1]):
        if n_groups == len(written):
            break
        _, finer = np.unique(groups * 2**21 + written[:, place], return_inverse=True)
        if (n_finer := int(finer.max()) + 1) > n_groups:
            places.append(place)
            groups, n_groups = finer, n_finer
    return places, n_groups == len(written)


@dataclass(frozen=True, eq=False)
class Spelling:
    """The tree of all that can be written in a column: each text is a way from its root to a code.

    A token is a letter at a place. Where but one letter can follow nothing is written, as it says nothing. A node of the
    tree is a beginning of several texts that go on differently.

    Attributes:
        places: Number of places.
        letters: Number of different letters.
        lengths: Tokens of each code [codes].
        nodes: Node at which each token of each code is written [codes, most tokens]; 0 beyond its length.
        written: Letter that is written there [codes, most tokens].
        node_places: Place of each node [nodes].
        log_shares: Logarithm of each letter's part of the records that come by a node [nodes, letters]; minus
            infinity for a letter that cannot follow.
        follows: Node that follows each letter [nodes, letters]; below 0 for a text that ends: -1 - code.
    """

    places: int
    letters: int
    lengths: NDArray[np.intp]
    nodes: NDArray[np.intp]
    written: NDArray[np.intp]
    node_places: NDArray[np.intp]
    log_shares: FloatTable
    follows: NDArray[np.intp]

    @property
    def tokens(self) -> int:
        """Number of different tokens."""
        return self.places * self.letters


def spelling(letters: Letters, log_shares: FloatTable) -> Spelling:
    """Return the tree of texts.

    Args:
        letters: As `letters_of` returns them.
        log_shares: Logarithm of each code's part of the records [codes].

    Raises:
        ValueError: If two codes are written alike.
    """
    k, n_places = letters.shape
    n_letters = int(letters.max()) + 1 if letters.size else 1
    shares = np.exp(log_shares.astype(np.float64))
    groups = np.zeros(k, dtype=np.intp)
    node_of, tables, node_places, n_nodes = [], [], [], 0
    for place in range(n_places):
        keys, children = np.unique(groups * n_letters + letters[:, place], return_inverse=True)
        parents = keys // n_letters
        several = np.bincount(parents) > 1
        ids = np.where(several, n_nodes + np.cumsum(several) - 1, -1)
        node_of.append(ids[groups])
        masses = np.bincount(children, shares)
        table = np.full((several.size, n_letters), -np.inf)
        table[parents, keys % n_letters] = np.log(masses / np.bincount(parents, masses)[parents])
        tables.append(table[several])
        node_places += [place] * int(several.sum())
        n_nodes += int(several.sum())
        groups = children
    if len(np.unique(groups)) < k:
        raise ValueError("two codes of a column are written alike")
    at = np.stack(node_of, 1) if node_of else np.zeros((k, 0), dtype=np.intp)
    lengths = (at >= 0).sum(1)
    # The tokens of each code first.
    first = np.argsort(at < 0, axis=1, kind="stable")[:, : int(lengths.max())]
    nodes, written = np.take_along_axis(at, first, 1), np.take_along_axis(letters.astype(np.intp), first, 1)
    beyond = np.arange(nodes.shape[1]) >= lengths[:, None]
    nodes[beyond] = written[beyond] = 0
    follows = np.zeros((n_nodes, n_letters), dtype=np.intp)
    for step in range(nodes.shape[1]):
        ends, goes_on = lengths == step + 1, lengths > step + 1
        follows[nodes[ends, step], written[ends, step]] = -1 - np.flatnonzero(ends)
        follows[nodes[goes_on, step], written[goes_on, step]] = nodes[
            goes_on, min(step + 1, nodes.shape[1] - 1)
        ]
    return Spelling(
        places=n_places,
        letters=n_letters,
        lengths=lengths,
        nodes=nodes,
        written=written,
        node_places=np.array(node_places, dtype=np.intp),
        log_shares=np.concatenate([np.zeros((0, n_letters)), *tables]).astype(np.float32),
        follows=follows,
    )
