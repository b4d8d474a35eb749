"""Columns and random pairs of them, measured at once: what MargNet's Figure 6 fits two models to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from syntabula._arguments import count, normalise
from syntabula.marginals.domain import Domain, Workload
from syntabula.select.fixed_marginals import FixedMarginals


@dataclass(frozen=True, kw_only=True)
class RandomPairs(FixedMarginals):
    """Measure every column and some random pairs, with equal noise.

    The pairs depend on the number of columns alone, and a larger number of pairs has those of a smaller one.

    Attributes:
        pairs: How many; all if a table has fewer.
    """

    key: ClassVar[str] = "random_pairs"
    step: ClassVar[str] = "measure columns and random pairs"

    pairs: int = 8

    def __post_init__(self) -> None:
        normalise(self, pairs=count())

    def _workload(self, domain: Domain) -> Workload:
        every = [*combinations(domain.columns, 2)]
        order = np.random.default_rng(0).permutation(len(every))[: self.pairs]
        return Workload((*((name,) for name in domain.columns), *(every[place] for place in order)))
