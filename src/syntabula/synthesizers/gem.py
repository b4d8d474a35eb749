"""GEM: measures single cells of pairs, and generates soft rows by a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.neural import NeuralRows
from syntabula.select.cell_queries import CellQueries
from syntabula.synthesizers.marginal import Marginal


def _network() -> NeuralRows:
    return NeuralRows(n_rows=1024, iterations=500, loss="halved", start="gaussian")


@dataclass(frozen=True, kw_only=True)
class GEM(Marginal):
    """Measure, round by round, the one cell that a network gets most wrong, and train it on the worst cells.

    Liu, Vietri, Wu (2021), "Iterative Methods for Private Synthetic Data: Unifying Framework and New Methods",
    NeurIPS; with the settings of tab_bench, table 8 (Chen, Li, Gong, McKenna, Wang): 1024 rows, 500 iterations
    a round, five rounds a column.

    Guarantee: GDP or zCDP, composed over Gaussian measurements and exponential mechanisms (rho = eps^2 / 8 each), whose
    parameters are chosen from released values alone; neighbours differ by one record. Assumed public: the
    schema. Time: a minute; memory: the network, and the counts of all pairs. Needs torch; a GPU helps.
    Choose it to compare with: MargNet learns more for the same budget.

    Departures from the paper: see CellQueries for the number of records; the counts of the column that tells it are
    fitted as the chosen cells are. The network of the last round is sampled, not an average of the last ones.
    A step counts all cells whose error is at least half the largest of late; the public code takes at most a hundred of
    them, above a threshold that stays for a round. A round ends when every error is below half the largest at its
    start, when noise explains all errors, or when fifty steps improve the largest by less than a thousandth; the public
    code's threshold is half the mean of that and of earlier rounds' errors, and nothing else ends its rounds. Answers are
    not clipped to what fractions can be, which would raise those of cells without records. The network's blocks have
    256 units and the learning rate is constant; the code's width depends on the table, and its learning rate falls
    within a round.
    """

    key: ClassVar[str] = "gem"
    paper: ClassVar[str] = "Liu, Vietri, Wu 2021"

    selector: CellQueries = field(default_factory=CellQueries)
    model: NeuralRows = field(default_factory=_network)
