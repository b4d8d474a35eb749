"""Counts the texts of a column of a table in parts, or the frequent ones where there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.parts import HELD_VALUES, Fold, State
from syntabula.marginals.point_folds import BUCKETS
from syntabula.table.raw import RawColumn, RepeatedTexts

_TEXTS, _LENGTHS, _COUNTS, _BUCKETS = "texts", "lengths", "counts", "buckets"
_LONGEST = 64
"""The run of texts that were joined because they were many."""


TextShape = Callable[[str], str | None]
"""What is counted in the place of a text; None if it does not count. It can be pickled."""


@dataclass(frozen=True, eq=False)
class LabelFold(Fold[RawColumn]):
    """Counts the records of each text while there are few, and otherwise of each bucket of texts by hash.

    Attributes:
        most: Largest number of texts that are held; None for no limit.
        among: Which buckets count [BUCKETS]; None for all.
        shape: What counts in the place of each text; None for the text itself.
    """

    most: int | None = HELD_VALUES
    among: NDArray[np.bool_] | None = None
    shape: TextShape | None = None

    def start(self) -> State:
        """Return the state of no records."""
        return {}

    def add(self, state: State, part: RawColumn) -> None:
        """Add the records of a part."""
        texts = texts_of(part)
        self._add(state, texts if self.shape is None else shaped(texts, self.shape))

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        if self.holds(other):
            self._add(state, self.counts(other))
            return
        self._let_go(state)
        state[_BUCKETS] += other[_BUCKETS]

    def holds(self, state: State) -> bool:
        """Return whether a state holds the texts."""
        return _BUCKETS not in state

    def counts(self, state: State) -> Counter[str]:
        """Return the number of records of each text that a state holds."""
        every: Counter[str] = Counter()
        for run in _runs(state):
            every.update(_run(state, run))
        return every

    def buckets(self, state: State) -> NDArray[np.int64]:
        """Return the number of records of each bucket [BUCKETS], where texts are not held."""
        found: NDArray[np.int64] = state[_BUCKETS]
        return found

    def _add(self, state: State, counts: Mapping[str, int]) -> None:
        if self.among is not None and counts:
            kept = self.among[label_buckets([*counts])].tolist()
            counts = {text: n for (text, n), keep in zip(counts.items(), kept, strict=True) if keep}
        if not counts:
            return
        if not self.holds(state):
            np.add.at(state[_BUCKETS], label_buckets([*counts]), [*counts.values()])
            return
        # Run k holds the texts of 2^k batches, so that a text is moved a few times only.
        every, run = Counter(counts), 0
        while f"{run} {_COUNTS}" in state:
            every.update(_run(state, run))
            _put(state, run, {})
            run += 1
        _put(state, run, every)
        held = sum(state[f"{run} {_COUNTS}"].size for run in _runs(state))
        if self.most is not None and held > 2 * self.most:
            whole = self.counts(state)
            state.clear()
            _put(state, _LONGEST, whole)
            if len(whole) > self.most:
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


def shaped(counts: Mapping[str, int], shape: TextShape) -> Counter[str]:
    """Return the number of records of each shape from that of each text."""
    every: Counter[str] = Counter()
    for text, number in counts.items():
        if (found := shape(text)) is not None:
            every[found] += number
    return every


def label_buckets(texts: list[str]) -> NDArray[np.int64]:
    """Return the bucket of each text [n], by its hash."""
    return (_hashes(texts) % BUCKETS).astype(np.int64)


def text_hashes(raw: RawColumn) -> NDArray[np.uint64]:
    """Return the hash of each different text of a part of a column."""
    return _hashes([*texts_of(raw)])


def _hashes(texts: list[str]) -> NDArray[np.uint64]:
    """Return 64 bits of the BLAKE2 hash of each text [n], which is the same in every process."""
    digests = b"".join(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts
    )
    return np.frombuffer(digests, dtype="<u8")


def _put(state: State, run: int, counts: Mapping[str, int]) -> None:
    """Hold texts as their bytes and lengths, since states are arrays of numbers; none to hold no such run."""
    names = [f"{run} {part}" for part in (_TEXTS, _LENGTHS, _COUNTS)]
    if not counts:
        for name in names:
            del state[name]
        return
    written = [text.encode("utf-8", "surrogatepass") for text in counts]
    arrays = (
        np.frombuffer(b"".join(written), dtype=np.uint8),
        np.array([len(text) for text in written], dtype=np.int64),
        np.array([*counts.values()], dtype=np.int64),
    )
    state.update(zip(names, arrays, strict=True))


def _run(state: State, run: int) -> dict[str, int]:
    written = state[f"{run} {_TEXTS}"].tobytes()
    ends = np.cumsum(state[f"{run} {_LENGTHS}"]).tolist()
    texts = (
        written[begin:end].decode("utf-8", "surrogatepass")
        for begin, end in zip([0, *ends], ends, strict=False)
    )
    return dict(zip(texts, state[f"{run} {_COUNTS}"].tolist(), strict=True))


def _runs(state: State) -> list[int]:
    return [int(name.split()[0]) for name in state if name.endswith(_COUNTS)]
