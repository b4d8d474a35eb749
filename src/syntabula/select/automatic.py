"""Chooses the method that suits a table: by declared facts first, then by a noisy count and a noisy density."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from statistics import median
from typing import ClassVar, NamedTuple, Self

from syntabula._arguments import instance_of, megabytes, normalise, positive, share
from syntabula._extras import is_installed
from syntabula._memory import above_limit
from syntabula._planning import FitCost, PlannedStep, Progress
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import MarginalModel, check_storable
from syntabula.models.genetic import Genetic
from syntabula.models.neural import NeuralRows
from syntabula.models.recoded import Supported
from syntabula.privacy.doors.scores import SENSITIVITY_STEPS, STEPS_PER_RECORD, batches
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.select.adaptive import Adaptive
from syntabula.select.base import Selector, mean_noise, pairs_of
from syntabula.select.density import density
from syntabula.select.doubling import FirstTimeDoubling
from syntabula.select.fixed_marginals import AllPairs, OneWay
from syntabula.select.merged_codes import FEWEST_GROUPS, most_cells
from syntabula.select.spanning_tree import SpanningTree

COUNT = "count records to choose a method"
WEIGH = "weigh dependences to choose a method"
_COUNT_PART = Fraction(1, 10)
_FEWEST_COLUMNS = 3
_SURE = 2.0  # standard deviations of the mean of all pairs
_HIDDEN = 0.3  # standard deviations of one pair: how much denser noise may make a tree look
_DENSEST = 0.25  # about the density of equal correlations of 0.8
_ANY_NUMBER = 10**9  # of records: the number is private, so models bound their cost for any


class Way(NamedTuple):
    """One way of learning: a selector, its planned steps, and a model.

    Attributes:
        selector: Decides which marginals are measured.
        steps: Its plan for the domain at hand.
        model: The model to fit to them; None for the caller's.
    """

    selector: Selector
    steps: tuple[PlannedStep, ...]
    model: NeuralRows | Genetic | None = None


def _persistent() -> Genetic:
    return Genetic(stop_at_noise=False)


@dataclass(frozen=True, kw_only=True)
class Automatic(Selector):
    """Choose among MargNet, Private-GSD, AIM, MST and single columns.

    Chen, Gong, Wang, "Beyond One-Size-Fits-All: Neural Networks for Differentially Private Tabular Data
    Synthesis" (MargNet), section 6, find AIM ahead on sparse tables and MargNet on dense ones. Where all pairs
    can be measured with little noise, nothing has to be selected (Private-GSD: Liu, Tang, Vietri, Wu 2023, in
    its one-shot form). The rules, in this order:

    1. A method that may need more memory or time than allowed is left out, MargNet also if torch is missing,
       and both it and Private-GSD if there are fewer than three columns. If one method is left, nothing is spent.
    2. A tenth of the choice's share pays for counting the records.
    3. If MargNet or Private-GSD is available, the rest of that share releases the dependences of all pairs, and so
       their density (see `density`): how much they depend on each other beyond what a tree of them explains. Nothing is
       released if the noise would hide the density of any table.
    4. Private-GSD is chosen if the density is above 0 or hidden, and the noise on a large pair, were all pairs measured
       with the whole budget, is at most `ample_pair_noise` of all records. The pair has the most cells of all, or as
       many as codes are merged into. Where most pairs are independent, all that measuring them adds is noise.
       MargNet, or else Private-GSD, is chosen if the density is at least `dense_from`, plus a margin for noise: two
       standard deviations of the mean, and 0.3 of one pair.
    5. If the noise on a pair, were d - 1 of them measured with the whole budget, exceeds `max_pair_noise` of all
       records, single columns are learned. A pair has as few cells as AIM may leave it: it merges codes that noise
       would drown, down to three a column.
    6. Otherwise AIM, or MST if AIM was left out.

    AIM and Private-GSD by pairs miss columns that depend on each other only together, so here both also look for threes
    and fours of columns (`learn_interactions`), in place of trying a method of larger marginals, such as PrivBayes, on
    the whole table.

    Any unused share goes to learning. The thresholds come from simulated and public tables:
    benchmarks/results/auto.md has the figures.

    Attributes:
        choice_share: Fraction of the budget for the choice.
        dense_from: Least density at which MargNet or Private-GSD is chosen.
        ample_pair_noise: Most noise on a large pair of merged codes, as a fraction of all records, at which
            Private-GSD is chosen.
        max_pair_noise: Noise on each of d - 1 pairs of three codes a column, as a fraction of all records, above which
            a table that is not shown to be dense is learned by single columns.
        max_seconds: Methods that may take longer, by a rough estimate for two cores, are left out; None for no limit.
        memory_mb: Methods that may need more memory are left out.
        sparse: Selector for sparse tables, as in AIM, with a look for interactions of three and four columns.
        dense: Selector for dense tables, as in MargNet.
        network: Model for dense tables. It trains for 20 iterations per round where MargNet has 200: as each round
            continues from the last, that was as accurate up to epsilon 1 in a third of the time or less
            (benchmarks/results/grid.md).
        evolved: Model for all pairs, as in Private-GSD. By default it continues after noise explains the
            error, however large the noise: on dense tables it would otherwise stop near independence.
    """

    key: ClassVar[str] = "automatic"
    chooses: ClassVar[bool] = True

    choice_share: Fraction | float = Fraction(1, 50)
    dense_from: float = 0.06
    ample_pair_noise: float = 0.042
    max_pair_noise: float = 0.07
    max_seconds: float | None = 300.0
    memory_mb: float = 4000.0
    sparse: Adaptive = field(default_factory=lambda: Adaptive(interactions=True))
    dense: FirstTimeDoubling = field(default_factory=FirstTimeDoubling)
    network: NeuralRows = field(default_factory=lambda: NeuralRows(iterations=20))
    evolved: Genetic = field(default_factory=_persistent)

    def __post_init__(self) -> None:
        normalise(
            self,
            choice_share=share,
            dense_from=positive,
            ample_pair_noise=positive,
            max_pair_noise=positive,
            max_seconds=positive.or_none,
            memory_mb=megabytes,
            sparse=instance_of(Adaptive, "an Adaptive selector"),
            dense=instance_of(FirstTimeDoubling, "a FirstTimeDoubling selector"),
            network=instance_of(NeuralRows, "a NeuralRows model"),
            evolved=instance_of(Genetic, "a Genetic model"),
        )
        for model in (self.network, self.evolved):
            check_storable(model)

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the choice, and of each available method as an alternative.

        The steps of the default method come with their shares. Each other method has one step of share 0, as
        it replaces these, with the largest memory of its steps and their total time.
        """
        ways, _ = self._ways(domain)
        usual = _statistical(ways)
        if len(ways) == 1:
            return list(ways[usual].steps)
        steps = self._choice_steps(domain, weighed=_for_dense(ways) is not None)
        learning = 1 - sum(s.share for s in steps)
        steps += [replace(s, share=s.share * learning) for s in ways[usual].steps]
        for name, way in ways.items():
            if name != usual:
                largest = max(way.steps, key=lambda s: s.memory_mb)
                cost = FitCost(largest.fit_cost.memory_mb, sum(s.seconds for s in way.steps))
                instead = f"or {name} instead"
                steps.append(
                    PlannedStep(name=instead, share=Fraction(0), cells=largest.cells, cost=cost, instead=True)
                )
        return steps

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Choose a method and apply it; the model is fitted unless the method has its own."""
        return self.learn(curator, model, share=share, progress=progress)[0]

    def learn(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> tuple[MarginalModel, MethodChoice]:
        """Like `select`, and also return which method was chosen and why."""
        if progress is not None:
            progress(COUNT, 0.0)
        ways, left_out = self._ways(curator.domain, curator.ledger.budget.epsilon)
        name, reason, spent = self._chosen(curator, ways, share)
        way = ways[name]
        own = model if way.model is None else Supported(way.model)
        fitted = way.selector.select(curator, own, share=share - spent, progress=progress)
        return fitted, MethodChoice(method=name, reason="; ".join([reason, *left_out]))

    def within(self, memory_mb: float) -> Self:
        """Return this selector with at most this limit on memory."""
        return replace(self, memory_mb=min(self.memory_mb, memory_mb))

    def _chosen(
        self, curator: Curator, ways: Mapping[str, Way], share: Fraction
    ) -> tuple[str, str, Fraction]:
        """Return the method, the reason, and the share spent on the choice."""
        domain, usual = curator.domain, _statistical(ways)
        if len(domain) == 1:
            return usual, "a single column has no correlations", Fraction(0)
        if len(ways) == 1:
            return usual, "no other method is available", Fraction(0)

        choice = Fraction(self.choice_share) * share
        spent = _COUNT_PART * choice
        (counted,) = curator.measure([()], share=spent, step=COUNT)
        n_records = max(1.0, float(counted.values))

        pair = f"of about {n_records:,.0f} records (a noisy count) in a pair of columns"
        # Is the budget enough for all pairs?
        ample = ""
        if "private-gsd" in ways:
            n_pairs = len(domain) * (len(domain) - 1) // 2
            cells = self._large_pair(curator, share, n_records, n_pairs)
            noise = mean_noise(curator, n_pairs, share) * cells / (2 * n_records)
            if noise <= self.ample_pair_noise:
                ample = (
                    f"noise would move {noise:.1%} {pair} of many codes if all were measured, at most "
                    f"{self.ample_pair_noise:.1%}"
                )

        # Do pairs depend on each other beyond what a tree of them explains?
        reason, for_dense = "", _for_dense(ways)
        if for_dense is not None:
            pairs, rest = self._weighed(domain), choice - spent
            sigma = curator.noise_sigma(len(pairs), rest) * SENSITIVITY_STEPS / STEPS_PER_RECORD
            doubt = _SURE / math.sqrt(len(pairs)) + _HIDDEN
            least = self.dense_from + doubt * sigma / (2 * n_records)
            if least > _DENSEST:
                if ample:
                    return (
                        "private-gsd",
                        f"{ample}; the budget is too small to show whether pairs depend",
                        spent,
                    )
                reason = "the budget is too small to show dense correlations; "
            else:
                spent = choice
                dependences = curator.measure_dependence(pairs, share=rest, step=WEIGH)
                found = density(domain, pairs, dependences, n_records=n_records, sigma=sigma)
                beyond = (
                    f"pairs of columns depend on each other by {found:.3f} (total variation, a noisy mean) beyond "
                    "what a tree explains"
                )
                if ample and found > 0:
                    return "private-gsd", f"{ample}, and {beyond}", spent
                if found >= least:
                    return for_dense, f"correlations are dense: {beyond}, at least {least:.3f}", spent
                limit = "not above 0" if ample else f"below {least:.3f}"
                reason = f"correlations are sparse: {beyond}, {limit}; "

        # Is the budget enough for pairs at all?
        noise = mean_noise(curator, len(domain) - 1, share) * self._fewest_cells(domain) / (2 * n_records)
        moved = f"{reason}noise would move {noise:.1%} {pair} of three codes a column"
        if noise > self.max_pair_noise:
            return "independent", f"{moved}, above {self.max_pair_noise:.1%}", spent
        return usual, f"{moved}, at most {self.max_pair_noise:.1%}", spent

    def _large_pair(self, curator: Curator, share: Fraction, n_records: float, n_pairs: int) -> float:
        """Return the cells of the largest pair, or as many as codes are merged into if all pairs are measured."""
        cells = math.prod(sorted(curator.domain.sizes)[-2:])
        if self.sparse.records_per_noise is None:
            return cells
        sigma = curator.noise_sigma(n_pairs, share)
        least = self.sparse.records_per_noise
        return min(cells, most_cells(records=n_records, pair_sigma=sigma, records_per_noise=least))

    def _fewest_cells(self, domain: Domain) -> float:
        """Return the cells of a median pair once AIM has merged as many codes as it ever does."""
        most = math.inf if self.sparse.records_per_noise is None else FEWEST_GROUPS
        sizes = [min(size, most) for size in domain.sizes]
        return float(median(first * second for first, second in combinations(sizes, 2)))

    def _ways(self, domain: Domain, epsilon: float = 1.0) -> tuple[dict[str, Way], list[str]]:
        """Return the available methods, and why others are not, by declared facts and the budget alone."""
        selectors: dict[str, Selector] = {"independent": OneWay()}
        left_out: list[str] = []
        if len(domain) > 1:
            selectors |= {"mst": SpanningTree(), "aim": self.sparse}
        models: dict[str, NeuralRows | Genetic] = {}
        if len(domain) >= _FEWEST_COLUMNS and self._weighed(domain):
            least = self.sparse.records_per_noise
            selectors["private-gsd"], models["private-gsd"] = (
                AllPairs(
                    records_per_noise=least, interactions=self.sparse.interactions and least is not None
                ),
                self.evolved,
            )
            if is_installed("torch"):
                selectors["margnet"], models["margnet"] = self.dense, self.network
            else:
                left_out.append("margnet was left out, as the extra 'neural' (torch) is not installed")
        ways = {}
        for name, selector in selectors.items():
            model, steps = models.get(name), selector.plan(domain)
            way = Way(selector, tuple(_costing(steps, model, domain) if model else steps), model)
            memory, seconds = (
                max(s.memory_mb for s in way.steps),
                sum(s.seconds_at(epsilon) for s in way.steps),
            )
            reason = "" if name == "independent" else self.too_large(memory, seconds)
            if reason:
                left_out.append(f"{name} was left out, as it may take {reason}")
            else:
                ways[name] = way
        return ways, left_out

    def too_large(self, memory_mb: float, seconds: float) -> str:
        """Describe which limit a method with such a cost may exceed; empty if none."""
        if memory_mb > self.memory_mb:
            return above_limit(memory_mb, self.memory_mb)
        if self.max_seconds is not None and seconds > self.max_seconds:
            return f"{_shown(seconds)} s, above {_shown(self.max_seconds)}"
        return ""

    def _choice_steps(self, domain: Domain, *, weighed: bool) -> list[PlannedStep]:
        share = Fraction(self.choice_share)
        count = PlannedStep(name=COUNT, share=_COUNT_PART * share, cells=1, noisy_cells=1)
        if not weighed:
            return [count]
        pairs = self._weighed(domain)
        kept = max(sum(map(domain.cells, part)) for part in batches(domain.cells, pairs))
        weigh = PlannedStep(name=WEIGH, share=share - count.share, cells=kept, noisy_cells=len(pairs))
        return [count, weigh]

    def _weighed(self, domain: Domain) -> list[Clique]:
        """Return the pairs that AIM would also consider."""
        return [p for p in pairs_of(domain) if domain.cells(p) <= self.sparse.max_cells]


def _shown(seconds: float) -> str:
    """Return seconds with enough digits to tell a few from none."""
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _statistical(ways: Mapping[str, Way]) -> str:
    """Return the best available method without a network."""
    return next(name for name in ("aim", "mst", "independent") if name in ways)


def _for_dense(ways: Mapping[str, Way]) -> str | None:
    """Return the best available method for dense correlations; None if there is none."""
    return next((name for name in ("margnet", "private-gsd") if name in ways), None)


def _costing(steps: Sequence[PlannedStep], model: NeuralRows | Genetic, domain: Domain) -> list[PlannedStep]:
    """Return the steps with the cost of fitting the method's own model."""
    bound = model.over(domain)
    return [s.costing(bound.fit_cost(s.fit, _ANY_NUMBER)) if s.fit else s for s in steps]
