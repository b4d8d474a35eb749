"""The tables of all pairs of columns that are in different cliques of a calibrated junction tree, in one pass.

Columns on either side of an edge are independent given the separator. So each branch of the tree sends the
probabilities of its columns given its separator, side by side, from the leaves inwards, and a pair is computed in the
clique where its two columns meet. A clique's table is read only a few times, and each product is a matrix product. The
pass ends in the centroid of each component, so that each edge carries its lighter side. Codes come first in messages, so
that columns are taken out of them and joined in long runs of memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.junction_tree.tree import JunctionTree, inwards
from syntabula.models.tables import CliqueTable, sum_over


@dataclass(frozen=True)
class Sending:
    """The message that one clique sends to the next one inwards.

    Attributes:
        position: Position of the clique.
        reader: Position of the next clique inwards; -1 for a centroid.
        separator: The columns in both.
        sent: Columns beyond the separator that are still needed further inwards.
    """

    position: int
    reader: int
    separator: Clique
    sent: Clique


def plan_pass(tree: JunctionTree, wanted: Sequence[Clique]) -> list[Sending]:
    """Plan what each clique sends, so that each pair of columns meets in a clique."""
    partners: dict[str, set[str]] = {}
    for one, other in wanted:
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    weights = [0] * len(tree.cliques)
    for column in partners:
        home = tree.holder((column,))
        assert home is not None
        weights[home] += tree.domain.size(column)
    steps = []
    for ways in inwards(tree, weights):
        below: dict[int, set[str]] = {}
        for position, reader, separator in ways:
            held = below.setdefault(position, set()).union(tree.cliques[position])
            sent = [c for c in partners if c in held and c not in separator and partners[c] - held]
            below.setdefault(reader, set()).update(held)
            steps.append(Sending(position, reader, separator, tuple(sent)))
    return steps


def _made(tree: JunctionTree, step: Sending) -> int:
    """Return the cells of a message."""
    return tree.domain.cells(step.separator) * sum(tree.domain.size(c) for c in step.sent)


def most_cells(tree: JunctionTree, steps: Sequence[Sending]) -> int:
    """Return the most cells that messages hold at any time."""
    waiting: dict[int, int] = {}
    held = most = 0
    for step in steps:
        made = _made(tree, step)
        held += made
        most = max(most, held)
        waiting[step.reader] = waiting.get(step.reader, 0) + made
        held -= waiting.pop(step.position, 0)
    return most


_BYTES_AT_ONCE = 80_000_000
"""Bytes that messages may hold at any time, or more where the tree itself is large."""

_BYTES_PER_CELL = 32
"""So many bytes for each cell of the tree, of the 48 that a plan states. Where messages are too large for one pass,
several take its place, and longer."""


def pairs_across(
    tree: JunctionTree, tables: Sequence[FloatArray], wanted: Sequence[Clique]
) -> dict[Clique, FloatArray]:
    """Return the probabilities of pairs, the axes of each in its order.

    Args:
        tree: The tree.
        tables: Probabilities of its cliques.
        wanted: Pairs of columns that are in no common clique.
    """
    if not wanted:
        return {}
    at_once = max(_BYTES_AT_ONCE, _BYTES_PER_CELL * tree.cells) // tables[0].itemsize
    return _found(tree, tables, wanted, at_once)


def _found(
    tree: JunctionTree, tables: Sequence[FloatArray], wanted: Sequence[Clique], at_once: int
) -> dict[Clique, FloatArray]:
    """Find pairs in one pass, or in several passes for fewer columns each if messages would be too large."""
    if not wanted:
        return {}
    steps = plan_pass(tree, wanted)
    cells = most_cells(tree, steps)
    if cells <= at_once:
        return _run(tree, tables, wanted, steps, {})
    if len(wanted) > 1:
        return {
            pair: table
            for part in _parts(tree, steps, wanted)
            for pair, table in _found(tree, tables, part, at_once).items()
        }
    # A single pair needs one column carried: carry some of its codes at a time.
    (pair,) = wanted
    carried = next(c for step in steps for c in step.sent)
    size = tree.domain.size(carried)
    rows = max(1, size * at_once // cells)
    parts = [
        _run(tree, tables, wanted, steps, {carried: slice(start, start + rows)})[pair]
        for start in range(0, size, rows)
    ]
    return {pair: np.concatenate(parts, axis=pair.index(carried))}


def _parts(
    tree: JunctionTree, steps: Sequence[Sending], wanted: Sequence[Clique]
) -> tuple[list[Clique], list[Clique]]:
    """Divide pairs in two, if possible so that either part needs half of the codes of the largest message.

    Other messages may be made for both parts, but they are smaller.
    """
    largest = max(steps, key=lambda step: _made(tree, step))
    half = sum(tree.domain.size(c) for c in largest.sent) / 2
    first, codes = set[str](), 0
    for column in largest.sent:
        if first and codes + tree.domain.size(column) / 2 > half:
            break
        first.add(column)
        codes += tree.domain.size(column)
    others = {*largest.sent, *largest.separator}
    across = [(a in first and b not in others) or (b in first and a not in others) for a, b in wanted]
    if all(across) or not any(across):
        half_way = len(wanted) // 2
        across = [place < half_way for place in range(len(wanted))]
    return (
        [pair for pair, is_across in zip(wanted, across, strict=True) if is_across],
        [pair for pair, is_across in zip(wanted, across, strict=True) if not is_across],
    )


@dataclass(frozen=True)
class _Message:
    """The probabilities of a branch's columns given its separator.

    Attributes:
        separator: The columns that the branch shares with the receiving clique.
        codes: Position of each column's codes.
        table: Their probabilities given the separator [codes of all columns concatenated, one axis per separator
            column].
    """

    separator: Clique
    codes: Mapping[str, slice]
    table: FloatArray

    def about(self, columns: Sequence[str]) -> _Message:
        """Return the message for some of its columns."""
        if len(columns) == len(self.codes):
            return self
        if not columns:
            return _Message(self.separator, {}, self.table[:0])
        return _joined(self.separator, {c: self.table[self.codes[c]] for c in columns})

    def mostly(self, columns: Sequence[str]) -> _Message:
        """Return the message for some of its columns, or the whole where it has hardly more: to take columns out of it
        moves as much as their products do."""
        return self if 2 * len(columns) > len(self.codes) else self.about(columns)


def _joined(separator: Clique, parts: Mapping[str, FloatArray]) -> _Message:
    """Concatenate the tables of several columns, each [codes, one axis per separator column]."""
    codes, start = {}, 0
    for column, part in parts.items():
        codes[column] = slice(start, start + len(part))
        start += len(part)
    return _Message(separator, codes, np.concatenate(list(parts.values())))


def _run(
    tree: JunctionTree,
    tables: Sequence[FloatArray],
    wanted: Sequence[Clique],
    steps: Sequence[Sending],
    codes: Mapping[str, slice],
) -> dict[Clique, FloatArray]:
    """Make one pass; a column in `codes` is carried with only these codes."""
    found = _Found(wanted)
    waiting: dict[int, list[_Message]] = {}
    for step in steps:
        inside = _Inside(tree.domain, tree.cliques[step.position], tables[step.position])
        messages = waiting.pop(step.position, [])
        joint = _joint(inside, messages, step, codes)
        _add_pairs(found, inside, messages, joint)
        if joint:
            waiting.setdefault(step.reader, []).append(_conditional(joint, inside))
    _add_independent(found, waiting.get(-1, []))
    return found.tables


def _joint(
    inside: _Inside, messages: Sequence[_Message], step: Sending, codes: Mapping[str, slice]
) -> _Message | None:
    """Join the messages of branches with the clique's own columns; None if no column is needed."""
    parts = {
        c: inside.sum((c, *step.separator))[codes.get(c, slice(None))]
        for c in step.sent
        if c in inside.clique
    }
    for message in messages:
        onward = message.about([c for c in message.codes if c in step.sent])
        if onward.codes:
            joint = inside.carry(onward, step.separator)
            parts |= {c: joint[part] for c, part in onward.codes.items()}
    return _joined(step.separator, parts) if parts else None


def _add_pairs(found: _Found, inside: _Inside, messages: Sequence[_Message], joint: _Message | None) -> None:
    """Add pairs of a branch's column with a column of the receiving clique or of another branch."""
    for axis, column in enumerate(joint.separator if joint else ()):
        if joint and found.missing(joint.codes, [column]):
            others = tuple(i + 1 for i in range(len(joint.separator)) if i != axis)
            found.add(sum_over(joint.table, others), joint.codes, {column: slice(None)})
    for number, message in enumerate(messages):
        own = [c for c in inside.clique if c not in message.separator and found.missing(message.codes, [c])]
        if own:
            # All of them at once, as messages are far larger than what they are multiplied with.
            one = message.mostly(found.missing(message.codes, own))
            together = _joined(message.separator, {c: inside.sum((c, *message.separator)) for c in own})
            found.add(_flat(one.table) @ _flat(together.table).T, one.codes, together.codes)
        for other in messages[number + 1 :]:
            one = message.mostly(found.missing(message.codes, other.codes))
            two = other.mostly(found.missing(other.codes, message.codes))
            if one.codes:
                lighter, heavier = sorted((one, two), key=lambda m: len(m.table))
                block = _flat(inside.carry(lighter, heavier.separator)) @ _flat(heavier.table).T
                found.add(block, lighter.codes, heavier.codes)


def _conditional(joint: _Message, inside: _Inside) -> _Message:
    """Divide by the separator's probabilities, in place, which makes a message."""
    below = inside.sum(joint.separator)
    inverse = np.divide(1.0, below, out=np.zeros_like(below), where=below > np.finfo(below.dtype).tiny)
    np.multiply(joint.table, inverse, out=joint.table)
    return joint


def _add_independent(found: _Found, messages: Sequence[_Message]) -> None:
    """Add pairs of columns of different trees, which are independent."""
    alone = [(c, message.table[part]) for message in messages for c, part in message.codes.items()]
    for number, (one_column, one_table) in enumerate(alone):
        for other_column, other_table in alone[number + 1 :]:
            block = np.multiply.outer(one_table, other_table)
            found.add(block, {one_column: slice(None)}, {other_column: slice(None)})


class _Found:
    """Collects the pairs that are found.

    Args:
        wanted: The pairs to find.
    """

    def __init__(self, wanted: Sequence[Clique]) -> None:
        self.tables: dict[Clique, FloatArray] = {}
        self._left = set(wanted)

    def missing(self, columns: Iterable[str], others: Iterable[str]) -> list[str]:
        """Return the columns that form a pair with one of the others that is not found yet."""
        others = list(others)
        return [c for c in columns if any((c, o) in self._left or (o, c) in self._left for o in others)]

    def add(self, block: FloatArray, rows: Mapping[str, slice], columns: Mapping[str, slice]) -> None:
        """Take the tables of pairs from a block [codes of some columns, codes of others]."""
        for one, its_codes in rows.items():
            for other, others_codes in columns.items():
                for pair, table in (((one, other), block), ((other, one), block.T)):
                    if pair in self._left:
                        part = (its_codes, others_codes) if table is block else (others_codes, its_codes)
                        self.tables[pair] = table[part].copy()
                        self._left.remove(pair)


class _Inside(CliqueTable):
    """A clique that messages come into."""

    def carry(self, message: _Message, target: Clique) -> FloatArray:
        """Return the joint probabilities of a message's columns and some of the clique [codes, *columns]."""
        shared = tuple(c for c in message.separator if c in target)
        gone = tuple(c for c in message.separator if c not in target)
        new = tuple(c for c in target if c not in message.separator)
        n_codes, kept = len(message.table), self._domain.cells(shared)
        n_new, n_gone = self._domain.cells(new), self._domain.cells(gone)
        left = self.sum((*shared, *new, *gone)).reshape(kept, n_new, n_gone)
        axes = [1 + message.separator.index(c) for c in (*shared, *gone)]
        right = message.table.transpose(0, *axes).reshape(n_codes, kept, n_gone)
        if n_gone == 1:
            product = right * left[:, :, 0]
        elif kept == 1:
            product = right[:, 0] @ left[0].T
        else:
            product = np.empty((n_codes, kept, n_new), left.dtype)
            np.matmul(right.transpose(1, 0, 2), left.transpose(0, 2, 1), out=product.transpose(1, 0, 2))
        placed = (*shared, *new)
        product = product.reshape(n_codes, *self._domain.shape(placed))
        return product.transpose(0, *(1 + placed.index(c) for c in target))


def _flat(table: FloatArray) -> FloatArray:
    """Return a table with all axes but the first merged."""
    return table.reshape(len(table), -1)
