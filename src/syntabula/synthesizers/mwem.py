"""MWEM: multiplicative weights and the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.pgm import PGM
from syntabula.select.worst_approximated import WorstApproximated
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class MWEM(Marginal):
    """Measure, in each of d rounds, the marginal with the largest error, and reweight all rows towards it.

    Hardt, Ligett, McSherry (2012), "A Simple and Practical Algorithm for Differentially Private Data Release",
    NeurIPS. The paper keeps a weight for every possible row, so it only runs on a few columns. Updates by
    marginals multiply the weights by functions of the measured columns alone, so here the weights are a
    factor graph (McKenna, Sheldon, Miklau 2019, "MWEM + PGM"): the same distribution without the table of all
    rows. Its mirror descent is the multiplicative update with all measurements replayed until it converges,
    at a step size found by line search.

    Guarantee: GDP or zCDP, 1 % for the number of records and an equal part of the rest for each round: a tenth for the
    choice (exponential mechanism, eps^2 / 8), nine tenths for the counts (Gaussian); with a pure budget, Laplace
    noise as in the paper. Neighbours differ by one record. Assumed public: the schema and the workload. Time:
    seconds; memory: `WorstApproximated.max_model_mb`, and a workload is refused if none of its marginals fits.
    Choose it as the classic baseline; AIM improves each of its steps.

    Departures from the paper: the last distribution is sampled, not the average over the rounds, which a
    factor graph of that size cannot represent; see also WorstApproximated.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=500)
        >>> release = syntabula.MWEM(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "mwem"
    paper: ClassVar[str] = "Hardt, Ligett, McSherry 2012"

    selector: WorstApproximated = field(default_factory=WorstApproximated)
    model: PGM = field(default_factory=PGM)
