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

    Attributes:
        key: Its lower-case name, by which statements and commands know it.
        adaptive: Whether it measures again where the model is wrong, until the budget is spent.
    """

    key: ClassVar[str]
    adaptive: ClassVar[bool] = False

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say what each step will cost for a domain, without data."""
        ...

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Measure, fit and return the fitted model, spending at most `share` of the whole budget."""
        ...
