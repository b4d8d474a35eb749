"""RAP and RAP++: choose queries adaptively, and optimise soft rows directly."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from syntabula._spaces import Range, tunable_part
from syntabula.models.relaxed_projection import RelaxedProjection
from syntabula.select.cell_queries import CellQueries
from syntabula.select.top_q import TopQ
from syntabula.synthesizers.marginal import Marginal


def _several_cells() -> CellQueries:
    return CellQueries(rounds_per_column=1, cells_per_round=10)


@dataclass(frozen=True, kw_only=True)
class RAP(Marginal):
    """Measure, round by round, the ten cells that soft rows get most wrong, and move the rows towards them.

    Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva (2021), "Differentially Private Query Release Through
    Adaptive Projection", ICML, algorithm 2; used in Ganev et al., "The Importance of Being Discrete". The
    paper tries many numbers of rounds and of queries per round; here there is one round per column, with
    ten queries.

    Guarantee: GDP or zCDP, composed over Gaussian measurements and exponential mechanisms (rho = eps^2 / 8 each), whose
    parameters are chosen from released values alone; neighbours differ by one record. Assumed public: the
    schema. Time: a minute; memory: the rows, and the counts of all pairs. Needs torch. Choose it for
    comparison: selectors of whole marginals learn more for the same budget.

    Departures from the paper: see CellQueries and RelaxedProjection. Queries are cells of pairs instead of
    triples, as in tab_bench; `CellQueries(workload=3)` takes triples.
    """

    key: ClassVar[str] = "rap"
    paper: ClassVar[str] = "Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva 2021"

    selector: CellQueries = tunable_part(_several_cells, rounds_per_column=None)
    model: RelaxedProjection = field(default_factory=RelaxedProjection)


def _with_thresholds() -> TopQ:
    return TopQ(
        rounds_per_column=1,
        chosen_per_round=5,
        one_way_share=Fraction(1, 10),
        deduct_noise=True,
        n_thresholds=200_000,
    )


def _sparse() -> RelaxedProjection:
    # Ten steps at each steepness are enough, as each round continues from the last one.
    return RelaxedProjection(projection="sparsemax", iterations=110, learning_rate=0.01)


@dataclass(frozen=True, kw_only=True)
class RAPPlusPlus(Marginal):
    """Measure pairs and random linear thresholds in turn, and move sparse soft rows towards them.

    Vietri, Archambeau, Aydore, Brown, Kearns, Roth, Siva, Tang, Wu (2022), "Private Synthetic Data for Multitask
    Learning and Marginal Queries", NeurIPS (RAP++); with q = 5 as in tab_bench, table 7, and 50 rounds of
    thresholds as in its code. Thresholds are drawn over the columns of numbers and dates, and each is crossed with
    another column; `with_options(crossed_with="income")` crosses all with one, as tab_bench does with the label.

    Guarantee: GDP or zCDP, composed over Gaussian measurements and exponential mechanisms (rho = eps^2 / 8 each), whose
    parameters are chosen from released values alone; neighbours differ by one record. Assumed public: the
    schema. Time: minutes; memory: the rows, and the counts of all pairs and thresholds. Needs torch.

    Departures from the paper: see TopQ and RelaxedProjection. One-way marginals come first, and scores of pairs
    deduct noise instead of a record for each cell. Numeric columns are binned and rows hold a distribution
    over the bins, where the paper's rows hold one number. The learning rate is 0.01, with ten steps at each
    steepness in every round; tab_bench uses 0.003 and 0.006, and up to 2,000 steps in a pass.
    """

    key: ClassVar[str] = "rap++"
    paper: ClassVar[str] = "Vietri et al. 2022"

    selector: TopQ = tunable_part(
        _with_thresholds,
        n_thresholds=Range(low=20_000, high=2_000_000, log=True),
        threshold_rounds=Range(low=10, high=100, log=True),
    )
    model: RelaxedProjection = tunable_part(
        _sparse,
        n_rows=Range(low=256, high=4096, log=True),
        # From 5 to 50 steps at each steepness.
        iterations=Range(low=55, high=550, log=True),
        learning_rate=Range(low=0.002, high=0.05, log=True),
    )
