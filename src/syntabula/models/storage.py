"""Storage of models: the facts that all models store, and the key by which a file names the class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np

from syntabula._entries import Entry, Kind
from syntabula._register import entries, group, load, package_of
from syntabula.errors import ArgumentError, ReleaseFileError
from syntabula.marginals.domain import Domain
from syntabula.models.base import Model

# A run makes them around the requested model, so they have no registered key.
_AROUND = (
    Entry(kind="model", key="recoded", home="syntabula.models.recoded:RecodedModel"),
    Entry(kind="model", key="raked_rows", home="syntabula.record_models.generated_rows:RakedRows"),
)

_KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")

_SHOWN = 200
"""Most characters of a file's plug-in name that a message repeats."""

_MOST_RECORDS = 1e18


def check_storable(model: object) -> None:
    """Refuse a model that no release file could store, before anything is spent on it.

    Raises:
        ArgumentError: If its class is not the one registered for its `kind`; says how to register it.
    """
    kind, name = getattr(type(model), "kind", None), type(model).__name__
    known = _kinds()
    if isinstance(kind, str) and kind in known and _class_of(known[kind]) is type(model):
        return
    sort: Kind = "record_model" if hasattr(model, "trained") else "model"
    raise ArgumentError(
        f"a model of class {name} cannot be stored in a release file, as the class is not registered: give it an "
        f'attribute `kind` of its own and decorate it with @syntabula.register("{sort}"), or name it in the entry-point '
        f"group {group(sort)!r} of its package"
    )


def model_state(model: Model) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return JSON-able facts, with the model's kind, and named arrays.

    Raises:
        ArgumentError: If the class of the model is not registered.
    """
    check_storable(model)
    facts, arrays = model.state()
    entry = _kinds()[model.kind]
    plug_in = None if entry in _AROUND else package_of(entry.kind, entry.key)
    if plug_in is None:
        return {"model": model.kind, **facts}, dict(arrays)
    # Kept apart, so that the facts of plug-ins may have any names.
    return {"model": model.kind, "plug_in": plug_in, "state": dict(facts)}, dict(arrays)


def model_from_state(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Rebuild a model; raises ReleaseFileError if its kind is not installed or the parts do not fit together.

    A file names its model by a kind, never by an import path: loading runs only the code of registered parts.
    """
    kind, plug_in = facts.get("model"), facts.get("plug_in")
    return model_class(kind, plug_in).from_state(facts if plug_in is None else facts["state"], arrays)


def model_array_bytes(facts: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the most bytes of each array of a stored model; None if its kind sets no limits.

    Raises:
        ReleaseFileError: If there is no such kind, or the facts are malformed.
    """
    kind, plug_in = facts.get("model"), facts.get("plug_in")
    found: dict[str, int] | None = model_class(kind, plug_in).array_bytes(
        facts if plug_in is None else facts["state"]
    )
    return found


def model_class(kind: object, plug_in: object = None) -> type[Any]:
    """Return the class for a kind in a release file.

    Args:
        kind: The kind in the file.
        plug_in: The origin in the file. It is only shown, never imported.

    Raises:
        ReleaseFileError: If no class of that kind is installed; names the plug-in.
    """
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ReleaseFileError("this file does not name the kind of its model")
    known = _kinds()
    if kind in known:
        return _class_of(known[kind])
    source = f" (saved with {plug_in[:_SHOWN]!r})" if isinstance(plug_in, str) and plug_in else ""
    raise ReleaseFileError(
        f"this file holds a model of kind {kind!r}{source}, which is not installed here; install that plug-in, or "
        "import the module that registers the model, or upgrade syntabula if the kind is one of its own"
    )


def _kinds() -> dict[str, Entry]:
    """Return what may stand in a file, by kind."""
    return {entry.key: entry for entry in [*_AROUND, *entries("record_model"), *entries("model")]}


def _class_of(entry: Entry) -> type[Any]:
    if entry in _AROUND:
        around: type[Any] = entry.load()
        return around
    try:
        found: type[Any] = load(entry.kind, entry.key)
    except ArgumentError as error:
        raise ReleaseFileError(str(error)) from None
    return found


def stored_facts(model: Model) -> dict[str, Any]:
    """Return the domain, the estimated number of records and the options of a model."""
    return {
        "columns": list(model.domain.columns),
        "sizes": list(model.domain.sizes),
        "total": model.total,
        **{name: getattr(model, name) for name in _options(type(model))},
    }


def read_facts(kind: type, facts: Mapping[str, Any]) -> tuple[Domain, float, dict[str, Any]]:
    """Return the same from facts that were read from a file.

    Raises:
        KeyError, TypeError, ValueError: If some are missing or wrong.
    """
    domain, total = Domain(tuple(facts["columns"]), tuple(facts["sizes"])), float(facts["total"])
    if not 0 < total < _MOST_RECORDS:
        raise ValueError("no number of records")
    return domain, total, {name: facts[name] for name in _options(kind)}


@contextmanager
def whole_model() -> Iterator[None]:
    """Raise ReleaseFileError, without any contents, if parts of a stored model do not fit together."""
    try:
        yield
    except ReleaseFileError:
        raise  # of a model within the model, which says more
    except (KeyError, TypeError, ValueError):
        raise ReleaseFileError("the model in this file is incomplete or inconsistent") from None


def _options(kind: type) -> list[str]:
    """Return the names of a model's public fields, which are its options."""
    return [field.name for field in fields(kind) if not field.name.startswith("_")]
