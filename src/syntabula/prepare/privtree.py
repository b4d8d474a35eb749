"""Bins that are narrow where there are many records: a private tree, and finer ones where privacy is off."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from syntabula._arguments import normalise, one_of
from syntabula.bins.uniform import Bins
from syntabula.prepare.preprocessing import MOST_BINS, FittedDiscretizer, bins_through, rice
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.events import TreeEvent
from syntabula.privacy.mechanisms import Node


@dataclass(frozen=True)
class PrivTreeBins(FittedDiscretizer):
    """Halve the domain where a noisy, depth-corrected count passes a threshold (Zhang, Xiao and Xie, 2016).

    "PrivTree: A Differentially Private Algorithm for Hierarchical Decompositions", Algorithm 2, in one
    dimension with fanout 2: noise of scale 3 / epsilon and a decay of scale * ln 2 per level, at any depth.
    The proof is with the mechanism, `syntabula.privacy.mechanisms.split_tree`; it holds for any threshold of at least 0
    that depends only on public or released numbers.

    The threshold of that paper is 0. Ganev et al., "The Importance of Being Discrete", set it to 1 / b of the records,
    where b is the largest number of leaves. That leaves wide bins in the tails: on the controlled distributions of
    their study, 0 is as good at a budget of 0.1 and better from 1 on. But if noise is small, 0 splits level by level
    until no leaf is left, and a point mass lies deep: at epsilon 5 the zeros of capital-gain, 92 % of adult, came out
    spread over 0 to 97. So the threshold is half of theirs, 1 / (2 b) of the records, if that exceeds the scale of
    the noise, and 0 otherwise. tab_bench's code also uses 0, but multiplies noise and decay by the number of columns
    twice; this code does not.

    Attributes:
        threshold: "adaptive" as above, "zero" as in the original paper, or "fraction" for n / b as in Ganev et al.
    """

    threshold: Literal["adaptive", "zero", "fraction"] = "adaptive"
    key: str = "privtree"

    def __post_init__(self) -> None:
        normalise(self, threshold=one_of("adaptive", "zero", "fraction"))

    @property
    def needs_count(self) -> bool:
        """Whether the threshold depends on the number of records."""
        return self.threshold != "zero"

    def fit(
        self,
        column: ColumnCurator,
        lower: float,
        upper: float,
        *,
        count: int,
        n_estimated: float,
        share: Fraction,
        step: str,
    ) -> Bins:
        """Return the bins; see `FittedDiscretizer.fit`."""
        root = Node(int(lower), int(upper) + 1) if column.integer else Node(float(lower), float(upper))
        theta = self._theta(max(n_estimated, 0.0) / count, TreeEvent.sensitivity / column.pure_epsilon(share))
        leaves = column.tree(root, threshold=theta, most_leaves=count, share=share, step=step)
        return bins_through([leaf.low for leaf in leaves], lower, upper, integer=column.integer)

    def _theta(self, records_per_leaf: float, noise_scale: float) -> float:
        match self.threshold:
            case "zero":
                return 0.0
            case "fraction":
                return records_per_leaf
        return records_per_leaf / 2 if records_per_leaf / 2 > noise_scale else 0.0


FINE_BINS = 1000
"""Most codes of a column under `bins="auto"`: some 250 parts of the records, and the frequent values between them."""

_LEAST = 6


@dataclass(frozen=True)
class FineBins(FittedDiscretizer):
    """Exact values where they are few or frequent, and between them bins of equal counts; for models of records.

    That reads the values as they are, so it is done without privacy only: with a finite budget, or for fewer than six
    bins, the column gets the bins of PrivTree, as many as the budget suggests.
    """

    key: str = "fine"
    needs_count: bool = True
    sees_values: ClassVar[bool] = True
    """Whether frequent values need no search of their own, where privacy is off."""

    def auto_count(self, budget: Budget, n_rows: float) -> int:
        """Return 1,000 where privacy is switched off, and else the usual number."""
        return FINE_BINS if budget.currency == "none" else super().auto_count(budget, n_rows)

    def fit(
        self,
        column: ColumnCurator,
        lower: float,
        upper: float,
        *,
        count: int,
        n_estimated: float,
        share: Fraction,
        step: str,
    ) -> Bins:
        """Return the bins; see `FittedDiscretizer.fit`."""
        if column.is_private or count < _LEAST:
            return PrivTreeBins().fit(
                column, lower, upper, count=count, n_estimated=n_estimated, share=share, step=step
            )
        cuts = column.fine_cuts(count, step=step)
        if column.integer:
            return bins_through([int(c) for c in cuts], lower, upper, integer=True)
        # The last bin is closed: a frequent value at the upper bound needs one just below it.
        held = np.where(cuts == upper, np.nextafter(upper, -np.inf), cuts)
        return bins_through(held.tolist(), lower, upper, integer=False)


@dataclass(frozen=True)
class UsualBins(FineBins):
    """The bins of PrivTree under a budget, and fine ones, as many as pairs of columns bear, where privacy is off.

    On a logarithmic scale, PrivTree's outermost bins are cut into doublings, see `Scale.with_short_ends`: a tail with too
    few records for another leaf may hold nearly all the variance. That costs nothing, and up to half as many bins more.
    Below epsilon 5 noise may take an empty bin far out for one of records, so that none is cut.
    """

    key: str = "usual"
    cuts_ends_from: ClassVar[float] = 5.0
    """Epsilon from which on outermost bins are cut where they are long, under a budget."""

    def auto_count(self, budget: Budget, n_rows: float) -> int:
        """Return four times Rice's number, at most 250, where privacy is switched off, and else the usual number."""
        if budget.currency != "none":
            return super().auto_count(budget, n_rows)
        return min(4 * rice(n_rows), MOST_BINS)
