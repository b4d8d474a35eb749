"""Records as tokens of a pretrained language model: the clause of each code, and which tokens can follow in a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.record_models.pretrained_folder import Tokenise, start_of, tokenise_with

Tokens = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class TokenTexts:
    """How the codes of a table are written: " column is value,", clause by clause.

    Attributes:
        start: Tokens before each record.
        prefixes: Of each column: the tokens of " column is".
        values: Of each code of each column: the tokens of " value,". None is the beginning of another of its column.
    """

    start: tuple[int, ...]
    prefixes: tuple[tuple[int, ...], ...]
    values: tuple[tuple[tuple[int, ...], ...], ...]

    @classmethod
    def of(cls, start: Sequence[int], texts: Mapping[str, Sequence[str]], tokenise: Tokenise) -> TokenTexts:
        """Return the tokens of each text, by column; where two cannot be told apart, positions stand for the column."""
        end = tokenise(",")
        values = []
        for column in texts.values():
            written = [tuple(tokenise(f" {text}") + end) for text in column]
            if not _can_be_told_apart(written):
                written = [tuple(tokenise(f" {i}") + end) for i in range(len(column))]
            values.append(tuple(written))
        prefixes = tuple(tuple(tokenise(f" {column} is")) for column in texts)
        return cls(tuple(start), prefixes, tuple(values))

    def check(self, sizes: Sequence[int]) -> None:
        """Raise ValueError unless columns have so many codes, which can be told apart."""
        if not self.start or [len(column) for column in self.values] != list(sizes):
            raise ValueError("texts of another domain")
        every = [*self.start, *(t for p in self.prefixes for t in p)]
        every += [t for column in self.values for value in column for t in value]
        if min(every) < 0 or not all(self.prefixes) or len(self.prefixes) != len(self.values):
            raise ValueError("texts without tokens")
        if not all(_can_be_told_apart(column) for column in self.values):
            raise ValueError("two codes of a column are written alike")

    @property
    def longest(self) -> int:
        """Most tokens of a record."""
        clauses = zip(self.prefixes, self.values, strict=True)
        return len(self.start) + sum(len(p) + max(map(len, values)) for p, values in clauses)

    @cached_property
    def vocabulary(self) -> Tokens:
        """All tokens that values are written in, ascending."""
        return np.unique([t for column in self.values for value in column for t in value]).astype(np.int32)

    @cached_property
    def clauses(self) -> tuple[Tokens, NDArray[np.bool_], NDArray[np.intp]]:
        """The clause of each code of each column [codes of all, longest], -1 beyond its end; which tokens are of its
        value; and where each column's codes begin."""
        rows = [
            (len(p), (*p, *v)) for p, values in zip(self.prefixes, self.values, strict=True) for v in values
        ]
        table = np.full((len(rows), max(len(row) for _, row in rows)), -1, dtype=np.int32)
        is_value = np.zeros(table.shape, dtype=np.bool_)
        for i, (before, row) in enumerate(rows):
            table[i, : len(row)] = row
            is_value[i, before : len(row)] = True
        return table, is_value, np.cumsum([0, *map(len, self.values)])[:-1]

    @cached_property
    def trees(self) -> list[list[tuple[NDArray[np.intp], NDArray[np.intp]]]]:
        """Of each column its nodes, the root first: positions in the vocabulary of tokens that can follow, and what each
        leads to, a node or -1 - code."""
        return [self._tree(column) for column in self.values]

    def _tree(self, values: Sequence[Sequence[int]]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        nodes: list[dict[int, int]] = [{}]
        for code, value in enumerate(values):
            at = 0
            for token in value[:-1]:
                if token not in nodes[at]:
                    nodes[at][token] = len(nodes)
                    nodes.append({})
                at = nodes[at][token]
            nodes[at][value[-1]] = -1 - code
        return [
            (np.searchsorted(self.vocabulary, [*node]), np.array([*node.values()], dtype=np.intp))
            for node in nodes
        ]


def texts_known_to(tokenizer: Any, texts: Mapping[str, Sequence[str]]) -> TokenTexts:
    """Return the tokens of each text, by column.

    Raises:
        ArgumentError: If the tokenizer knows so little of names or values that nothing could be learned from them.
    """
    tokenise, unknown = tokenise_with(tokenizer), tokenizer.unk_token_id
    names = [token for column in texts for token in tokenise(f" {column}")]
    if names and unknown is not None and names.count(unknown) * 2 >= len(names):
        raise ArgumentError(
            f"the tokenizer in model_path does not know {names.count(unknown):,} of {len(names):,} words or signs in the "
            "names of the columns; rename these in words that it knows, or take a model whose tokenizer reads any text, "
            "such as that of GPT-2"
        )
    found = TokenTexts.of(start_of(tokenizer), texts, tokenise)
    for column, values in zip(texts, found.values, strict=True):
        if not _can_be_told_apart(values):
            raise ArgumentError(
                f"the tokenizer in model_path writes values of column {column!r} alike, and digits in place of them too; "
                "take a model whose tokenizer reads any text, such as that of GPT-2"
            )
    return found


def _can_be_told_apart(values: Sequence[Sequence[int]]) -> bool:
    """Return whether none is empty, or the beginning of another or the same."""
    ordered = sorted(map(tuple, values))
    if not ordered or not ordered[0]:
        return False
    return all(after[: len(one)] != one for one, after in pairwise(ordered))
