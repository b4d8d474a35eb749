"""Options of how raw columns become codes: which discretiser, which rare categories merge, and what it may cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from syntabula._arguments import Rule, count, normalise, one_of, real, share
from syntabula._register import entries, load
from syntabula.marginals.recoding import Recoding, merge_rare
from syntabula.prepare.discretizer import FittedDiscretizer
from syntabula.privacy.doors.tables import Curator

EVEN = "uniform"
"""Name of the bins that look at no data."""
BinCount = int | Literal["auto"]


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """What happens to raw columns before anything is learned, and its part of the budget.

    The share is divided equally among the columns that need some (tab_bench; Ganev et al., "The Importance of
    Being Discrete", section 3.5), after a twentieth of it that counts the records where a rule needs their
    number. A column whose domain is not declared spends half on the domain and half on its bins, or all on
    the domain where bins are uniform; before that an eighth on its type, where a text file stores none. If no
    column needs any, nothing is withheld from the model.

    Attributes:
        discretizer: "privtree", best on average in the paper and, at epsilon 1, here (at 10 even bins are:
            benchmarks/results), "quantile" and "kmeans" look at the column privately; "uniform" costs nothing.
            Or the name of a plug-in's, or an object of your own; see `FittedDiscretizer`.
        within: How values lie within a bin: "even", or "normal" for a truncated normal distribution, which
            takes half of what the bins would cost.
        share: Part of the whole budget, if any is needed.
        delta_share: Part of delta that is set aside for finding categories, if any have to be found.

    Raises:
        ArgumentError: If an argument is outside its range.
    """

    discretizer: str | FittedDiscretizer = "privtree"
    within: Literal["even", "normal"] = "even"
    share: Fraction = Fraction(1, 10)
    delta_share: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        if not isinstance(self.discretizer, FittedDiscretizer):
            known = one_of(EVEN, *(e.key for e in entries("discretizer")))
            normalise(self, discretizer=Rule(f"{known.allowed}, or a FittedDiscretizer", known.read))
        normalise(self, within=one_of("even", "normal"), share=share, delta_share=share)

    @property
    def fitted(self) -> FittedDiscretizer | None:
        """The discretiser that looks at the data, or None if bins are uniform."""
        if not isinstance(self.discretizer, str):
            return self.discretizer
        if self.discretizer == EVEN:
            return None
        made: FittedDiscretizer = load("discretizer", self.discretizer)()
        return made

    @property
    def costs_bins(self) -> bool:
        """Whether bins, or values within them, cost budget."""
        return self.fitted is not None or self.within == "normal"


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
