"""Which way of learning suits a table: declared facts first, then a noisy count and a noisy density."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import median
from typing import NamedTuple

from syntabula._arguments import check_part, check_positive
from syntabula._extras import is_installed
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import MarginalModel
from syntabula.models.neural import NeuralRows
from syntabula.privacy.curator import Curator
from syntabula.privacy.dependence import SENSITIVITY_STEPS, STEPS_PER_RECORD, batches
from syntabula.privacy.statement import MethodChoice
from syntabula.select.adaptive import Adaptive
from syntabula.select.base import PlannedStep, Progress, Selector
from syntabula.select.density import density
from syntabula.select.doubling import FirstTimeDoubling
from syntabula.select.one_way import OneWay
from syntabula.select.rounds import HALF_NORMAL, pairs_of
from syntabula.select.spanning_tree import SpanningTree

COUNT = "count records to choose a method"
WEIGH = "weigh dependences to choose a method"
_COUNT_PART = Fraction(1, 10)
_FEWEST_COLUMNS = 3
_SURE = 2.0  # standard deviations of the mean of all pairs
_HIDDEN = 0.3  # standard deviations of one pair: so much denser may a tree look that noise hides
_DENSEST = 0.25  # about what equal correlations of 0.8 come to


class Way(NamedTuple):
    """One way of learning: what selects, and what it takes.

    Attributes:
        selector: Decides which marginals are measured.
        steps: What it plans, for the domain at hand.
    """

    selector: Selector
    steps: tuple[PlannedStep, ...]


@dataclass(frozen=True, kw_only=True)
class Automatic:
    """Choose MargNet for dense correlations, AIM for sparse ones, MST in haste, single columns for next to no budget.

    Chen, Gong, Wang, "Beyond One-Size-Fits-All: Neural Networks for Differentially Private Tabular Data
    Synthesis" (MargNet), section 6, find AIM ahead on sparse tables and MargNet on dense ones. The rules, in
    this order:

    1. A way that may need more memory or time than allowed is left out, and MargNet where torch is missing or
       there are fewer than three columns. If one way is left, nothing is spent.
    2. A tenth of the choice's share counts the records.
    3. If MargNet is open, the rest of that share releases how much all pairs depend on each other, and MargNet
       is chosen if their density (see `density`) is at least `dense_from`, and more where noise may feign it:
       by two standard deviations of the mean, and 0.3 of one pair. Nothing is released where the noise would
       be too large to show the density of any table.
    4. If the noise on a pair, were d - 1 of them measured with the whole budget, exceeds `max_pair_noise` of all
       records, columns are learned one by one.
    5. Else AIM; MST where AIM was left out.

    Share that is not needed goes to learning. The thresholds rest on simulated tables of normal columns in 16
    codes: 10,000 records, delta 1e-5, one seed, usual options (MargNet with 100 iterations at epsilon 5, and 50
    for 20 columns). Mean total variation distance of all pairs:

    =======  =======  ================  =======  =====  =====  =======  ===============
    epsilon  columns  correlations      columns  MST    AIM    MargNet  noise on a pair
    =======  =======  ================  =======  =====  =====  =======  ===============
    0.1      10       a tree of 0.7     0.192    0.229  0.220  -        1.0
    0.2      10       a tree of 0.7     0.170    -      0.184  0.227    0.5
    0.2      10       0.8 everywhere    0.381    -      0.383  0.294    0.5
    0.3      10       a tree of 0.7     0.163    -      0.166  -        0.4
    0.5      20       a tree of 0.7     0.123    -      0.124  -        0.4
    1        10       a tree of 0.7     -        0.088  0.079  0.099    0.1
    1        20       a tree of 0.7     0.117    0.087  0.080  0.134    0.2
    1        20       a tree of 0.9     -        -      0.135  0.151    0.2
    1        10       0.3 everywhere    -        -      0.108  0.095    0.1
    1        10       0.5 everywhere    0.183    0.157  0.157  0.074    0.1
    1        5        0.8 everywhere    -        -      0.105  0.057    0.1
    1        10       0.8 everywhere    0.373    0.253  0.106  0.084    0.1
    1        20       0.8 everywhere    0.374    0.290  0.289  0.114    0.2
    5        10       a tree of 0.7     -        0.045  0.040  0.038    0.03
    5        10       0.3 everywhere    -        -      0.041  0.037    0.03
    5        10       0.8 everywhere    -        0.197  0.046  0.034    0.03
    5        20       0.8 everywhere    -        -      0.085  0.049    0.04
    =======  =======  ================  =======  =====  =====  =======  ===============

    With 5 codes and 10 columns in a tree of 0.7, AIM and single columns came to 0.076 and 0.115 at a noise of
    0.1, 0.171 and 0.142 at 0.3. Of public tables in 16 codes, the readings of a robot (12 columns, dense) came
    to 0.314 with AIM and 0.244 with MargNet at epsilon 1, 0.104 and 0.079 at 5. Sparse ones did so at epsilon
    1: magic (11 columns) 0.045 and 0.075, bean (12 columns) 0.064 and 0.079, abalone (9 columns) 0.154 and
    0.240, though bean's pairs depend on each other as much as those of equal correlations of 0.8. PrivSyn was
    behind AIM or level with it (0.160 and 0.158 for 0.8 and 0.5 at epsilon 1), so it is none of the ways.

    Attributes:
        choice_share: Part of the budget for the choice.
        dense_from: Density from which MargNet is chosen.
        max_pair_noise: Noise on a pair, in parts of all records, above which a table that is not shown to be
            dense is learned by single columns.
        max_seconds: Ways that may take longer by a rough estimate for two cores are left out; None for no limit.
        memory_mb: Ways that may need more are left out.
        sparse: Chooses marginals of sparse tables, as in AIM.
        dense: Chooses pairs of dense tables, as in MargNet.
        network: Is fitted to dense tables.
    """

    choice_share: Fraction | float = Fraction(1, 50)
    dense_from: float = 0.06
    max_pair_noise: float = 0.3
    max_seconds: float | None = None
    memory_mb: float = 4000.0
    sparse: Adaptive = field(default_factory=Adaptive)
    dense: FirstTimeDoubling = field(default_factory=FirstTimeDoubling)
    network: NeuralRows = field(default_factory=NeuralRows)

    def __post_init__(self) -> None:
        check_part("choice_share", self.choice_share)
        for name in ("dense_from", "max_pair_noise", "max_seconds", "memory_mb"):
            value = getattr(self, name)
            if value is None and name == "max_seconds":
                continue
            check_positive(name, value)

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say what the choice costs, and what the ways that are open may cost, one beside the other.

        The steps of the way that needs least to be known come with their shares. Each other way has one step
        of share 0, as it takes the place of these, with the most memory of its steps and the time of all.
        """
        ways, _ = self._ways(domain)
        usual = _statistical(ways)
        if len(ways) == 1:
            return list(ways[usual].steps)
        steps = self._choice_steps(domain, weighed="margnet" in ways)
        learning = 1 - sum(s.share for s in steps)
        steps += [replace(s, share=s.share * learning) for s in ways[usual].steps]
        for name, way in ways.items():
            if name != usual:
                largest = max(way.steps, key=lambda s: s.memory_mb)
                seconds = sum(s.seconds for s in way.steps) - replace(largest, work_seconds=0.0).seconds
                instead = f"or {name} instead"
                steps.append(
                    replace(largest, name=instead, share=Fraction(0), work_seconds=max(0.0, seconds))
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
        """Choose a way and follow it; the model is fitted unless the network is."""
        return self.learn(curator, model, share=share, progress=progress)[0]

    def learn(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> tuple[MarginalModel, MethodChoice]:
        """Do as `select` does, and say which way was chosen and why."""
        if progress is not None:
            progress(COUNT, 0.0)
        ways, left_out = self._ways(curator.domain)
        name, reason, spent = self._chosen(curator, ways, share)
        learner = self.network if name == "margnet" else model
        fitted = ways[name].selector.select(curator, learner, share=share - spent, progress=progress)
        return fitted, MethodChoice(method=name, reason="; ".join([reason, *left_out]))

    def _chosen(
        self, curator: Curator, ways: Mapping[str, Way], share: Fraction
    ) -> tuple[str, str, Fraction]:
        """Return the way, the reason, and the share that was spent on finding it."""
        domain, usual = curator.domain, _statistical(ways)
        if len(domain) == 1:
            return usual, "a single column has no correlations", Fraction(0)
        if len(ways) == 1:
            return usual, "no other way is open", Fraction(0)

        choice = Fraction(self.choice_share) * share
        spent = _COUNT_PART * choice
        (counted,) = curator.measure([()], share=spent, step=COUNT)
        n_records = max(1.0, float(counted.values))

        # Do pairs depend on each other beyond what a tree of them explains?
        reason = ""
        if "margnet" in ways:
            pairs, rest = self._weighed(domain), choice - spent
            sigma = curator.noise_sigma(len(pairs), rest) * SENSITIVITY_STEPS / STEPS_PER_RECORD
            doubt = _SURE / math.sqrt(len(pairs)) + _HIDDEN
            least = self.dense_from + doubt * sigma / (2 * n_records)
            if least > _DENSEST:
                reason = "the budget is too small to show dense correlations; "
            else:
                spent = choice
                dependences = curator.measure_dependence(pairs, share=rest, step=WEIGH)
                found = density(domain, pairs, dependences, n_records=n_records, sigma=sigma)
                beyond = (
                    f"pairs of columns depend on each other by {found:.3f} (total variation, a noisy mean) beyond "
                    "what a tree explains"
                )
                if found >= least:
                    return "margnet", f"correlations are dense: {beyond}, at least {least:.3f}", spent
                reason = f"correlations are sparse: {beyond}, below {least:.3f}; "

        # Is the budget enough for pairs at all?
        cells = median(domain.cells(p) for p in pairs_of(domain))
        noise = HALF_NORMAL * curator.noise_sigma(len(domain) - 1, share) * cells / (2 * n_records)
        moved = f"noise would move {noise:.0%} of about {n_records:,.0f} records (a noisy count) in a pair of columns"
        if noise > self.max_pair_noise:
            return "independent", f"{reason}{moved}, above {self.max_pair_noise:.0%}", spent
        return usual, f"{reason}{moved}, at most {self.max_pair_noise:.0%}", spent

    def _ways(self, domain: Domain) -> tuple[dict[str, Way], list[str]]:
        """Return the ways that are open, and why others are not, by declared facts alone."""
        selectors: dict[str, Selector] = {"independent": OneWay()}
        left_out: list[str] = []
        if len(domain) > 1:
            selectors |= {"mst": SpanningTree(), "aim": self.sparse}
        if len(domain) >= _FEWEST_COLUMNS and self._weighed(domain):
            if is_installed("torch"):
                selectors["margnet"] = self.dense
            else:
                left_out.append("margnet was left out, as the extra 'neural' (torch) is not installed")
        ways = {}
        for name, selector in selectors.items():
            steps = self._network_steps(domain) if name == "margnet" else selector.plan(domain)
            way = Way(selector, tuple(steps))
            reason = "" if name == "independent" else self._too_large(way)
            if reason:
                left_out.append(f"{name} was left out, as it may take {reason}")
            else:
                ways[name] = way
        return ways, left_out

    def _too_large(self, way: Way) -> str:
        """Say what a way may take beyond what it is allowed; empty if nothing."""
        memory, seconds = max(s.memory_mb for s in way.steps), sum(s.seconds for s in way.steps)
        if memory > self.memory_mb:
            return f"{memory:,.0f} MB, above {self.memory_mb:,.0f}"
        if self.max_seconds is not None and seconds > self.max_seconds:
            return f"{seconds:,.0f} s, above {self.max_seconds:,.0f}"
        return ""

    def _network_steps(self, domain: Domain) -> list[PlannedStep]:
        """Return MargNet's plan with the size of the network, and the time to train it in every round."""
        bound, sized = self.network.over(domain), []
        for step in self.dense.plan(domain):
            cost = bound.fit_cost(step.cliques, 0)
            seconds = step.fits * cost.seconds
            sized.append(
                replace(
                    step,
                    cliques=(),
                    candidates=(),
                    model_cells=0,
                    fit_mb=cost.memory_mb,
                    work_seconds=seconds,
                )
            )
        return sized

    def _choice_steps(self, domain: Domain, *, weighed: bool) -> list[PlannedStep]:
        share = Fraction(self.choice_share)
        count = PlannedStep(name=COUNT, share=_COUNT_PART * share, cells=1, noisy_cells=1, model_cells=0)
        if not weighed:
            return [count]
        pairs = self._weighed(domain)
        kept = max(sum(map(domain.cells, part)) for part in batches(domain, pairs))
        weigh = PlannedStep(
            name=WEIGH, share=share - count.share, cells=kept, noisy_cells=len(pairs), model_cells=0
        )
        return [count, weigh]

    def _weighed(self, domain: Domain) -> list[Clique]:
        """Return the pairs that AIM would consider too."""
        return [p for p in pairs_of(domain) if domain.cells(p) <= self.sparse.max_cells]


def _statistical(ways: Mapping[str, Way]) -> str:
    """Return the best way that is open without a network."""
    return next(name for name in ("aim", "mst", "independent") if name in ways)
