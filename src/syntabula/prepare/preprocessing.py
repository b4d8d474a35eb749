"""Options of preprocessing: the discretizer, the merging of rare categories, and their shares of the budget."""

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
"""Name of the bins that do not depend on data."""
BinCount = int | Literal["auto"]
TYPE_SHARE = Fraction(1, 8)
"""Fraction of a column's preprocessing budget that finds its type, if none is stored."""


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """How raw columns are prepared before a model is learned, and the share of the budget for it.

    The share is divided equally among the columns that need it (tab_bench; Ganev et al., "The Importance of Being
    Discrete", section 3.5). If a rule needs the number of records, a twentieth of the share counts them first. A
    column with an undeclared domain spends half on the domain and half on its bins, or all on the domain if bins are
    uniform; before that it spends an eighth on its type, if it comes from a text file, which stores none. If no
    column needs any, the model gets the whole budget.

    Attributes:
        discretizer: "privtree" (best on average in the paper and, at epsilon 1, in benchmarks/results; at epsilon 10
            uniform bins are), "quantile" and "kmeans" depend privately on the column; "uniform" costs nothing. "fine"
            takes the values as they are where privacy is off, and is "privtree" under a budget. Or the name of a
            plug-in's discretizer, or your own object; see `FittedDiscretizer`.
        within: How values lie within a bin: "joined", so that the density goes over into that of the bins beside it, or
            "even", or "normal" for a truncated normal distribution, which takes half of the budget for the bins.
        share: Fraction of the whole budget, if any is needed.
        delta_share: Fraction of delta reserved for finding categories, if any must be found.

    Raises:
        ArgumentError: If an argument is outside its range.
    """

    discretizer: str | FittedDiscretizer = "privtree"
    within: Literal["joined", "even", "normal"] = "joined"
    share: Fraction = Fraction(1, 10)
    delta_share: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        if not isinstance(self.discretizer, FittedDiscretizer):
            known = one_of(EVEN, *(e.key for e in entries("discretizer")))
            normalise(self, discretizer=Rule(f"{known.allowed}, or a FittedDiscretizer", known.read))
        normalise(self, within=one_of("joined", "even", "normal"), share=share, delta_share=share)

    @property
    def fitted(self) -> FittedDiscretizer | None:
        """The discretizer that depends on the data, or None if bins are uniform."""
        if not isinstance(self.discretizer, str):
            return self.discretizer
        if self.discretizer == EVEN:
            return None
        made: FittedDiscretizer = load("discretizer", self.discretizer)()
        return made

    @property
    def fits_bins(self) -> bool:
        """Whether bins, or the distribution within them, depend on the column."""
        return self.fitted is not None or self.within == "normal"

    def joins_bins(self, *, exact: bool) -> bool:
        """Return whether densities of bins are joined; bins of exact values as they are need no more."""
        return self.within == "joined" and not (exact and self.discretizer == "fine")

    def divided(self, share: Fraction) -> tuple[Fraction, Fraction]:
        """Return what a column's share pays: for its bins, and for the distribution within them."""
        free = self.fitted is None or self.fitted.is_free
        spread = share if free else share / 2
        if self.within != "normal":
            spread = Fraction(0)
        return Fraction(0) if free else share - spread, spread


@dataclass(frozen=True, kw_only=True)
class RareCategories:
    """Merge categories with few records into one code (Chen et al., tab_bench, Algorithm 1).

    Each of the K large columns is counted with Gaussian noise of variance K / (2 rho_2), where rho_2 is this
    step's share of the budget. A category is kept if its noisy count reaches max(theta * noisy total,
    3 standard deviations). The others become one code, which is decoded at random in proportion to the noisy
    counts. Whether a column is large depends on its declared number of categories, not on the data as in the
    public code.

    Attributes:
        share: Fraction of the whole budget; spent only if there is a large column.
        theta: Smallest fraction of the records that a kept category holds, 0 .. 1.
        least_categories: A column is large if its declared domain has at least this many codes.
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
        """Name of this spend in the ledger."""
        return "merge rare categories"

    @property
    def most_kept(self) -> int:
        """How many categories can reach theta of the records if noise is small; no bound if theta is 0."""
        return math.ceil(2 / self.theta) if self.theta else 2**62

    def fit(self, curator: Curator, columns: Sequence[str]) -> Recoding | None:
        """Count the columns noisily and return which codes merge; None if there is no column."""
        if not columns:
            return None
        measured = curator.measure([(c,) for c in columns], share=self.share, step=self.step)
        return merge_rare(measured, domain=curator.domain, theta=self.theta)


def type_step(name: str) -> str:
    """Return the ledger's name for the search for a column's type."""
    return f"find the type of {name!r}"
