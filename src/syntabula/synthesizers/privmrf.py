"""PrivMRF: a Markov random field over a graph of dependent columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.pgm import PGM
from syntabula.select.privmrf import AttributeGraph
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class PrivMRF(Marginal):
    """Find groups of dependent columns, measure marginals of several columns within them, and fit a random field.

    Cai, Lei, Wei, Xiao (2021), "Data Synthesis via Differentially Private Markov Random Fields", PVLDB 14(11);
    compared in Chen, Li, Gong, McKenna, Wang, tab_bench, whose settings (its table 6) are the defaults.

    Guarantee: GDP or zCDP, 10 % for the graph (Gaussian noise on dependences), 10 % for the choices that refine it
    (exponential mechanism, rho = eps^2 / 8 each), 80 % for all counts (Gaussian), those of single columns
    first; with a pure budget, Laplace noise. Neighbours differ by one record. Assumed public: the schema. Time:
    seconds to minutes; memory: marginals of up to six columns, within the limits of AttributeGraph. Choose it
    for tables with groups of dependent columns; elsewhere AIM is equally good.

    Departures: see AttributeGraph, and PGM on when an estimation ends. The field is estimated on the cliques that
    measurements span, not on those of the whole graph: a factor without a measurement stays 1, so the
    distribution is the same.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=500)
        >>> release = syntabula.PrivMRF(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "privmrf"
    paper: ClassVar[str] = "Cai, Lei, Wei, Xiao 2021"

    selector: AttributeGraph = field(default_factory=AttributeGraph)
    model: PGM = field(default_factory=lambda: PGM(iterations=3000))
