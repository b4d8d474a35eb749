"""The seams: what an attack looks at, and what can be attacked."""

from __future__ import annotations

from typing import Protocol

from syntabula.attacks.knowledge import Knowledge
from syntabula.metrics.comparison import Floats, View
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema.schema import Schema


class Attack(Protocol):
    """Makes a synthetic table into numbers that may tell whether the target was in the original."""

    @property
    def key(self) -> str:
        """Its lower-case name."""
        ...

    @property
    def learns(self) -> bool:
        """Whether a classifier is trained on the numbers; else there is one, larger where the target was in."""
        ...

    def features(self, synthetic: View, knowledge: Knowledge) -> Floats:
        """Return the numbers [features], as many for every synthetic table.

        Raises:
            ArgumentError: If the attack cannot be mounted on the target.
        """
        ...


class Fitted(Protocol):
    """What can be sampled."""

    def sample_columns(self, n: int, *, seed: int) -> dict[str, RawColumn]:
        """Draw n rows."""
        ...


class Synthesizer(Protocol):
    """What can be attacked: anything that learns a table, with privacy or without."""

    def fit(self, source: RawTable, schema: Schema | None = None) -> Fitted:
        """Learn a table."""
        ...
