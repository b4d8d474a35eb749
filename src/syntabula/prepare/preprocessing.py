"""Options of preprocessing, the interface of discretizers among them, and the usual number of bins.

`rice` and `budget_rice` (Ganev et al., "The Importance of Being Discrete", Table 1 and section 4) use nothing of the data
except the number of records, which must be public or released.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from syntabula._arguments import Rule, count, normalise, one_of, real, share
from syntabula._register import entries, load
from syntabula._spaces import Choice, tunable
from syntabula.bins.uniform import LEAST_COUNT, LEAST_DEVIATION, MOST_DEVIATION, Bins, Spread, UniformBins
from syntabula.errors import ArgumentError
from syntabula.marginals.recoding import Recoding, merge_rare
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.doors.tables import Curator

LEAST_BINS = 5
MOST_BINS = 250
"""The largest number that the paper tried (5 to 250); the rule has no limit and gives 1,463 for a billion records.

The codes of a column then fit one byte, with those for missing and other values, and a marginal of three such columns
(16 million cells, 120 MB) fits the 1,000 MB of a graphical model several times; with 500 bins it would fill them.
"""


@runtime_checkable
class FittedDiscretizer(Protocol):
    """Chooses bins by the data, under differential privacy.

    A discretizer inherits from this class. `key`, `needs_count` and `is_free` may be class attributes.

    Attributes:
        key: Name, as options and plans write it.
        needs_count: Whether `fit` uses the estimated number of records.
        is_free: Whether `fit` spends nothing; its columns then get no share of the budget. False by default.
    """

    @property
    def key(self) -> str:
        """Name, as options and plans write it."""
        ...

    @property
    def needs_count(self) -> bool:
        """Whether `fit` uses the estimated number of records."""
        ...

    @property
    def is_free(self) -> bool:
        """Whether `fit` spends nothing."""
        return False

    def auto_count(self, budget: Budget, n_rows: float) -> int:
        """Return the largest number of bins under `bins="auto"`; by default the rule of `budget_rice`.

        Args:
            budget: The whole budget.
            n_rows: Released, public or guessed number of records.
        """
        return budget_rice(n_rows, budget.epsilon)

    @abstractmethod
    def fit(
        self,
        column: ColumnCurator,
        lower: float,
        upper: float,
        *,
        count: int,
        n_estimated: float,
        share: Fraction,
        step: str,
    ) -> Bins:
        """Return at most `count` bins that cover exactly [lower, upper].

        Args:
            column: The values; those outside the bounds are clipped to the nearest one.
            lower: Lower bound, an integer for an integer column.
            upper: Upper bound, part of the domain.
            count: Largest number of bins, at least 1.
            n_estimated: Released or public estimate of the number of records.
            share: Fraction of the whole budget that may be spent; 0 if `is_free`. What is left goes to the model.
            step: Name of the spends in the ledger.

        Returns:
            The bins; `bins_through` makes them from cuts in any order.
        """
        ...


def rice(n_estimated: float) -> int:
    """Return 2 n^(1/3), rounded up (Rice; Scott, 1979), from a public or released number of records."""
    return math.ceil(2 * math.cbrt(max(n_estimated, 1.0)))


def budget_rice(n_estimated: float, epsilon: float) -> int:
    """Return Rice's number divided by 1 + exp(-epsilon), the paper's RL-OPT: half as many bins at epsilon 0.

    Args:
        n_estimated: Public or released number of records.
        epsilon: Budget of the whole release. The paper says "the available privacy budget"; its authors'
            library passes the column's share of it.

    Returns:
        A number of bins, rounded up, at least 5 as in the authors' library, and at most MOST_BINS: from 5 million
        records on at epsilon 1.
    """
    if not epsilon > 0:
        raise ArgumentError("epsilon must be above 0")
    wanted = math.ceil(2 * math.cbrt(max(n_estimated, 1.0)) / (1 + math.exp(-epsilon)))
    return min(max(LEAST_BINS, wanted), MOST_BINS)


def usual_bins(settings: Preprocessing, bins: BinCount, budget: Budget, n_rows: float) -> int:
    """Return the number of bins of columns that do not state their own, from a public or released number of rows."""
    if bins != "auto":
        return bins
    discretizer = settings.fitted
    return (
        budget_rice(n_rows, budget.epsilon) if discretizer is None else discretizer.auto_count(budget, n_rows)
    )


def is_worth_fitting(lower: float, upper: float, *, integer: bool, count: int) -> bool:
    """Return whether a domain has more values than bins; otherwise each value gets its own bin at no cost."""
    return lower < upper and count > 1 and not (integer and int(upper) - int(lower) + 1 <= count)


def bins_through(cuts: list[int] | list[float], lower: float, upper: float, *, integer: bool) -> Bins:
    """Return bins over [lower, upper] with those cuts that lie strictly inside, each once.

    Args:
        cuts: Inner edges in any order; in an integer column one between two integers becomes the upper one.
        lower: Lower bound.
        upper: Upper bound, part of the domain.
        integer: Whether the column holds integers only.
    """
    if integer:
        first, end = int(lower), int(upper) + 1
        # A bin begins with its edge, so that the values on either side of a cut stay there.
        whole = {math.ceil(c) for c in cuts if first < c < end}
        return Bins((first, *sorted(c for c in whole if c < end), end), integer=True)
    low, high = float(lower), float(upper)
    if low == high:
        return UniformBins(1).bins(low, high, integer=False)
    return Bins((low, *sorted({float(c) for c in cuts if low < c < high}), high))


def fit_spread(column: ColumnCurator, bins: Bins, *, share: Fraction, step: str) -> Spread:
    """Estimate the mean and deviation within each bin ("mixture" sampling, Ganev et al., section 4).

    The paper names no mechanism. Here the number of records, the sum of their places in the bin and the sum of
    the squared places get a third of the budget each; all bins share it, because a record is in only one bin. Bins
    with a noisy count below 10 keep uniform values; deviations are clipped to 0.01 to 1 widths.

    Args:
        column: The values.
        bins: Bins that are public or released.
        share: Fraction of the whole budget.
        step: Name of the spends in the ledger.
    """
    counts = column.histogram(bins.edges, share=share / 3, step=step).values
    first = column.sums(bins.edges, power=1, of="cell", share=share / 3, step=step).values
    second = column.sums(bins.edges, power=2, of="cell", share=share / 3, step=step).values
    held = np.maximum(counts, 1.0)
    means = np.clip(first / held, 0.0, 1.0)
    variances = np.clip(second / held - means**2, LEAST_DEVIATION**2, MOST_DEVIATION**2)
    deviations = np.where(counts < LEAST_COUNT, 0.0, np.sqrt(variances))
    return Spread(tuple(means.tolist()), tuple(deviations.tolist()))


EVEN = "uniform"
"""Name of the bins that do not depend on data."""
BinCount = int | Literal["auto"]
LEAST_FAILURE = 1e-8
"""Probability with which noise alone passes a test of whether there is anything."""

TYPE_SHARE = Fraction(1, 8)
"""Fraction of a column's preprocessing budget that finds its type, if none is stored."""
LIFTS_SHARE, MOST_LIFTS_SHARE = Fraction(1, 50), Fraction(3, 50)
"""Fraction of what preparing leaves for what the hours and weekdays of a column tell of others, and for all columns."""
TIMES_SHARE = Fraction(1, 32)
"""Fraction that tells days and times from other texts: these are nearly all cells or none, which takes little."""
Part = Literal["roundness", "atoms", "bins", "rhythm", "ends", "spread"]
_WEIGHTS: Mapping[Part, int] = {"roundness": 1, "atoms": 4, "bins": 3, "rhythm": 3, "ends": 3, "spread": 3}


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """How raw columns are prepared before a model is learned, and the share of the budget for it.

    The share is divided equally among the columns that need it (tab_bench; Ganev et al., "The Importance of Being
    Discrete", section 3.5). If a rule needs the number of records, a twentieth of the share counts them first. A
    column with an undeclared domain spends half on the domain and half on its bins, or all on the domain if bins are
    uniform; before that it spends an eighth on its type, if it comes from a text file, which stores none, or a
    thirty-second on whether the texts of a pandas frame are days or times, which pandas does not look for. A column of
    texts keeps an eighth of its part for a domain for the form of keys and the number of different ones, which are asked
    for if no category is found; otherwise the model gets it. A column of whole numbers keeps a sixteenth likewise, for
    whether they are clock times, if its bounds allow that; one that is named like a key spends half if it holds keys. If
    no column needs any, the model gets the whole budget.

    The values of a column that many records share, its atoms, get codes of their own, and bins are fitted to the others.
    They are declared, or found, whether they are round or not. Within a bin values lie at round numbers, in the
    proportions in which the column has them. Of eight parts of a column's share, four are for atoms, three for bins and
    one for roundness. A column of several days has a rhythm too (how frequent weekdays, days of the month and times of
    day are), and then these are four, three and one of eleven, and the rhythm has the other three. What is declared or
    not sought takes no part. What the hours and weekdays of such a column tell of others is asked once a model is
    learned, for a fiftieth of the rest of the budget, or three for more than three columns, where noise leaves it clear.

    Attributes:
        discretizer: "privtree" (best on average in the paper and, at epsilon 1, in benchmarks/results; at epsilon 10
            uniform bins are), "quantile" and "kmeans" depend privately on the column; "uniform" costs nothing. "fine"
            takes the values as they are where privacy is off, up to 1,000 codes, and is "privtree" under a budget;
            "usual" is the same with as many codes as pairs of columns bear, at most 250. Or the name of a plug-in's
            discretizer, or your own object; see `FittedDiscretizer`.
        within: How values lie within a bin: "round" for evenly among the numbers that are equally round; "even" among
            all; "normal" for a truncated normal distribution, which costs as much as the bins; "auto" for "round" if
            bins cost anything, and for all numbers otherwise. With "round", days and times also lie as the column's
            rhythm says, which costs as much as the bins. With "auto" and "round" the densities of neighbouring
            bins are joined, see `synthesizers.joining`.
        atoms: "found" to find frequent values where the schema does not declare them; "declared" to find none; "auto" to
            find them if bins cost anything.
        share: Fraction of the whole budget, if any is needed.
        most_share: What the search for types and domains may raise it to where noise would hide a twelfth of the
            records, by their noisy number: a small table of which nothing is declared is lost otherwise. To tell a
            fiftieth from noise it takes no more than half of the budget. Methods that can do with single columns, which
            need less of the budget, have 4/5. Bins and frequent values beside such a search should tell a fiftieth of the
            records, for a sixth of what it leaves at most.
        delta_share: Fraction of delta reserved for finding categories, if any must be found.

    Raises:
        ArgumentError: If an argument is outside its range.
    """

    discretizer: str | FittedDiscretizer = tunable("usual", Choice(("privtree", "uniform", "quantile")))
    within: Literal["auto", "round", "even", "normal"] = "auto"
    atoms: Literal["auto", "found", "declared"] = "auto"
    share: Fraction = Fraction(1, 10)
    most_share: Fraction = Fraction(13, 20)
    delta_share: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        if not isinstance(self.discretizer, FittedDiscretizer):
            known = one_of(EVEN, *(e.key for e in entries("discretizer", asked=self.discretizer)))
            normalise(self, discretizer=Rule(f"{known.allowed}, or a FittedDiscretizer", known.read))
        normalise(
            self,
            within=one_of("auto", "round", "even", "normal"),
            atoms=one_of("auto", "found", "declared"),
            share=share,
            most_share=share,
            delta_share=share,
        )

    @cached_property
    def fitted(self) -> FittedDiscretizer | None:
        """The discretizer that depends on the data, or None if bins are uniform."""
        if not isinstance(self.discretizer, str):
            return self.discretizer
        if self.discretizer == EVEN:
            return None
        made: FittedDiscretizer = load("discretizer", self.discretizer)()
        return made

    @property
    def fits_bins(self) -> bool:
        """Whether bins, or the distribution within them, depend on the column."""
        return self.fitted is not None or self.within == "normal" or self.finds_atoms or self.finds_roundness

    def joins_bins(self, *, exact: bool) -> bool:
        """Return whether densities of bins are joined; bins of exact values as they are need no more."""
        return self.within in ("auto", "round") and not (exact and self.discretizer == "fine")

    @property
    def finds_atoms(self) -> bool:
        """Whether frequent values are found where none are declared."""
        return self.atoms == "found" or (self.atoms == "auto" and not self._is_free)

    @property
    def finds_roundness(self) -> bool:
        """Whether it is found how round values are."""
        return self.within == "round" or (self.within == "auto" and not self._is_free)

    @property
    def _is_free(self) -> bool:
        return self.fitted is None or self.fitted.is_free

    def parts(
        self,
        *,
        asks_atoms: bool = True,
        asks_roundness: bool = True,
        asks_rhythm: bool = False,
        asks_ends: bool = False,
    ) -> tuple[Part, ...]:
        """Return what is found of an ordered column, of all that costs anything.

        Args:
            asks_atoms: Whether its atoms are not declared.
            asks_roundness: Whether some of its values are rounder than others.
            asks_rhythm: Whether it has days, some of which may be more frequent than others.
            asks_ends: Whether it is a distance between times whose ends may keep to some of these.
        """
        asked: dict[Part, bool] = {
            "roundness": self.finds_roundness and asks_roundness,
            "atoms": self.finds_atoms and asks_atoms,
            "bins": not self._is_free,
            "rhythm": self.finds_roundness and asks_rhythm,
            "ends": self.finds_roundness and asks_ends,
            "spread": self.within == "normal",
        }
        return tuple(part for part, is_asked in asked.items() if is_asked)


def divided(share: Fraction, parts: Sequence[Part]) -> dict[Part, Fraction]:
    """Divide a column's share among its parts; parts that are not asked get 0."""
    total = sum(_WEIGHTS[part] for part in parts)
    return {
        part: share * weight / total if part in parts else Fraction(0) for part, weight in _WEIGHTS.items()
    }


@dataclass(frozen=True, kw_only=True)
class RareCategories:
    """Merge categories with few records into one code (Chen et al., tab_bench, Algorithm 1).

    Each of the K large columns is counted with Gaussian noise of variance K / (2 rho_2), where rho_2 is this
    step's share of the budget. A category is kept if its noisy count reaches max(theta * noisy total,
    3 standard deviations). The others become one code, which is decoded at random in proportion to the noisy
    counts. Whether a column is large depends on its declared number of categories, not on the data as in the
    public code.

    Attributes:
        share: Fraction of the whole budget; spent only if there is a large column.
        theta: Smallest fraction of the records that a kept category holds, 0 .. 1.
        least_categories: A column is large if its declared domain has at least this many codes.
    """

    share: Fraction = Fraction(1, 10)
    theta: float = 0.002
    least_categories: int = 100

    def __post_init__(self) -> None:
        normalise(
            self,
            share=share,
            theta=real("a number of at least 0 and below 1", lambda theta: 0 <= theta < 1),
            least_categories=count(2),
        )

    @property
    def step(self) -> str:
        """Name of this spend in the ledger."""
        return "merge rare categories"

    @property
    def most_kept(self) -> int:
        """How many categories can reach theta of the records if noise is small; no bound if theta is 0."""
        return math.ceil(2 / self.theta) if self.theta else 2**62

    def fit(self, curator: Curator, columns: Sequence[str]) -> Recoding | None:
        """Count the columns noisily and return which codes merge; None if there is no column."""
        if not columns:
            return None
        measured = curator.measure([(c,) for c in columns], share=self.share, step=self.step)
        return merge_rare(measured, domain=curator.domain, theta=self.theta)


def type_step(name: str) -> str:
    """Return the ledger's name for the search for a column's type."""
    return f"find the type of {name!r}"


def lift_step(name: str) -> str:
    """Return the ledger's name for what is asked of a column's hours and weekdays beside other columns."""
    return f"count the hours and weekdays beside other columns of {name!r}"
