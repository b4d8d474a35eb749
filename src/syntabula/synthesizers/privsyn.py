"""PrivSyn: measures pairs far from independence, and moves records towards them step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.gum import GUM
from syntabula.select.independent_difference import IndependentDifference
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class PrivSyn(Marginal):
    """Measure the pairs whose dependence outweighs their noise, and move random records until they match.

    Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang (2021), "PrivSyn: Differentially Private Data Synthesis",
    USENIX Security; compared in Chen, Li, Gong, McKenna, Wang, tab_bench (tables 3 and 12: a tenth of the
    budget for dependences, a tenth for one-way marginals, the rest for the chosen ones; 501 rounds of
    consistency, 50 passes of updates), and in Du and Li, SynMeter.

    Guarantee: GDP or zCDP, composed over Gaussian measurements; neighbours differ by one record. Assumed public: the
    schema. Time: seconds; memory: the counts of all pairs, and the records. Choose it for speed where many
    pairs are correlated: it measures and fits many marginals, where a graphical model would grow too large.
    Combinations that no measured marginal covers follow from the tree of the strongest ones.

    Departures from the public code: see IndependentDifference and GUM. SynMeter's figures for this name are of
    another system, which measures all pairs and charges the budget twice.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=500)
        >>> release = syntabula.PrivSyn(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "privsyn"
    paper: ClassVar[str] = "Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang 2021"

    selector: IndependentDifference = field(default_factory=IndependentDifference)
    model: GUM = field(default_factory=GUM)
