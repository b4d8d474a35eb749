"""Distributions fitted to noisy marginals."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from syntabula.errors import ReleaseFileError
from syntabula.models.base import MarginalModel, StatesArrays

# A file names its model by one of these keys, never by an import path: loading runs no foreign code.
_MODELS = {
    "bayesian_network": ("syntabula.models.bayesian_network", "BayesianNetwork"),
    "genetic": ("syntabula.models.genetic", "Genetic"),
    "gum": ("syntabula.models.gum", "GUM"),
    "neural": ("syntabula.models.neural", "NeuralRows"),
    "pgm": ("syntabula.models.pgm", "PGM"),
    "relaxed_projection": ("syntabula.models.relaxed_projection", "RelaxedProjection"),
    "recoded": ("syntabula.models.recoded", "RecodedModel"),
}


def model_key(model: MarginalModel) -> str:
    """Return the key under which a model's state is stored."""
    for key, (_, name) in _MODELS.items():
        if type(model).__name__ == name:
            return key
    raise TypeError(f"{type(model).__name__} cannot be stored in a release file")


def model_state(model: MarginalModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return JSON-able facts, with the model's key, and named arrays."""
    facts, arrays = model.state()
    return {"model": model_key(model), **facts}, dict(arrays)


def model_from_state(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> MarginalModel:
    """Rebuild a model; raises ReleaseFileError for an unknown key or parts that do not fit."""
    model: MarginalModel = _kind(facts).from_state(facts, arrays)
    return model


def model_array_bytes(facts: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the most bytes of each array of a stored model, None if its kind does not say.

    Raises:
        ReleaseFileError: If there is no such kind, or the facts are malformed.
    """
    kind = _kind(facts)
    return kind.array_bytes(facts) if isinstance(kind, StatesArrays) else None


def _kind(facts: Mapping[str, Any]) -> Any:
    key = facts.get("model")
    if key not in _MODELS:
        raise ReleaseFileError("this file holds a kind of model that this version of syntabula does not know")
    module, name = _MODELS[key]
    return getattr(import_module(module), name)
