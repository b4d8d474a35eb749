"""MST: a maximum spanning tree of pairs, estimated by Private-PGM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.pgm import PGM
from syntabula.select.spanning_tree import SpanningTree
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class MST(Marginal):
    """Measure one-way marginals and the pairs of a privately chosen spanning tree; sample the fitted tree.

    McKenna, Miklau, Sheldon (2021), "Winning the NIST Contest: A scalable and general approach to
    differentially private synthetic data", Journal of Privacy and Confidentiality 11(3), section 4; compared
    in Chen, Li, Gong, McKenna, Wang, tab_bench.

    Guarantee: GDP or zCDP, a third of the budget each for the one-way counts (Gaussian), the d - 1 choices of an edge
    (exponential mechanism, rho = eps^2 / 8 each) and the d - 1 pair counts (Gaussian), but for a twenty-fifth that is
    kept for trends, chosen and measured in the same way; neighbours differ by one record. Assumed public: the
    schema. Time: all pairs are counted once; memory: the d - 1 pairs of the tree, and 10 MB for trends.
    Choose it as a fast, robust default; AIM is more accurate and slower.

    Departures from the public code: see SpanningTree.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=500)
        >>> release = syntabula.MST(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "mst"
    paper: ClassVar[str] = "McKenna, Miklau, Sheldon 2021"

    selector: SpanningTree = field(default_factory=SpanningTree)
    model: PGM = field(default_factory=PGM)
