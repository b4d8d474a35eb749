"""Merge the rare categories of large columns under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syntabula._arguments import count, normalise, real, share
from syntabula.marginals.recoding import Recoding, merge_rare
from syntabula.privacy.doors.tables import Curator


@dataclass(frozen=True, kw_only=True)
class RareCategories:
    """Merge categories with few records into one code (Chen et al., tab_bench, Algorithm 1).

    Each of the K large columns is counted with Gaussian noise of variance K / (2 rho_2), where rho_2 is this
    step's share of the budget; a category stays if its noisy count reaches max(theta * noisy total,
    3 standard deviations). The rest becomes one code, which is decoded at random in proportion to the noisy
    counts. Which columns are large is decided from the declared number of categories, not from the data as
    the public code does.

    Attributes:
        share: Part of the whole budget; spent only if there is a large column.
        theta: Least part of the records that a category must hold, 0 .. 1.
        least_categories: A column is large if its declared domain has at least so many codes.
    """

    share: Fraction = Fraction(1, 10)
    theta: float = 0.002
    least_categories: int = 100

    def __post_init__(self) -> None:
        normalise(
            self,
            share=share,
            theta=real("a number of at least 0 and below 1", lambda theta: 0 <= theta < 1),
            least_categories=count(2),
        )

    @property
    def step(self) -> str:
        """What the ledger calls this spend."""
        return "merge rare categories"

    @property
    def most_kept(self) -> int:
        """How many categories can reach theta of the records, when noise is small; no bound if theta is 0."""
        return math.ceil(2 / self.theta) if self.theta else 2**62

    def fit(self, curator: Curator, columns: Sequence[str]) -> Recoding | None:
        """Count the columns noisily and say which codes merge; None if there is no column."""
        if not columns:
            return None
        measured = curator.measure([(c,) for c in columns], share=self.share, step=self.step)
        return merge_rare(measured, domain=curator.domain, theta=self.theta)
