"""Ganev et al., "The Importance of Being Discrete": its figures as studies; it prints no tables of results.

Departures: budgets of tables are approximate (delta 1e-5), models are ours with their defaults, and the utility of real
tables is the mean of the scores that the table's target allows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from syntabula.bench.bin_rules import RULES
from syntabula.bench.candidate import Binning, Candidate, Domain, Within
from syntabula.bench.collection import Listed, NotRun
from syntabula.bench.study import Study
from syntabula.bench.study_fields import Figure
from syntabula.datasets.simulated import SIZES, Shape

_DISCRETIZERS = ("uniform", "quantile", "kmeans", "privtree")
_BINS = (5, 10, 20, 35, 50, 100, 250)
_SHAPES = tuple(shape for shape in get_args(Shape) if shape != "uniform")
_COLUMNS = tuple(f"controlled_{shape}@{size}" for shape, size in itertools.product(_SHAPES, SIZES))
_SIMILARITIES = ("percentile-similarity", "discriminator-similarity", "query-similarity")
_OF_TABLES = (*_SIMILARITIES, "correlation-similarity", "predictive-utility")
_MODELS = ("privbayes", "mst", "rap", "gem", "aim")
_OPTIONS = {"privtree": {"threshold": "fraction"}}
"""The threshold of the study's PrivTree; ours has another by default."""
_GRID = tuple(
    Binning(bins=b, discretizer=d, options=_OPTIONS.get(d, {}))
    for d, b in itertools.product(_DISCRETIZERS, _BINS)
)
_BUDGETS = (0.1, 1.0, 10.0, math.inf)


def _columns(name: str, title: str, method: str, finding: str) -> Study:
    scores = ("record-similarity", *_SIMILARITIES) if method == "bins" else _SIMILARITIES
    return Study(
        name=f"discretization-{name}",
        title=title,
        task="columns",
        datasets=_COLUMNS,
        methods=(Candidate(method=method),),
        epsilons=_BUDGETS,
        preprocessing=_GRID,
        seeds=tuple(range(3)),
        scores=scores,
        overall="utility",
        seconds=300.0,
        figure=Figure(across="bins", lines="discretizer", panels="epsilon", scores=("utility",)),
        finding=finding,
    )


def _tables(name: str, title: str, preprocessing: Sequence[Binning], finding: str) -> Study:
    return Study(
        name=f"discretization-{name}",
        title=title,
        datasets=("wine", "gas", "adult"),
        methods=tuple(Candidate(method=method) for method in _MODELS),
        epsilons=(0.01, 0.1, 1.0, 10.0, 100.0),
        preprocessing=tuple(preprocessing),
        scores=_OF_TABLES,
        overall="utility",
        against=("learned",),
        seconds=3600.0,
        memory_mb=8000.0,
        figure=Figure(across="bins", lines="discretizer", panels="method", scores=("utility",)),
        finding=finding,
        note="dp-synthpop, the sixth model, is not here. The paper turns the target of gas into classes; here "
        "it has no score that needs classes.",
    )


def _attack(name: str, title: str, bins_epsilon: float, epsilon: float, target: int | str) -> Study:
    grid = [
        Binning(bins=20, discretizer=d, domain=o)
        for d, o in itertools.product(_DISCRETIZERS, get_args(Domain))
    ]
    return Study(
        name=f"discretization-{name}",
        title=title,
        task="membership",
        datasets=("wine",),
        methods=(Candidate(method="mst"), Candidate(method="privbayes")),
        epsilons=(epsilon,),
        preprocessing=tuple(grid),
        scores=("groundhog", "querybased") if target == "inside" else ("range", "groundhog", "querybased"),
        options={"shadows": 400, "target": target, "bins_epsilon": bins_epsilon, "without": ("quality",)},
        split="whole",
        seconds=36000.0,
        figure=Figure(across="binning", lines="method", panels=""),
        finding="" if target == "inside" else _PS1,
        note="The attack by range needs a record outside the others' range." if target == "inside" else "",
    )


def _points(name: str, title: str, kinds: Sequence[str], bins: int, finding: str) -> Study:
    binnings = [Binning(bins=bins, discretizer=d, options=_OPTIONS.get(d, {})) for d in _DISCRETIZERS]
    raw = Candidate(method="raw", binning=binnings[0], epsilons=(math.inf,), label="unbinned")
    return Study(
        name=f"discretization-{name}",
        title=title,
        task="points",
        datasets=tuple(f"points_{kind}@200" for kind in kinds),
        methods=(raw, Candidate(method="bins")),
        epsilons=(0.1, 1.0, 10.0, math.inf) if bins == 4 else (1.0, math.inf),
        preprocessing=tuple(binnings),
        seeds=tuple(range(10)),
        scores=("accuracy",),
        options={"keep": ("regions",)},
        seconds=300.0,
        figure=Figure(across="discretizer", lines="method", panels="epsilon", scores=("accuracy",)),
        finding=finding,
        note="The paper does not state sizes or numbers of bins; these are those of scikit-learn's examples, and as many "
        "bins as there are clusters, or ten.",
    )


_PS1 = "The area is about 1 if the domain is read off the table, and about .5 otherwise, somewhat more for k-means."
_TARGET_ROW = 4745
"""Row of wine whose sulfur dioxide (289 and 440) lies outside the range of all others (146.5 and 366.5)."""


class DiscretizationStudies:
    """The figures and tables of the study of discretisation."""

    key = "discretization"

    def studies(self) -> Sequence[Listed]:
        """Return them in the paper's order."""
        bins = _columns("f5", "Bins alone (US1)", "bins", _US1)
        histogram = _columns("f7", "Bins and a noisy histogram (US2)", "histogram", _US2)
        models = _tables("f8", "Models of real tables (US3)", _GRID, _US3)
        counts: tuple[int | str, ...] = (*RULES, *_BINS)
        rules = tuple(
            Binning(bins=b, discretizer=d, options=_OPTIONS.get(d, {})) for d in _DISCRETIZERS for b in counts
        )
        attacks = (
            _attack("f15a", "Membership of an outlier, epsilon 1 and 1", 1.0, 1.0, _TARGET_ROW),
            _attack("f15b", "Membership of an outlier, epsilon 100 and 100", 100.0, 100.0, _TARGET_ROW),
            _attack("f15c", "Membership of an outlier, epsilon 1000 and 1", 1000.0, 1.0, _TARGET_ROW),
            _attack("f15d", "Membership of a record inside the domain", 1.0, 1.0, "inside"),
        )
        domains = [
            Binning(bins=35, discretizer=d, options=_OPTIONS.get(d, {}), domain=o)
            for d in _DISCRETIZERS
            for o in ("public", "found")
        ]
        return (
            *(_text(f"t{n}", title, why) for n, (title, why) in enumerate(_TABLES_OF_TEXT, start=1)),
            replace(
                models, name="discretization-f1", title="Bins of each discretizer at epsilon 1", epsilons=(1.0,),
                preprocessing=tuple(b for b in _GRID if b.bins != 35),
            ),
            replace(
                models, name="discretization-f2", title="The best binning against 20 even bins", epsilons=(1.0,)
            ),
            _text("f3", "Settings of the evaluation", "a drawing of the idea"),
            replace(
                bins, name="discretization-f4", title="The distributions and their bins",
                datasets=tuple(f"controlled_{shape}@10000" for shape in get_args(Shape)), epsilons=(math.inf,),
                preprocessing=tuple(b for b in _GRID if b.bins == 10), seeds=(0,), options={"keep": ("bins",)},
                figure=Figure(across="discretizer", lines="dataset", panels="", scores=("utility",)), finding="",
            ),
            bins,
            replace(
                bins, name="discretization-f6", title="Bins alone and with a histogram at epsilon 0.1",
                methods=(Candidate(method="bins"), Candidate(method="histogram")), epsilons=(0.1,),
                figure=Figure(across="bins", lines="discretizer", panels="method", scores=("utility",)),
                finding=_BOTH,
            ),
            histogram,
            models,
            replace(
                models, name="discretization-f9", title="Even or normal values within bins",
                preprocessing=tuple(replace(b, within=w) for w in get_args(Within) for b in _GRID), finding=_WITHIN,
                figure=Figure(across="bins", lines="within", panels="epsilon", scores=("utility",)),
            ),
            replace(
                models, name="discretization-f10", title="Seconds of discretizers", epsilons=(1.0,), finding=_SECONDS,
                methods=(Candidate(method="BINS"),), scores=("tvd-1",), overall="",
                figure=replace(models.figure, panels="dataset", scores=("fit seconds",)),
                note="The seconds are those of finding the bins of all columns of a table, without a model.",
            ),
            replace(
                models, name="discretization-f11", title="Seconds of models", epsilons=(1.0,), finding="",
                figure=replace(models.figure, scores=("fit seconds",)),
            ),
            replace(
                histogram, name="discretization-f12", title="Rules for the number of bins (US2)",
                preprocessing=rules, finding=_RULES,
                figure=Figure(across="epsilon", lines="bins", panels="", scores=("utility",)),
            ),
            replace(
                models, name="discretization-f13", title="Rules for the number of bins on real tables",
                preprocessing=rules, finding=_RULES,
                figure=Figure(across="epsilon", lines="bins", panels="method", scores=("utility",)),
            ),
            replace(
                models, name="discretization-f14", title="Domains given and found", datasets=("wine", "gas"),
                epsilons=(1.0, 10.0), preprocessing=tuple(domains), finding=_DOMAINS,
                figure=Figure(across="binning", lines="method", panels="epsilon", scores=("utility",)),
            ),
            *attacks,
            _points("f16", "Clusters in the bins of each discretizer", ("clusters",), 4, _CLUSTERS),
            _points("f17", "Classes told from bins and without", ("moons", "circles", "apart"), 10, _CLASSES),
            replace(
                histogram, name="discretization-f18", title="Each score of a noisy histogram (US2)",
                figure=Figure(across="bins", lines="discretizer", panels="epsilon"),
            ),
            *(
                replace(study, name=study.name.replace("f15", "f19"), title=f"{study.title}, by attack")
                for study in attacks
            ),
        )  # fmt: skip


_TABLES_OF_TEXT = (
    ("Rules for the number of bins", "formulas; `bench.bin_rules` has them"),
    ("The distributions", "a description; `syntabula.datasets.controlled` draws them"),
    ("Sizes of the tables", "a description; `syntabula.datasets.describe` has the sizes"),
)
_US1 = (
    "More bins help every discretizer; at 250 all are within 5 % of the best score, even at epsilon 0.1. k-means is best "
    "without privacy and loses most by it; PrivTree hardly changes."
)
_US2 = (
    "Under privacy all but PrivTree level off or fall with many bins; PrivTree is the most promising, but for k-means up "
    "to 25 bins without privacy, where all go on rising."
)
_BOTH = "At epsilon 0.1 more bins always help bins alone, but past a point they harm a model of noisy counts."
_US3 = (
    "PrivTree is best in 63 % of the cases and k-means in 16 %; the best binning beats 20 even bins by 9 to 44 % over "
    "six models at epsilon 1; utility first rises and then falls with the number of bins."
)
_RULES = (
    "Of the rules that read the column Shimazaki-Shinomoto's is best on average; more budget wants more bins. On real "
    "tables the budget-aware Rice rule is best and closes 41 % of the gap from 20 even bins to the best."
)
_WITHIN = (
    "Normal values within bins are better with few bins and large budgets; past ten bins even ones are, as half of the "
    "discretizer's budget goes to the means and deviations."
)
_SECONDS = (
    "Quantiles and k-means take 2 to 10 seconds for 5 bins and 40 to 100 for 250; even bins and PrivTree take less than "
    "one for any number."
)
_DOMAINS = "Finding the domain costs 2.5 % with even, quantile and k-means bins and 8 % with PrivTree, which stays ahead."


_CLUSTERS = (
    "k-means is good at every budget, quantiles join records of several clusters, and PrivTree has fewer bins the "
    "smaller the budget is."
)
_CLASSES = (
    "Bins do not help where a line nearly separates the classes; for moons and circles all discretizers but one help "
    "without privacy, and for circles at epsilon 1 too. Quantiles and k-means do well, PrivTree does not."
)


def _text(name: str, title: str, why: str) -> NotRun:
    return NotRun(name=f"discretization-{name}", title=title, why=why)
