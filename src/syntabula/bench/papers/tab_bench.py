"""Chen, Li, Gong, McKenna, Wang, tab_bench: 18 tables and 5 figures, of which those that are runs are studies.

Departures: of the five tables only bank is public enough to be here; the Alabama parts of the census stand in for
ACSincome and ACSemploy, and their figures are not comparable. Models that predict have fixed settings, while the
authors tune them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from syntabula.bench.candidate import Binning, Candidate
from syntabula.bench.collection import Listed, NotRun
from syntabula.bench.presets import TOLD_LABEL
from syntabula.bench.study import Study
from syntabula.bench.study_fields import Figure, Reported

_EVEN = Binning(bins=100, discretizer="uniform", domain="observed")
_SCORES = {
    "tvd-2": "fidelity_error_tvd", "query-error-prefix": "query_error", "efficacy": "ml_efficiency_f1",
    "efficacy auc": "ml_auc", "efficacy accuracy": "ml_accuracy", "fit seconds": "running_time_min",
    "cells of a pair": "avg_marginal_size",
}  # fmt: skip
_METHODS = {
    "privsyn": "PrivSyn", "privmrf": "PrivMRF", "rap++": "RAP++", "aim": "AIM", "private-gsd": "Private-GSD",
    "gem": "GEM", "dp-merf": "DP-MERF", "tabddpm": "TabDDPM", "SELF": "Ground Truth",
}  # fmt: skip
_SELECTORS = {
    "independent_difference+pgm": "PrivSyn selection", "privmrf+pgm": "PrivMRF selection",
    "adaptive+pgm": "AIM selection", "top_q+pgm": "RAP++ selection",
}  # fmt: skip
_MODELS = {
    "independent_difference+gum": "GUM", "independent_difference+pgm": "PGM",
    "independent_difference+relaxed_projection": "Relaxed Projection",
    "independent_difference+genetic": "Genetic Algorithm", "independent_difference+neural": "Generative Network",
}  # fmt: skip
_SAME_AS_OURS = ("privsyn", "privmrf", "gem", "tabddpm", "privmrf+pgm")
"""Methods whose defaults are the paper's settings, or for which none of them can be said."""
_TABLES = ("bank", "acs_income_alabama", "acs_employ_alabama")
_STAND_INS = (
    "acs_income_alabama and acs_employ_alabama stand in for ACSincome and ACSemploy, and are not comparable with them; "
    "Higgs-small and Loan are not at hand. Models that predict have fixed settings; the paper tunes them."
)


def both_settings(methods: Sequence[str], preset: str, same: Sequence[str] = ()) -> tuple[Candidate, ...]:
    """Return every method with our settings and with those of a paper, unless they are the same.

    Both tell a method the label of a table where the papers' code does.
    """
    rows = []
    for method in methods:
        rows.append(Candidate(method=method, preset="label" if method in TOLD_LABEL else "", label=method))
        if method not in same and method not in ("SELF", "HALF", "HISTOGRAM", "BINS"):
            rows.append(Candidate(method=method, preset=preset))
    return tuple(rows)


def _reported(table: str, methods: dict[str, str]) -> Reported:
    labels = {**methods, **{f"{label} (tab_bench)": name for label, name in methods.items()}}
    return Reported(paper="tab_bench", table=table, scores=_SCORES, methods=labels, datasets={"bank": "Bank"})


def _study(name: str, title: str, methods: dict[str, str], tables: Sequence[str]) -> Study:
    return Study(
        name=f"tab_bench-{name}",
        title=title,
        datasets=_TABLES,
        methods=both_settings([*methods], "tab_bench", _SAME_AS_OURS),
        epsilons=(0.2, 1.0, 5.0),
        preprocessing=(_EVEN,),
        seeds=tuple(range(5)),
        scores=("tvd-2", "query-error-prefix", "efficacy"),
        split="tab_bench",
        seconds=3600.0,
        memory_mb=8000.0,
        figure=Figure(across="epsilon", lines="method", panels="dataset"),
        reported=tuple(_reported(table, methods) for table in tables),
        note=_STAND_INS,
    )


class TabBench:
    """The tables and figures of tab_bench."""

    key = "tab_bench"

    def studies(self) -> Sequence[Listed]:
        """Return them in the paper's order."""
        overall = _study(
            "t1", "Overall: F1, query error and fidelity error", _METHODS, ["Table 1", "Table 15"]
        )
        seconds = replace(overall, name="tab_bench-t15", title="AUC, accuracy and running time")
        drawn = replace(overall.figure, scores=("efficacy auc", "efficacy accuracy", "fit seconds"))
        seconds = replace(seconds, figure=drawn)
        selection = _study("t17", "Selection modules, all with PGM", _SELECTORS, ["Table 17"])
        synthesis = _study("t18", "Synthesis modules, all with PrivSyn's selection", _MODELS, ["Table 18"])
        synthesis = replace(
            synthesis,
            note=f"{_STAND_INS} The paper's generative network has an inverted noise scale, so that its row is not "
            "private at the stated epsilon.",
        )
        preprocessing = _preprocessing()
        return (
            overall,
            _text("t2", "Sizes of the tables", "a description; `syntabula.datasets.describe` has the sizes"),
            *(
                _text(f"t{n}", "Hyper-parameters", "settings; the preset tab_bench holds them")
                for n in range(3, 15)
            ),
            seconds,
            preprocessing,
            selection,
            synthesis,
            replace(
                _study("levels", "The paper's levels of numbers beside fixed ones", _METHODS, ["Table 1"]),
                datasets=("bank",),
                methods=tuple(
                    Candidate(method=method) for method in ("privmrf", "aim", "privsyn", "SELF", "BINS")
                ),
                epsilons=(1.0, 5.0),
                scores=("tvd-2",),
                options={"levels": ("fixed", "joint")},
                note="The paper places 100 levels over the real and the synthetic table together, so that they lie "
                "differently against the bins in every run; ours lie over the learned rows. BINS has rows in bins.",
            ),
            _text("f1", "The framework", "a drawing of the idea"),
            replace(preprocessing, name="tab_bench-f2", title="Preprocessing, drawn (table 16)"),
            replace(selection, name="tab_bench-f3", title="Selection modules, drawn (table 17)"),
            replace(synthesis, name="tab_bench-f4", title="Synthesis modules, drawn (table 18)"),
            replace(
                overall,
                name="tab_bench-f5",
                title="Rows of Bank by t-SNE",
                datasets=("bank",),
                methods=tuple(Candidate(method=method) for method in _METHODS),
                epsilons=(1.0,),
                seeds=(0,),
                scores=("tvd-2",),
                options={"keep": ("plane",)},
                figure=Figure(
                    across="method", lines="dataset", panels="", scores=("tvd-2", "own neighbours")
                ),
                reported=(),
                note="Methods have our settings. Pictures are of one seed.",
            ),
        )


def _preprocessing() -> Study:
    def row(title: str, **options: bool) -> Candidate:
        return Candidate(method="BINS", options=options, label=title)

    methods = (
        Candidate(method="SELF", label="Raw"),
        row("Numerical preprocessing", categories=False),
        row("Categorical Preprocessing", numbers=False),
        row("Full Preprocessing"),
    )
    labels = {candidate.label: candidate.label for candidate in methods}
    return replace(
        _study("t16", "Preprocessing alone: real rows in bins, without a method", _METHODS, ["Table 16"]),
        methods=methods,
        epsilons=(1.0,),
        reported=(_reported("Table 16", labels),),
        figure=Figure(
            across="dataset",
            lines="method",
            panels="",
            scores=("tvd-2", "query-error-prefix", "efficacy", "cells of a pair"),
        ),
        note=f"{_STAND_INS} The paper prints fidelity errors of .003 and .006, which are .03 and .06 by its own method.",
    )


def _text(name: str, title: str, why: str) -> NotRun:
    return NotRun(name=f"tab_bench-{name}", title=title, why=why)
