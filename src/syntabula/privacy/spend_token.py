"""The token: what a ledger gives for a spend, and a mechanism takes for one draw."""

from __future__ import annotations

import threading

from syntabula.errors import BudgetError
from syntabula.privacy.events import Event
from syntabula.privacy.spend_records import NoisyArray


class Token:
    """The right to one draw of one event; only a ledger makes it.

    Attributes:
        step: Name of the step that spent.
        event: What may be drawn.
        number: Number of the spend in the journal, or in the ledger without one, counted from 0.
        outcome: What an earlier run was answered for this spend; the token then pays for no draw.
    """

    __slots__ = ("_lock", "_used", "event", "number", "outcome", "step")

    def __init__(self, step: str, event: Event, number: int, outcome: NoisyArray | None = None) -> None:
        self.step = step
        self.event = event
        self.number = number
        self.outcome = outcome
        self._used = False
        self._lock = threading.Lock()

    def consume(self) -> Event:
        """Use the token up, just before the draw.

        Returns:
            The event that was paid for.

        Raises:
            BudgetError: If the token was used before, or an earlier run was answered with it.
        """
        if self.outcome is not None:
            raise BudgetError(f"the spend of step {self.step!r} has an answer; each spend pays for one draw")
        with self._lock:
            if self._used:
                raise BudgetError(
                    f"the token of step {self.step!r} was used before; each spend pays for one draw"
                )
            self._used = True
        return self.event

    def __reduce__(self) -> str:
        # A copy would pay for a second draw.
        raise TypeError("a token cannot be copied or pickled")
