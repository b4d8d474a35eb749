"""PrivMRF's selection: an attribute graph, initial marginals within it, and rounds that refine them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from syntabula._arguments import count, megabytes, normalise, not_negative, positive, real, share
from syntabula._planning import PlannedFit, PlannedStep, Progress
from syntabula._spaces import Range, tunable
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain, all_cliques
from syntabula.marginals.measurement import consistent_total
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import over_merged
from syntabula.privacy.doors.scores import batches
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector, choose_worst, mean_noise
from syntabula.select.dependence_graph import (
    best_families,
    chordal_cliques,
    looked_at,
    refinement_count,
    spread_over_steps,
)
from syntabula.select.merged_codes import MERGING_ONE_WAY, ONE_WAY, MergedStart
from syntabula.select.model_size import affordable, still_affordable
from syntabula.select.usefulness import Limit, largest_useful, useful_sets

TOTAL = "measure the number of records"
GRAPH = "measure how columns depend on each other"
CHOOSE = "choose marginals that refine the model"
MEASURE = "measure marginals"
_ONE_WAY_SHARE = Fraction(1, 20)
_SECONDS_PER_COLUMN = 0.04  # at epsilon 1; some three times as much at 5


@dataclass(frozen=True, kw_only=True)
class AttributeGraph(Selector):
    """Build a graph of dependent columns, measure marginals within its cliques, and refine where the model is wrong.

    Cai, Lei, Wei, Xiao (2021), "Data Synthesis via Differentially Private Markov Random Fields" (PrivMRF),
    PVLDB 14(11). Symbols: d columns; R(i, j), half the L1 distance of two columns from independence, as a
    fraction of the records; theta-usefulness as in PrivBayes.

    1. Measure the number of records and R of all pairs; search for a chordal graph with large R and small cliques.
    2. In each clique order the columns greedily, and give each the useful set of earlier columns with the
       best score (large R to it, little R among themselves). Measure the best d of these families, and columns
       in none of them.
    3. In L = min(d / 2, 8) steps, choose 0.8 d more useful marginals that the model gets most wrong; measure
       them and fit again.

    All marginals get equal noise. Departures from the paper and its public code:

    - Before step 1 single columns are measured, and codes merged until pairs can stand out from their noise
      (`coarsen`), as in AIM and MST here; the number of records follows from these measurements. They take a
      twentieth of the budget, or three tenths if many codes are merged. `records_per_noise=None` leaves all codes as they
      are, and measures the number of records instead, like the paper.
    - The number of records is noisy wherever it is used, with the noise the right way round; R is measured
      in counts, with sensitivity two records; R between parents is looked up by column.
    - Refining marginals are chosen by exponential mechanisms, whose error grows with the logarithm of the number
      of candidates; noise on every candidate's score would grow with its square root. The score is the distance less
      that of noise alone, as in AIM: otherwise large marginals always have the largest error, and small ones that
      matter, such as pairs with a label, are never chosen. The candidates are not drawn at random, but follow from R
      and from earlier candidates.
    - All useful pairs are candidates, not only those within the graph, which depends on noise and limits. The
      model may grow up to `max_model_mb`, in proportion to what is measured.
    - Pairs may have five times the cells that theta allows: if no pair is theta-useful, the rule leaves all
      columns independent, which is far worse than noise on strong pairs. The public code does the same for the
      first marginals of columns with a taxonomy, which it then measures in coarser groups; there are no
      taxonomies here.

    Attributes:
        theta: Least ratio of average count to average noise of a marginal.
        graph_share: Fraction of the budget for the graph (beta_1); with `records_per_noise=None` a hundredth of it is
            for the number of records.
        refine_share: Fraction of the budget for the choices in step 3 (beta_3); the rest is for all marginals.
        pair_slack: A pair may have this many times the cells that theta allows; 1 is the paper's rule.
        candidates: k, the number of candidates of a choice.
        size_penalty: Penalty per cell of the graph's cliques, in units of R (lambda).
        max_columns: Most columns of a marginal.
        max_clique_cells: Most cells of a clique of the graph.
        max_graph_cells: Most cells of all cliques together, as in the public code.
        max_cells: Most cells of a marginal, unless it is one column. This limit is ours; usefulness allows
            more only for long tables at large budgets, and without noise.
        max_model_mb: Most that the model may grow beyond its unfitted size, in proportion to what is measured.
        records_per_noise: Codes are merged until an average cell of a typical pair holds this many times
            its noise; None merges none.
    """

    key: ClassVar[str] = "privmrf"
    adaptive: ClassVar[bool] = True

    theta: float = tunable(6.0, Range(low=3.0, high=12.0))
    graph_share: Fraction | float = tunable(Fraction(1, 10), Range(low=0.05, high=0.2))
    refine_share: Fraction | float = Fraction(1, 10)
    pair_slack: float = 5.0
    candidates: int = 400
    size_penalty: float = 1e-8
    max_columns: int = 6
    max_clique_cells: float = 1e7
    max_graph_cells: float = 5e7
    max_cells: int = 20_000
    max_model_mb: float = 80.0
    records_per_noise: float | None = 4.0

    def __post_init__(self) -> None:
        normalise(
            self,
            graph_share=share,
            refine_share=share,
            candidates=count(),
            max_columns=count(),
            max_cells=count(),
            theta=positive,
            pair_slack=real("a finite number of at least 1", lambda slack: 1 <= slack < math.inf),
            size_penalty=not_negative,
            max_clique_cells=positive,
            max_graph_cells=positive,
            max_model_mb=megabytes,
            records_per_noise=positive.or_none,
        )
        one_way = MERGING_ONE_WAY if self.records_per_noise is not None else 0
        if self.graph_share + self.refine_share + one_way >= 1:
            raise ArgumentError(
                "graph_share and refine_share must leave a part for the measurements"
                + (", beside three tenths for single columns" if one_way else "")
            )

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Return the cost of the steps; which marginals are measured depends on the table.

        If many codes are merged, the one-way marginals take three tenths and the other marginals correspondingly less.
        """
        start, graph, choose, measure = self._shares(domain, Fraction(1))
        one_way = sum(domain.sizes)
        largest = math.prod(sorted(domain.sizes, reverse=True)[: self.max_columns])
        cells = max(min(largest, self.max_cells), *domain.sizes)
        noisy = cells * (len(domain) + refinement_count(domain))
        model = max(one_way, int(self.max_model_mb * 2**20 / 8))
        usual = _SECONDS_PER_COLUMN * len(domain)
        first = PlannedStep(
            name=TOTAL, share=start, cells=1, noisy_cells=1, fit=PlannedFit(cells=1, seconds=0.0)
        )
        if self.records_per_noise is not None:
            first = PlannedStep(
                name=ONE_WAY, share=start, cells=one_way, noisy_cells=one_way, fit=PlannedFit(cells=one_way)
            )
        steps = [
            first,
            PlannedStep(
                name=GRAPH,
                share=graph,
                cells=_counted_at_once(domain),
                noisy_cells=len(domain) ** 2,
                fit=PlannedFit(cells=1, seconds=0.0),
            ),
            PlannedStep(
                name=CHOOSE,
                share=choose,
                cells=self.candidates * cells,
                fit=PlannedFit(cells=model, seconds=usual / 2),
            ),
            PlannedStep(
                name=MEASURE,
                share=measure,
                cells=noisy,
                noisy_cells=noisy,
                fit=PlannedFit(cells=model, seconds=usual / 2),
            ),
        ]
        return [s for s in steps if s.share]  # a single column only needs measuring

    def select(
        self,
        curator: Curator,
        model: MarginalModel,
        *,
        share: Fraction = Fraction(1),
        progress: Progress | None = None,
    ) -> MarginalModel:
        """Search the graph, measure initial marginals, and refine in steps."""
        report = progress or (lambda step, done: None)
        _, graph_share, choose_share, _ = self._shares(curator.domain, share)
        if len(curator.domain) == 1:
            columns = [curator.domain.columns]
            return model.over(curator.domain).fit(curator.measure(columns, share=share, step=MEASURE))
        start, records, measure_share = self._start(curator, share)
        curator, measured = start.curator, start.measured
        domain, model = curator.domain, over_merged(model, start.recoding)
        report(ONE_WAY, 0.1)

        # Step 1: the graph, from noisy dependences.
        pairs = all_cliques(domain.columns, 2)
        noisy = curator.measure_dependence(pairs, share=graph_share, step=GRAPH)
        dependence = dict(zip(pairs, (noisy / (2 * records)).tolist(), strict=True))
        report(GRAPH, 0.2)
        cliques = chordal_cliques(
            domain,
            dependence,
            size_penalty=self.size_penalty,
            max_clique_cells=self.max_clique_cells,
            max_cells=self.max_graph_cells,
        )

        # Step 2: useful families within the cliques, and columns that are in none of them.
        refinements = refinement_count(domain)
        most = len(domain) + refinements
        useful = largest_useful(curator, records, most, measure_share, theta=self.theta)
        limit = Limit(min(useful, self.max_cells), min(useful * self.pair_slack, self.max_cells))
        initial = self._fitting(model, best_families(domain, cliques, dependence, limit, self.max_columns))
        covered = {c for clique in (*initial, *(m.clique for m in measured)) for c in clique}
        initial += [(c,) for c in domain.columns if c not in covered]
        part = measure_share / (len(initial) + refinements)
        if initial:
            measured += curator.measure(initial, share=part * len(initial), step=MEASURE)
        model = model.fit(measured)
        report(MEASURE, 0.4)

        # Step 3: refine where the model is most wrong, beyond the noise of a measurement.
        pool = useful_sets(domain, cliques, limit, self.max_columns)
        pool = list(dict.fromkeys([*pool, *(p for p in pairs if limit.allows(domain, p))]))
        seen: Counter[Clique] = Counter()
        refined = 0
        for times in spread_over_steps(refinements, len(domain)):
            refined += times
            known = [m.clique for m in measured]
            growth_mb = self.max_model_mb * (len(initial) + refined) / (len(initial) + refinements)
            fitting = affordable(model, pool, known, growth_mb)
            candidates = looked_at(fitting, set(known), dependence, seen, most=self.candidates)
            choices, picks = choose_share * Fraction(times, refinements), min(times, len(candidates))
            chosen = choose_worst(
                curator,
                model,
                candidates,
                picks=picks,
                share=choices,
                noise=mean_noise(curator, picks, part * times),
                step=CHOOSE,
                still_open=partial(still_affordable, model, known, growth_mb),
            )
            seen.update(c for c in candidates if c not in chosen)
            # If fewer fit the model together, each gets a larger share.
            left = choices * Fraction(picks - len(chosen), picks)
            measured += curator.measure(chosen, share=part * times + left, step=MEASURE)
            model = model.fit(measured)
            report(CHOOSE, 0.4 + 0.6 * refined / refinements)
        return start.restored(model)

    def _start(self, curator: Curator, share: Fraction) -> tuple[MergedStart, float, Fraction]:
        """Return the measurements before the graph, the number of records, and the share left for marginals."""
        domain = curator.domain
        first, _, _, measure_share = self._shares(domain, share)
        if self.records_per_noise is None:
            (counted,) = curator.measure([()], share=first, step=TOTAL)
            start = MergedStart(curator, [], Recoding.identity(domain), first)
            return start, max(1.0, float(counted.values)), measure_share
        all_marginals = first + measure_share
        start = MergedStart.of(
            curator,
            share=all_marginals,
            first=first,
            most=MERGING_ONE_WAY * share,
            records_per_noise=self.records_per_noise,
            # The number of marginals that will be measured, with all that is left for them.
            n_pairs=len(domain) + refinement_count(domain),
        )
        return start, consistent_total(start.measured), all_marginals - start.used

    def _shares(self, domain: Domain, share: Fraction) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Return the shares of the steps before the graph, of the graph, all choices, and all other marginals."""
        if len(domain) == 1:
            return Fraction(0), Fraction(0), Fraction(0), share
        graph, choose = Fraction(self.graph_share) * share, Fraction(self.refine_share) * share
        if self.records_per_noise is None:
            return graph / 100, graph * 99 / 100, choose, share - graph - choose
        first = _ONE_WAY_SHARE * share
        return first, graph, choose, share - graph - choose - first

    def _fitting(self, model: MarginalModel, families: Sequence[Clique]) -> list[Clique]:
        """Return the families, best first, that keep the model within its size limit."""
        kept: list[Clique] = []
        limit = model.memory_mb([]) + self.max_model_mb
        for family in families:
            if model.memory_mb([*kept, family]) <= limit:
                kept.append(family)
        return kept


def _counted_at_once(domain: Domain) -> int:
    pairs = all_cliques(domain.columns, min(2, len(domain)))
    return max(sum(map(domain.cells, batch)) for batch in batches(domain.cells, pairs))
