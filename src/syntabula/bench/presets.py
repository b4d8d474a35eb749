"""What the papers tell a method, as options of our parts; it may depend on the table and on the budget.

Only what an option of ours can say is here. The papers' code and tables differ in places; the printed tables count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from syntabula._arguments import near
from syntabula.bench.table_names import label_of
from syntabula.errors import ArgumentError

Options = Mapping[str, Any]

TOLD_LABEL = {"dp-merf": "label", "rap++": "crossed_with"}
"""Methods that the papers tell which column is the label, and the option that says so."""

_PLACE = {"acsincome": 0, "acsemploy": 1, "bank": 2, "higgs_small": 3, "loan": 4}
_SAME_PLACE = {
    "acs_income_alabama": "acsincome", "acs_employ_alabama": "acsemploy", "higgs_small_part": "higgs_small",
    "lending_club_2007_2011": "loan", "lending_club_2018": "loan",
}  # fmt: skip
_ROUNDS_OF_RAP = (4, 6, 6, 7, 10)
_COLUMNS = (11, 17, 17, 29, 42)
_STEPS_OF_NETWORK = (50, 50, 100, 100, 1500)
_STEPS_OF_PROJECTION = (100, 170, 160, 280, 420)


def _tab_bench(method: str, dataset: str, epsilon: float) -> Options:
    """Chen, Li, Gong, McKenna, Wang, tab_bench, tables 3 to 14; settings by table are those of bank for others."""
    table = dataset.partition("@")[0]
    place = _PLACE.get(_SAME_PLACE.get(table, table), 2)
    selector, _, model = method.partition("+")
    if not model.strip("+"):
        whole: Mapping[str, Options] = {
            "privsyn": {"consistency_rounds": 501, "passes": 50},
            "aim": {"max_model_mb": 100.0, "iterations": 1000, "max_cells": 250_000},
            "private-gsd": {"mutations": 50, "crossovers": 50, "max_rows": 100_000, "generations": 1_000_000},
            "privmrf": {
                "theta": 6.0, "candidates": 400, "iterations": 3000, "size_penalty": 1e-8, "max_columns": 6,
                "max_clique_cells": 1e7,
            },
            "rap++": {"chosen_per_round": 5, "n_thresholds": 2_000_000, "learning_rate": 3e-3},
            "gem": {"n_rows": 1024, "learning_rate": 1e-3, "iterations": 500, "rounds_per_column": 5},
            "dp-merf": {"features": 2000, "learning_rate": 1e-2},
        }  # fmt: skip
        return {**whole.get(method, {}), **_label(method, dataset, epsilon)}
    rounds = {"rounds_per_column": _ROUNDS_OF_RAP[place] / _COLUMNS[place], "chosen_per_round": 3}
    selectors: Mapping[str, Options] = {
        "top_q": {**rounds, "measure_share": 0.5},
        "independent_difference": {"dependence_share": 0.1, "one_way_share": 0.1},
        "adaptive": {"max_model_mb": 100.0, "max_cells": 250_000},
    }
    models: Mapping[str, Options] = {
        "neural": {"n_rows": 1024, "learning_rate": 1e-3, "iterations": _STEPS_OF_NETWORK[place]},
        "relaxed_projection": {"learning_rate": 5e-3, "iterations": _STEPS_OF_PROJECTION[place]},
        "gum": {"consistency_rounds": 501, "passes": 50},
        "genetic": {"mutations": 50, "crossovers": 50},
    }
    return {**selectors.get(selector, {}), **models.get(model, {})}


def _margnet(method: str, dataset: str, epsilon: float) -> Options:
    """Chen, Gong, Wang, MargNet, table 7; the number of iterations depends on the table and on the budget."""
    if not method.startswith("margnet"):
        return _label(method, dataset, epsilon)
    table = dataset.partition("@")[0]
    steps = {"loan": 1000, "gauss50": 500}.get(table, 100 if epsilon >= 10 else 200)
    rows = {"gauss10": 256, "gauss30": 1024, "gauss50": 1024}.get(table, 512)
    shared: dict[str, Any] = {
        "learning_rate": 1e-3,
        "n_rows": rows,
        "iterations": steps,
        "stop_at_noise": False,
    }
    return shared if method == "margnet-s" else {**shared, "rounds_per_column": 16}


def _label(method: str, dataset: str, epsilon: float) -> Options:
    """Our settings, and the table's label for the methods that the papers' code tells it."""
    del epsilon
    option, label = TOLD_LABEL.get(method), label_of(dataset)
    return {} if option is None or label is None else {option: label}


PRESETS: Mapping[str, Callable[[str, str, float], Options]] = {
    "tab_bench": _tab_bench,
    "margnet": _margnet,
    "label": _label,
}


def check_preset(name: str) -> None:
    """Raise ArgumentError, with similar names, unless there is a preset of this name."""
    if name not in PRESETS:
        raise ArgumentError(
            f"there is no preset {name!r}{near(name, PRESETS) or ';'} presets are {', '.join(PRESETS)}"
        )


def options_of(preset: str, method: str, dataset: str, epsilon: float) -> Options:
    """Return the options that a paper sets for a method, a table and a budget; none where the paper sets none."""
    check_preset(preset)
    return PRESETS[preset](method, dataset, epsilon)
