"""Studies of this library's own: every method, and every pair of selector and model, on the papers' tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from syntabula.bench.candidate import Binning, Candidate
from syntabula.bench.collection import Listed
from syntabula.bench.study import Study
from syntabula.bench.study_fields import Figure

_EVEN = Binning(bins=100, discretizer="uniform", domain="observed")
_TREE = Binning(bins="pairs", discretizer="privtree", domain="observed")
_METHODS = (
    "auto", "independent", "mst", "aim", "privbayes", "privmrf", "privsyn", "mwem", "private-gsd", "rap", "rap++", "gem",
    "margnet", "dp-merf", "tab-pe", "tablediffusion", "tabddpm", "pategan", "argn",
)  # fmt: skip
_ALONE = ("ctgan", "tvae", "great", "circuit", "synthpop")
"""Methods that have no private form."""
_SELECTORS = ("independent_difference", "adaptive", "privmrf", "top_q", "fixed_rounds", "spanning_tree")
_MODELS = ("pgm", "gum", "genetic", "relaxed_projection", "neural")
_NOT_ADAPTIVE = ("gum",)
"""Models that no selector of several rounds can use."""


class OurStudies:
    """What this library compares for its own choices."""

    key = "syntabula"

    def studies(self) -> Sequence[Listed]:
        """Return them."""
        pairs = [
            Candidate(method=f"{selector}+{model}")
            for selector, model in itertools.product(_SELECTORS, _MODELS)
            if not (model in _NOT_ADAPTIVE and selector in ("adaptive", "top_q", "fixed_rounds"))
        ]
        fewer = Candidate(method="margnet", options={"iterations": 20}, label="margnet, 20 iterations")
        known = [Candidate(method="SELF"), Candidate(method="HALF"), Candidate(method="BINS")]
        alone = [Candidate(method=method, epsilons=(math.inf,)) for method in _ALONE]
        methods = [*(Candidate(method=method) for method in _METHODS), fewer, *known, *alone]
        return (
            _study(
                "methods", "Every method", ("census", "bank", "adult_margnet", "gauss10", "gauss30"), methods
            ),
            _study("modules", "Every selector with every model", ("bank", "gauss10"), pairs),
        )


def _study(name: str, title: str, datasets: Sequence[str], methods: Sequence[Candidate]) -> Study:
    return Study(
        name=f"syntabula-{name}",
        title=title,
        datasets=tuple(datasets),
        methods=tuple(methods),
        epsilons=(0.2, 1.0, 5.0, 10.0),
        preprocessing=(_EVEN,),
        binnings={"gauss10": _TREE, "gauss30": _TREE},
        seeds=tuple(range(5)),
        scores=("tvd-2", "query-error-prefix", "query-error-3"),
        split="margnet",
        against=("held out", "learned"),
        seconds=3600.0,
        memory_mb=8000.0,
        figure=Figure(across="epsilon", lines="method", panels="dataset"),
    )
