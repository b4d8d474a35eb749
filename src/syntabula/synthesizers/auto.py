"""Auto: chooses the method that suits the table, under differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from syntabula._arguments import refusal
from syntabula.models.pgm import PGM
from syntabula.prepare.preprocessing import Preprocessing
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.select.automatic import Automatic
from syntabula.synthesizers.marginal import Marginal
from syntabula.synthesizers.plan import budget_of

if TYPE_CHECKING:
    from syntabula.synthesizers.settings import Settings, TableFacts


@dataclass(frozen=True, kw_only=True)
class Auto(Marginal):
    """Choose MargNet, Private-GSD, AIM, MST or single columns from declared facts and noisy values, and report why.

    MargNet's finding (Chen, Gong, Wang, section 6): AIM is ahead where correlations are sparse, a network where
    all columns depend on each other. Private-GSD replaces the network where that is not available, and AIM where
    the budget suffices for all pairs. The choice depends on declared facts (columns and their sizes, budget,
    memory and time limits, whether torch is installed) and, if these do not decide it, on two released values: a
    noisy number of records, and noisy dependences of all pairs. See Automatic for the rules. The release's
    `privacy.choice` names the method and the reason; the statement shows them.

    With an infinite epsilon Private-GSD learns small tables, and ARGN larger ones. Where a method may exceed the limits
    of memory or time (`max_seconds`), by its plan for the number of rows and columns, or its extra is not installed, the
    next is taken: ARGN, Private-GSD, Circuit, Synthpop, whose rows may repeat records, MST. Settings left as they are
    (`bins`, `preprocessing`, `rare`) are those of the chosen method.
    benchmarks/results/without_privacy.md has the figures.

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

    preprocessing: Preprocessing = field(default_factory=lambda: Preprocessing(most_share=Fraction(4, 5)))
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

    def chosen_for(self, table: TableFacts) -> tuple[Settings, MethodChoice | None]:
        """Return the method for a table and why, where privacy is switched off; else it learns with its selector."""
        if budget_of(self).currency != "none":
            return super().chosen_for(table)
        from syntabula.synthesizers.without_privacy import chosen_without_privacy

        return chosen_without_privacy(self, self.selector, table)
