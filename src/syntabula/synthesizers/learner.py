"""The interface that every learner implements: the only part that differs between families of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol, runtime_checkable

from syntabula._planning import PlannedStep, Progress
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import BoolArray, Model
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


@runtime_checkable
class RestrictedLearner(Learner, Protocol):
    """Can also be told which combinations of codes are possible, and then learns no other."""

    def with_possible(self, cells: Mapping[Clique, BoolArray]) -> Learner:
        """Return the same learner, that knows which cells of some cliques are possible."""
        ...
