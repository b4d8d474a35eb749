"""What a metric is, and what is known of one before it is loaded."""

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

Group = Literal["fidelity", "queries", "utility", "privacy"]
Need = Literal["target", "holdout"]

_SAID = ("group", "direction", "best", "needs", "quick", "baselines")
"""What a class may say of its metric by attributes."""


class Metric(Protocol):
    """A pure function of tables; what can be set in it are the fields of a frozen dataclass.

    A class that is registered, or named by an entry point, says by class attributes what is known of it beforehand:
    `group` and `direction`, and where they differ from the defaults `best`, `needs`, `quick` and `baselines`, as in
    `MetricInfo`. Where one class stands for several metrics, entry points may name an object of `MetricInfo` for each.
    """

    @property
    def key(self) -> str:
        """Its name, options that change its meaning included."""

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table against the real one.

        Args:
            tables: Real and synthetic table in one coding; never changed.
            rng: Source of subsamples, splits and queries; the same state gives the same score.

        Returns:
            The score. Where the tables lack what the metric is about, such as a numeric column, its value is
            NaN and its note says so.
        """


@dataclass(frozen=True, kw_only=True)
class MetricInfo(Entry):
    """A metric that can be named in `evaluate`.

    Attributes:
        group: What it judges.
        direction: Whether lower or higher is better.
        best: Its value for a perfect table; None where that depends on the data.
        options: Arguments of the class.
        needs: What `evaluate` must be given for it.
        quick: Whether it belongs to those that are computed if none is named.
        baselines: Whether its value for HALF, HISTOGRAM and SELF is its scale, computed as cheaply as its own.
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
    """A metric whose class says itself what is known of it.

    Attributes:
        part: The class.
    """

    part: type[Any] = field(repr=False)

    @classmethod
    def of(cls, entry: Entry, part: type[Any]) -> MetricOfClass:
        """Return what a class says.

        Raises:
            ArgumentError: If it says no group or direction, or one that there is not.
        """
        known = {name: getattr(part, name) for name in _SAID if hasattr(part, name)}
        lacking = [name for name in ("group", "direction") if name not in known]
        if lacking:
            raise ArgumentError(
                f"the metric {entry.key!r} ({entry.home}) lacks the class attributes {' and '.join(lacking)}; see "
                "help(syntabula.metrics.Metric)"
            )
        summary = (part.__doc__ or entry.summary).strip().splitlines()[0].removesuffix(".")
        try:
            return cls(key=entry.key, home=entry.home, name=entry.name, summary=summary, part=part, **known)
        except ArgumentError as error:
            raise ArgumentError(f"the metric {entry.key!r} ({entry.home}): {error}") from None

    def load(self) -> Any:
        """Return the class."""
        return self.part
