"""Distributions fitted to noisy marginals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from syntabula.models.base import MarginalModel, StatesArrays
from syntabula.models.kinds import class_of, plug_in_of, stored_kind


def model_state(model: MarginalModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return JSON-able facts, with the model's kind, and named arrays.

    Raises:
        ArgumentError: If the class of the model is not registered.
    """
    kind = stored_kind(model)
    facts, arrays = model.state()
    plug_in = plug_in_of(kind)
    if plug_in is None:
        return {"model": kind, **facts}, dict(arrays)
    # Apart, so that the facts of others may have any names.
    return {"model": kind, "plug_in": plug_in, "state": dict(facts)}, dict(arrays)


def model_from_state(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> MarginalModel:
    """Rebuild a model; raises ReleaseFileError for a kind that is not here, or parts that do not fit."""
    kind, plug_in = facts.get("model"), facts.get("plug_in")
    found = class_of(kind, plug_in)
    model: MarginalModel = found.from_state(facts if plug_in is None else facts["state"], arrays)
    return model


def model_array_bytes(facts: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the most bytes of each array of a stored model, None if its kind does not say.

    Raises:
        ReleaseFileError: If there is no such kind, or the facts are malformed.
    """
    plug_in = facts.get("plug_in")
    kind: Any = class_of(facts.get("model"), plug_in)
    return (
        kind.array_bytes(facts if plug_in is None else facts["state"])
        if isinstance(kind, StatesArrays)
        else None
    )
