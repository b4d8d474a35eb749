"""How all pairs of columns rise together in a calibrated junction tree: expected products of scores, in one pass.

As in `pairs`, branches send what is known of their columns inwards. But a column sends its mean score given the
separator, one number instead of one for each of its codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.junction_tree.tree import JunctionTree, inwards
from syntabula.models.tables import CliqueTable


@dataclass(frozen=True)
class _Branch:
    """Mean scores of a branch's columns given its separator.

    Attributes:
        separator: The columns that the branch shares with the receiving clique.
        places: Places of the branch's columns among all that have scores.
        means: Mean score of each, for each cell of the separator [cells, columns].
    """

    separator: Clique
    places: Sequence[int]
    means: FloatArray


def expected_products(
    tree: JunctionTree, tables: Sequence[FloatArray], scores: Mapping[str, FloatArray]
) -> FloatArray:
    """Return the expected product of the scores of each two columns [columns, columns], and of each with itself.

    Args:
        tree: The tree.
        tables: Probabilities of its cliques.
        scores: The score of each code [codes], by column.
    """
    place = {column: i for i, column in enumerate(scores)}
    found = np.full((len(place), len(place)), np.nan)
    means = np.zeros(len(place))
    waiting: dict[int, list[_Branch]] = {}
    for ways in inwards(tree, [sum(c in place for c in clique) for clique in tree.cliques]):
        for position, reader, separator in ways:
            inside = _Inside(tree.domain, tree.cliques[position], tables[position], scores)
            branches = waiting.pop(position, [])
            _add_pairs(found, means, place, inside, branches)
            if reader >= 0:
                waiting.setdefault(reader, []).append(_sent(place, inside, branches, separator))
    apart = np.isnan(found)
    found[apart] = np.outer(means, means)[apart]
    return found


def _add_pairs(
    found: FloatArray,
    means: FloatArray,
    place: Mapping[str, int],
    inside: _Inside,
    branches: Sequence[_Branch],
) -> None:
    """Fill in the pairs of two columns of a clique, of one with a branch's, and of columns of two branches."""
    own = [c for c in inside.clique if c in place]
    for number, column in enumerate(own):
        row = place[column]
        means[row] = inside.sum((column,)) @ inside.scores[column]
        found[row, row] = inside.sum((column,)) @ np.square(inside.scores[column])
        for other in own[number + 1 :]:
            if np.isnan(found[row, place[other]]):
                product = inside.scores[column] @ inside.sum((column, other)) @ inside.scores[other]
                found[row, place[other]] = found[place[other], row] = product
    for at, branch in enumerate(branches):
        beside = [c for c in own if c not in branch.separator]
        if beside:
            weighted = np.stack([inside.weighted(c, branch.separator).ravel() for c in beside])
            _put(found, [place[c] for c in beside], branch.places, weighted @ branch.means)
        for further in branches[at + 1 :]:
            lighter, heavier = sorted((branch, further), key=lambda b: len(b.places))
            block = inside.carried(lighter, heavier.separator).T @ heavier.means
            _put(found, lighter.places, heavier.places, block)


def _put(found: FloatArray, rows: Sequence[int], columns: Sequence[int], block: FloatArray) -> None:
    found[np.ix_(rows, columns)] = block
    found[np.ix_(columns, rows)] = block.T


def _sent(
    place: Mapping[str, int], inside: _Inside, branches: Sequence[_Branch], separator: Clique
) -> _Branch:
    """Return what a clique sends inwards: its own columns beyond the separator, and those of its branches."""
    own = [c for c in inside.clique if c in place and c not in separator]
    cells = inside.sum(separator).ravel()
    places = [place[c] for c in own]
    joint = [inside.weighted(c, separator).reshape(-1, 1) for c in own]
    for branch in branches:
        places += branch.places
        joint.append(inside.carried(branch, separator))
    together = np.concatenate(joint, axis=1) if joint else np.zeros((cells.size, 0), cells.dtype)
    tiny = np.finfo(cells.dtype).tiny
    inverse = np.divide(1.0, cells, out=np.zeros_like(cells), where=cells > tiny)
    return _Branch(separator, places, together * inverse[:, np.newaxis])


class _Inside(CliqueTable):
    """A clique that mean scores come into.

    Args:
        domain: The domain of its columns.
        clique: Its columns.
        table: Its probabilities.
        scores: The score of each code, by column.
    """

    def __init__(
        self, domain: Domain, clique: Clique, table: FloatArray, scores: Mapping[str, FloatArray]
    ) -> None:
        super().__init__(domain, clique, table)
        self.scores = scores

    def weighted(self, column: str, others: Clique) -> FloatArray:
        """Return the probabilities of some columns times the mean score of another one given them."""
        joint = self.sum((*others, column))
        return joint @ self.scores[column].astype(joint.dtype)

    def carried(self, branch: _Branch, target: Clique) -> FloatArray:
        """Return the probabilities of some columns times mean scores of a branch given them [cells, columns]."""
        shared = tuple(c for c in branch.separator if c in target)
        gone = tuple(c for c in branch.separator if c not in target)
        new = tuple(c for c in target if c not in branch.separator)
        cells = [self._domain.cells(columns) for columns in (shared, new, gone)]
        left = self.sum((*shared, *new, *gone)).reshape(cells)
        axes = [branch.separator.index(c) for c in (*shared, *gone)]
        means = branch.means.reshape(*self._domain.shape(branch.separator), -1)
        right = means.transpose(*axes, len(axes)).reshape(cells[0], cells[2], -1)
        product = (left @ right).reshape(*self._domain.shape((*shared, *new)), -1)
        order = [(*shared, *new).index(c) for c in target]
        return product.transpose(*order, len(order)).reshape(self._domain.cells(target), -1)
