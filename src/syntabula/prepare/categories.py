"""Categories of an open set under differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syntabula.privacy.doors.labels import LabelCurator


@dataclass(frozen=True)
class FoundCategories:
    """Released categories of a column.

    Attributes:
        labels: Categories in alphabetical order; none if every one is rare.
        has_missing: Whether missing values are frequent.
    """

    labels: tuple[str, ...]
    has_missing: bool


def extract_categories(
    column: LabelCurator, *, share: Fraction, delta: Fraction, step: str
) -> FoundCategories:
    """Find the categories that enough records share.

    Partition selection: each label that occurs is counted with Gaussian noise and released if its noisy count
    reaches 1 + sigma sqrt(2 ln(1 / delta)). Rarer labels are gathered in one category "other", which is always
    there, whether needed or not. None of the papers has a method for categories; this one is standard
    (Korolova, Kenthapadi, Mishra and Ntoulas, 2009; Desfontaines, Voss, Gipson and Mandayam, 2022).

    Args:
        column: The labels.
        share: Part of the whole budget, which must have a delta.
        delta: Probability, at most, with which a label of a single record comes out.
        step: What the ledger calls this spend.

    Returns:
        The categories.
    """
    found = column.frequent(share=share, delta=delta, step=step)
    return FoundCategories(tuple(x for x in found if x is not None), None in found)
