"""The ledger: refuses every spend that the budget does not cover; for the others it gives a token for one draw."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from syntabula.errors import ArgumentError, BudgetError, BudgetExceededError, ResumeError
from syntabula.privacy.budget import Budget
from syntabula.privacy.conversion import epsilon_from_mu, float_above, root_above
from syntabula.privacy.events import Event
from syntabula.privacy.rules import RULES, cost_of, failure_of, mu_squared_together
from syntabula.privacy.units import RECORD, Unit

if TYPE_CHECKING:
    from syntabula.privacy.journal import Checkpoint, JournalRecord, MemoryJournal, NoisyArray

REMEDY = (
    "nothing was drawn. Resume with the method, options, schema, budget and version of that run; or start without "
    "resume, with the rest of the budget"
)
_USED_UP = (
    "the spends in the journal already use (nearly) the whole budget, and they count; nothing was drawn. Resume the run "
    "that the journal holds, with its own budget and options; raise the budget to pay for both runs; or name a new "
    "journal for another table"
)


@dataclass(frozen=True)
class LedgerEntry:
    """One spend.

    Attributes:
        step: Name of the step that spent.
        event: What was drawn.
        cost: Exact cost in the budget's currency; 0 without privacy, where nothing is counted.
    """

    step: str
    event: Event
    cost: Fraction


@dataclass(eq=False, repr=False, slots=True)
class Token:
    """The right to one draw of one event; only a ledger creates it, and it cannot be copied or pickled.

    Attributes:
        step: Name of the step that spent.
        event: What may be drawn.
        number: Number of the spend in the journal, or in the ledger without one, counted from 0.
        outcome: An earlier run's answer for this spend; the token then pays for no draw.
        checkpoint: An earlier run's state of this training; the token then pays for the remaining steps.
    """

    step: str
    event: Event
    number: int
    outcome: NoisyArray | None = None
    checkpoint: Checkpoint | None = None
    _used: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def consume(self) -> Event:
        """Use up the token, just before the draw, and return the event that was paid for.

        Raises:
            BudgetError: If the token was used before, or it holds an earlier run's answer.
        """
        if self.outcome is not None:
            raise BudgetError(
                f"the spend of step {self.step!r} already has an answer; each spend pays for one draw"
            )
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


class Replay:
    """The spends of an interrupted run, to be requested again in their order.

    Args:
        records: The journal's records of that run.
    """

    def __init__(self, records: Sequence[JournalRecord] = ()) -> None:
        self._records = tuple(records)
        self._next = 0

    @property
    def left(self) -> int:
        """Number of spends that were not requested again so far."""
        return len(self._records) - self._next

    @property
    def answered(self) -> int:
        """Number of recorded answers that were returned so far."""
        return sum(record.is_answered for record in self._records[: self._next])

    @property
    def next_event(self) -> Event | None:
        """Event of the spend to be requested next; None if all were taken."""
        return self._records[self._next].event if self.left else None

    def require_all_taken(self) -> None:
        """Refuse a release that leaves out spends of the resumed run, which its total would not include.

        Raises:
            ResumeError: If some spends were not requested again.
        """
        if self.left:
            raise ResumeError(
                f"the journal belongs to another run: {self.left} of its spends were not requested again; {REMEDY}"
            )

    def take(self, event: Event, step: str, query: str | None) -> JournalRecord | None:
        """Return the next recorded spend, which must match this one; None if all were taken.

        Raises:
            ResumeError: If it is another spend, which is then not taken.
        """
        if not self.left:
            return None
        record = self._records[self._next]
        if (record.step, record.event, record.query) != (step, event, query):
            differs = "another query" if (record.step, record.event) == (step, event) else "another draw"
            raise ResumeError(
                f"the journal belongs to another run: its spend {self._next + 1} is for step {record.step!r}, and "
                f"this run asks for {differs} in step {step!r}; {REMEDY}"
            )
        self._next += 1
        return record


class Ledger:
    """Counts spends against a budget, exactly, by additive composition, which also holds adaptively.

    Composition of zCDP and of pure privacy is additive even if later events are chosen after seeing earlier
    answers, as long as the sum stays below a fixed total (Rogers, Roth, Ullman and Vadhan 2016;
    Feldman and Zrnic 2021; Whitehouse et al. 2023 for zCDP; Smith and Thakurta 2022 for Gaussian privacy, and
    `privacy.gdp` for what a choice costs there, which depends on what is left).

    Args:
        budget: The allowed total.
        journal: Receives spends before their draw. Spends that it already holds are counted first.
        replay_from: Number of this run's first spend in the journal, if it was interrupted: from there on, spends are
            answered from the journal, in order. None if it made none.
        unit: Whom the budget protects; a single record by default.

    Raises:
        BudgetExceededError: If the journal already holds more than the budget allows.
    """

    def __init__(
        self,
        budget: Budget,
        journal: MemoryJournal | None = None,
        *,
        replay_from: int | None = None,
        unit: Unit = RECORD,
    ) -> None:
        if not isinstance(budget, Budget):
            raise ArgumentError(f"budget is a {type(budget).__name__}; it must be a Budget")
        self._budget = budget
        self._unit = unit
        self._journal = journal
        self._lock = threading.Lock()
        self._entries: list[LedgerEntry] = []
        self._spent = Fraction(0)
        self._failure_spent = Fraction(0)
        self._unwritten: set[int] = set()
        records = journal.records if journal else ()
        earlier = records[:replay_from]
        self._replay = Replay(records[len(earlier) :])
        try:
            for record in earlier:
                self._add(self._priced(record.event, record.step))
        except BudgetExceededError:
            # Which of the earlier steps went beyond it says nothing of this run.
            raise BudgetExceededError(_USED_UP) from None
        self._inherited = self._spent
        self._inherited_failure = self._failure_spent

    @property
    def budget(self) -> Budget:
        """The allowed total."""
        return self._budget

    @property
    def unit(self) -> Unit:
        """Whom the budget protects: neighbouring tables differ by one of these."""
        return self._unit

    def spend(self, event: Event, *, step: str, query: str | None = None) -> Token:
        """Charge one event before it is drawn.

        Args:
            event: The draw to pay for.
            step: Name of the step, for the privacy statement.
            query: Fingerprint of the query (`privacy.resume.fingerprint`), to recognise its recorded answer.

        Returns:
            A token for one draw. With a journal, the spend is on disk by then. If the journal already holds the spend,
            nothing is written, and the token carries the recorded answer, if any.

        Raises:
            ArgumentError: If the event or the step is of the wrong type.
            BudgetError: If the event has no cost in the budget's currency.
            BudgetExceededError: If the budget does not cover the cost; nothing was changed.
            ResumeError: If the journal holds another spend here; nothing was changed.
        """
        if type(event) not in RULES:
            raise ArgumentError(
                f"event is a {type(event).__name__}; it must be an event of syntabula.privacy.events"
            )
        if not isinstance(step, str) or not step:
            raise ArgumentError("step must be text that names the step")
        with self._lock:
            recorded = self._replay.take(event, step, query)
            self._add(self._priced(event, step))
            number = len(self._entries) - 1
            if recorded is not None:
                return Token(step, event, number, recorded.outcome, recorded.checkpoint)
            if self._journal is not None:
                # Counted first: even if the write fails, its line may be on disk.
                number = self._journal.record_spend(step, event, query)
            return Token(step, event, number)

    def record_outcome(self, token: Token, values: NoisyArray, *, longest: int | None = None) -> None:
        """Write a noisy answer to the journal, if there is one, before it is returned; see its `record_outcome`."""
        if self._journal is not None:
            self._journal.record_outcome(token.number, values, longest=longest)

    def record_checkpoint(self, token: Token, checkpoint: Checkpoint) -> None:
        """Write what a training learned so far into the journal, if there is one."""
        if self._journal is not None:
            self._journal.record_checkpoint(token.number, checkpoint)
        self._unwritten.discard(token.number)

    def note_step(self, token: Token) -> None:
        """Take down that a training made a step, which its journal holds once there is a checkpoint."""
        if self._journal is not None:
            self._unwritten.add(token.number)

    @property
    def replayed(self) -> int:
        """Number of answers that came from the journal of an interrupted run."""
        return self._replay.answered

    @property
    def next_replayed(self) -> Event | None:
        """The event that the resumed run paid for next; None if this run has come as far."""
        return self._replay.next_event

    def require_all_replayed(self) -> None:
        """Refuse a release that leaves out spends of the resumed run; see `Replay.require_all_taken`.

        Raises:
            ResumeError: If spends were left out.
            BudgetError: If a training made steps after its last checkpoint, which a resumed run would draw again.
        """
        self._replay.require_all_taken()
        if self._unwritten:
            raise BudgetError(
                "a training made steps after its last checkpoint, which a resumed run would draw again; write a "
                "checkpoint after the last step"
            )

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All spends, in order."""
        with self._lock:
            return tuple(self._entries)

    @property
    def spent(self) -> Fraction:
        """Exact sum of the costs, in the budget's currency."""
        with self._lock:
            return self._spent

    @property
    def remaining(self) -> Fraction | None:
        """Rest of the budget, exact; None without privacy."""
        return None if self._budget.total is None else self._budget.total - self.spent

    @property
    def allowance(self) -> Fraction | None:
        """The whole budget minus the spends that the journal held at first; None without privacy."""
        return None if self._budget.total is None else self._budget.total - self._inherited

    @property
    def remaining_share(self) -> Fraction:
        """Rest of the budget, as a share of the allowance; 1 without privacy."""
        if self.remaining is None or self.allowance is None:
            return Fraction(1)
        return self.remaining / self.allowance if self.allowance else Fraction(0)

    @property
    def failure_allowance(self) -> Fraction:
        """Allowed sum of failure probabilities: the reserved delta minus what the journal held at first."""
        return self._budget.failure_delta - self._inherited_failure

    @property
    def failure_spent(self) -> Fraction:
        """Exact sum of the failure probabilities of all draws."""
        with self._lock:
            return self._failure_spent

    def require_allowance(self) -> None:
        """Refuse to begin a run if earlier spends of the journal leave almost nothing.

        Raises:
            BudgetExceededError: If less than a hundredth is left, which would only buy noise.
        """
        for whole, left in (
            (self._budget.total, self.allowance),
            (self._budget.failure_delta, self.failure_allowance),
        ):
            if whole and left is not None and left < whole / 100:
                raise BudgetExceededError(_USED_UP)

    @property
    def epsilon_spent(self) -> float:
        """Epsilon of all spends so far at the budget's delta, rounded up, at most the budget's epsilon."""
        if self._budget.currency == "none":
            return math.inf if self.entries else 0.0
        if self._budget.currency == "epsilon":
            return min(float_above(self.spent), self._budget.epsilon)
        delta = self._budget.conversion_delta
        if self._budget.currency == "rho":
            epsilon = self._budget.epsilon_of(self.spent)
        else:
            # Costs depend on the budget that was left at the time, so the events are composed again on their own.
            together = mu_squared_together(entry.event for entry in self.entries)
            epsilon = epsilon_from_mu(root_above(together), delta) if together else 0.0
        # The total provably keeps the budget's epsilon, so rounding up need not exceed it.
        return min(epsilon, self._budget.epsilon)

    def by_step(self) -> list[tuple[str, Fraction, float]]:
        """Sum the costs of each step, in order of first spend.

        Returns:
            Triples of step, exact cost, and share of the total (0 without privacy).
        """
        sums: dict[str, Fraction] = {}
        for entry in self.entries:
            sums[entry.step] = sums.get(entry.step, Fraction(0)) + entry.cost
        total = self._budget.total
        return [(step, cost, float(cost / total) if total else 0.0) for step, cost in sums.items()]

    def _priced(self, event: Event, step: str) -> LedgerEntry:
        """Compute the cost, and refuse it if it does not fit."""
        total = self._budget.total
        cost = cost_of(event, self._budget.currency, (total or Fraction(0)) - self._spent)
        if total is not None and self._spent + cost > total:
            left = f"{_shown(total - self._spent)} of {_shown(total)} remains"
            raise BudgetExceededError(
                f"step {step!r} costs {_shown(cost)} {self._budget.currency}, but {left}; "
                "nothing was drawn or spent. Raise the budget, or measure less"
            )
        if total is not None and self._failure_spent + failure_of(event) > self._budget.failure_delta:
            raise BudgetExceededError(
                f"step {step!r} may fail with probability {float(failure_of(event)):.3g}, but only "
                f"{float(self._budget.failure_delta - self._failure_spent):.3g} of delta is reserved for that; "
                "nothing was drawn or spent"
            )
        return LedgerEntry(step, event, cost)

    def _add(self, entry: LedgerEntry) -> None:
        self._failure_spent += failure_of(entry.event)
        self._entries.append(entry)
        self._spent += entry.cost


def _shown(value: Fraction) -> float:
    """Return a cost as a float for messages."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
