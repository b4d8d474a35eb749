"""How a release file names its model, and finds the class again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from syntabula._entries import Entry
from syntabula._register import entries, group, is_registered, load
from syntabula.errors import ArgumentError, ReleaseFileError
from syntabula.models.base import Model

# Made by a run, around the model that was asked for, so that nobody names it.
_RECODED = Entry(kind="model", key="recoded", home="syntabula.models.recoded:RecodedModel")


def check_storable(model: Model) -> None:
    """Refuse a model that no release file could hold, before anything is spent on it.

    Raises:
        ArgumentError: If its class is not the one that its `kind` stands for.
    """
    kind, name = getattr(model, "kind", None), type(model).__name__
    if kind == _RECODED.key and type(model) is _RECODED.load():
        return
    if is_registered("model", kind, type(model)):
        return
    if kind is None:
        reason = "it has no `kind`, by which a file could name it"
    elif kind == _RECODED.key or kind in {entry.key for entry in entries("model")}:
        reason = f"its kind {kind!r} stands for another class"
    else:
        reason = f"no model of kind {kind!r} is registered"
    raise ArgumentError(
        f"a release with model {name} could not be saved: {reason}. Give the class a kind of its own and register it, "
        'by @syntabula.register("model", KIND) for this session or by an entry point in the group '
        f"{group('model')!r}"
    )


def model_state(model: Model) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return JSON-able facts, with the model's kind, and named arrays.

    Raises:
        ArgumentError: If the model's class is not the one that its kind stands for.
    """
    check_storable(model)
    facts, arrays = model.state()
    return {"model": model.kind, **facts}, dict(arrays)


def model_from_state(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Rebuild a model.

    A file names its model by a kind, never by an import path: loading runs no code but that of registered parts.

    Raises:
        ReleaseFileError: If the kind is unknown, or the parts do not fit together.
    """
    kind = facts.get("model")
    if kind == _RECODED.key:
        return _RECODED.load().from_state(facts, arrays)
    if kind not in {entry.key for entry in entries("model")}:
        raise ReleaseFileError(
            "this file holds a kind of model that this version of syntabula does not know; if a plug-in made it, "
            "install that plug-in"
        )
    return load("model", kind).from_state(facts, arrays)
