"""The door to one raw column of labels whose categories are not known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from syntabula.privacy.ledger import Ledger
from syntabula.privacy.mechanisms import frequent
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.pricing import threshold_event
from syntabula.privacy.run import answer
from syntabula.privacy.sensitive import Sensitive
from syntabula.privacy.spend_records import NoisyArray
from syntabula.privacy.spend_token import Token

Label = str | None


class LabelCurator:
    """Holds how often each label of one sensitive column occurs; releases the frequent ones.

    A record has one label, or None where it is missing, which counts as a label. Work grows with the number
    of distinct labels.

    Args:
        counts: Exact number of records of each label that occurs.
        ledger: Pays before the draw.
        noise: Draws the noise.
    """

    def __init__(self, counts: Mapping[Label, int], ledger: Ledger, noise: NoiseSource) -> None:
        self._counts = Sensitive(dict(counts))
        self._ledger = ledger
        self._source = noise

    def frequent(self, *, share: Fraction | float, delta: Fraction | float, step: str) -> dict[Label, int]:
        """Release the labels whose noisy count reaches a threshold, and that count.

        Args:
            share: Part of the whole budget; it must be a budget with a delta.
            delta: Part of the budget's delta: with this probability, at most, a label comes out that a single
                record holds.
            step: What the ledger calls this spend.

        Returns:
            Noisy count of each released label, labels in alphabetical order, None last.

        Raises:
            BudgetExceededError: If too little of delta is set aside (`Budget.with_selection_delta`).
        """
        event = threshold_event(self._ledger, share, delta)

        def draw(token: Token) -> NoisyArray:
            counts = self._counts.reveal_inside_privacy()
            labels = sorted((x for x in counts if x is not None), key=str)
            present: list[Label] = [*labels, *([None] if None in counts else [])]
            exact = Sensitive(np.array([counts[x] for x in present], dtype=np.int64))
            kept, noisy = frequent(token, self._source, exact)
            # Labels, not their positions among those that occur, which would tell how many do.
            return _as_bytes([(present[i], n) for i, n in zip(kept.tolist(), noisy.tolist(), strict=True)])

        return dict(_from_bytes(answer(self._ledger, self._source, event, step=step, draw=draw)))

    def __repr__(self) -> str:
        return "LabelCurator()"


def _as_bytes(released: list[tuple[Label, int]]) -> NoisyArray:
    """Return released labels and counts as numbers that a journal can keep: bytes of JSON."""
    return np.frombuffer(json.dumps(released).encode("ascii"), dtype=np.uint8)


def _from_bytes(text: NoisyArray) -> list[tuple[Label, int]]:
    return [(label, count) for label, count in json.loads(text.tobytes())]
