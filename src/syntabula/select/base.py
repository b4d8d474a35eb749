"""The interface that every selector implements: it decides which marginals to measure."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Protocol

from syntabula._planning import PlannedStep, Progress
from syntabula.marginals.domain import Domain
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator


class Selector(Protocol):
    """Decides which marginals to measure, and with what part of the budget; plug-ins inherit from this class.

    It is a frozen dataclass: its public fields are its options, which it checks when it is made.

    Attributes:
        key: Its lower-case name, by which statements and commands know it.
        adaptive: Whether it measures again where the model is wrong, until the budget is spent.
    """

    key: ClassVar[str]
    adaptive: ClassVar[bool] = False

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say what each step will cost for a domain, without data.

        Args:
            domain: The columns, and how many codes each has.

        Returns:
            The steps in order. Their shares add up to 1 at most: they are parts of what the selector is given.
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
            curator: Answers with noise; its `domain` is the one that was planned for.
            model: To be fitted, with its options and no domain: `model.over(curator.domain).fit(measurements)`.
            share: Most that may be spent, as a part of the whole budget; a planned step of half the selector's budget
                costs `share / 2`. The ledger refuses what is beyond the whole budget, not what is beyond the share.
            progress: Called with the name of a step and the part that is done, 0 .. 1.

        Returns:
            The fitted model.
        """
        ...
