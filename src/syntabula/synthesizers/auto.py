"""Auto: chooses the method that suits the table, under differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula._arguments import refusal
from syntabula.models.pgm import PGM
from syntabula.select.automatic import Automatic
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class Auto(Marginal):
    """Choose MargNet, Private-GSD, AIM, MST or single columns from declared facts and noisy values, and report why.

    MargNet's finding (Chen, Gong, Wang, section 6): AIM is ahead where correlations are sparse, a network where
    all columns depend on each other. Private-GSD replaces the network where that is not available, and AIM where
    the budget suffices for all pairs. The choice depends on declared facts (columns and their sizes, budget,
    memory and time limits, whether torch is installed) and, if these do not decide it, on two released values: a
    noisy number of records, and noisy dependences of all pairs. See Automatic for the rules. The release's
    `privacy.choice` names the method and the reason; the statement shows them.

    Guarantee: that of the chosen method with the budget that the choice leaves, composed with the choice itself: GDP
    or zCDP, Gaussian noise on the count and on the dependences (Laplace noise with a pure budget), at most a
    fiftieth of the budget in total, and nothing if declared facts decide; neighbours differ by one record.
    Assumed public: the schema and the limits. Time and memory: those of the chosen method. The same seed may
    lead to another choice on a machine with other extras.

    Attributes:
        model: The model to fit, unless MargNet or Private-GSD is chosen, which have their own.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=500)
        >>> release = syntabula.Auto(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
        >>> release.privacy.choice.method in ("margnet", "private-gsd", "aim", "mst", "independent")
        True
    """

    key: ClassVar[str] = "auto"
    paper: ClassVar[str] = "after Chen, Gong, Wang, MargNet"

    selector: Automatic = field(default_factory=Automatic)
    model: PGM = field(default_factory=PGM)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.selector.chooses:
            raise refusal(
                "selector of Auto",
                "an Automatic, which chooses a method (use Marginal for others)",
                self.selector,
            )
