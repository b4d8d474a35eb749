"""Chen, Gong, Wang, MargNet: 11 tables and 9 figures, of which those that are runs are studies.

Adult is the coded table of the authors' code, in a checkout that the environment variable MARGNET names. Departures: the
Gaussian tables have fewer bins, so that pairs of columns stand out from their noise; see `splits.bins_of_pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from syntabula.bench.candidate import Binning, Candidate
from syntabula.bench.collection import Listed, NotRun
from syntabula.bench.papers.tab_bench import both_settings
from syntabula.bench.study import Study
from syntabula.bench.study_fields import Figure, Reported

_EVEN = Binning(bins=100, discretizer="uniform", domain="observed")
_TREE = Binning(bins="pairs", discretizer="privtree", domain="observed")
_GAUSS = ("gauss10", "gauss30", "gauss50")
_BINNINGS = dict.fromkeys(_GAUSS, _TREE)
_SCORES = {
    "tvd-2": "fidelity_error_tvd", "query-error-prefix": "query_error", "efficacy": "ml_efficacy_f1",
    "fit seconds": "running_time_min", "peak MB": "peak_memory_mb",
}  # fmt: skip
_METHODS = {
    "margnet": "MargNet", "margnet-q": "MargNet-q", "margnet-s": "MargNet-s", "dp-merf": "DP-MERF",
    "tabddpm": "DP-TabDDPM", "aim": "AIM",
}  # fmt: skip
_TITLES = {"adult_margnet": "Adult", "bank": "Bank", **{name: name.capitalize() for name in _GAUSS}}
_PEERS = ("aim", "privsyn", "privmrf", "private-gsd", "rap++", "gem", "dp-merf", "tabddpm")
_BUDGETS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def _reported(*tables: str) -> tuple[Reported, ...]:
    labels = {**_METHODS, **{f"{label} (margnet)": name for label, name in _METHODS.items()}}
    return tuple(
        Reported(paper="MargNet", table=table, scores=_SCORES, methods=labels, datasets=_TITLES)
        for table in tables
    )


def _study(
    name: str, title: str, datasets: Sequence[str], methods: Sequence[Candidate], tables: Sequence[str]
) -> Study:
    simulated = all(dataset in _GAUSS for dataset in datasets)
    return Study(
        name=f"margnet-{name}",
        title=title,
        datasets=tuple(datasets),
        methods=tuple(methods),
        epsilons=_BUDGETS,
        preprocessing=(_TREE if simulated else _EVEN,),
        binnings=_BINNINGS,
        seeds=tuple(range(5)),
        scores=("tvd-2", "query-error-prefix") + (() if simulated else ("efficacy",)),
        score_options={} if simulated else {"efficacy": {"evaluators": ("catboost", "xgboost", "forest")}},
        split="margnet",
        against=("held out", "learned"),
        seconds=3600.0,
        memory_mb=8000.0,
        figure=Figure(across="epsilon", lines="method", panels="dataset"),
        reported=_reported(*tables),
        note="Loan is not at hand. Adult has no held-out rows here, so it has no F1.",
    )


class MargNetStudies:
    """The tables and figures of MargNet."""

    key = "margnet"

    def studies(self) -> Sequence[Listed]:
        """Return them in the paper's order."""
        ablated = both_settings(("margnet", "margnet-q", "margnet-s"), "margnet")
        networks = both_settings(("dp-merf", "tabddpm"), "margnet", ("dp-merf", "tabddpm"))
        ours = both_settings(("margnet", *_PEERS), "margnet", _PEERS)
        ablation = _study("t5", "Ablation of MargNet", ("adult_margnet", "gauss10"), ablated, ["Table 5"])
        learners = _study(
            "t6", "Networks trained on records", ("adult_margnet", "bank"), networks, ["Table 6"]
        )
        of_gauss = _study("t9", "Networks trained on records, Gaussian tables", _GAUSS, networks, ["Table 9"])
        curves = _study(
            "f4", "All methods over epsilon", ("adult_margnet", "bank"), ours, ["Table 5", "Table 6"]
        )
        gaussian = _study(
            "f5",
            "All methods over epsilon, Gaussian tables",
            _GAUSS,
            ours,
            ["Table 5", "Table 9", "Section 6.2"],
        )
        return (
            _text("t1", "Related methods", "a survey"),
            _text("t2", "Related methods", "a survey"),
            _text("t3", "Sizes of the tables", "a description; `syntabula.datasets.describe` has the sizes"),
            _text("t4", "The simulated tables", "a description; `syntabula.datasets.gauss` draws them"),
            replace(ablation, epsilons=(0.2, 1.0, 10.0)),
            learners,
            _text("t7", "Hyper-parameters", "settings; the preset margnet holds them"),
            _ten_bins(),
            of_gauss,
            _settings(),
            replace(
                curves,
                name="margnet-t11",
                title="Peak memory",
                datasets=("adult_margnet", "adult"),
                methods=both_settings(("margnet", "aim"), "margnet", ("aim",)),
                epsilons=(1.0, 10.0),
                scores=("tvd-2",),
                score_options={},
                figure=replace(curves.figure, scores=("peak MB",)),
                reported=_reported("Table 11"),
                finding="A network over all pairs needs 206 MB, and PGM over all pairs more than 1 TB.",
                note="Ours include the interpreter and its libraries, some 200 MB.",
            ),
            _text("f1", "The idea", "a drawing of the idea"),
            _text("f2", "The idea", "a drawing of the idea"),
            _pictures(
                "f3", "Correlations as heat maps", ("gauss10",), ("aim", "margnet", "dp-merf", "tabddpm"),
                "associations",
            ),
            curves,
            gaussian,
            _pictures(
                "f6", "Errors of selected and other marginals", ("gauss10", "bank"), ("doubling+pgm", "margnet"),
                "marginals",
            ),
            _pictures(
                "f7", "AIM against MargNet for each marginal", ("adult_margnet", "bank"), ("aim", "margnet"),
                "marginals",
            ),
            replace(
                _study("f8", "Fixed or resampled input of the network", ("gauss10",), _inputs(), ["Table 5"]),
                epsilons=(0.2, 1.0, 10.0),
            ),
            replace(
                _pictures("f9", "Loss of MargNet's network", ("adult_margnet", "gauss10"), ("margnet",), "rounds"),
                note="The loss is that at the end of each fit, in variances of the noise; the paper draws iterations.",
            ),
        )  # fmt: skip


def _pictures(name: str, title: str, datasets: Sequence[str], methods: Sequence[str], keep: str) -> Study:
    rows = tuple(Candidate(method=method) for method in methods)
    study = _study(name, title, datasets, rows, [])
    return replace(
        study,
        epsilons=(1.0,),
        seeds=(0,),
        scores=("tvd-2",),
        score_options={},
        options={"keep": (keep,)},
        note="Methods have our settings. Pictures are of one seed.",
    )


def _ten_bins() -> Study:
    rows = both_settings(("margnet", "dp-merf"), "margnet", ("dp-merf",))
    study = _study("t8", "Networks in ten even bins, Gaussian tables", _GAUSS, rows, ["Table 8"])
    even = Binning(bins=10, discretizer="uniform", domain="observed")
    note = "DP-CTGAN is not here: ours has rows in place of a generator."
    return replace(study, epsilons=(0.2,), preprocessing=(even,), binnings={}, note=note)


def _settings() -> Study:
    def row(option: str, value: float, printed: str) -> Candidate:
        name = {
            "learning_rate": "learning rate",
            "iterations": "training iterations",
            "n_rows": "batch size",
        }[option]
        return Candidate(method="margnet", options={option: value}, label=f"{name} {printed}")

    rows = (
        *(row("learning_rate", float(rate), rate) for rate in ("1e-2", "1e-3", "1e-4", "1e-5")),
        *(row("iterations", steps, str(steps)) for steps in (50, 100, 200, 400)),
        *(row("n_rows", rows, str(rows)) for rows in (32, 128, 512, 1024)),
    )
    study = _study("t10", "Settings of MargNet's network", ("adult_margnet", "adult"), rows, ["Table 10"])
    labels = {row.label: f"MargNet, {row.label}" for row in rows}
    return replace(
        study,
        epsilons=(1.0, 10.0),
        reported=(replace(study.reported[0], methods=labels),),
        note="The caption says epsilon 1 and the text epsilon 10; the default's figure is that of table 5 at 10.",
    )


def _inputs() -> tuple[Candidate, ...]:
    return (
        Candidate(method="margnet", label="fixed input"),
        Candidate(method="margnet", options={"fixed_input": False}, label="resampled input"),
    )


def _text(name: str, title: str, why: str) -> NotRun:
    return NotRun(name=f"margnet-{name}", title=title, why=why)
