"""AIM: adaptive measurements under a workload, estimated by Private-PGM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.models.pgm import PGM
from syntabula.select.adaptive import Adaptive
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class AIM(Marginal):
    """Measure, round by round, the marginal that the model gets most wrong; sample the last model.

    McKenna, Mullins, Sheldon, Miklau (2022), "AIM: An Adaptive and Iterative Mechanism for Differentially
    Private Synthetic Data", PVLDB 15(11); compared in Chen, Li, Gong, McKenna, Wang, tab_bench, and in MargNet.

    Guarantee: GDP or zCDP, composed over Gaussian measurements and exponential mechanisms (rho = eps^2 / 8 each), whose
    parameters are chosen from released values alone; neighbours differ by one record. Assumed public: the
    schema and the workload. Time: seconds to minutes; memory: `Adaptive.max_model_mb` and the pairs' counts.
    Choose it for accuracy on tables of up to some 50 columns; MST is faster and coarser.

    Departures from the public code: see Adaptive.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=500)
        >>> release = syntabula.AIM(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "aim"
    paper: ClassVar[str] = "McKenna, Mullins, Sheldon, Miklau 2022"

    selector: Adaptive = field(default_factory=Adaptive)
    model: PGM = field(default_factory=PGM)
