"""The interface that every selector implements: it decides which marginals to measure."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Protocol, Self

from syntabula._planning import PlannedStep, Progress
from syntabula.marginals.domain import Domain
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.statement_facts import MethodChoice


class Selector(Protocol):
    """Decides which marginals to measure, and with what share of the budget; plug-ins inherit from this class.

    It is a frozen dataclass: its public fields are its options, which it validates on construction.

    Attributes:
        key: Its lower-case name in statements and commands.
        adaptive: Whether it repeatedly measures where the model is wrong, until the budget is spent.
        chooses: Whether it chooses among methods, and `learn` returns which.
    """

    key: ClassVar[str]
    adaptive: ClassVar[bool] = False
    chooses: ClassVar[bool] = False

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of each step for a domain, without data.

        Args:
            domain: The columns, and how many codes each has.

        Returns:
            The steps in order. Their shares are fractions of the selector's budget and add up to at most 1.
        """
        ...

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure, fit and return the fitted model.

        Args:
            curator: Answers queries with noise; its `domain` is the one passed to `plan`.
            model: The model to fit, with options but no domain: `model.over(curator.domain).fit(measurements)`.
            share: The selector's budget, as a fraction of the whole budget; a planned step of half the selector's
                budget costs `share / 2`. The ledger refuses spends beyond the whole budget, not beyond this share.
            progress: Called with the name of a step and the fraction done, 0 .. 1.

        Returns:
            The fitted model.
        """
        ...

    def learn(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> tuple[MarginalModel, MethodChoice | None]:
        """Like `select`, and also return which method was chosen and why; None if there was no choice."""
        return self.select(curator, model, share=share, progress=progress), None

    def within(self, memory_mb: float) -> Self:
        """Return this selector, or one that chooses no method which may need more memory than this."""
        del memory_mb
        return self
