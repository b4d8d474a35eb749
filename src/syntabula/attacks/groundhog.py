"""GroundHog: attacks by statistics of a synthetic table's columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from syntabula._arguments import names, normalise, refusal
from syntabula.attacks.base import Knowledge
from syntabula.metrics.comparison import Floats, View

Part = Literal["summary", "histogram", "correlation"]


@dataclass(frozen=True, kw_only=True)
class GroundHog:
    """Membership inference from column statistics (Stadler, Oprisanu, Troncoso, "Groundhog Day", 2022).

    A column is summarised as in Ganev et al., "The Importance of Being Discrete": a number by its least,
    largest, mean, median and standard deviation; a category by the number of values that occur, and the most
    and the least frequent one. The original also has counts in bins and correlations as sets of features.

    Attributes:
        parts: Sets of features: "summary", "histogram" (counts in 10 bins over the range of the records, or
            of the categories) and "correlation" (Pearson's, of all pairs of columns, categories by code).
    """

    parts: tuple[Part, ...] = ("summary",)

    key: ClassVar[str] = "groundhog"
    learns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        normalise(self, parts=names)
        if not self.parts or any(part not in get_args(Part) for part in self.parts):
            raise refusal("parts", f"some of {', '.join(get_args(Part))}", ", ".join(self.parts))

    def features(self, synthetic: View, knowledge: Knowledge) -> Floats:
        """Return the statistics [features]."""
        made = {"summary": _summary, "histogram": _histogram, "correlation": _correlation}
        return np.concatenate([made[part](synthetic, knowledge) for part in self.parts])


def _summary(view: View, knowledge: Knowledge) -> Floats:
    found: list[float] = []
    for values in view.numbers.values():
        present = values[~np.isnan(values)]
        # A column without values, which reveals nothing, must still give five numbers.
        present = present if present.size else np.zeros(1)
        found += [present.min(), present.max(), present.mean(), np.median(present), present.std()]
    for name, codes in view.codes.items():
        counts = np.bincount(codes, minlength=knowledge.sizes[name])
        occurring = np.flatnonzero(counts)
        found += [occurring.size, int(counts.argmax()), int(occurring[counts[occurring].argmin()])]
    return np.array(found, np.float64)


def _histogram(view: View, knowledge: Knowledge) -> Floats:
    counts = [
        np.histogram(np.clip(values[~np.isnan(values)], low, high), bins=10, range=(low, high or 1.0))[0]
        if low < high
        else np.full(10, values.size)
        for values, (low, high) in zip(view.numbers.values(), knowledge.bounds.values(), strict=True)
    ]
    counts += [np.bincount(codes, minlength=knowledge.sizes[name]) for name, codes in view.codes.items()]
    return np.concatenate(counts).astype(np.float64)


def _correlation(view: View, knowledge: Knowledge) -> Floats:
    del knowledge
    columns = [np.nan_to_num(values, nan=0.0) for values in view.numbers.values()]
    columns += [codes.astype(np.float64) for codes in view.codes.values()]
    centred = np.array([column - column.mean() for column in columns])
    lengths = np.linalg.norm(centred, axis=1)
    # A constant column has correlation 0.
    unit = centred / np.where(lengths > 0, lengths, 1.0)[:, None]
    correlations: Floats = (unit @ unit.T)[np.triu_indices(len(columns), 1)]
    return correlations
