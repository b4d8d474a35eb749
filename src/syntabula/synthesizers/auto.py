"""Auto: chooses the method that suits the table, under differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from syntabula._arguments import refusal
from syntabula._planning import Progress
from syntabula.models.base import Model
from syntabula.models.pgm import PGM
from syntabula.privacy.doors import Doors
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.select.automatic import Automatic
from syntabula.synthesizers.marginal import Marginal, MarginalLearner

if TYPE_CHECKING:
    from syntabula.synthesizers.learner import Learner


@dataclass(frozen=True, kw_only=True)
class AutomaticLearner(MarginalLearner):
    """Learns a table with the method that suits it, and reports which one it chose."""

    selector: Automatic

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Choose a method and apply it."""
        return self.selector.learn(doors.tables, self.model, share=share, progress=progress)


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
        if not isinstance(self.selector, Automatic):
            raise refusal("selector of Auto", "an Automatic (use Marginal for another one)", self.selector)
        super().__post_init__()
        limit = min(self.selector.memory_mb, self.memory_mb)
        object.__setattr__(self, "selector", replace(self.selector, memory_mb=limit))

    @property
    def learner(self) -> Learner:
        """The learner that chooses among several methods."""
        return AutomaticLearner(selector=self.selector, model=self.model)
