"""Options that make slow methods quick: what is promised of a method holds at any size of it."""

from __future__ import annotations

import math
from typing import Any

import syntabula as st
from syntabula.models.genetic import Genetic
from syntabula.models.neural import NeuralRows
from syntabula.select.automatic import Automatic
from syntabula.select.doubling import FirstTimeDoubling

_NETWORK = {"n_rows": 32, "units": 8, "iterations": 4}
METHODS = [info.key for info in st.list_synthesizers()]
PRIVATE = [key for key in METHODS if not st.synthesizer(key).why_not_private]
_OPTIONS: dict[str, dict[str, float]] = {
    "margnet": _NETWORK | {"rounds_per_column": 2},
    "margnet-q": _NETWORK | {"rounds_per_column": 2},
    "margnet-s": _NETWORK | {"rounds_per_column": 1},
    "gem": _NETWORK | {"rounds_per_column": 1},
    "rap++": {"n_rows": 32, "iterations": 2, "n_thresholds": 5, "chosen_per_round": 8},
    "rap": {"n_rows": 32, "iterations": 4, "rounds_per_column": 1, "cells_per_round": 3},
    # Without noise a fit could go on for thousands of steps.
    "privmrf": {"iterations": 100},
    "mwem": {"iterations": 100},
    "great": {"units": 8, "layers": 1, "heads": 2, "steps": 6, "batch": 64},
    "ctgan": {"units": 8, "critic_units": 8, "hidden": 4, "pac": 2, "steps": 6, "batch": 64, "rate": 0.5},
    "tvae": {"units": 8, "hidden": 4, "steps": 6, "batch": 64, "rate": 0.5},
    "dp-merf": {"features": 60, "rows": 32, "units": 8, "steps": 4},
    "argn": {"units": 8, "embedding": 2, "waves": 2, "steps": 6, "batch": 64, "rate": 0.5},
    "tabddpm": {"units": 8, "levels": 20, "steps_back": 3, "steps": 6, "batch": 64, "rate": 0.5, "draws": 2},
    "tab-pe": {"rounds": 3, "candidates": 200, "columns": 2},
    "tablediffusion": {"units": 8, "levels": 3, "draws": 3, "steps": 6, "batch": 64, "rate": 0.5},
    "circuit": {"states": 4, "steps": 6, "batch": 64},
    "pategan": {
        "teachers": 20,
        "rounds": 2,
        "labels": 40,
        "rows": 200,
        "units": 8,
        "embedding": 2,
        "waves": 2,
        "steps": 6,
    },
}

_FEW_ROUNDS = FirstTimeDoubling(rounds_per_column=2)


NOISY_GRADIENTS = {"argn", "ctgan", "tabddpm", "tablediffusion", "tvae"}
"""Methods that train with noise: their budget must be Gaussian, and they leave some millionths of it."""


def takes(method: str, budget: st.Budget) -> bool:
    """Return whether a method can be learned with a budget."""
    return method not in NOISY_GRADIENTS or budget.currency in ("mu_squared", "none")


def unspent(method: str) -> float:
    """Return the part of the budget that a method may leave."""
    return 1e-4 if method in NOISY_GRADIENTS else 1e-9


def epsilon_of(method: str, wanted: float) -> float:
    """Return an epsilon, which is infinite for a method that takes no other."""
    return wanted if method in PRIVATE else math.inf


def small_parts(method: str) -> dict[str, Any]:
    """Return the selector and model of a method, as its keyword arguments, where its own would be slow."""
    if method == "auto":
        # A selector and a model within the selector.
        evolved = Genetic(stop_at_noise=False, generations=20)
        return {"selector": Automatic(network=NeuralRows(**_NETWORK), dense=_FEW_ROUNDS, evolved=evolved)}
    small = st.synthesizer(method)(epsilon=epsilon_of(method, 1.0)).with_options(**_OPTIONS.get(method, {}))
    return {part: getattr(small, part) for part in small.parts}


def small_words(method: str) -> list[str]:
    """Return the same as words of a command."""
    return [
        word for name, value in _OPTIONS.get(method, {}).items() for word in ("--option", f"{name}={value}")
    ]
