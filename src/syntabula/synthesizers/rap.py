"""RAP and RAP++: adaptive queries, and soft rows that are moved directly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.base import MarginalModel
from syntabula.models.relaxed_projection import RelaxedProjection
from syntabula.select.base import Selector
from syntabula.select.cell_queries import CellQueries
from syntabula.synthesizers.marginal import Marginal


def _several_cells() -> CellQueries:
    return CellQueries(rounds_per_column=1, cells_per_round=10)


@dataclass(frozen=True, kw_only=True)
class RAP(Marginal):
    """Measure, round by round, the ten cells that soft rows get most wrong, and move the rows towards them.

    Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva (2021), "Differentially Private Query Release Through
    Adaptive Projection", ICML, algorithm 2; used in Ganev et al., "The Importance of Being Discrete". The
    paper tries many numbers of rounds and of queries a round; here a round per column, and ten queries.

    Guarantee: zCDP, composed over Gaussian measurements and exponential mechanisms (eps^2 / 8 each), whose
    parameters are chosen from released values alone; neighbours differ by one record. Assumed public: the
    schema. Time: a minute; memory: the rows, and the counts of all pairs. Needs torch. Choose it to compare
    with: selectors of whole marginals learn more for the same budget.

    Departures from the paper: see CellQueries and RelaxedProjection. Pairs instead of triples, as in tab_bench;
    `CellQueries(workload=3)` takes triples.
    """

    key: ClassVar[str] = "rap"
    paper: ClassVar[str] = "Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva 2021"

    selector: Selector = field(default_factory=_several_cells)
    model: MarginalModel = field(default_factory=RelaxedProjection)
