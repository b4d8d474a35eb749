"""PrivMRF's selection: an attribute graph, initial marginals within it, and rounds that refine them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import ClassVar

from syntabula._arguments import (
    count,
    normalise,
    not_negative,
    positive,
    real,
    share,
)
from syntabula._planning import PlannedStep, Progress
from syntabula.errors import ArgumentError
from syntabula.marginals.clique import all_cliques
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.statistics.dependence import batches
from syntabula.select.base import Selector
from syntabula.select.chordal_graph import chordal_cliques
from syntabula.select.usefulness import Limit, largest_useful, maximal_sets, useful_sets

TOTAL = "measure the number of records"
GRAPH = "measure how columns depend on each other"
CHOOSE = "choose marginals that refine the model"
MEASURE = "measure marginals"
_NEAREST = 8
_SECONDS_PER_COLUMN = 0.04  # at epsilon 1; some three times as much at 5


@dataclass(frozen=True, kw_only=True)
class AttributeGraph(Selector):
    """Draw a graph of dependent columns, measure marginals within its cliques, and refine where the model is off.

    Cai, Lei, Wei, Xiao (2021), "Data Synthesis via Differentially Private Markov Random Fields" (PrivMRF),
    PVLDB 14(11). Symbols: d columns; R(i, j), half the L1 distance of two columns from independence, in parts of
    the records; theta-usefulness as in PrivBayes.

    1. Measure the number of records and R of all pairs; search a chordal graph with much R and small cliques.
    2. In each clique order the columns greedily and give each the useful set of columns before it with the
       largest R for its own overlap; the best d of these families, and columns in none of them, are measured.
    3. In L = min(d / 2, 8) steps, choose 0.8 d more useful marginals within the cliques, of those that the model
       gets most wrong; measure them and fit again.

    All marginals get equal noise. Departures from the public code: the number of records is noisy wherever it
    counts, with the noise the right way round; R is measured in counts, with sensitivity two records; refining
    marginals are chosen by exponential mechanisms, whose error grows with the logarithm of the number of
    candidates, while noise on every candidate's score grows with its square root; which candidates are looked at
    is not drawn at random, but follows from R and from what was looked at before; R between parents is looked
    up by column. Pairs may have five times the cells that theta allows: where no pair is theta-useful the rule
    leaves all columns independent, which is far worse than noise on strong pairs. The public code does so for
    the first marginals of columns with a taxonomy, which it then measures in coarser groups; there is none here.

    Attributes:
        graph_share: Part of the budget for the graph (beta_1); a hundredth of it for the number of records.
        refine_share: Part of the budget for the choices in step 3 (beta_3); the rest is for all marginals.
        theta: Average count over average noise that a marginal must have.
        pair_slack: A pair may have so many times the cells; 1 is the paper's rule.
        candidates: k, how many marginals a choice is among.
        size_penalty: What a cell of the graph's cliques costs against R (lambda).
        max_columns: No marginal has more columns.
        max_clique_cells: No clique of the graph has more cells.
        max_graph_cells: All cliques together have no more; five times as many in the public code, to no avail.
        max_cells: No marginal has more cells, unless it is one column: a limit of ours, below what usefulness
            allows only of long tables at large budgets, and where there is no noise.
    """

    key: ClassVar[str] = "privmrf"
    adaptive: ClassVar[bool] = True

    graph_share: Fraction | float = Fraction(1, 10)
    refine_share: Fraction | float = Fraction(1, 10)
    theta: float = 6.0
    pair_slack: float = 5.0
    candidates: int = 400
    size_penalty: float = 1e-8
    max_columns: int = 6
    max_clique_cells: float = 1e7
    max_graph_cells: float = 1e7
    max_cells: int = 20_000

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
        )
        if self.graph_share + self.refine_share >= 1:
            raise ArgumentError("graph_share and refine_share leave nothing for the measurements; lower one")

    def plan(self, domain: Domain) -> list[PlannedStep]:
        """Say what the steps cost; which marginals there will be depends on what is found."""
        records, graph, choose, measure = self._shares(domain, Fraction(1))
        largest = math.prod(sorted(domain.sizes, reverse=True)[: self.max_columns])
        cells = max(min(largest, self.max_cells), *domain.sizes)
        noisy = cells * (len(domain) + _refinements(domain))
        model = max(sum(domain.sizes), int(self.max_graph_cells))
        usual = _SECONDS_PER_COLUMN * len(domain)
        steps = [
            PlannedStep(name=TOTAL, share=records, cells=1, noisy_cells=1, model_cells=1, usual_seconds=0.0),
            PlannedStep(
                name=GRAPH,
                share=graph,
                cells=_counted_at_once(domain),
                noisy_cells=len(domain) ** 2,
                model_cells=1,
                usual_seconds=0.0,
            ),
            PlannedStep(
                name=CHOOSE,
                share=choose,
                cells=self.candidates * cells,
                model_cells=model,
                usual_seconds=usual / 2,
            ),
            PlannedStep(
                name=MEASURE,
                share=measure,
                cells=noisy,
                noisy_cells=noisy,
                model_cells=model,
                usual_seconds=usual / 2,
            ),
        ]
        return [s for s in steps if s.share]  # a single column is only measured

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
        domain, model = curator.domain, model.over(curator.domain)
        record_share, graph_share, choose_share, measure_share = self._shares(domain, share)
        if len(domain) == 1:
            return model.fit(curator.measure([domain.columns], share=measure_share, step=MEASURE))

        # Step 1: the graph, from the noisy number of records and noisy dependences.
        (counted,) = curator.measure([()], share=record_share, step=TOTAL)
        records = max(1.0, float(counted.values))
        pairs = all_cliques(domain.columns, 2)
        noisy = curator.measure_dependence(pairs, share=graph_share, step=GRAPH)
        dependence = dict(zip(pairs, (noisy / (2 * records)).tolist(), strict=True))
        report(GRAPH, 0.1)
        cliques = chordal_cliques(
            domain,
            dependence,
            size_penalty=self.size_penalty,
            max_clique_cells=self.max_clique_cells,
            max_cells=self.max_graph_cells,
        )

        # Step 2: useful families within the cliques.
        refinements = _refinements(domain)
        most = len(domain) + refinements
        useful = largest_useful(curator, records, most, measure_share, theta=self.theta)
        limit = Limit(min(useful, self.max_cells), min(useful * self.pair_slack, self.max_cells))
        initial = _initial(domain, cliques, dependence, limit, self.max_columns)
        part = measure_share / (len(initial) + refinements)
        measured = curator.measure(initial, share=part * len(initial), step=MEASURE)
        model = model.fit(measured)
        report(MEASURE, 0.4)

        # Step 3: refine where the model is most wrong.
        pool = useful_sets(domain, cliques, limit, self.max_columns)
        seen: Counter[Clique] = Counter()
        for times in _spread(refinements, len(domain)):
            candidates = self._candidates(pool, {m.clique for m in measured}, dependence, seen)
            estimates = model.marginals(candidates)
            open_, chosen = list[int](), list[int]()
            for _ in range(times):
                open_ = open_ or list(range(len(candidates)))
                position = curator.choose(
                    [candidates[i] for i in open_],
                    [estimates[i] for i in open_],
                    share=choose_share / refinements,
                    step=CHOOSE,
                )
                chosen.append(open_.pop(position))
            seen.update(c for i, c in enumerate(candidates) if i not in chosen)
            measured += curator.measure([candidates[i] for i in chosen], share=part * times, step=MEASURE)
            model = model.fit(measured)
            report(CHOOSE, 0.4 + 0.6 * (len(measured) - len(initial)) / refinements)
        return model

    def _shares(self, domain: Domain, share: Fraction) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Return the shares of the number of records, the graph, all choices, and all marginals."""
        if len(domain) == 1:
            return Fraction(0), Fraction(0), Fraction(0), share
        graph, choose = Fraction(self.graph_share) * share, Fraction(self.refine_share) * share
        return graph / 100, graph * 99 / 100, choose, share - graph - choose

    def _candidates(
        self,
        pool: Sequence[Clique],
        known: set[Clique],
        dependence: Mapping[Clique, float],
        seen: Mapping[Clique, int],
    ) -> list[Clique]:
        """Return the marginals that the next choice is among: those seen least often, the most dependent first.

        A number of k columns gets a part in proportion to k squared of them, as in the paper's draw. If
        everything useful is measured, it may be measured again.
        """
        fresh = [c for c in pool if c not in known] or list(pool)
        by_width: dict[int, list[Clique]] = {}
        for clique in fresh:
            by_width.setdefault(len(clique), []).append(clique)
        left, found = self.candidates, list[Clique]()
        for width, members in sorted(by_width.items()):
            later = sum(w**2 for w in by_width if w > width)
            quota = math.ceil(left * width**2 / (width**2 + later))
            members.sort(key=lambda c: (seen.get(c, 0), -_within(c, dependence)))
            found += members[:quota]
            left = self.candidates - len(found)
        return found


def _counted_at_once(domain: Domain) -> int:
    pairs = all_cliques(domain.columns, min(2, len(domain)))
    return max(sum(map(domain.cells, batch)) for batch in batches(domain, pairs))


def _refinements(domain: Domain) -> int:
    return math.floor(0.8 * len(domain))


def _spread(refinements: int, n_columns: int) -> list[int]:
    """Return how many marginals each of L = min(d / 2, 8) steps refines by."""
    steps = max(1, min(n_columns // 2, 8))
    ends = [refinements * i // steps for i in range(steps + 1)]
    return [after - before for before, after in pairwise(ends) if after > before]


def _within(clique: Clique, dependence: Mapping[Clique, float]) -> float:
    """Return the sum of R over all pairs of a clique's columns, noise below zero counting as none."""
    return sum(max(0.0, dependence[pair]) for pair in combinations(clique, 2))


def _initial(
    domain: Domain, cliques: Iterable[Clique], dependence: Mapping[Clique, float], limit: Limit, most: int
) -> list[Clique]:
    """Return the best family of each column, then the next best of any up to d, and columns in none alone."""
    scored: dict[tuple[str, Clique], float] = {}
    for clique in cliques:
        for child, parents, score in _inner_network(domain, clique, dependence, limit, most):
            family = domain.canonical((child, *parents))
            scored[child, family] = max(score, scored.get((child, family), -math.inf))
    ranked = sorted(scored, key=lambda key: -scored[key])
    best = dict(reversed(ranked))  # of each column the highest, as the last one counts
    families = list(dict.fromkeys([*best.values(), *(family for _, family in ranked)]))[: len(domain)]
    covered = {c for family in families for c in family}
    return [*families, *((c,) for c in domain.columns if c not in covered)]


def _inner_network(
    domain: Domain, clique: Clique, dependence: Mapping[Clique, float], limit: Limit, most: int
) -> Iterator[tuple[str, Clique, float]]:
    """Yield the columns of a clique in a greedy order, each with its parents before it and their score.

    The score of parents P of A is correlation-based feature selection: the sum of R(A, p) over the root of
    |P| plus the sum of R(p, q) over pairs within P. Parents are among the columns most related to A.
    """

    def related(a: str, b: str) -> float:
        return max(0.0, dependence[domain.canonical((a, b))])

    def score(child: str, parents: Clique) -> float:
        overlap = len(parents) + _within(domain.canonical(parents), dependence)
        return sum(related(child, p) for p in parents) / math.sqrt(max(1.0, overlap))

    def parent_sets(child: str, placed: Sequence[str]) -> Iterator[Clique]:
        nearest = sorted(placed, key=lambda p: -related(child, p))[:_NEAREST]
        yield from maximal_sets(domain, nearest, limit.cells / domain.size(child), max(1, most - 1))
        yield from ((p,) for p in nearest if limit.cells < domain.cells((child, p)) <= limit.of_pair)

    placed = [max(clique, key=lambda a: sum(related(a, b) for b in clique if b != a))]
    while len(placed) < len(clique):
        choices = [
            (score(child, parents), child, parents)
            for child in clique
            if child not in placed
            for parents in parent_sets(child, placed)
        ]
        value, child, parents = max(choices, key=lambda choice: choice[0])
        placed.append(child)
        if parents:
            yield child, parents, value
