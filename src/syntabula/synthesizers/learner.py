"""The interface that every learner implements: the only part that differs between families of methods."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from syntabula._planning import PlannedStep, Progress
from syntabula.marginals.domain import Domain
from syntabula.models.base import Model
from syntabula.privacy.doors import Doors
from syntabula.privacy.statement_facts import MethodChoice


class Learner(Protocol):
    """Learns an encoded table through the doors to its records."""

    @property
    def name(self) -> str:
        """Name in the statement if the method has none of its own."""
        ...

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost, from the domain and a public or guessed number of rows.

        Shares are fractions of the learner's own budget.
        """
        ...

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Learn the table and return the model, and the chosen method if the learner chooses one.

        Args:
            doors: Noisy access to the table.
            share: Fraction of the whole budget that all answers together may cost.
            progress: Called with the progress of the fit.
        """
        ...
