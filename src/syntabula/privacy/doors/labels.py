"""Private queries to one raw column of labels with unknown categories."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from syntabula.privacy.events import ExactEvent, ThresholdEvent
from syntabula.privacy.journal import NoisyArray
from syntabula.privacy.ledger import Ledger, Token
from syntabula.privacy.mechanisms import Sensitive, frequent, noisy_counts
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.pricing import bought
from syntabula.privacy.resume import answer

CellText = str | None
"""The text of a cell, which is its label; None if the cell is missing."""

LONGEST = 4 * 2**20
"""Largest size in bytes of released labels and their counts as JSON: a journal must have room for them."""


class LabelCurator:
    """Holds the count of each label of one sensitive column; releases the frequent labels.

    A record has one label; None, for a missing cell, counts as a label. Work grows with the number of distinct
    labels.

    Args:
        counts: Exact number of records of each label that occurs.
        ledger: Pays before the draw.
        noise: Draws the noise.
    """

    def __init__(self, counts: Mapping[CellText, int], ledger: Ledger, noise: NoiseSource) -> None:
        self._counts = Sensitive(dict(counts))
        self._ledger = ledger
        self._source = noise

    def frequent(
        self, *, share: Fraction | float, delta: Fraction | float, step: str, least: int = 1
    ) -> dict[CellText, int]:
        """Release the labels whose noisy count reaches a threshold, with their noisy counts.

        Arguments, errors and guarantee are those of `ColumnCurator.frequent`. Without privacy labels of one record are
        released too, as nothing but "other" could stand for them.

        Returns:
            Noisy count of each released label, labels in alphabetical order, None last. If they exceed LONGEST bytes,
            those with the smallest noisy counts are left out, which is post-processing.
        """
        event = bought(self._ledger, share, ThresholdEvent, what="categories", failure=delta)
        longest = LONGEST if self.is_private else None

        def draw(token: Token) -> NoisyArray:
            counts = self._counts.reveal_inside_privacy()
            present = [label for label, count in counts.items() if count >= least]
            present.sort(key=lambda label: (label is None, str(label)))
            exact = Sensitive(np.array([counts[x] for x in present], dtype=np.int64))
            if self.is_private:
                kept, noisy = frequent(token, self._source, exact, least=least)
            else:
                kept, noisy = np.arange(len(present)), noisy_counts(token, self._source, exact)
            # Labels, not their positions among those that occur, which would reveal how many occur.
            released = [(present[i], n) for i, n in zip(kept.tolist(), noisy.tolist(), strict=True)]
            return _as_bytes(released if longest is None else _that_fit(released, longest))

        text = answer(
            self._ledger,
            self._source,
            event,
            step=step,
            query=[least],
            draw=draw,
            longest=longest,
            is_readable=_is_readable,
        )
        return dict(_from_bytes(text))

    @property
    def is_private(self) -> bool:
        """Whether there is a budget, so that answers are noisy."""
        return self._ledger.budget.currency != "none"

    def told(self, of: Callable[[Mapping[CellText, int]], Any], *, what: str, step: str) -> Any:
        """Return what a function tells of the exact counts of all labels; only where privacy is switched off.

        Args:
            of: Given the number of records of each label, returns what JSON can hold.
            what: What it tells, for the ledger.
            step: Name of this answer in the ledger.

        Raises:
            BudgetError: If there is a budget, as no noise protects what this returns.
        """

        def draw(token: Token) -> NoisyArray:
            token.consume()
            found = of(self._counts.reveal_inside_privacy())
            return np.frombuffer(json.dumps(found).encode("ascii"), dtype=np.uint8)

        text = answer(
            self._ledger, self._source, ExactEvent(what), step=step, query=[], draw=draw, longest=LONGEST
        )
        return json.loads(text.tobytes())

    def __repr__(self) -> str:
        return "LabelCurator()"


def _as_bytes(released: list[tuple[CellText, int]]) -> NoisyArray:
    """Return released labels and counts as numbers that a journal can hold: bytes of JSON."""
    return np.frombuffer(json.dumps(released).encode("ascii"), dtype=np.uint8)


def _from_bytes(text: NoisyArray) -> list[tuple[CellText, int]]:
    return [(label, count) for label, count in json.loads(text.tobytes())]


def _is_readable(text: NoisyArray) -> bool:
    try:
        released = _from_bytes(text)
    except (ValueError, TypeError, RecursionError):
        return False
    return all(isinstance(x, str | None) and type(n) is int for x, n in released)


def _that_fit(released: list[tuple[CellText, int]], longest: int) -> list[tuple[CellText, int]]:
    """Return what fits into this many bytes: missing cells, then labels by descending noisy count."""
    order = sorted(range(len(released)), key=lambda i: (released[i][0] is not None, -released[i][1]))
    lengths = [len(json.dumps(released[i])) + len(", ") for i in order]
    ends = itertools.accumulate(lengths)
    kept = {i for i, end in zip(order, ends, strict=True) if len("[]") + end <= longest}
    return [pair for i, pair in enumerate(released) if i in kept]
