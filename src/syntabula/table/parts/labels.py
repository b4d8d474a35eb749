"""Counts the texts of a column of a table in parts, or the frequent ones where there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.parts import Fold, State
from syntabula.marginals.point_folds import BUCKETS, HELD_VALUES
from syntabula.table.raw import RawColumn
from syntabula.table.repeated_texts import RepeatedTexts

_TEXTS, _COUNTS, _BUCKETS = "texts", "counts", "buckets"


@dataclass(frozen=True, eq=False)
class LabelFold(Fold[RawColumn]):
    """Counts the records of each text while there are few, and otherwise of each bucket of texts by hash.

    Attributes:
        most: Largest number of texts that are held; None for no limit.
        among: Which buckets count [BUCKETS]; None for all.
    """

    most: int | None = HELD_VALUES
    among: NDArray[np.bool_] | None = None

    def start(self) -> State:
        """Return the state of no records."""
        return {_TEXTS: np.zeros(0, dtype=object), _COUNTS: np.zeros(0, np.int64)}

    def add(self, state: State, part: RawColumn) -> None:
        """Add the records of a part."""
        self._add(state, texts_of(part))

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        if _BUCKETS in other:
            self._let_go(state)
            state[_BUCKETS] += other[_BUCKETS]
        else:
            self._add(state, self.counts(other))

    def holds(self, state: State) -> bool:
        """Return whether a state holds the texts."""
        return _BUCKETS not in state

    def counts(self, state: State) -> dict[str, int]:
        """Return the number of records of each text that a state holds."""
        return dict(zip(state[_TEXTS].tolist(), state[_COUNTS].tolist(), strict=True))

    def buckets(self, state: State) -> NDArray[np.int64]:
        """Return the number of records of each bucket [BUCKETS], where texts are not held."""
        found: NDArray[np.int64] = state[_BUCKETS]
        return found

    def _add(self, state: State, counts: Mapping[str, int]) -> None:
        if self.among is not None and counts:
            kept = self.among[label_buckets([*counts])].tolist()
            counts = {text: n for (text, n), keep in zip(counts.items(), kept, strict=True) if keep}
        if not self.holds(state):
            np.add.at(state[_BUCKETS], label_buckets([*counts]), [*counts.values()])
            return
        every = Counter(self.counts(state))
        every.update(counts)
        _put(state, every)
        if self.most is not None and len(every) > self.most:
            self._let_go(state)

    def _let_go(self, state: State) -> None:
        if self.holds(state):
            counts = self.counts(state)
            state.clear()
            state[_BUCKETS] = np.zeros(BUCKETS, np.int64)
            self._add(state, counts)


def texts_of(raw: RawColumn) -> dict[str, int]:
    """Return the number of records of each text of a column."""
    if not isinstance(raw.cells, RepeatedTexts):
        return dict(Counter(raw.cells[~raw.missing].tolist()))
    counts = np.bincount(raw.cells.places[~raw.missing], minlength=raw.cells.distinct.size)
    return {text: n for text, n in zip(raw.cells.distinct.tolist(), counts.tolist(), strict=True) if n}


def label_buckets(texts: list[str]) -> NDArray[np.int64]:
    """Return the bucket of each text [n], by its BLAKE2 hash, which is the same in every process."""
    digests = b"".join(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts
    )
    return (np.frombuffer(digests, dtype="<u8") % BUCKETS).astype(np.int64)


def _put(state: State, counts: Mapping[str, int]) -> None:
    texts = np.empty(len(counts), dtype=object)
    texts[:] = [*counts]
    state[_TEXTS], state[_COUNTS] = texts, np.array([*counts.values()], dtype=np.int64)
