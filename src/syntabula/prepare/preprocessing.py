"""Options of how raw columns become codes: which discretiser, and what all of it may cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from syntabula._arguments import Rule, normalise, one_of, share
from syntabula._register import entries, load
from syntabula.prepare.discretizer import FittedDiscretizer

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
            benchmarks/results), "quantile" and "kmeans" look at the column privately; "uniform" costs nothing. "fine"
            takes the values as they are, and is "privtree" under a budget.
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
