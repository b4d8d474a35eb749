"""Bins from a private tree: narrow where there are many records."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from syntabula._arguments import normalise, one_of
from syntabula.bins.uniform import Bins
from syntabula.prepare.discretizer import FittedDiscretizer, bins_through
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
