"""MargNet: selects pairs adaptively, and generates soft rows by a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.neural import NeuralRows
from syntabula.select.doubling import FirstTimeDoubling
from syntabula.select.fixed_rounds import FixedRounds
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class MargNet(Marginal):
    """Measure, round by round, the pair that a network gets most wrong, and train the network on it.

    Chen, Gong, Wang, "Beyond One-Size-Fits-All: Neural Networks for Differentially Private Tabular Data
    Synthesis", algorithms 1 to 3, with the settings of its table 7 for Adult; G30 and G50 have 1024 rows, and
    wide tables up to 1000 iterations.

    Guarantee: GDP or zCDP, composed over Gaussian measurements and exponential mechanisms (rho = eps^2 / 8 each), whose
    parameters are chosen from released values alone; neighbours differ by one record. Assumed public: the
    schema. Time: minutes; memory: the network, and the counts of all pairs. Needs torch; a GPU helps.
    Choose it for tables whose columns all depend on each other, where AIM's model grows too large; on tables
    with few strong pairs AIM is more accurate.

    Departures from the public code: see FirstTimeDoubling and NeuralRows.
    """

    key: ClassVar[str] = "margnet"
    paper: ClassVar[str] = "Chen, Gong, Wang, MargNet"

    selector: FirstTimeDoubling = field(default_factory=FirstTimeDoubling)
    model: NeuralRows = field(default_factory=NeuralRows)


def _cells() -> FirstTimeDoubling:
    return FirstTimeDoubling(queries="cells")


@dataclass(frozen=True, kw_only=True)
class MargNetQ(Marginal):
    """MargNet-q, the ablation of MargNet that chooses and measures single cells instead of pairs.

    Chen, Gong, Wang, MargNet, section 6.4 and table 5, which finds it the least accurate of the three.
    Guarantee, cost and departures are those of MargNet. The public code also measures the one-way marginals
    cell by cell, at the full cost for each; here they are measured whole, which costs the same.
    """

    key: ClassVar[str] = "margnet-q"
    paper: ClassVar[str] = "Chen, Gong, Wang, MargNet"

    selector: FirstTimeDoubling = field(default_factory=_cells)
    model: NeuralRows = field(default_factory=NeuralRows)


@dataclass(frozen=True, kw_only=True)
class MargNetS(Marginal):
    """MargNet-s, the ablation of MargNet with a fixed number of rounds of equal cost.

    Chen, Gong, Wang, MargNet, section 6.4 and table 5, which finds it less accurate where the budget is small.
    Guarantee, cost and departures are those of MargNet.
    """

    key: ClassVar[str] = "margnet-s"
    paper: ClassVar[str] = "Chen, Gong, Wang, MargNet"

    selector: FixedRounds = field(default_factory=FixedRounds)
    model: NeuralRows = field(default_factory=NeuralRows)
