"""Texts of a column in parts are counted exactly while they are few, and by buckets where they are not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from syntabula.marginals.parts import State
from syntabula.marginals.point_folds import BUCKETS
from syntabula.table.parts.labels import LabelFold, label_buckets
from syntabula.table.raw import PhysicalType, RawColumn


def column(texts: list[str | None]) -> RawColumn:
    cells = np.array([text or "" for text in texts], dtype=object)
    return RawColumn(cells, np.array([text is None for text in texts]), PhysicalType("text", "string"))


TEXTS: list[str | None] = [f"täxt {i % 40}" for i in range(300)] + [None, "", "once", "\ud800"]
EVERY = Counter(text for text in TEXTS if text is not None)


def folded(fold: LabelFold, n_parts: int) -> State:
    """Return the sum of the states of two halves of some parts."""
    parts = [column([*part]) for part in np.array_split(np.array(TEXTS, dtype=object), n_parts)]
    states = []
    for half in (parts[::2], parts[1::2]):
        state = fold.start()
        for part in half:
            fold.add(state, part)
        states.append(state)
    fold.merge(*states)
    return states[0]


@pytest.mark.parametrize("n_parts", [2, 3, 9])
class TestLabelFold:
    def test_counts_each_text_in_arrays_of_numbers(self, n_parts: int) -> None:
        fold = LabelFold(most=50)

        state = folded(fold, n_parts)

        assert fold.holds(state)
        assert fold.counts(state) == EVERY
        assert all(array.dtype != object for array in state.values())

    def test_finds_the_texts_that_many_records_share_where_there_are_too_many(self, n_parts: int) -> None:
        fold = LabelFold(most=3)
        state = folded(fold, n_parts)
        assert not fold.holds(state)
        buckets = fold.buckets(state)

        again = LabelFold(None, buckets >= 2)
        found = again.counts(folded(again, n_parts))

        shared = {text: n for text, n in EVERY.items() if n >= 2}
        assert {text: n for text, n in found.items() if n >= 2} == shared
        assert "once" not in found or buckets[label_buckets(["once"])] >= 2

    def test_has_as_many_records_in_buckets_as_there_are(self, n_parts: int) -> None:
        fold = LabelFold(most=3)

        buckets = fold.buckets(folded(fold, n_parts))

        assert buckets.size == BUCKETS
        assert buckets.sum() == sum(text is not None for text in TEXTS)
