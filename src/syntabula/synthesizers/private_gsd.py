"""Private-GSD: measures all pairs at once, and evolves records towards them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.genetic import Genetic
from syntabula.select.fixed_marginals import AllPairs
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class PrivateGSD(Marginal):
    """Measure all pairs of columns at once, and evolve random records until they match.

    Liu, Tang, Vietri, Wu (2023), "Generating Private Synthetic Data with Genetic Algorithms", ICML, in its
    one-shot form; compared in this form in Chen, Li, Gong, McKenna, Wang, tab_bench (table 5). With
    `selector=GivenWorkload(...)` it takes any workload, with `selector=Adaptive()` it chooses round by round.

    Guarantee: GDP or zCDP, Gaussian measurements of single columns and of all pairs; neighbours differ by one record.
    Assumed public: the schema. Time: seconds; memory: the counts of all pairs. Choose it if all pairs matter equally
    and the budget is large (epsilon 5 or more): with a small budget the noise on all pairs is large.

    Departures: see AllPairs, which merges codes, and Genetic, which has more records than the papers' runs, and fits
    beyond the noise only where there is little of it. Numeric columns are binned; the paper's nested intervals of
    continuous values are not measured. The public code measures again for every synthetic table without charging
    for it.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=500)
        >>> release = syntabula.PrivateGSD(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "private-gsd"
    paper: ClassVar[str] = "Liu, Tang, Vietri, Wu 2023"

    selector: AllPairs = field(default_factory=AllPairs)
    model: Genetic = field(default_factory=Genetic)
