"""Auto: chooses the method that suits the table, under differential privacy or where privacy is switched off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from syntabula._arguments import refusal
from syntabula._extras import is_installed
from syntabula._register import load
from syntabula.models.pgm import PGM
from syntabula.prepare.preprocessing import Preprocessing
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.select.automatic import Automatic
from syntabula.synthesizers.marginal import Marginal
from syntabula.synthesizers.plan import plan_of
from syntabula.synthesizers.settings import Settings, TableFacts, default_of


@dataclass(frozen=True, kw_only=True)
class Auto(Marginal):
    """Choose MargNet, Private-GSD, AIM, MST or single columns from declared facts and noisy values, and report why.

    MargNet's finding (Chen, Gong, Wang, section 6): AIM is ahead where correlations are sparse, a network where
    all columns depend on each other. Private-GSD replaces the network where that is not available, and AIM where
    the budget suffices for all pairs. The choice depends on declared facts (columns and their sizes, budget,
    memory and time limits, whether torch is installed) and, if these do not decide it, on two released values: a
    noisy number of records, and noisy dependences of all pairs. See Automatic for the rules. The release's
    `privacy.choice` names the method and the reason; the statement shows them.

    With an infinite epsilon Synthpop learns tables of 1,000 rows and more, and Private-GSD smaller ones. Rows of Synthpop
    may repeat records: take ARGN by name where they must not, or where any columns are to be given exactly. Where a
    method may exceed the limits of memory or time (`max_seconds`), by its plan for the number of rows and columns, or its
    extra is not installed, the next is taken: Synthpop, ARGN, Private-GSD, Circuit, MST. Settings left as they are
    (`bins`, `preprocessing`, `rare`) are those of the chosen method. benchmarks/results/without_privacy.md has the
    figures.

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
        if self.whole_budget.currency != "none":
            return super().chosen_for(table)

        return chosen_without_privacy(self, self.selector.within(self.memory_mb), table)


_FEWEST_COLUMNS = 3
"""Private-GSD takes pairs, of which there is one at most in fewer columns."""

SMALL_ROWS = 1_000
"""Private-GSD comes before Synthpop for fewer rows, of which trees have few leaves."""


class Offer(NamedTuple):
    """A method, what it needs, and why it is chosen where all before it are left out.

    Attributes:
        key: Key of the method.
        reason: Why, for the statement.
        module: Library that it needs; empty if none.
        extra: The extra that installs it.
    """

    key: str
    reason: str
    module: str = ""
    extra: str = ""


_SYNTHPOP = Offer(
    "synthpop",
    "privacy is switched off, and its rows were nearest to real ones on the whole, in seconds; they may repeat records",
    "sklearn",
    "evaluate",
)
_ARGN = Offer(
    "argn",
    "privacy is switched off, and its rows are hard to tell from real ones and were seldom near to a learned record",
    "torch",
    "neural",
)
_CIRCUIT = Offer(
    "circuit",
    "privacy is switched off, and it learns from records without repeating them, in less time than argn",
    "torch",
    "neural",
)
_ALL_PAIRS = Offer(
    "private-gsd",
    "privacy is switched off, and all pairs of columns can be measured exactly",
)
_FEW_ROWS = Offer(
    "private-gsd",
    f"privacy is switched off, and with fewer than {SMALL_ROWS:,} rows exact pairs of columns were a good teacher, "
    "which repeats no records",
)
_TREE = Offer("mst", "privacy is switched off, and a tree of pairs is learned in the least time")
_SINGLE = Offer("independent", "no other method is available")


def chosen_without_privacy(
    auto: Settings, selector: Automatic, table: TableFacts
) -> tuple[Settings, MethodChoice]:
    """Return the method that learns a table exactly, with the settings of `auto`, and why.

    The first of the offers is taken that is installed, and whose plan is within the limits of memory and time.
    benchmarks/results/without_privacy.md has the figures that they are ordered by.
    """
    if table.n_columns == 1:
        return _made(auto, selector, "independent"), MethodChoice(
            method="independent", reason="a single column has no correlations"
        )
    left_out: list[str] = []
    for offer in _offers(table):
        if offer.module and not is_installed(offer.module):
            left_out.append(
                f"{offer.key} was left out, as the extra {offer.extra!r} ({offer.module}) is not installed"
            )
            continue
        if auto.progress is not None:
            auto.progress(f"choose a method: plan {offer.key}", 0.0)
        method = _made(auto, selector, offer.key)
        plan = plan_of(method, table)
        largest = max((step.memory_mb for step in plan.steps), default=0.0)
        if offer is not _SINGLE and (limit := selector.too_large(largest, plan.seconds)):
            left_out.append(f"{offer.key} was left out, as it may take {limit}")
            continue
        break
    return method, MethodChoice(method=offer.key, reason="; ".join([offer.reason, *left_out]))


def _offers(table: TableFacts) -> Iterator[Offer]:
    """Yield the methods, best first; the last one is always possible."""
    has_pairs, is_small = table.n_columns >= _FEWEST_COLUMNS, table.n_rows < SMALL_ROWS
    if has_pairs and is_small:
        yield _FEW_ROWS
    yield from (_SYNTHPOP, _ARGN)
    if has_pairs and not is_small:
        yield _ALL_PAIRS
    yield from (_CIRCUIT, _TREE, _SINGLE)


def _made(auto: Settings, selector: Automatic, key: str) -> Settings:
    """Return a method with the settings that were changed in `auto`; the others are its own."""
    shared = {f.name for f in fields(Settings)}
    # The defaults are those of `auto`.
    given: dict[str, Any] = {
        f.name: getattr(auto, f.name)
        for f in fields(auto)
        if f.name in shared and getattr(auto, f.name) != default_of(f)
    }
    if key == _ALL_PAIRS.key:
        given["model"] = selector.evolved
    method: Settings = load("synthesizer", key)(**given)
    return method
