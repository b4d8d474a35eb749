"""How a budget is spread over rounds of choosing and measuring: what all adaptive strategies share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

HALF_NORMAL = math.sqrt(2 / math.pi)
"""Mean absolute value of standard normal noise: what one cell's noise adds to an L1 distance."""

_NO_LIMIT = 1_000_000


class Rounds:
    """Rounds of a choice and a measurement until a share of the budget is spent, and no more.

    A rest that does not pay for a round and another one goes into that round.

    Args:
        share: Part of the whole budget for everything.
        used: Part of it that was spent before the first round.
        round_share: What a first round costs.
        measure_share: Part of a round that goes to the measurement; the rest pays for the choice.
        max_rounds: At most so many rounds, the last of which spends all that is left.
    """

    def __init__(
        self,
        *,
        share: Fraction,
        used: Fraction,
        round_share: Fraction,
        measure_share: Fraction | float,
        max_rounds: int | None = None,
    ) -> None:
        self._share = share
        self._used = used
        self._round = round_share
        self._part = Fraction(measure_share)
        self._max_rounds = max_rounds or _NO_LIMIT

    @property
    def done(self) -> float:
        """Part of the share that is spent, the present round included."""
        return float(self._used / self._share)

    def __iter__(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield what the measurement and the choice of each round may cost."""
        for number in range(1, self._max_rounds + 1):
            left = self._share - self._used
            if not left:
                return
            if left < 2 * self._round or number == self._max_rounds:
                self._round = left
            self._used += self._round
            yield self._part * self._round, (1 - self._part) * self._round

    def grow(self, factor: int) -> None:
        """Make later rounds cost so many times more."""
        self._round *= factor
