"""The interface that metrics implement, and the info about a metric before it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

import numpy as np

from syntabula._arguments import one_of
from syntabula._entries import Entry, Kind
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Direction, Score

Group = Literal["rows", "fidelity", "queries", "utility", "privacy"]
Need = Literal["target", "holdout", "rules"]

_SAID = ("group", "direction", "best", "needs", "quick", "baselines")
"""Class attributes in which a metric's class may describe it."""


class Metric(Protocol):
    """A pure function of tables; its options are the fields of a frozen dataclass.

    A class that is registered, or named by an entry point, describes its metric by class attributes: `group` and
    `direction`, and if they differ from the defaults `best`, `needs`, `quick` and `baselines`, as in `MetricInfo`. If
    one class implements several metrics, entry points may name a `MetricInfo` object for each.
    """

    @property
    def key(self) -> str:
        """Its name, including options that change its meaning."""

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table against the real one.

        Args:
            tables: Real and synthetic table with a common coding; must not be changed.
            rng: Source of subsamples, splits and queries; the same state gives the same score.

        Returns:
            The score. If the tables lack what the metric needs, such as a numeric column, the value is NaN
            and the note says why.
        """


@dataclass(frozen=True, kw_only=True)
class MetricInfo(Entry):
    """A metric that `evaluate` knows by its key.

    Attributes:
        group: What it measures.
        direction: Whether lower or higher is better.
        best: Its value for a perfect table; None if that depends on the data.
        options: Arguments of the class.
        needs: Arguments of `evaluate` that it needs; "rules" is a schema with rules.
        quick: Whether it is computed by default.
        baselines: Whether HALF, HISTOGRAM and SELF are computed for it; they cost as much as the value itself.
    """

    kind: Kind = "metric"
    group: Group
    direction: Direction
    best: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    needs: tuple[Need, ...] = ()
    quick: bool = True
    baselines: bool = True

    def __post_init__(self) -> None:
        one_of(*get_args(Group))("group", self.group)
        one_of(*get_args(Direction))("direction", self.direction)

    def make(self) -> Metric:
        """Return the metric."""
        metric: Metric = self.load()(**self.options)
        return metric


@dataclass(frozen=True, kw_only=True)
class MetricOfClass(MetricInfo):
    """A metric described by attributes of its class.

    Attributes:
        part: The class.
    """

    part: type[Any] = field(repr=False)

    @classmethod
    def of(cls, entry: Entry, part: type[Any]) -> MetricOfClass:
        """Return the info from a class's attributes.

        Raises:
            ArgumentError: If the group or direction is unknown.
        """
        known = {name: getattr(part, name) for name in _SAID if hasattr(part, name)}
        summary = (part.__doc__ or entry.summary).strip().splitlines()[0].removesuffix(".")
        try:
            return cls(key=entry.key, home=entry.home, name=entry.name, summary=summary, part=part, **known)
        except ArgumentError as error:
            raise ArgumentError(f"the metric {entry.key!r} ({entry.home}): {error}") from None

    def load(self) -> Any:
        """Return the class."""
        return self.part
