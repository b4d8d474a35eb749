"""PrivBayes: a Bayesian network, chosen and measured under privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.bayesian_network import BayesianNetwork
from syntabula.select.privbayes import ParentSets
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class PrivBayes(Marginal):
    """Choose a few parents for each column privately, measure each family, and draw columns parents first.

    Zhang, Cormode, Procopiuc, Srivastava, Xiao (2017), "PrivBayes: Private Data Release via Bayesian Networks",
    ACM TODS 42(4); compared in Ganev, Annamalai, Mahiou, De Cristofaro, "The Importance of Being Discrete".

    Guarantee: GDP or zCDP, 5 to 30 % for single columns (Gaussian), 30 % for the d - 1 choices (exponential mechanism,
    rho = eps^2 / 8 each) and the rest for the families' counts (Gaussian); with a pure budget, Laplace noise as in the
    paper. Neighbours differ by one record. Assumed public: the schema. Time: seconds, as thousands of families
    are counted and nothing is optimised; memory: the families' tables. Choose it if you want a readable model of
    which columns depend on which; MST is as fast and AIM more accurate.

    Departures from the paper: see ParentSets and BayesianNetwork.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=500)
        >>> release = syntabula.PrivBayes(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "privbayes"
    paper: ClassVar[str] = "Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017"

    selector: ParentSets = field(default_factory=ParentSets)
    model: BayesianNetwork = field(default_factory=BayesianNetwork)
