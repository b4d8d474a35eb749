"""What learns a table: the only part of a method that differs from one family to the next."""

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
    """Learns an encoded table through the doors that it is given."""

    @property
    def name(self) -> str:
        """What a statement calls it where its method has no name of its own."""
        ...

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost, from the domain and a public or guessed number of rows.

        Shares are parts of what the learner is given.
        """
        ...

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Learn the table and return the model, and which method was chosen where that was left open.

        Args:
            doors: Answer for the table.
            share: Part of the whole budget that all answers together may cost.
            progress: Told what is done.
        """
        ...
